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
}

static void end_turn(rsti_reader_window_t *reader)
{
    const int64_t taken = rsti_min_i64(reader->consumed - reader->turn_at, RSTI_BUFFER_MAX);
    const int64_t left = reader->produced - reader->consumed;
    reader->has_turn = false;
    if (left < taken) {
        reader->opened = rsti_max_i64(reader->opened + (left <= 0 ? taken : 0), 2 * taken);
        return;
    }
    reader->turn = rsti_max_i64(taken, reader->turn - (reader->turn - taken) / RSTI_READER_TURNS);
    reader->opened = 2 * reader->turn;
}

static void note(rsti_reader_window_t *reader, int64_t before, int64_t turn_ns)
{
    if (!reader->has_turn && reader->consumed > before) {
        reader->has_turn = true;
        reader->turn_ends_ns = reader->now_ns + turn_ns;
        reader->turn_at = before;
    } else if (reader->has_turn && reader->now_ns >= reader->turn_ends_ns) {
        end_turn(reader);
    }
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
    if (consumed < reader->consumed) {
        reader->has_turn = false; /* another reader counts: nothing is known of its turns */
        reader->turn = 0;
    }
    const int64_t before = rsti_min_i64(reader->consumed, consumed);
    reader->now_ns = rsti_later_ns(reader->now_ns, facts->now_ns);
    if (consumed != reader->consumed || produced != reader->produced) {
        reader->due_ns = reader->now_ns + turn_ns;
    } else if (reader->now_ns >= reader->due_ns) {
        reader->due_ns = RSTI_NO_DEADLINE;
    }
    reader->produced = produced;
    reader->consumed = consumed;
    note(reader, before, turn_ns);
    if (facts->may_fill && facts->is_stopped) {
        reader->opened = most;
    }
    reader->opened = rsti_min_i64(reader->opened, most);
    const int64_t least = 2 * rsti_clamp_i64(facts->largest, 1, RSTI_BUFFER_MAX);
    return rsti_min_i64(rsti_max_i64(reader->opened, least), most);
}

int64_t rsti_reader_window_wake_position(const rsti_reader_window_t *reader)
{
    return reader->due_ns < RSTI_NO_DEADLINE ? INT64_MAX : reader->consumed + 1;
}

int64_t rsti_reader_window_due_ns(const rsti_reader_window_t *reader)
{
    return reader->due_ns;
}
