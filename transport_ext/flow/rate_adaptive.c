/* rate_adaptive.c: fill NAKs cut the rate at once, by their strength. Without them it rises in
 * steps towards the drain of the slowest receiver. R is the rate, H is in rate.h, L, W, T and X are
 * in reaction.h, s is the largest strength in a window of W:
 *
 *   report     opens a window when none is open: R_w = R, s = 0. On each rise of s
 *                  R = R_w (1 - s / 2)
 *              The order of reports and duplicates do not matter. R halves at most once per W.
 *              The target of the steps up, with d the least drain that was reported lately:
 *                  R_t = clamp(d + a, R, max(H, rate before the episode) + p)
 *              An episode begins with the first report after a step.
 *   silence    T after the last report, and then every max(RTT, W), step k:
 *                  k <= 2      R = (R + R_t) / 2
 *                  k <= 4      and R_t += a
 *                  j = k - 4   R = R_t,  R_t += max(a min(j, 10), R_t min(2^(j-1) / 8, 1/2)),
 *                              R = (R + R_t) / 2,  and these max(2 RTT, W / 2, L) apart
 *   increment  a = clamp(kappa F + p, 0, R),  p = (F - d) / 2 [several senders; 0 for one, and not
 *              below 0 in R_t's limit],  F = drain_all / n,
 *              kappa = clamp(v / 4, 0.3 %, 3 %): v the variation of the slowest receiver's drain
 *   start      R doubles per max(T, L) until the first report. Without a given rate it begins at
 *              B / (2T): a receiver that consumes nothing has half its buffer full when its report
 *              takes effect. It begins with the first status message, which tells B. Nothing can
 *              be sent earlier, and from 1 MB/s it would take seven doublings to 100.
 *   no step while the application uses less than R / 2; the floor is in rate.h
 *
 * Why so (each point was tried in the fluid simulation, tests/models):
 *   - The target R_t is the drain that the receiver reports, not the rate before the episode. A
 *     pause does not change it, because a stall leaves the drain as it was. After a fall of
 *     capacity it is right at once; the old rate caused four more overshoots. It does not fall
 *     with R while noise cuts R.
 *   - W and T follow max(R, R_t), so they do not grow while R is cut. With W ~ 1/R each halving
 *     let in the same 0.22 B, and a stop of ten T overran buffers that were large enough by X.
 *   - There are 2 + 2 steps instead of 5 + 5, then growth by 1/8, 1/4, 1/2 per step: an additive
 *     series takes 20 to 45 T to find a capacity that rose to 2.5 times.
 *   - Steps are at least L apart. A queue of f_lo B, which is at most L of drain, must grow before
 *     a receiver can report. At 1 ms per step, a buffer of 8 ms met four times its drain.
 *   - Steps are at least two round trips apart, because the effect of a step is reported one round
 *     trip after it. At one round trip per step the next two steps, twice and four times as large,
 *     had already left. With 20 ms and X = 1.2, four of eighty stops overran; with two, none.
 *   - p is half of the distance to the fair share. If drains are shared in the order of arrival,
 *     growth by shares undoes the gain of the absolute step: 90/10 became only 65/35 in 15 s. p
 *     may also lift R_t above any rate that was sent. Otherwise a small sender with short episodes
 *     never exceeds its own past (E5 of docs/results/history.md: a quarter, without this lift, left
 *     two senders at 65/35 where L is 15 ms).
 *   - A reported round trip counts up to REPORTED_RTT_MOST_NS or four times the sender's own. A
 *     forged round trip of ten seconds would otherwise stop all steps for ten seconds. */
#include "flow/rate.h"

#include <stddef.h>

#define FIRST 1e6 /* bytes per second, when nothing is known */
#define STEPS_BACK 2
#define STEPS_ADDING 4
#define STEPS_COUNTED 1000
#define GROWTH_FIRST 0.125
#define GROWTH_MOST 0.5
#define KAPPA_LEAST 0.003
#define KAPPA_MOST 0.03
#define REPORTED_RTT_MOST_NS INT64_C(200000000)
#define NEVER INT64_MIN

/* Works out W, T and X from the least buffer, the longest round trip and the least drain that were
 * reported lately. */
