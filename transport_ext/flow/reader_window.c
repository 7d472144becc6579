/* reader_window.c: see reader_window.h. */
#include "flow/reader_window.h"

#include "flow/saturate.h"
#include "util/clock.h"

void rsti_reader_window_init(rsti_reader_window_t *reader)
{
    *reader = (rsti_reader_window_t){0};
}

static int64_t position(int64_t given)
{
    return rsti_clamp_i64(given, 0, RSTI_COUNT_MAX);
}

/* The next taking: when it is overdue. */
static void expect_taking(rsti_reader_window_t *reader, bool may_fill)
{
    const int64_t usual_ns = may_fill ? 0 : RSTI_READER_STOP_GAPS * reader->gap_ns;
    reader->waits_since_ns = reader->now_ns;
    reader->stop_ns = rsti_max_i64(RSTI_READER_STOP_NS, usual_ns);
    reader->opens_ns = rsti_later_ns(reader->now_ns, reader->now_ns + reader->stop_ns);
}

static void begin(rsti_reader_window_t *reader, const rsti_reader_window_facts_t *facts)
{
    *reader = (rsti_reader_window_t){
        .has_begun = true,
        .opened = facts->may_fill ? RSTI_BUFFER_MAX
                                  : rsti_clamp_i64(facts->first, 0, RSTI_BUFFER_MAX),
        .now_ns = rsti_later_ns(-RSTI_TIME_MAX_NS, facts->now_ns),
        .due_ns = RSTI_NO_DEADLINE,
        .produced = position(facts->produced),
        .consumed = position(facts->consumed),
    };
    expect_taking(reader, facts->may_fill);
}

static int64_t window_of(const rsti_reader_window_t *reader,
    const rsti_reader_window_facts_t *facts, int64_t most)
{
    const int64_t least = 2 * rsti_clamp_i64(facts->largest, 1, RSTI_BUFFER_MAX);
    return rsti_min_i64(rsti_max_i64(reader->opened, least), most);
}

/* most: what counts as taken, so that a window grows by steps. */
static void end_turn(rsti_reader_window_t *reader, int64_t most, int64_t whole)
{
    const int64_t all = reader->consumed - reader->turn_at;
    const int64_t taken = rsti_min_i64(all, rsti_min_i64(most, RSTI_BUFFER_MAX));
    const int64_t left = reader->produced - reader->consumed;
    reader->has_turn = false;
    if (left < all) {
        reader->turn = rsti_max_i64(taken, reader->turn);
        reader->opened = rsti_max_i64(reader->opened + (left <= 0 ? taken : 0), 2 * taken);
        reader->kept = left <= 0 ? rsti_min_i32(reader->kept + 1, RSTI_READER_KEPT) : 0;
        if (reader->kept == RSTI_READER_KEPT) {
            reader->opened = rsti_max_i64(reader->opened, whole);
        }
        return;
    }
    reader->kept = 0;
    reader->turn = rsti_max_i64(taken, reader->turn / 2);
    reader->opened = 2 * reader->turn;
}

static void note_turn(rsti_reader_window_t *reader, const rsti_reader_window_facts_t *facts,
    int64_t before, int64_t turn_ns, int64_t window)
{
    if (!reader->has_turn && reader->consumed > before) {
        reader->has_turn = true;
        reader->turn_ends_ns = reader->now_ns + turn_ns;
        reader->turn_at = before;
    } else if (reader->has_turn
        && (reader->now_ns >= reader->turn_ends_ns
            || reader->consumed - reader->turn_at >= RSTI_READER_MANY * window)) {
        end_turn(reader, turn_ns > RSTI_READER_TURN_NS ? 2 * window : window,
            rsti_clamp_i64(facts->stopped, 0, RSTI_BUFFER_MAX));
    }
}

/* Without data there is nothing to take, so that time is no wait; nor is that before the first
 * taking, because its program may have had other work to begin with. */
static void note_wait(rsti_reader_window_t *reader, bool had_data, bool has_taken, bool may_fill)
{
    const int64_t waited_ns = rsti_min_i64(reader->now_ns - reader->waits_since_ns,
        RSTI_TIME_MAX_NS / RSTI_READER_STOP_GAPS / RSTI_READER_BLOCKED);
    if (has_taken && had_data && reader->has_taken) {
        reader->gap_ns = rsti_max_i64(waited_ns,
            reader->gap_ns - (reader->gap_ns - waited_ns) / RSTI_READER_WAITS);
    }
    reader->has_taken = reader->has_taken || has_taken;
    if (has_taken || !had_data) {
        expect_taking(reader, may_fill);
    }
}

