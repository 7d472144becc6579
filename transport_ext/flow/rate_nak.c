/* rate_nak.c: the proposal as it was written. A report of fill f cuts by c(f), the greatest cut
 * of the triggers t <= f (50 % 0.1, 75 % 0.25, 87 % 0.5, 100 % 0.75, all of them the user's):
 *
 *   the first report with c > 0 opens a window of window_ns: R_w = R
 *   in it, on each rise of the greatest cut c*:  R = R_w (1 - c*)
 *   every window_ns without a report, the n-th:  R += step_share * H * min(n, 20)
 *
 * It begins with the highest rate allowed, "so that it is not limiting", or with the given rate.
 * The proposal leaves three points open:
 *   - The highest cut of a window counts at once: a wait of 50 ms costs 5 MB at 100 MB/s.
 *   - A rate that was not limiting is cut from the rate that was really sent: the first R_w is
 *     min(R, use), and H begins anew with it.
 *   - A step is a share of the highest recent rate. Shares of the rate after the cut would take
 *     seconds to recover. */
#include "flow/rate.h"

#define QUIET_MOST 20
#define NEVER INT64_MIN

static void init(rsti_rate_t *rate)
{
    if (!(rate->params.initial > 0)) {
        rsti_rate_set(rate, rate->params.most);
    }
    rate->state.nak = (rsti_rate_nak_t){.base = rate->bytes_per_s, .opened_ns = NEVER};
    rate->due_ns = rate->now_ns + rate->params.window_ns;
}

static double cut_of(const rsti_rate_params_t *params, double fill)
{
    double deepest = 0;
    for (int32_t i = 0; i < params->trigger_count; i++) {
        if (fill >= params->triggers[i] && params->cuts[i] > deepest) {
            deepest = params->cuts[i];
        }
    }
    return deepest;
}

static void become_limiting(rsti_rate_t *rate)
{
    const double before = rate->state.nak.used;
    const double used = before > 0 ? before : rsti_rate_take_use(rate);
    if (used > 0 && used < rate->bytes_per_s) {
        rsti_rate_restart(rate, used);
    }
}

static void on_report(rsti_rate_t *rate, const rsti_fill_report_t *report)
{
    rsti_rate_nak_t *state = &rate->state.nak;
    const double cut = cut_of(&rate->params, report->fill);
    if (report->is_clear || !(cut > 0)) {
        return;
    }
    if (state->opened_ns == NEVER || rate->now_ns - state->opened_ns >= rate->params.window_ns) {
        if (state->opened_ns == NEVER) {
            become_limiting(rate);
        }
        state->opened_ns = rate->now_ns;
        state->base = rate->bytes_per_s;
        state->deepest = 0;
    }
    if (cut > state->deepest) {
        state->deepest = cut;
        rsti_rate_set(rate, state->base * (1.0 - cut));
    }
    state->quiet = 0;
    rate->due_ns = rate->now_ns + rate->params.window_ns;
    (void)rsti_rate_take_use(rate);
}

static void on_step(rsti_rate_t *rate)
{
    rsti_rate_nak_t *state = &rate->state.nak;
    const double used = rsti_rate_take_use(rate);
    state->used = used;
    rate->due_ns = rate->now_ns + rate->params.window_ns;
    if (used < rate->bytes_per_s / 2.0) {
        return;
    }
    if (state->quiet < QUIET_MOST) {
        state->quiet++;
    }
    const double step = rate->params.step_share * rsti_rate_highest(rate);
    rsti_rate_set(rate, rate->bytes_per_s + step * state->quiet);
}

const rsti_rate_law_t rsti_rate_nak = {
    .name = "nak",
    .init = init,
    .on_report = on_report,
    .on_step = on_step,
};
