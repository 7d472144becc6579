/* rtt.c: see the header for the law. */
#include "flow/rtt.h"

#include "util/int_math.h"

void rsti_rtt_init(rsti_rtt_t *rtt)
{
    *rtt = (rsti_rtt_t){.ask_due_ns = INT64_MIN};
}

bool rsti_rtt_on_sample(rsti_rtt_t *rtt, int64_t sample_ns)
{
    if (sample_ns < 0 || sample_ns > RSTI_RTT_MAX_NS) {
        return false;
    }
    const int64_t sample = rsti_max_i64(sample_ns, 1); /* 0 is "unknown" */
    if (rtt->sample_count == 0) {
        rtt->smoothed_ns = sample;
        rtt->deviation_ns = sample / 2;
        rtt->least_ns = sample;
    } else {
        const int64_t difference = sample - rtt->smoothed_ns;
        const int64_t distance = difference < 0 ? -difference : difference;
        rtt->deviation_ns += (distance - rtt->deviation_ns) / 4;
        rtt->smoothed_ns += difference / 8;
        rtt->least_ns = rsti_min_i64(rtt->least_ns, sample);
    }
    rtt->sample_count = rsti_min_i32(rtt->sample_count + 1, RSTI_RTT_FIRST_SAMPLES);
    return true;
}

bool rsti_rtt_is_ask_due(const rsti_rtt_t *rtt, int64_t now_ns)
{
    return now_ns >= rtt->ask_due_ns;
}

void rsti_rtt_on_asked(rsti_rtt_t *rtt, int64_t now_ns)
{
    const int64_t interval_ns = rtt->sample_count < RSTI_RTT_FIRST_SAMPLES
        ? RSTI_RTT_ASK_FIRST_NS
        : RSTI_RTT_ASK_NS;
    rtt->ask_due_ns =
        rsti_saturating_add_i64(now_ns, rsti_max_i64(interval_ns, rtt->smoothed_ns));
}