static void settle(rsti_rate_t *rate)
{
    rsti_rate_adaptive_t *state = &rate->state.adaptive;
    int64_t buffer_bytes = INT64_MAX;
    int64_t rtt_ns = rate->rtt_ns;
    const int64_t rtt_most_ns = rsti_max_i64(4 * rate->rtt_ns, REPORTED_RTT_MOST_NS);
    double drain = 0;
    for (int32_t i = 0; i < rate->source_count; i++) {
        const rsti_fill_report_t *report = &rate->sources[i].report;
        if (report->buffer_bytes > 0) {
            buffer_bytes = rsti_min_i64(buffer_bytes, report->buffer_bytes);
        }
        rtt_ns = rsti_max_i64(rtt_ns, rsti_min_i64(report->rtt_ns, rtt_most_ns));
        if (report->drain > 0 && (!(drain > 0) || report->drain < drain)) {
            drain = report->drain;
        }
    }
    if (buffer_bytes == INT64_MAX) {
        buffer_bytes = rate->buffer_bytes;
    }
    const double fastest = rate->bytes_per_s > state->target ? rate->bytes_per_s : state->target;
    state->reaction = rsti_reaction(rate->params.target_delay_ns, rate->params.detect_ns,
        buffer_bytes, rtt_ns, drain, fastest, fastest);
    rate->margin = rsti_reaction_margin(&state->reaction, buffer_bytes, fastest,
        rate->params.detect_ns);
}

static void init(rsti_rate_t *rate)
{
    if (!(rate->params.initial > 0)) {
        rsti_rate_set(rate, FIRST);
    }
    rate->state.adaptive = (rsti_rate_adaptive_t){
        .target = rate->bytes_per_s,
        .base = rate->bytes_per_s,
        .opened_ns = NEVER,
        .is_starting = true,
    };
    settle(rate);
    rate->due_ns = rate->now_ns;
}

/* The report of the consumer with the least drain; NULL: no drain is known. */
static const rsti_fill_report_t *slowest_of(const rsti_rate_t *rate)
{
    const rsti_fill_report_t *slowest = NULL;
    for (int32_t i = 0; i < rate->source_count; i++) {
        const rsti_fill_report_t *report = &rate->sources[i].report;
        if (report->drain_all > 0 && (slowest == NULL || report->drain_all < slowest->drain_all)) {
            slowest = report;
        }
    }
    return slowest;
}

/* Half of the distance to the fair share if several senders share a receiver, else 0; negative
 * above the fair share. */
static double towards_fair(const rsti_fill_report_t *slowest)
{
    const double fair = slowest->drain_all / slowest->sender_count;
    return slowest->sender_count > 1 ? (fair - slowest->drain) / 2.0 : 0.0;
}

static double increment(const rsti_rate_t *rate)
{
    const rsti_fill_report_t *slowest = slowest_of(rate);
    if (slowest == NULL) {
        return KAPPA_LEAST * rate->bytes_per_s;
    }
    const double fair = slowest->drain_all / slowest->sender_count;
    const double kappa = rsti_clamp_double(slowest->variation / 4.0, KAPPA_LEAST, KAPPA_MOST);
    return rsti_clamp_double(kappa * fair + towards_fair(slowest), 0.0, rate->bytes_per_s);
}

static void open_window(rsti_rate_t *rate)
{
    rsti_rate_adaptive_t *state = &rate->state.adaptive;
    if (state->step > 0 || state->is_starting) {
        const double highest = rsti_rate_highest(rate);
        state->target = rate->bytes_per_s;
        state->ceiling = highest > rate->bytes_per_s ? highest : rate->bytes_per_s;
    }
    settle(rate);
    state->opened_ns = rate->now_ns;
    state->base = rate->bytes_per_s;
    state->strongest = 0;
    state->is_starting = false;
}

static void aim(rsti_rate_t *rate)
{
    rsti_rate_adaptive_t *state = &rate->state.adaptive;
    double least = 0;
    for (int32_t i = 0; i < rate->source_count; i++) {
        const double drain = rate->sources[i].report.drain;
        if (drain > 0 && (!(least > 0) || drain < least)) {
            least = drain;
        }
    }
    if (least > 0) {
        const rsti_fill_report_t *slowest = slowest_of(rate);
        const double owed = slowest != NULL ? towards_fair(slowest) : 0.0;
        state->target = rsti_clamp_double(least + increment(rate), 0.0,
            state->ceiling + rsti_clamp_double(owed, 0.0, rate->bytes_per_s));
    }
    if (state->target < rate->bytes_per_s) {
        state->target = rate->bytes_per_s;
    }
}

