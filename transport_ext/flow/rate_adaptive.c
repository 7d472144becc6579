/* rate_adaptive.c: the sender goes to the smallest rate that a receiver in overload asks for.
 *
 *   report     R = min(allowed) over the receivers whose last report is at most F old,
 *              F = max(60 ms, 6 RTT).     The first one begins an episode: R_0 = the rate before,
 *              or that of the last episode while R is still on the way back to it, but at most
 *              twice the most that was really sent (H of rate.h) or taken (d) lately
 *   clear      of the last receiver: R = max(R, min(R_0, d + room / (RTT + P))), and then
 *              R = min(1.5 R, R_0) per round trip;   room = min((B - q) / 2, 2 d max(L, RTT)).
 *              In a group after RTT + P, and only if no other receiver reports until then
 *   silence    no jump; growth as below
 *   growth     without a report: by 3 %, 6 %, 12 % ... at most 50 % each max(2 RTT, 4 ms), while
 *              the application uses more than half of it
 *   start      in a group R = B / 2 / (RTT + P), and doubles each max(2 RTT, L) until the first
 *              report; with one receiver R is no limit, because its window holds the sender
 *
 *   d, B, q    drain, buffer and queue of the receiver that says clear     P   period of fill.h
 *   RTT        the sender's round trip, or a longer one that a fresh report tells
 *
 * A receiver that is dead or cut off is forgotten with F, so it never holds the stream. Only
 * receivers in overload are known here, never the whole group.
 *
 * In a group other receivers may have been silent because that one asked for less
 * (fill_suppress.h). They report within P after its last echo.
 *
 * After clear at most half of the free room can arrive before the receiver reports again, so the
 * way back is short and overruns nothing. Where the buffer is large, two target delays of data can:
 * a receiver whose queue ran empty by chance must not get a full buffer. A receiver that merely
 * fell silent told no free room.
 *
 * Growth begins slowly, because R may be right, and gets faster the longer nobody reports: after a
 * wrong start, or a loss that looked like overload, R may be a hundredth of what all could take.
 *
 * At the start a receiver that consumes nothing has half its buffer full when its first report
 * takes effect. Floor: rate.h. A reported round trip counts up to REPORTED_RTT_MOST_NS or four
 * times the sender's own; a forged one of ten seconds would otherwise keep reports fresh for a
 * minute.
 *
 * Headroom: the free buffer above the set point, over what still arrives after a stop:
 *     X = (B - set point) / (R (RTT + P + D)) */
#include "flow/rate.h"

#include "util/clock.h"

#define FIRST 1e6 /* bytes per second, when nothing is known */
#define BACK 1.5
#define GROWTH 0.03
#define GROWTH_MOST 0.5
#define GROWTHS_COUNTED 8
#define UNKNOWN RSTI_RATE_MAX /* R_0 of the episode that ended the start */
#define PROVEN 2.0
#define REPORTED_RTT_MOST_NS INT64_C(200000000)

static int64_t rtt_of(const rsti_rate_t *rate)
{
    const int64_t most_ns = rsti_max_i64(4 * rate->rtt_ns, REPORTED_RTT_MOST_NS);
    int64_t rtt_ns = rate->rtt_ns;
    for (int32_t i = 0; i < rate->source_count; i++) {
        rtt_ns = rsti_max_i64(rtt_ns, rsti_min_i64(rate->sources[i].report.rtt_ns, most_ns));
    }
    return rtt_ns;
}

/* RTT + P: the time from an overload to the effect of its report. */
static double reach_s(int64_t rtt_ns)
{
    return (double)(rtt_ns + rsti_max_i64(rtt_ns, RSTI_FILL_PERIOD_NS)) / 1e9;
}

static int64_t buffer_of(const rsti_rate_t *rate)
{
    int64_t least = INT64_MAX;
    for (int32_t i = 0; i < rate->source_count; i++) {
        const int64_t bytes = rate->sources[i].report.buffer_bytes;
        least = bytes > 0 ? rsti_min_i64(least, bytes) : least;
    }
    return least == INT64_MAX ? rate->buffer_bytes : least;
}

