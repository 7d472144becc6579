/* allowance.c: see the header for the law. */
#include "flow/allowance.h"

#include "flow/saturate.h"

static void set_rate(rsti_allowance_t *allowance, double bytes_per_s)
{
    const double least = (double)allowance->mtu * RSTI_ALLOWANCE_BURST_FRAMES;
    allowance->bytes_per_s = rsti_clamp_double(bytes_per_s, 1.0, RSTI_RATE_MAX);
    const double burst = allowance->bytes_per_s * (double)RSTI_ALLOWANCE_BURST_NS / 1e9;
    allowance->burst = burst > least ? burst : least;
    allowance->level = allowance->level < allowance->burst ? allowance->level : allowance->burst;
}

static void fill(rsti_allowance_t *allowance, int64_t now_ns)
{
    const int64_t until_ns = rsti_later_ns(allowance->filled_ns, now_ns);
    const double earned = allowance->bytes_per_s * (double)(until_ns - allowance->filled_ns) / 1e9;
    const double level = allowance->level + earned;
    allowance->level = level < allowance->burst ? level : allowance->burst;
    allowance->filled_ns = until_ns;
}

void rsti_allowance_init(rsti_allowance_t *allowance, double bytes_per_s, int32_t mtu,
    int64_t position, int64_t now_ns)
{
    *allowance = (rsti_allowance_t){
        .level = RSTI_RATE_MAX,
        .mtu = mtu,
        .position = position,
        .filled_ns = rsti_later_ns(-RSTI_TIME_MAX_NS, now_ns),
    };
    set_rate(allowance, bytes_per_s);
}

int64_t rsti_allowance_limit(rsti_allowance_t *allowance, int64_t position, int64_t now_ns)
{
    /* In this order: a burst that was written just now must not be earned again by the time of rest
     * before it. */
    fill(allowance, now_ns);
    if (position > allowance->position) {
        allowance->level -= (double)(position - allowance->position);
        allowance->position = position;
    }
    if (!(allowance->bytes_per_s < RSTI_RATE_MAX)) {
        allowance->level = allowance->burst; /* no debt under no limit */
        return INT64_MAX;
    }
    const int64_t room = allowance->level > 0 ? (int64_t)allowance->level : 0;
    return rsti_saturating_add_i64(allowance->position, room);
}

void rsti_allowance_set(rsti_allowance_t *allowance, double bytes_per_s, int64_t position,
    int64_t now_ns)
{
    (void)rsti_allowance_limit(allowance, position, now_ns);
    set_rate(allowance, bytes_per_s);
}

int64_t rsti_allowance_due_ns(const rsti_allowance_t *allowance)
{
    if (!(allowance->bytes_per_s < RSTI_RATE_MAX) || !(allowance->level < allowance->burst)) {
        return INT64_MAX;
    }
    const double step = (allowance->level > 0 ? allowance->level : 0) + allowance->burst / 4;
    const double wanted = step < allowance->burst ? step : allowance->burst;
    const double wait_ns = (wanted - allowance->level) / allowance->bytes_per_s * 1e9;
    return rsti_saturating_add_i64(allowance->filled_ns, rsti_to_ns(wait_ns) + 1);
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
