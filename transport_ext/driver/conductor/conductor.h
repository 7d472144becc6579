/* conductor.h: the interface of the conductor for the rest of the driver. Other agents send it
 * commands through the proxies (base/proxies.h). */
#ifndef RSTI_DRIVER_CONDUCTOR_CONDUCTOR_H
#define RSTI_DRIVER_CONDUCTOR_CONDUCTOR_H

#include "driver/base/driver_state.h"

/* Makes driver->conductor and opens its command queue. Returns 0, or a negative error code with an
 * error trail. */
int rsti_conductor_create(rst_driver_t *driver);
/* Sets up name resolution. Call it when the driver's threads are known: it starts a look-up thread
 * only if the driver has threads. Returns 0, or a negative error code with an error trail. */
int rsti_conductor_open_names(rst_driver_t *driver);
/* Lets the death of a client wake the thread of this poller, which is the conductor's. Returns 0,
 * or a negative error code with an error trail. */
int rsti_conductor_watch_deaths(rst_driver_t *driver, rsti_poller_t *poller);
/* Wakes the clients and frees all objects. The threads of the agents must have ended. Accepts a
 * driver without a conductor. May block until the look-up thread ends. */
void rsti_conductor_destroy(rst_driver_t *driver);
/* One pass of the duty cycle; arg is the driver. Lowers *next_deadline_ns to the time of the next
 * work. Returns the amount of work done. Blocks only for name look-ups of a driver without
 * threads. */
int64_t rsti_conductor_do_work(void *arg, int64_t now_ns, int64_t *next_deadline_ns);

#endif
