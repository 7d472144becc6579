/* waiting.h: commands of clients that cannot be carried out yet, because a host name is being
 * looked up or a socket is being closed. They leave the ring, so that they hold no other client
 * up, and are tried again in each pass, in the order in which they came. */
#ifndef RSTI_DRIVER_CONDUCTOR_WAITING_H
#define RSTI_DRIVER_CONDUCTOR_WAITING_H

#include "driver/conductor/conductor_state.h"
#include "protocol/command.h"

/* Of one client, so that it cannot fill the memory of the driver. */
#define RSTI_WAITING_MAX 256

/* Carries a command out. True: not possible yet. */
typedef bool (*rsti_dispatch_t)(rst_driver_t *driver, const rsti_command_t *command);

/* Whether the command is about the object of a command that waits: it must wait behind it. */
bool rsti_waiting_concerns(const rst_driver_t *driver, const rsti_command_t *command);
/* Keeps a copy of the record. With RSTI_WAITING_MAX commands of that client, or without memory, the
 * command is answered with an error instead. */
void rsti_waiting_add(rst_driver_t *driver, const rsti_command_t *command, const void *record,
    size_t length);
/* Tries all commands again. Returns how many were carried out. */
int64_t rsti_waiting_retry(rst_driver_t *driver, rsti_dispatch_t dispatch);
/* The client has gone. */
void rsti_waiting_forget_client(rst_driver_t *driver, int64_t client_id);
void rsti_waiting_fini(rst_driver_t *driver);

#endif
