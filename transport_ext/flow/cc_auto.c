/* cc_auto.c: the window follows what the readers drain in a round trip.
 *
 *     window = clamp(min(2 drain (rtt + pause) + 5/4 behind, 6 drain (rtt + pause)),
 *                    min(4 MTU, max_window), max_window)
 *
 *     drain    bytes per second that the readers take
 *     rtt      least round trip remembered
 *     pause    longest time for which the readers left data unread between two looks
 *     behind   most bytes that lay behind a gap
 *
 * Why 2: a status message leaves when a quarter of the window is consumed. A stream that only its
 * window holds drains at least 3/4 window / (rtt + pause), so each interval makes the window at
 * least 3/2 of what it was, until something else holds the stream. A slow reader gets a short
 * queue. A fast reader on a long path gets a window that fills the path.
 *
 * Why behind: what arrives during the repair of a gap lies in the window and cannot be consumed. A
 * stream that its window holds meanwhile fills all of it except what is in flight. The window then
 * grows by a quarter or more each time, until the longest repair fits in. From then on behind is
 * what arrived during that repair, whatever the window.
 *
 * Why at most 6: a queue on the path makes repairs longer, longer repairs make the window larger,
 * and the window makes the queue longer. Six allow four repairs of the same byte.
 *
 * It is measured over intervals of (smoothed round trip + pause), at least INTERVAL_MIN_NS. drain
 * and pause are the greatest of the last RSTI_AUTO_SAMPLES intervals that count:
 *   - An interval without consumption does not count: a reader that pauses finds its window as it
 *     was. What happens around a pause (data unread for longer than PAUSE_NS) is neither drain nor
 *     pause.
 *   - An interval in which the sender did not use its window counts only when it drained more than
 *     any other: a quiet publisher makes the window no smaller. The sender did not use it when it
 *     came no further than half a window below the limit of the interval's beginning.
 * behind is the greatest of the last RSTI_AUTO_SAMPLES intervals, whether they count or not.
 *
 * Changes of less than an eighth are not announced. Until a round trip is known the window stays.
 *
 * A window larger than drain * rtt makes a queue on the path. This queue becomes part of the round
 * trip once the older, shorter round trips are forgotten (rtt.h); then only max_window ends the
 * growth. */
#include "flow/congestion.h"

#include "util/int_math.h"

#define MARGIN 2.0
#define MARGIN_BEHIND 1.25
#define MOST 6.0
#define WINDOW_FIRST 131072
#define WINDOW_LEAST_DATAGRAMS 4
#define INTERVAL_MIN_NS INT64_C(1000000)
#define PAUSE_NS INT64_C(100000000)
#define NEVER INT64_MIN

static void init(rsti_congestion_t *congestion, const rsti_congestion_params_t *params)
{
    (void)params;
    congestion->is_measuring = true;
    congestion->window = rsti_min_i32(congestion->max_window, WINDOW_FIRST);
    congestion->state.automatic = (rsti_auto_t){.started_ns = NEVER, .waiting_ns = NEVER};
}

static void start_interval(rsti_congestion_t *congestion, const rsti_rebuild_facts_t *facts)
{
    rsti_auto_t *state = &congestion->state.automatic;
    state->started_ns = facts->now_ns;
    state->started_at = facts->consumed;
    state->started_limit = facts->last_sm_position + congestion->window;
    state->gap_ns = 0;
    state->behind = 0;
}

/* Notes how long data waited. False: the wait was a pause. */
static bool note_gap(rsti_auto_t *state, const rsti_rebuild_facts_t *facts)
{
    bool is_pause = false;
    if (facts->consumed > state->consumed) {
        const int64_t gap_ns = state->waiting_ns == NEVER ? 0 : facts->now_ns - state->waiting_ns;
        is_pause = gap_ns > PAUSE_NS;
        state->gap_ns = rsti_max_i64(state->gap_ns, gap_ns);
        state->consumed = facts->consumed;
        state->waiting_ns = NEVER;
    }
    if (state->waiting_ns == NEVER && facts->to > facts->consumed) {
        state->waiting_ns = facts->now_ns;
    }
    return !is_pause;
}

