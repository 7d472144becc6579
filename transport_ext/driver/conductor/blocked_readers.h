/* blocked_readers.h: readers whose programs wait for readers of their own. */
#ifndef RSTI_DRIVER_CONDUCTOR_BLOCKED_READERS_H
#define RSTI_DRIVER_CONDUCTOR_BLOCKED_READERS_H

#include "driver/base/driver_state.h"
#include "driver/base/subscribers.h"

/* Whether the client of one of the readers that hold the window has a publication without room for
 * a message. Looks at all publications of the driver. */
bool rsti_readers_are_blocked(const rst_driver_t *driver, const rsti_subscribers_t *subscribers);

#endif
