/* ipc_rate.c: see ipc_rate.h. */
#include "driver/conductor/ipc_rate.h"

#include "concurrent/atomics.h"
#include "driver/conductor/reader_messages.h"
#include "util/clock.h"
#include "util/int_math.h"

#define LOOK_NS RSTI_NS_PER_MS
#define STEP_LEAST 4096

static void tell_one(int64_t *counter, int64_t value)
{
    if (counter != NULL) {
        rsti_store_changed_i64(counter, value);
    }
}

/* The counters that exist. Headroom stays 0: the window holds, so nothing can be overrun. */
static void tell(const rsti_ipc_rate_t *state, double bytes_per_s)
{
    tell_one(state->made.at.rate, (int64_t)bytes_per_s);
    tell_one(state->made.at.fill_naks, state->is_listening ? state->rate.report_count : 0);
}

/* Returns the first rate. */
static double begin(rsti_ipc_rate_t *state, const rsti_rate_choice_t *choice, int64_t position,
    int64_t now_ns)
{
    double bytes_per_s = rsti_allowance_rate(choice->law, &choice->params, state->mtu);
    state->is_listening = rsti_rate_law_listens(choice->law);
    if (state->is_listening) {
        rsti_rate_params_t params = choice->params;
        params.initial = params.initial > 0 ? params.initial : RSTI_RATE_MAX;
        params.floor_share = 0;
        params.now_ns = now_ns;
        rsti_rate_init(&state->rate, choice->law, &params);
        rsti_fill_init(&state->fill, params.target_delay_ns);
        state->began_at = position;
        bytes_per_s = state->rate.bytes_per_s;
    }
    tell(state, bytes_per_s);
    return bytes_per_s;
}

void rsti_ipc_rate_init(rsti_ipc_rate_t *state, const rsti_rate_choice_t *choice, int32_t mtu,
    int64_t position, int64_t now_ns)
{
    state->mtu = mtu;
    const double bytes_per_s = begin(state, choice, position, now_ns);
    rsti_allowance_init(&state->allowance, bytes_per_s, mtu, position, now_ns);
}

void rsti_ipc_rate_set(rsti_ipc_rate_t *state, const rsti_rate_choice_t *choice, int64_t position,
    int64_t now_ns)
{
    const double bytes_per_s = begin(state, choice, position, now_ns);
    rsti_allowance_set(&state->allowance, bytes_per_s, position, now_ns);
}

/* The reader's part: a report of the slowest reader, and the end of its overload. */
static void look_at_queue(rsti_ipc_rate_t *state, const rsti_ipc_rate_facts_t *facts)
{
    const rsti_fill_due_t due = rsti_fill_update(&state->fill,
        &(rsti_fill_facts_t){
            .now_ns = facts->now_ns,
            .received = facts->produced,
            .consumed = facts->consumed,
            .buffer_bytes = facts->window,
            .mtu = state->mtu,
            .largest = rsti_readers_message_bytes(facts->subscribers),
            .window_bytes = facts->window,
        });
    if (due == RSTI_FILL_QUIET) {
        return;
    }
    rsti_fill_report_t report;
    rsti_fill_report(&state->fill, state->fill.drain, due == RSTI_FILL_CLEAR, &report);
    if (due == RSTI_FILL_REPORT) {
        rsti_fill_on_sent(&state->fill);
    }
    rsti_rate_on_report(&state->rate, &report, facts->now_ns);
}

int64_t rsti_ipc_rate_limit(rsti_ipc_rate_t *state, const rsti_ipc_rate_facts_t *facts)
{
    if (state->is_listening) {
        const double before = state->rate.bytes_per_s;
        state->has_moved = facts->produced != state->fill.received
            || facts->consumed != state->fill.consumed;
        look_at_queue(state, facts);
        (void)rsti_rate_on_cycle(&state->rate,
            &(rsti_rate_use_t){
                .now_ns = facts->now_ns,
                .sent_bytes = facts->produced - state->began_at,
                .buffer_bytes = facts->window,
            });
        if (state->rate.bytes_per_s != before) {
            rsti_allowance_set(&state->allowance, state->rate.bytes_per_s, facts->produced,
                facts->now_ns);
        }
        tell(state, state->rate.bytes_per_s);
    }
    return rsti_allowance_limit(&state->allowance, facts->produced, facts->now_ns);
}

