/* rate_counters.h: the counters of the rate law of a network publication. */
#ifndef RSTI_DRIVER_CONDUCTOR_RATE_COUNTERS_H
#define RSTI_DRIVER_CONDUCTOR_RATE_COUNTERS_H

#include "driver/base/publication.h"
#include "driver/sender/send_rate.h"

/* Allocates the missing counters of a law that limits the rate. Returns 0, or a negative error
 * code with a trail. After success send_rate->made holds all of them, ready for the command that
 * brings the law to the sender. */
int rsti_send_rate_allocate_counters(rst_driver_t *driver, rsti_send_rate_t *send_rate,
    const rsti_publication_t *publication, int64_t client_id);
/* Releases all of them. */
void rsti_send_rate_release_counters(rst_driver_t *driver, rsti_send_rate_t *send_rate);

#endif
