/* repair.c: see the header for the laws. */
#include "loss/repair.h"

#include "util/clock.h"

#include <string.h>

#define BACK_OFF_MAX 20
#define LINGER_MIN_NS INT64_C(50000)
#define RETRY_DEVIATIONS 4
#define OVERTAKEN_SHARE 16

void rsti_repair_init(rsti_repair_t *repair, int64_t position, int32_t term_length,
    int64_t delay_ns)
{
    RST_ASSERT(position >= 0);
    RST_ASSERT(delay_ns >= 0);
    repair->gap_count = 0;
    repair->term_length = term_length;
    repair->known = position;
    repair->unscanned = INT64_MAX;
    repair->delay_ns = delay_ns;
    repair->reorder_ns = 0;
    repair->answered_ns = 0;
    repair->last_ns = 0;
    repair->next_due_ns = RSTI_NO_DEADLINE;
    rsti_repair_on_rtt(repair, RSTI_REPAIR_RTT_GUESS_NS, 0, 0);
}

void rsti_repair_on_rtt(rsti_repair_t *repair, int64_t smoothed_ns, int64_t deviation_ns,
    int64_t least_ns)
{
    const int64_t retry_ns = smoothed_ns
        + rsti_min_i64(smoothed_ns / 4 + RETRY_DEVIATIONS * deviation_ns, 2 * smoothed_ns);
    repair->retry_ns = rsti_max_i64(retry_ns, RSTI_REPAIR_RETRY_MIN_NS);
    repair->least_rtt_ns = least_ns;
    repair->reorder_max_ns = smoothed_ns / 2;
    repair->reorder_ns = rsti_min_i64(repair->reorder_ns, repair->reorder_max_ns);
}

int64_t rsti_repair_linger_ns(int64_t rtt_ns)
{
    return rsti_min_i64(rsti_max_i64(rtt_ns - rtt_ns / 8, LINGER_MIN_NS), RSTI_REPAIR_RETRY_MAX_NS);
}

