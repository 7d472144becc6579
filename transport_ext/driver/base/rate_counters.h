/* rate_counters.h: the counters of a publication's law of rate. The conductor makes them, the
 * sender writes them. */
#ifndef RSTI_DRIVER_BASE_RATE_COUNTERS_H
#define RSTI_DRIVER_BASE_RATE_COUNTERS_H

#include <stdint.h>

/* The addresses of the law's counters: all of them, or all NULL. */
typedef struct rsti_rate_counters_t {
    int64_t *rate, *fill_naks, *margin;
} rsti_rate_counters_t;

#endif
