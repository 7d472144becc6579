/* client_counters.h: counters that clients make (docs/reference/aeron/memory.md 21). */
#ifndef RSTI_DRIVER_CONDUCTOR_CLIENT_COUNTERS_H
#define RSTI_DRIVER_CONDUCTOR_CLIENT_COUNTERS_H

#include "driver/conductor/conductor_state.h"
#include "protocol/command.h"

void rsti_on_add_counter(rst_driver_t *driver, const rsti_command_t *command);
void rsti_on_add_static_counter(rst_driver_t *driver, const rsti_command_t *command);
void rsti_on_remove_counter(rst_driver_t *driver, const rsti_command_t *command);

#endif