/* First gap that ends behind the position; gap_count when there is none. */
static int32_t find(const rsti_repair_t *repair, int64_t position)
{
    int32_t low = 0, high = repair->gap_count;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (repair->gaps[middle].end <= position) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void remove_gap(rsti_repair_t *repair, int32_t at)
{
    repair->gap_count--;
    memmove(&repair->gaps[at], &repair->gaps[at + 1],
        (size_t)(repair->gap_count - at) * sizeof repair->gaps[0]);
}

/* A full list drops its last gap; gaps from there on are looked for later. */
static bool insert_gap(rsti_repair_t *repair, int32_t at, rsti_repair_gap_t gap)
{
    if (repair->gap_count == RSTI_REPAIR_GAPS_MAX) {
        if (at == repair->gap_count) {
            repair->unscanned = rsti_min_i64(repair->unscanned, gap.begin);
            return false;
        }
        repair->gap_count--;
        repair->unscanned = rsti_min_i64(repair->unscanned, repair->gaps[repair->gap_count].begin);
    }
    memmove(&repair->gaps[at + 1], &repair->gaps[at],
        (size_t)(repair->gap_count - at) * sizeof repair->gaps[0]);
    repair->gaps[at] = gap;
    repair->gap_count++;
    return true;
}

/* Lets the last gap grow if it ends at begin, at most to the end of its term. It may end inside a
 * frame, because a window may end there, and a NAK must begin with a frame. Returns where the rest
 * begins. */
static int64_t grow_last(rsti_repair_t *repair, int64_t begin, int64_t end, int64_t first_ns)
{
    if (repair->gap_count == 0 || begin % repair->term_length == 0) {
        return begin;
    }
    rsti_repair_gap_t *last = &repair->gaps[repair->gap_count - 1];
    if (last->end != begin) {
        return begin;
    }
    const int64_t term_end = (begin / repair->term_length + 1) * repair->term_length;
    last->end = rsti_min_i64(end, term_end);
    last->due_ns = rsti_min_i64(last->due_ns, first_ns);
    repair->next_due_ns = rsti_min_i64(repair->next_due_ns, first_ns);
    return last->end;
}

static void append(rsti_repair_t *repair, int64_t begin, int64_t end, int64_t now_ns)
{
    const int64_t first_ns = rsti_saturating_add_i64(now_ns,
        rsti_max_i64(repair->delay_ns, repair->reorder_ns));
    begin = grow_last(repair, begin, end, first_ns);
    while (begin < end) {
        const int64_t term_end = (begin / repair->term_length + 1) * repair->term_length;
        const rsti_repair_gap_t gap = {
            .begin = begin,
            .end = rsti_min_i64(end, term_end),
            .found_ns = now_ns,
            .due_ns = first_ns,
        };
        if (!insert_gap(repair, repair->gap_count, gap)) {
            return;
        }
        repair->next_due_ns = rsti_min_i64(repair->next_due_ns, first_ns);
        begin = gap.end;
    }
}

/* Learns from a closed gap whether its data was lost or late. */
static void learn(rsti_repair_t *repair, const rsti_repair_gap_t *gap, int64_t now_ns)
{
    if (gap->asked_count == 0 || now_ns - gap->asked_ns < repair->least_rtt_ns / 2) {
        const int64_t late_ns = now_ns - gap->found_ns;
        repair->reorder_ns = rsti_min_i64(repair->reorder_max_ns,
            rsti_max_i64(repair->reorder_ns, late_ns + late_ns / 4));
        return;
    }
    repair->reorder_ns -= repair->reorder_ns / 16;
    if (gap->asked_ns > repair->answered_ns) {
        repair->answered_ns = gap->asked_ns;
        repair->next_due_ns = rsti_min_i64(repair->next_due_ns, now_ns);
    }
}

/* Removes [begin, end) from the gap at index; returns the index of the next gap. */
static int32_t cut(rsti_repair_t *repair, int32_t at, int64_t begin, int64_t end)
{
    rsti_repair_gap_t *gap = &repair->gaps[at];
    const bool is_front_left = begin > gap->begin;
    const bool is_back_left = end < gap->end;
    if (is_front_left && is_back_left) {
        rsti_repair_gap_t back = *gap;
        back.begin = end;
        gap->end = begin;
        (void)insert_gap(repair, at + 1, back);
        return at + 2;
    }
    if (is_front_left) {
        gap->end = begin;
        return at + 1;
    }
    if (is_back_left) {
        gap->begin = end;
        return at + 1;
    }
    remove_gap(repair, at);
    return at;
}

static bool close_gaps(rsti_repair_t *repair, int64_t begin, int64_t end, int64_t now_ns)
{
    bool is_closed = false;
    int32_t at = find(repair, begin);
    while (at < repair->gap_count && repair->gaps[at].begin < end) {
        if (!is_closed) {
            learn(repair, &repair->gaps[at], now_ns);
        }
        is_closed = true;
        at = cut(repair, at, begin, end);
    }
    if (repair->gap_count == 0) {
        repair->next_due_ns = RSTI_NO_DEADLINE;
    }
    return is_closed;
}

bool rsti_repair_on_data(rsti_repair_t *repair, int64_t begin, int64_t end, int64_t now_ns)
{
    RST_ASSERT(begin <= end);
    bool is_closed = false;
    repair->last_ns = now_ns;
    if (begin < repair->known && repair->gap_count > 0) {
        is_closed = close_gaps(repair, begin, end, now_ns);
    } else if (begin > repair->known && repair->unscanned == INT64_MAX) {
        append(repair, repair->known, begin, now_ns);
    }
    repair->known = rsti_max_i64(repair->known, end);
    return is_closed;
}

static int64_t backed_off_ns(int64_t wait_ns, int32_t asked_count)
{
    const int32_t doublings = rsti_max_i32(asked_count - RSTI_REPAIR_PATIENT, 0);
    return rsti_min_i64(wait_ns << doublings, RSTI_REPAIR_RETRY_MAX_NS);
}

/* When the next NAK for the gap is due, as far as is known now. */
static int64_t due_ns(const rsti_repair_t *repair, const rsti_repair_gap_t *gap)
{
    if (gap->asked_count == 0 || repair->least_rtt_ns == 0) {
        return gap->due_ns;
    }
    const int64_t overtaken_ns = repair->answered_ns
        - rsti_max_i64(repair->least_rtt_ns / OVERTAKEN_SHARE, repair->reorder_ns);
    if (gap->asked_ns < overtaken_ns) {
        return INT64_MIN;
    }
    const int64_t silence_ns = rsti_max_i64(2 * repair->least_rtt_ns, RSTI_REPAIR_RETRY_MIN_NS);
    return rsti_min_i64(gap->due_ns,
        rsti_max_i64(gap->asked_ns, repair->last_ns) + backed_off_ns(silence_ns, gap->asked_count));
}

void rsti_repair_ask(rsti_repair_t *repair, int64_t now_ns, rsti_repair_ask_t ask, void *arg)
{
    if (now_ns < repair->next_due_ns) {
        return;
    }
    repair->next_due_ns = RSTI_NO_DEADLINE;
    for (int32_t i = 0; i < repair->gap_count; i++) {
        rsti_repair_gap_t *gap = &repair->gaps[i];
        if (now_ns >= due_ns(repair, gap)) {
            ask(arg, gap->begin, gap->end, gap->asked_count == 0);
            gap->asked_count += gap->asked_count < BACK_OFF_MAX;
            gap->asked_ns = now_ns;
            gap->due_ns = rsti_saturating_add_i64(now_ns,
                backed_off_ns(repair->retry_ns, gap->asked_count));
        }
        repair->next_due_ns = rsti_min_i64(repair->next_due_ns, due_ns(repair, gap));
    }
}

void rsti_repair_scan(rsti_repair_t *repair, const rsti_log_t *log, int64_t now_ns)
{
    while (repair->unscanned < repair->known && repair->gap_count <= RSTI_REPAIR_GAPS_MAX / 2) {
        const int64_t from = repair->unscanned;
        const int32_t offset = rsti_position_offset(from, log->term_length);
        const int64_t term_begin = from - offset;
        rsti_gap_t gaps[RSTI_REPAIR_GAPS_MAX / 2];
        int32_t contiguous;
        const int32_t count =
            rsti_term_gap_scan_many(log->terms[rsti_position_index(from, log->position_bits)], 0,
                offset, (int32_t)rsti_min_i64(repair->known - term_begin, log->term_length),
                log->term_length, &contiguous, gaps, RSTI_REPAIR_GAPS_MAX / 2);
        repair->unscanned = INT64_MAX;
        for (int32_t i = 0; i < count; i++) {
            const int64_t begin = term_begin + gaps[i].term_offset;
            append(repair, begin, begin + gaps[i].length, now_ns);
        }
        /* fewer gaps than asked for: the term has no more */
        const int64_t scanned = count < RSTI_REPAIR_GAPS_MAX / 2
            ? term_begin + log->term_length
            : term_begin + gaps[count - 1].term_offset + gaps[count - 1].length;
        repair->unscanned = scanned < repair->known ? scanned : INT64_MAX;
    }
}
