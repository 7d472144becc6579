/* names.h: the driver's resolver, and names that are looked up again because their addresses went
 * silent (docs/reference/aeron/wire.md 18). */
#ifndef RSTI_DRIVER_CONDUCTOR_NAMES_H
#define RSTI_DRIVER_CONDUCTOR_NAMES_H

#include "driver/base/proxies.h"
#include "driver/conductor/conductor_state.h"

int rsti_names_init(rst_driver_t *driver);
void rsti_names_fini(rst_driver_t *driver);
/* A peer of the sender is silent. */
void rsti_on_reresolve(rst_driver_t *driver, const rsti_agent_command_t *command);
/* A publisher with an explicit control address is. */
void rsti_on_resolve_control(rst_driver_t *driver, const rsti_agent_command_t *command);
void rsti_reresolutions_poll(rst_driver_t *driver, int64_t now_ns, int64_t *next_deadline_ns);

#endif
