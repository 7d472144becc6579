/* rate_aimd.c: the baseline: additive increase, multiplicative decrease. With T the longer of RTT
 * and 10 ms:
 *
 *   a report:  R *= decrease, once per T
 *   T without a report:       R += increase
 */
#include "flow/rate.h"
#include "util/clock.h"

#define ROUND_LEAST_NS (10 * RSTI_NS_PER_MS)
#define NEVER INT64_MIN

static int64_t round_ns(const rsti_rate_t *rate)
{
    return rsti_max_i64(rate->rtt_ns, ROUND_LEAST_NS);
}

static void init(rsti_rate_t *rate)
{
    rate->state.cut_ns = NEVER;
    rate->due_ns = rate->now_ns + round_ns(rate);
}

static void on_report(rsti_rate_t *rate, const rsti_fill_report_t *report)
{
    if (report->is_clear) {
        return;
    }
    if (rate->state.cut_ns == NEVER || rate->now_ns - rate->state.cut_ns >= round_ns(rate)) {
        rate->state.cut_ns = rate->now_ns;
        rsti_rate_set(rate, rate->bytes_per_s * rate->params.decrease);
    }
    rate->due_ns = rate->now_ns + round_ns(rate);
    (void)rsti_rate_take_use(rate);
}

static void on_step(rsti_rate_t *rate)
{
    const double used = rsti_rate_take_use(rate);
    rate->due_ns = rate->now_ns + round_ns(rate);
    if (used >= rate->bytes_per_s / 2.0) {
        rsti_rate_set(rate, rate->bytes_per_s + rate->params.increase);
    }
}

const rsti_rate_law_t rsti_rate_aimd = {
    .name = "aimd",
    .init = init,
    .on_report = on_report,
    .on_step = on_step,
};
