/* conductor.h: the conductor as the others see it. They tell it things by the proxies
 * (base/proxies.h). */
#ifndef RSTI_DRIVER_CONDUCTOR_CONDUCTOR_H
#define RSTI_DRIVER_CONDUCTOR_CONDUCTOR_H

#include "driver/base/driver_state.h"

/* Makes driver->conductor, and opens its inbox. 0 or negative with a trail. */
int rsti_conductor_create(rst_driver_t *driver, uint64_t seed);
/* When it is known which threads there are: how names are looked up. 0 or negative with a trail. */
int rsti_conductor_open_names(rst_driver_t *driver);
/* The clients are woken, all objects freed. NULL is legal. */
void rsti_conductor_destroy(rst_driver_t *driver);
/* One pass; arg is the driver. */
int64_t rsti_conductor_do_work(void *arg, int64_t now_ns, int64_t *next_deadline_ns);

#endif
