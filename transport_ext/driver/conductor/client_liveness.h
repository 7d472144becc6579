/* client_liveness.h: detects dead clients (docs/reference/aeron/memory.md 21) and removes
 * everything that they own. */
#ifndef RSTI_DRIVER_CONDUCTOR_CLIENT_LIVENESS_H
#define RSTI_DRIVER_CONDUCTOR_CLIENT_LIVENESS_H

#include "driver/conductor/conductor_state.h"
#include "protocol/command.h"

/* Removes the clients whose heartbeat has not changed for the client liveness timeout. Also
 * decides whether the driver is idle. Called by the timer. */
void rsti_clients_check(rst_driver_t *driver, int64_t now_ns);
/* Removes the clients whose process has died. Not before the commands that they sent are carried
 * out: a late one would make the client anew. Returns 1 when it waits for that. */
int64_t rsti_deaths_check(rst_driver_t *driver, int64_t now_ns);
/* Watches the processes of new clients. Limits the sleep of all agents while a client is connected
 * that never wakes the driver. */
void rsti_clients_check_foreign(rst_driver_t *driver, int64_t now_ns);
/* Refreshes the heartbeat of the client. Makes the client when it is new. */
void rsti_on_keepalive(rst_driver_t *driver, const rsti_command_t *command);
/* Removes the client at once. */
void rsti_on_client_close(rst_driver_t *driver, const rsti_command_t *command);

#endif
