/* allowance.c: see the header for the law. */
#include "flow/allowance.h"

#include "flow/saturate.h"

#include <stdbool.h>

static void set_rate(rsti_allowance_t *allowance, double bytes_per_s)
{
    const double least = (double)allowance->mtu * RSTI_ALLOWANCE_BURST_FRAMES;
    const double per_s = rsti_clamp_double(bytes_per_s, 1.0, RSTI_RATE_MAX);
    const double burst = per_s * (double)RSTI_ALLOWANCE_BURST_NS / 1e9;
    rsti_bucket_set(&allowance->bytes, per_s, burst > least ? burst : least, RSTI_BUCKET_NO_LIMIT);
}

static bool is_limited(const rsti_allowance_t *allowance)
{
    return allowance->bytes.rate < RSTI_RATE_MAX;
}

void rsti_allowance_init(rsti_allowance_t *allowance, double bytes_per_s, int32_t mtu,
    int64_t position, int64_t now_ns)
{
    *allowance = (rsti_allowance_t){.mtu = mtu, .position = position};
    rsti_bucket_init(&allowance->bytes, now_ns);
    set_rate(allowance, bytes_per_s);
}

int64_t rsti_allowance_limit(rsti_allowance_t *allowance, int64_t position, int64_t now_ns)
{
    rsti_bucket_t *bytes = &allowance->bytes;
    /* In this order: the idle time before a burst must not earn that burst again. */
    rsti_bucket_fill(bytes, now_ns);
    if (position > allowance->position) {
        rsti_bucket_spend(bytes, (double)(position - allowance->position));
        allowance->position = position;
    }
    if (!is_limited(allowance)) {
        bytes->level = bytes->burst; /* no debt under no limit */
        return INT64_MAX;
    }
    return rsti_saturating_add_i64(allowance->position, rsti_bucket_room(bytes));
}

void rsti_allowance_set(rsti_allowance_t *allowance, double bytes_per_s, int64_t position,
    int64_t now_ns)
{
    (void)rsti_allowance_limit(allowance, position, now_ns);
    set_rate(allowance, bytes_per_s);
}

int64_t rsti_allowance_due_ns(const rsti_allowance_t *allowance)
{
    const rsti_bucket_t *bytes = &allowance->bytes;
    if (!is_limited(allowance) || !(bytes->level < bytes->burst)) {
        return INT64_MAX;
    }
    const double wanted = (bytes->level > 0 ? bytes->level : 0) + bytes->burst / 4;
    const double wait_ns = rsti_bucket_wait_ns(bytes, wanted);
    return rsti_saturating_add_i64(bytes->filled_ns, rsti_to_ns(wait_ns) + 1);
}

double rsti_allowance_rate(const rsti_rate_law_t *law, const rsti_rate_params_t *params,
    int32_t mtu)
{
    if (law != &rsti_rate_fixed) {
        return RSTI_RATE_MAX;
    }
    const double by_bytes = params->initial > 0 ? params->initial : RSTI_RATE_MAX;
    const double by_datagrams = params->datagrams_per_s > 0 ? params->datagrams_per_s * mtu
                                                            : RSTI_RATE_MAX;
    return by_bytes < by_datagrams ? by_bytes : by_datagrams;
}
