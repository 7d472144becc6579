/* rate_counters.h: the counters of the rate law of a publication. */
#ifndef RSTI_DRIVER_CONDUCTOR_RATE_COUNTERS_H
#define RSTI_DRIVER_CONDUCTOR_RATE_COUNTERS_H

#include "driver/base/publication.h"
#include "driver/base/rate_counters.h"

/* There are none yet. */
void rsti_rate_counters_init(rsti_rate_counters_made_t *made);
/* Allocates the missing counters of a law that limits the rate. Returns 0, or a negative error
 * code with a trail. After success made->at holds all of them. */
int rsti_rate_counters_allocate(rst_driver_t *driver, rsti_rate_counters_made_t *made,
    const rsti_publication_t *publication, int64_t client_id);
/* Releases all of them. */
void rsti_rate_counters_release(rst_driver_t *driver, rsti_rate_counters_made_t *made);

#endif