double rsti_rate_headroom(int64_t target_delay_ns, int64_t detect_ns, int64_t buffer_bytes,
    int64_t rtt_ns, double bytes_per_s)
{
    const double buffer = (double)buffer_bytes;
    const double steered_s = (double)rsti_max_i64(target_delay_ns, rtt_ns) / 1e9;
    const double queue = rsti_clamp_double(bytes_per_s * steered_s, 0.0, buffer / 4.0);
    const double arrives = bytes_per_s * (reach_s(rtt_ns) + (double)detect_ns / 1e9);
    return arrives > 0 ? (buffer - queue) / arrives : 0.0;
}

int64_t rsti_rate_period_ns(const rsti_rate_t *rate)
{
    return rsti_max_i64(rtt_of(rate), RSTI_FILL_PERIOD_NS);
}

static void tell_headroom(rsti_rate_t *rate)
{
    rate->margin = rsti_rate_headroom(rate->params.target_delay_ns, rate->params.detect_ns,
        buffer_of(rate), rtt_of(rate), rate->bytes_per_s);
}

static void init(rsti_rate_t *rate)
{
    if (!(rate->params.initial > 0)) {
        rsti_rate_set(rate, FIRST);
    }
    rate->state.adaptive = (rsti_rate_adaptive_t){.is_starting = true};
    rate->due_ns = rate->now_ns;
}

/* Goes to the smallest rate asked for. False: no receiver asks. */
static bool follow(rsti_rate_t *rate)
{
    const int64_t fresh_ns = rsti_fill_fresh_ns(rtt_of(rate));
    double least = -1;
    for (int32_t i = 0; i < rate->source_count; i++) {
        const rsti_rate_source_t *source = &rate->sources[i];
        if (!source->report.is_clear && rate->now_ns - source->heard_ns <= fresh_ns
            && (least < 0 || source->report.allowed < least)) {
            least = source->report.allowed;
        }
    }
    if (least >= 0) {
        rsti_rate_set(rate, least);
    }
    return least >= 0;
}

static int64_t growth_period_ns(const rsti_rate_t *rate)
{
    return rsti_max_i64(2 * rtt_of(rate), RSTI_FILL_PERIOD_NS);
}

/* The first step of the way back; on_step takes the others. */
static void jump_back(rsti_rate_t *rate, double jump)
{
    rsti_rate_adaptive_t *state = &rate->state.adaptive;
    const double seen = state->drain > rsti_rate_highest(rate) ? state->drain
                                                               : rsti_rate_highest(rate);
    state->before = state->before < PROVEN * seen ? state->before : PROVEN * seen;
    const double reached = jump < state->before ? jump : state->before;
    state->is_episode = false;
    state->jump = 0;
    state->back_to = state->before;
    rsti_rate_set(rate, reached > rate->bytes_per_s ? reached : rate->bytes_per_s);
    rate->due_ns = rate->now_ns + rsti_max_i64(rtt_of(rate), RSTI_NS_PER_MS);
}

static void on_clear(rsti_rate_t *rate, const rsti_fill_report_t *clear)
{
    const double free_bytes = rsti_clamp_double(1.0 - clear->fill, 0.0, 1.0)
        * (double)clear->buffer_bytes;
    const double steered_s = (double)rsti_max_i64(rate->params.target_delay_ns, rtt_of(rate)) / 1e9;
    const double room = rsti_clamp_double(free_bytes / 2.0, 0.0, 2.0 * clear->drain * steered_s);
    const double jump = clear->drain + room / reach_s(rtt_of(rate));
    rsti_rate_adaptive_t *state = &rate->state.adaptive;
    state->drain = clear->drain;
    if (!rate->params.is_group) {
        jump_back(rate, jump);
        return;
    }
    if (!(state->jump > 0)) {
        rate->due_ns = rate->now_ns + rtt_of(rate) + rsti_rate_period_ns(rate);
    }
    state->jump = state->jump > 0 && state->jump < jump ? state->jump : jump;
}

