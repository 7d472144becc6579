/* send.h: commands to the driver's conductor.
 *
 * The caller holds client->lock. Neither function blocks: a command that finds the ring full waits
 * in the outbox, and the client's conductor sends it later. */
#ifndef RSTI_CLIENT_SEND_H
#define RSTI_CLIENT_SEND_H

#include "client/client_state.h"
#include "protocol/command.h"

/* Fills in the client id, sends the command and wakes the driver. 0, or negative with a trail:
 * -RST_ETOOLARGE, -RST_EFULL, -RST_ENOMEM. */
int rsti_client_send(rst_client_t *client, const rsti_command_t *command);
/* Sends a REMOVE_… command and does not wait for its answer. A client that is not open sends
 * nothing. */
void rsti_client_send_remove(rst_client_t *client, int32_t type, int64_t registration_id,
    uint64_t flags);

#endif
