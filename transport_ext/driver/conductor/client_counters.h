/* client_counters.h: commands that add and remove the counters of clients
 * (docs/reference/aeron/memory.md 21). Each function answers its command with a result or with an
 * error. */
#ifndef RSTI_DRIVER_CONDUCTOR_CLIENT_COUNTERS_H
#define RSTI_DRIVER_CONDUCTOR_CLIENT_COUNTERS_H

#include "driver/conductor/conductor_state.h"
#include "protocol/command.h"

/* The client owns the counter: the driver frees it when the client goes. */
void rsti_on_add_counter(rst_driver_t *driver, const rsti_command_t *command);
/* No client owns a static counter. A second command with the same type and registration id gets
 * the existing counter. */
void rsti_on_add_static_counter(rst_driver_t *driver, const rsti_command_t *command);
/* Frees a counter that the client of the command owns. */
void rsti_on_remove_counter(rst_driver_t *driver, const rsti_command_t *command);

#endif