/* R_0 of an episode that begins now. */
static double aim_of(const rsti_rate_t *rate)
{
    const rsti_rate_adaptive_t *state = &rate->state.adaptive;
    if (state->is_starting && !(rate->params.initial > 0)) {
        return UNKNOWN;
    }
    return rate->bytes_per_s < state->back_to ? state->back_to : rate->bytes_per_s;
}

static void on_report(rsti_rate_t *rate, const rsti_fill_report_t *report)
{
    rsti_rate_adaptive_t *state = &rate->state.adaptive;
    if (!report->is_clear && !state->is_episode) {
        state->is_episode = true;
        state->before = aim_of(rate);
        state->back_to = 0;
        state->growths = 0;
        state->is_starting = false;
    }
    if (follow(rate)) {
        state->jump = 0;
        rate->due_ns = rate->now_ns + growth_period_ns(rate);
    } else if (report->is_clear && state->is_episode) {
        on_clear(rate, report);
    }
    (void)rsti_rate_take_use(rate);
    tell_headroom(rate);
}

static void begin(rsti_rate_t *rate)
{
    rsti_rate_adaptive_t *state = &rate->state.adaptive;
    if (rate->buffer_bytes == 0 && rate->sent_bytes == 0) {
        return; /* the next pass tries again, because due_ns has come */
    }
    state->has_begun = true;
    if (!(rate->params.initial > 0) && rate->buffer_bytes > 0) {
        const double half = (double)rate->buffer_bytes / 2.0 / reach_s(rtt_of(rate));
        const double safe = half > FIRST ? half : FIRST;
        /* By rsti_rate_set: a guess does not count for H. */
        rsti_rate_set(rate, rate->params.is_group ? safe : RSTI_RATE_MAX);
    }
}

static void grow(rsti_rate_t *rate)
{
    rsti_rate_adaptive_t *state = &rate->state.adaptive;
    if (state->is_starting) {
        rsti_rate_set(rate, 2.0 * rate->bytes_per_s);
    } else if (rate->bytes_per_s < state->back_to) {
        const double grown = BACK * rate->bytes_per_s;
        rsti_rate_set(rate, grown < state->back_to ? grown : state->back_to);
    } else {
        state->back_to = 0;
        const double growth = GROWTH * (double)(1 << state->growths);
        const double most = growth < GROWTH_MOST ? growth : GROWTH_MOST;
        rsti_rate_set(rate, (1.0 + most) * rate->bytes_per_s);
        state->growths += state->growths < GROWTHS_COUNTED;
    }
}

static int64_t next_step_ns(const rsti_rate_t *rate)
{
    const rsti_rate_adaptive_t *state = &rate->state.adaptive;
    if (state->is_starting) {
        return rsti_max_i64(2 * rtt_of(rate), rate->params.target_delay_ns);
    }
    return rate->bytes_per_s < state->back_to ? rsti_max_i64(rtt_of(rate), RSTI_NS_PER_MS)
                                              : growth_period_ns(rate);
}

static void on_step(rsti_rate_t *rate)
{
    rsti_rate_adaptive_t *state = &rate->state.adaptive;
    const double used = rsti_rate_take_use(rate);
    if (!state->has_begun && state->is_starting) {
        begin(rate);
        rate->due_ns = rate->now_ns + (state->has_begun ? next_step_ns(rate) : 0);
    } else if (follow(rate)) {
        rate->due_ns = rate->now_ns + growth_period_ns(rate);
    } else if (state->jump > 0) {
        jump_back(rate, state->jump);
    } else {
        state->is_episode = false;
        if (used >= rate->bytes_per_s / 2.0) {
            grow(rate);
        }
        rate->due_ns = rate->now_ns + next_step_ns(rate);
    }
    tell_headroom(rate);
}

const rsti_rate_law_t rsti_rate_adaptive = {
    .name = "adaptive",
    .init = init,
    .on_report = on_report,
    .on_step = on_step,
};
