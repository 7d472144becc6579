/* reaction.c: see the header for the laws. */
#include "flow/reaction.h"

#include "flow/saturate.h"
#include "util/clock.h"

#define FILL_LOW_LEAST 0.1
#define FILL_LOW_MOST 0.5
#define SHARE 1.75
#define WINDOW_LEAST_NS RSTI_NS_PER_MS
#define WINDOW_MOST_NS (50 * RSTI_NS_PER_MS)

static int64_t window_least_ns(int64_t rtt_ns)
{
    return rsti_max_i64(rtt_ns, WINDOW_LEAST_NS);
}

/* T + D */
static double stop_s(int64_t reach_ns, int64_t detect_ns)
{
    return ((double)reach_ns + (double)detect_ns) / 1e9;
}

static double fill_low(int64_t target_delay_ns, int64_t detect_ns, int64_t buffer_bytes,
    int64_t rtt_ns, double drain, double coming)
{
    if (buffer_bytes <= 0) {
        return FILL_LOW_MOST;
    }
    const double wanted = (double)rsti_max_i64(target_delay_ns, rtt_ns) * drain / 1e9
        / (double)buffer_bytes;
    const double after_stop = (coming < drain ? coming : drain)
        * stop_s(rtt_ns + window_least_ns(rtt_ns), detect_ns) / (double)buffer_bytes;
    const double most = rsti_clamp_double(1.0 - after_stop, FILL_LOW_LEAST, FILL_LOW_MOST);
    return rsti_clamp_double(wanted, FILL_LOW_LEAST, most);
}

rsti_reaction_t rsti_reaction(int64_t target_delay_ns, int64_t detect_ns, int64_t buffer_bytes,
    int64_t rtt_ns, double drain, double coming, double rate)
{
    rsti_reaction_t reaction = {
        .fill_low = fill_low(target_delay_ns, detect_ns, buffer_bytes, rtt_ns, drain, coming),
    };
    const int64_t least_ns = window_least_ns(rtt_ns);
    const int64_t most_ns = rsti_max_i64(rtt_ns, WINDOW_MOST_NS);
    if (buffer_bytes <= 0 || !(rate > 0)) {
        reaction.window_ns = most_ns;
    } else {
        const double wanted = (double)buffer_bytes * (1.0 - reaction.fill_low) / (SHARE * rate)
                * 1e9
            - (double)rtt_ns;
        reaction.window_ns = rsti_to_ns(rsti_clamp_double(wanted, (double)least_ns,
            (double)most_ns));
    }
    reaction.reach_ns = rtt_ns + reaction.window_ns;
    return reaction;
}

double rsti_reaction_margin(const rsti_reaction_t *reaction, int64_t buffer_bytes, double rate,
    int64_t detect_ns)
{
    const double taken_s = stop_s(reaction->reach_ns, detect_ns);
    if (buffer_bytes <= 0 || !(rate > 0) || !(taken_s > 0)) {
        return 0;
    }
    return (double)buffer_bytes * (1.0 - reaction->fill_low) / (rate * taken_s);
}