static double greatest_drain(const rsti_auto_t *state)
{
    double greatest = 0;
    for (int32_t i = 0; i < state->count; i++) {
        greatest = state->drains[i] > greatest ? state->drains[i] : greatest;
    }
    return greatest;
}

static int64_t longest_gap(const rsti_auto_t *state)
{
    int64_t longest = 0;
    for (int32_t i = 0; i < state->count; i++) {
        longest = rsti_max_i64(longest, state->gaps[i]);
    }
    return longest;
}

static int64_t most_behind(const rsti_auto_t *state)
{
    int64_t most = 0;
    for (int32_t i = 0; i < RSTI_AUTO_SAMPLES; i++) {
        most = rsti_max_i64(most, state->behinds[i]);
    }
    return most;
}

/* At the end of an interval. True when it changed the maxima. */
static bool note_behind(rsti_auto_t *state)
{
    const int64_t before = most_behind(state);
    state->behinds[state->next_behind] = state->behind;
    state->next_behind = (state->next_behind + 1) % RSTI_AUTO_SAMPLES;
    return most_behind(state) != before;
}

/* False: the interval does not count. */
static bool take_sample(rsti_congestion_t *congestion, const rsti_rebuild_facts_t *facts)
{
    rsti_auto_t *state = &congestion->state.automatic;
    const int64_t bytes = facts->consumed - state->started_at;
    const double drain = (double)bytes * 1e9 / (double)(facts->now_ns - state->started_ns);
    const bool is_used = facts->hwm >= state->started_limit - congestion->window / 2;
    if (bytes <= 0 || (!is_used && drain <= greatest_drain(state))) {
        return false;
    }
    state->drains[state->next] = drain;
    state->gaps[state->next] = state->gap_ns;
    state->next = (state->next + 1) % RSTI_AUTO_SAMPLES;
    state->count = rsti_min_i32(state->count + 1, RSTI_AUTO_SAMPLES);
    return true;
}

static void set_window(rsti_congestion_t *congestion, int64_t rtt_least_ns)
{
    const rsti_auto_t *state = &congestion->state.automatic;
    const double reach_ns = (double)(rtt_least_ns + longest_gap(state));
    const double reach = greatest_drain(state) * reach_ns / 1e9;
    const double behind = MARGIN_BEHIND * (double)most_behind(state);
    const double wanted = MARGIN * reach + behind < MOST * reach ? MARGIN * reach + behind
                                                                 : MOST * reach;
    const int32_t most = congestion->max_window;
    const int32_t least = (int32_t)rsti_min_i64((int64_t)WINDOW_LEAST_DATAGRAMS * congestion->mtu,
        most);
    const int32_t target = wanted >= most ? most : wanted <= least ? least : (int32_t)wanted;
    const int32_t step = congestion->window / 8;
    const bool is_at_end = target == most || target == least;
    if (is_at_end || target > congestion->window + step || target < congestion->window - step) {
        congestion->window = target;
    }
}

static int32_t on_rebuild(rsti_congestion_t *congestion, const rsti_rebuild_facts_t *facts,
    bool *force_sm)
{
    rsti_auto_t *state = &congestion->state.automatic;
    *force_sm = false;
    congestion->rtt_ns = facts->rtt_ns;
    if (state->started_ns == NEVER) {
        state->consumed = facts->consumed;
    }
    if (!note_gap(state, facts) || state->started_ns == NEVER) {
        start_interval(congestion, facts);
        return congestion->window;
    }
    state->behind = rsti_max_i64(state->behind, facts->hwm - facts->to);
    const int64_t interval_ns = rsti_max_i64(facts->rtt_ns + longest_gap(state), INTERVAL_MIN_NS);
    if (facts->rtt_ns > 0 && facts->now_ns >= state->started_ns + interval_ns) {
        const bool is_other_behind = note_behind(state);
        if (take_sample(congestion, facts) || is_other_behind) {
            set_window(congestion, facts->rtt_least_ns);
        }
        start_interval(congestion, facts);
    }
    return congestion->window;
}

const rsti_congestion_law_t rsti_congestion_auto = {
    .name = "auto",
    .rtt_counter = "rcv-cc-auto-rtt",
    .window_counter = "rcv-cc-auto-wnd",
    .init = init,
    .on_rebuild = on_rebuild,
};
