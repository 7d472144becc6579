/* feedback_delay.c: how long a receiver waits before it asks for missing data
 * (docs/reference/aeron/wire.md 9.2). Group law, with G receivers, lambda = ln(G) + 1, u a random
 * number in [0, 1):
 *     x     = u * lambda / longest + lambda / (longest * (e^lambda - 1))
 *     delay = (longest / lambda) * ln(x * (e^lambda - 1) * (longest / lambda))
 * so the delay is 0 at u = 0 and the longest one at u = 1. */
#include "loss/loss_detector.h"

#include <math.h>

void rsti_feedback_delay_unicast(rsti_feedback_delay_t *delay, int64_t delay_ns, int64_t ratio)
{
    RST_ASSERT(delay_ns >= 0);
    RST_ASSERT(ratio >= 0);
    int64_t retry_ns;
    if (__builtin_mul_overflow(delay_ns, ratio, &retry_ns)) {
        retry_ns = INT64_MAX;
    }
    *delay = (rsti_feedback_delay_t){
        .is_group = false,
        .delay_ns = delay_ns,
        .retry_ns = retry_ns,
    };
}

void rsti_feedback_delay_group(rsti_feedback_delay_t *delay, int64_t max_backoff_ns,
    double group_size)
{
    RST_ASSERT(max_backoff_ns > 0);
    RST_ASSERT(group_size >= 1.0);
    *delay = (rsti_feedback_delay_t){
        .is_group = true,
        .max_backoff_ns = (double)max_backoff_ns,
        .group_size = group_size,
    };
}

int64_t rsti_feedback_delay_at(const rsti_feedback_delay_t *delay, double u)
{
    const double lambda = log(delay->group_size) + 1.0;
    const double rate = lambda / delay->max_backoff_ns;
    const double scale = exp(lambda) - 1.0;
    const double x = u * rate + rate / scale;
    const double wait_ns = log(x * scale / rate) / rate;
    /* Rounding may exceed the interval slightly at both ends. */
    if (wait_ns <= 0.0) {
        return 0;
    }
    return (int64_t)fmin(wait_ns, delay->max_backoff_ns);
}

int64_t rsti_feedback_delay_next(const rsti_feedback_delay_t *delay, bool is_retry, rsti_rng_t *rng)
{
    if (delay->is_group) {
        return rsti_feedback_delay_at(delay, rsti_rng_unit(rng));
    }
    return is_retry ? delay->retry_ns : delay->delay_ns;
}
