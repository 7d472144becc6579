/* slowest_reader.h: finds the local reader that holds each publication back. */
#ifndef RSTI_DRIVER_CONDUCTOR_SLOWEST_READER_H
#define RSTI_DRIVER_CONDUCTOR_SLOWEST_READER_H

#include "driver/base/driver_state.h"

/* Called by the timer: writes the slowest reader of each publication beside its limit counter. */
void rsti_slowest_on_timer(rst_driver_t *driver, int64_t now_ns);

#endif