/* Returns the window. */
static int64_t open_if_stopped(rsti_reader_window_t *reader,
    const rsti_reader_window_facts_t *facts, int64_t most)
{
    const int64_t end = facts->may_fill ? most : rsti_clamp_i64(facts->stopped, 0, most);
    const int64_t left = reader->produced - reader->consumed;
    const int64_t window = window_of(reader, facts, most);
    const int64_t frame = rsti_clamp_i64(facts->frame, 0, RSTI_BUFFER_MAX);
    reader->holds = left > 0 && window < end && (left >= window / 2 || left > window - frame);
    if (!reader->holds || reader->now_ns < reader->opens_ns) {
        return window;
    }
    reader->opens_ns = rsti_later_ns(reader->now_ns, reader->now_ns + reader->stop_ns);
    const bool doubles = (reader->has_taken || facts->has_read) && !facts->may_fill;
    const int64_t patience = !doubles ? 1
        : !reader->has_taken          ? RSTI_READER_STOP_GAPS
        : facts->is_blocked           ? RSTI_READER_BLOCKED
                                      : 1;
    if (reader->now_ns - reader->waits_since_ns < patience * reader->stop_ns) {
        return window;
    }
    const int64_t more = rsti_max_i64(2 * window, rsti_clamp_i64(facts->first, 0, RSTI_BUFFER_MAX));
    reader->opened = doubles ? rsti_min_i64(more, end) : end;
    reader->holds = left >= reader->opened / 2 && reader->opened < end;
    return window_of(reader, facts, most);
}

int64_t rsti_reader_window_update(rsti_reader_window_t *reader,
    const rsti_reader_window_facts_t *facts)
{
    const int64_t most = rsti_clamp_i64(facts->window, 0, RSTI_BUFFER_MAX);
    const int64_t turn_ns = rsti_clamp_i64(facts->turn_ns, RSTI_READER_TURN_NS,
        RSTI_READER_TURN_MOST_NS);
    if (!reader->has_begun) {
        begin(reader, facts);
    }
    const int64_t produced = position(facts->produced), consumed = position(facts->consumed);
    const bool is_another = consumed < reader->consumed;
    if (is_another) {
        reader->has_turn = false; /* nothing is known of its turns */
        reader->turn = 0;
        reader->gap_ns = 0;
        reader->has_taken = false;
    }
    const int64_t before = rsti_min_i64(reader->consumed, consumed);
    const bool had_data = reader->produced > reader->consumed && !is_another;
    reader->now_ns = rsti_later_ns(reader->now_ns, facts->now_ns);
    const bool has_moved = consumed != reader->consumed || produced != reader->produced;
    reader->produced = produced;
    reader->consumed = consumed;
    note_wait(reader, had_data, consumed > before, facts->may_fill);
    note_turn(reader, facts, before, turn_ns, window_of(reader, facts, most));
    reader->opened = rsti_min_i64(reader->opened, most);
    if (has_moved) {
        const bool is_quiet = produced <= consumed && reader->opened >= facts->stopped;
        reader->due_ns = reader->now_ns + (is_quiet ? RSTI_READER_QUIET_NS : turn_ns);
    } else if (reader->now_ns >= reader->due_ns) {
        reader->due_ns = RSTI_NO_DEADLINE;
    }
    return open_if_stopped(reader, facts, most);
}

bool rsti_reader_window_may_open(const rsti_reader_window_t *reader, int64_t now_ns)
{
    return reader->holds && reader->has_taken && now_ns >= reader->opens_ns;
}

int64_t rsti_reader_window_wake_position(const rsti_reader_window_t *reader)
{
    return reader->due_ns < RSTI_NO_DEADLINE ? INT64_MAX : reader->consumed + 1;
}

int64_t rsti_reader_window_due_ns(const rsti_reader_window_t *reader)
{
    return reader->holds ? rsti_min_i64(reader->due_ns, reader->opens_ns) : reader->due_ns;
}
