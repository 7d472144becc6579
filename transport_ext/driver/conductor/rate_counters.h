/* rate_counters.h: the counters that a law of rate of a network publication is told in. */
#ifndef RSTI_DRIVER_CONDUCTOR_RATE_COUNTERS_H
#define RSTI_DRIVER_CONDUCTOR_RATE_COUNTERS_H

#include "driver/base/publication.h"
#include "driver/sender/send_rate.h"

/* Allocates the counters of a law that limits, as far as they are not there yet. When it returns 0,
 * send_rate->made has all of them, for the command that takes the law to the sender. */
int rsti_send_rate_allocate_counters(rst_driver_t *driver, rsti_send_rate_t *send_rate,
    const rsti_publication_t *publication, int64_t client_id);
void rsti_send_rate_release_counters(rst_driver_t *driver, rsti_send_rate_t *send_rate);

#endif
