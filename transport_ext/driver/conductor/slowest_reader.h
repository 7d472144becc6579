/* slowest_reader.h: which local reader holds a publication back, told in a counter at every timer.
 */
#ifndef RSTI_DRIVER_CONDUCTOR_SLOWEST_READER_H
#define RSTI_DRIVER_CONDUCTOR_SLOWEST_READER_H

#include "driver/base/driver_state.h"

void rsti_slowest_on_timer(rst_driver_t *driver, int64_t now_ns);

#endif
