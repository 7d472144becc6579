/* tethers.h: untethered subscribers that are too far behind are let go
 * (docs/reference/aeron/wire.md 16). */
#ifndef RSTI_DRIVER_CONDUCTOR_TETHERS_H
#define RSTI_DRIVER_CONDUCTOR_TETHERS_H

#include "driver/conductor/conductor_state.h"

/* Timer, and when evictions are looked at. */
void rsti_tethers_check(rst_driver_t *driver);

#endif