int64_t rsti_ipc_rate_window(rsti_ipc_rate_t *state, const rsti_ipc_rate_facts_t *facts)
{
    state->is_reader_followed = facts->follows_reader && state->is_listening
        && !rsti_readers_set_aside(facts->subscribers);
    if (!state->is_reader_followed) {
        return facts->window;
    }
    return rsti_reader_window_update(&state->reader,
        &(rsti_reader_window_facts_t){
            .now_ns = facts->now_ns,
            .produced = facts->produced,
            .consumed = facts->consumed,
            .window = facts->window,
            .stopped = facts->window,
            .largest = rsti_readers_message_bytes(facts->subscribers),
            .first = state->mtu,
            .turn_ns = state->fill.target_delay_ns,
            .may_fill = facts->may_fill,
            .is_blocked = facts->is_blocked,
            .has_read = rsti_readers_have_read(facts->subscribers),
        });
}

bool rsti_ipc_rate_may_open(const rsti_ipc_rate_t *state, int64_t now_ns)
{
    return state->is_reader_followed && rsti_reader_window_may_open(&state->reader, now_ns);
}

bool rsti_ipc_rate_wants_refusal(const rsti_ipc_rate_t *state, int64_t window)
{
    return state->is_reader_followed && state->reader.opened < window
        && rsti_reader_window_due_ns(&state->reader) == RSTI_NO_DEADLINE;
}

void rsti_ipc_rate_on_alone(rsti_ipc_rate_t *state)
{
    state->is_reader_followed = false;
    rsti_reader_window_init(&state->reader);
}

static bool is_near(const rsti_fill_t *fill)
{
    return fill->is_reporting || fill->received - fill->consumed >= fill->set_point / 4;
}

int64_t rsti_ipc_rate_wake_position(const rsti_ipc_rate_t *state)
{
    const rsti_fill_t *fill = &state->fill;
    if (!state->is_listening) {
        return INT64_MAX;
    }
    const int64_t position = state->is_reader_followed
        ? rsti_reader_window_wake_position(&state->reader)
        : INT64_MAX;
    if (!is_near(fill)) {
        return position;
    }
    const int64_t in_look = (int64_t)rsti_clamp_double(fill->drain * (double)LOOK_NS / 1e9,
        STEP_LEAST, (double)RSTI_BUFFER_MAX);
    const int64_t step = rsti_max_i64(fill->set_point / 4, in_look);
    /* An empty queue ends an overload, however short the queue was: else the rate stays down. */
    const int64_t near = fill->is_reporting ? rsti_min_i64(fill->consumed + step, fill->received)
                                            : fill->consumed + step;
    return rsti_min_i64(position, near);
}

int64_t rsti_ipc_rate_due_ns(const rsti_ipc_rate_t *state, bool is_held)
{
    int64_t due_ns = is_held ? rsti_allowance_due_ns(&state->allowance) : RSTI_NO_DEADLINE;
    if (!state->is_listening) {
        return due_ns;
    }
    if (state->is_reader_followed) {
        due_ns = rsti_min_i64(due_ns, rsti_reader_window_due_ns(&state->reader));
    }
    if (is_held && state->has_moved) {
        due_ns = rsti_min_i64(due_ns, state->rate.due_ns);
    }
    /* While nothing moves, only a stall is news, once. */
    const rsti_fill_t *fill = &state->fill;
    if (is_near(fill) && (state->has_moved || !fill->was_stall_told)) {
        due_ns = rsti_min_i64(due_ns, rsti_max_i64(rsti_fill_due_ns(fill), fill->now_ns + LOOK_NS));
    }
    return due_ns;
}
