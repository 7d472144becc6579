/* tethers.h: removes untethered subscribers that are too far behind, and evicts subscriptions
 * (docs/reference/aeron/wire.md 16). */
#ifndef RSTI_DRIVER_CONDUCTOR_TETHERS_H
#define RSTI_DRIVER_CONDUCTOR_TETHERS_H

#include "driver/conductor/conductor_state.h"

/* Checks all subscribers. Called by the timer, and when a check of evictions is due. */
void rsti_tethers_check(rst_driver_t *driver);

#endif
