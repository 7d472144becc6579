/* names.h: the driver's name resolver, and repeated look-ups of names whose addresses no longer
 * answer (docs/reference/aeron/wire.md 18). */
#ifndef RSTI_DRIVER_CONDUCTOR_NAMES_H
#define RSTI_DRIVER_CONDUCTOR_NAMES_H

#include "driver/base/proxies.h"
#include "driver/conductor/conductor_state.h"

/* Returns 0, or a negative error code with a trail. Starts the look-up thread when the driver has
 * threads; without threads look-ups block the conductor. */
int rsti_names_init(rst_driver_t *driver);
/* Ends the look-up thread. May block until the running look-up ends. */
void rsti_names_fini(rst_driver_t *driver);
/* A peer of the sender no longer answers: its name is looked up again. */
void rsti_on_reresolve(rst_driver_t *driver, const rsti_agent_command_t *command);
/* A publisher with an explicit control address no longer answers: the name in control= is looked
 * up again. */
void rsti_on_resolve_control(rst_driver_t *driver, const rsti_agent_command_t *command);
/* Each pass: continues the look-ups, and tells the sender the new addresses. */
void rsti_reresolutions_poll(rst_driver_t *driver, int64_t now_ns, int64_t *next_deadline_ns);

#endif
