/* saturate.h: how the laws of rate and fill clamp numbers from outside. The input may be huge,
 * zero, negative, NaN, or a clock that goes back. Sums and differences of the results fit into 64
 * bits. */
#ifndef RSTI_FLOW_SATURATE_H
#define RSTI_FLOW_SATURATE_H

#include "util/int_math.h"

#include <stdint.h>

#define RSTI_TIME_MAX_NS (INT64_C(1) << 61)
#define RSTI_COUNT_MAX (INT64_C(1) << 62)
#define RSTI_BUFFER_MAX (INT64_C(1) << 40)
#define RSTI_REPORT_RTT_MAX_NS INT64_C(10000000000)

/* NaN becomes least; where the limits cross, least wins. */
static inline double rsti_clamp_double(double value, double least, double most)
{
    if (value > most && most >= least) {
        return most;
    }
    return value > least ? value : least;
}

static inline int64_t rsti_clamp_i64(int64_t value, int64_t least, int64_t most)
{
    return rsti_max_i64(least, rsti_min_i64(value, most));
}

/* now_ns, but not before before_ns. */
static inline int64_t rsti_later_ns(int64_t before_ns, int64_t now_ns)
{
    return rsti_max_i64(before_ns, rsti_clamp_i64(now_ns, -RSTI_TIME_MAX_NS, RSTI_TIME_MAX_NS));
}

static inline int64_t rsti_to_ns(double value)
{
    return (int64_t)rsti_clamp_double(value, 0.0, (double)RSTI_TIME_MAX_NS);
}

#endif