static void on_report(rsti_rate_t *rate, const rsti_fill_report_t *report)
{
    rsti_rate_adaptive_t *state = &rate->state.adaptive;
    if (!(report->strength > 0)) {
        return;
    }
    if (state->opened_ns == NEVER || rate->now_ns - state->opened_ns >= state->reaction.window_ns) {
        open_window(rate);
    }
    if (report->strength > state->strongest) {
        state->strongest = report->strength;
        rsti_rate_set(rate, state->base * (1.0 - state->strongest / 2.0));
    }
    aim(rate);
    state->step = 0;
    rate->due_ns = rate->now_ns + state->reaction.reach_ns;
    (void)rsti_rate_take_use(rate);
}

static void double_rate(rsti_rate_t *rate)
{
    rsti_rate_adaptive_t *state = &rate->state.adaptive;
    rsti_rate_set(rate, 2.0 * rate->bytes_per_s);
    state->target = rate->bytes_per_s;
    settle(rate);
    rate->due_ns = rate->now_ns
        + rsti_max_i64(state->reaction.reach_ns, rate->params.target_delay_ns);
}

static void step_up(rsti_rate_t *rate)
{
    rsti_rate_adaptive_t *state = &rate->state.adaptive;
    double from = rate->bytes_per_s;
    if (state->step < STEPS_COUNTED) {
        state->step++;
    }
    const int32_t probe = state->step - STEPS_ADDING;
    if (probe > 0) {
        const double added = increment(rate) * (probe < 10 ? probe : 10);
        const double growth = rsti_clamp_double(GROWTH_FIRST
                * (double)(1 << (probe < 8 ? probe - 1 : 7)),
            0.0, GROWTH_MOST);
        const double grown = state->target * growth;
        from = state->target;
        state->target += added > grown ? added : grown;
    } else if (state->step > STEPS_BACK) {
        state->target += increment(rate);
    }
    state->target = rsti_clamp_double(state->target, 0.0, rate->params.most);
    rsti_rate_set(rate, (from + state->target) / 2.0);
    settle(rate);
    const int64_t rtt_ns = state->reaction.reach_ns - state->reaction.window_ns;
    const int64_t window_ns = state->reaction.window_ns;
    if (probe > 0) {
        const int64_t steered_ns = rsti_max_i64(2 * rtt_ns, rate->params.target_delay_ns);
        rate->due_ns = rate->now_ns + rsti_max_i64(window_ns / 2, steered_ns);
    } else {
        rate->due_ns = rate->now_ns + rsti_max_i64(window_ns, rtt_ns);
    }
}

static void begin(rsti_rate_t *rate)
{
    rsti_rate_adaptive_t *state = &rate->state.adaptive;
    if (rate->buffer_bytes == 0 && rate->sent_bytes == 0) {
        return; /* the next pass tries again, because due_ns has come */
    }
    state->has_begun = true;
    settle(rate);
    if (state->is_starting && !(rate->params.initial > 0) && rate->buffer_bytes > 0) {
        const double half = (double)rate->buffer_bytes / 2.0;
        const double begins = half / (double)state->reaction.reach_ns * 1e9;
        rsti_rate_restart(rate, begins > FIRST ? begins : FIRST);
        state->target = rate->bytes_per_s;
    }
    rate->due_ns = rate->now_ns + state->reaction.reach_ns;
}

static void on_step(rsti_rate_t *rate)
{
    rsti_rate_adaptive_t *state = &rate->state.adaptive;
    const double used = rsti_rate_take_use(rate);
    if (!state->has_begun && state->is_starting) {
        begin(rate);
        return;
    }
    settle(rate);
    if (used < rate->bytes_per_s / 2.0) {
        rate->due_ns = rate->now_ns + state->reaction.reach_ns;
    } else if (state->is_starting) {
        double_rate(rate);
    } else {
        step_up(rate);
    }
}

const rsti_rate_law_t rsti_rate_adaptive = {
    .name = "adaptive",
    .init = init,
    .on_report = on_report,
    .on_step = on_step,
};
