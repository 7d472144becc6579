/* client_liveness.h: which clients live (docs/reference/aeron/memory.md 21), and what goes with one
 * that does not. */
#ifndef RSTI_DRIVER_CONDUCTOR_CLIENT_LIVENESS_H
#define RSTI_DRIVER_CONDUCTOR_CLIENT_LIVENESS_H

#include "driver/conductor/conductor_state.h"
#include "protocol/command.h"

void rsti_clients_check(rst_driver_t *driver, int64_t now_ns);
void rsti_clients_check_foreign(rst_driver_t *driver, int64_t now_ns);
void rsti_on_keepalive(rst_driver_t *driver, const rsti_command_t *command);
void rsti_on_client_close(rst_driver_t *driver, const rsti_command_t *command);

#endif
