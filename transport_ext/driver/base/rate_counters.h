/* rate_counters.h: the counters of a publication's law of rate. The conductor makes them; the
 * sender writes those of a network publication, the conductor those of an IPC publication. */
#ifndef RSTI_DRIVER_BASE_RATE_COUNTERS_H
#define RSTI_DRIVER_BASE_RATE_COUNTERS_H

#include <stdint.h>

/* The addresses of the law's counters: all of them, or all NULL. */
typedef struct rsti_rate_counters_t {
    int64_t *rate, *fill_naks, *margin;
} rsti_rate_counters_t;

/* What the conductor has made. When memory for counters ran out, only some of these exist. */
typedef struct rsti_rate_counters_made_t {
    int32_t rate_id, fill_naks_id, margin_id; /* -1: no such counter */
    rsti_rate_counters_t at;
} rsti_rate_counters_made_t;

#endif
