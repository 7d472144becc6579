/* rtt.c: see the header for the law. */
#include "flow/rtt.h"

#include "util/int_math.h"

void rsti_rtt_init(rsti_rtt_t *rtt)
{
    *rtt = (rsti_rtt_t){.ask_due_ns = INT64_MIN, .younger_least_ns = INT64_MAX};
    for (int32_t i = 0; i < RSTI_RTT_PENDING; i++) {
        rtt->pending[i] = INT64_MIN;
    }
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
    const int64_t interval_ns = rtt->sample_count < RSTI_RTT_FIRST_SAMPLES ? RSTI_RTT_ASK_FIRST_NS
                                                                           : RSTI_RTT_ASK_NS;
    rtt->ask_due_ns = rsti_saturating_add_i64(now_ns, rsti_max_i64(interval_ns, rtt->smoothed_ns));
    rtt->pending[rtt->pending_next] = now_ns;
    rtt->pending_next = (rtt->pending_next + 1) % RSTI_RTT_PENDING;
}

static bool take_pending(rsti_rtt_t *rtt, int64_t echo_ns)
{
    for (int32_t i = 0; echo_ns != INT64_MIN && i < RSTI_RTT_PENDING; i++) {
        if (rtt->pending[i] == echo_ns) {
            rtt->pending[i] = INT64_MIN;
            return true;
        }
    }
    return false;
}

/* There are two periods. When the running one ends, only its own samples are kept. */
static void forget_old_least(rsti_rtt_t *rtt, int64_t sample_ns, int64_t now_ns)
{
    rtt->younger_least_ns = rsti_min_i64(rtt->younger_least_ns, sample_ns);
    if (rtt->memory_ends_ns == 0) {
        rtt->memory_ends_ns = now_ns + RSTI_RTT_MEMORY_NS;
    } else if (now_ns >= rtt->memory_ends_ns) {
        rtt->least_ns = rsti_max_i64(rtt->younger_least_ns, 1);
        rtt->younger_least_ns = INT64_MAX;
        rtt->memory_ends_ns = now_ns + RSTI_RTT_MEMORY_NS;
    }
}

bool rsti_rtt_on_answer(rsti_rtt_t *rtt, int64_t echo_ns, int64_t held_ns, int64_t now_ns)
{
    if (!take_pending(rtt, echo_ns) || held_ns < 0 || now_ns < echo_ns
        || held_ns > now_ns - echo_ns) {
        return false;
    }
    const int64_t sample_ns = now_ns - echo_ns - held_ns;
    if (!rsti_rtt_on_sample(rtt, sample_ns)) {
        return false;
    }
    forget_old_least(rtt, sample_ns, now_ns);
    return true;
}
