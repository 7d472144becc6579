/* overrun.c: see overrun.h. */
#include "loss/overrun.h"

#include "util/int_math.h"

static int64_t mark_at(const rsti_overrun_t *overrun, int64_t index)
{
    return overrun->marks[index % RSTI_OVERRUN_MARKS];
}

int64_t rsti_overrun_on_data(rsti_overrun_t *overrun, int64_t begin, int64_t end,
    bool begins_message, int32_t term_length)
{
    const int64_t ahead = begin - overrun->end;
    if (overrun->in_row > 0 && ahead < 0 && ahead >= -(int64_t)term_length / 8) {
        return overrun->in_row >= RSTI_OVERRUN_PROOF ? overrun->end : -1; /* it came late */
    }
    if (overrun->in_row == 0 || ahead < 0 || ahead > term_length / 8) {
        overrun->in_row = 0;
        overrun->mark_count = 0;
    }
    overrun->in_row += overrun->in_row < RSTI_OVERRUN_PROOF;
    overrun->end = end;
    if (begins_message
        && (overrun->mark_count == 0
            || begin - mark_at(overrun, overrun->mark_count - 1)
                >= term_length / RSTI_OVERRUN_MARKS)) {
        overrun->marks[overrun->mark_count++ % RSTI_OVERRUN_MARKS] = begin;
    }
    return overrun->in_row >= RSTI_OVERRUN_PROOF ? end : -1;
}

bool rsti_overrun_is_lost(int64_t received, int64_t sent, int32_t history)
{
    return sent >= 0 && received < sent - history;
}

int64_t rsti_overrun_goes_on_at(const rsti_overrun_t *overrun, int32_t history, int32_t tries)
{
    if (overrun->in_row < RSTI_OVERRUN_PROOF || overrun->mark_count == 0) {
        return -1;
    }
    const int64_t bottom = overrun->end - history;
    const int64_t newest = mark_at(overrun, overrun->mark_count - 1);
    if (newest < bottom || newest < 0) {
        return -1;
    }
    const int64_t from = tries < RSTI_OVERRUN_TRIES_MAX ? bottom + ((int64_t)(history / 8) << tries)
                                                        : INT64_MAX;
    const int64_t first = rsti_max_i64(overrun->mark_count - RSTI_OVERRUN_MARKS, 0);
    for (int64_t i = first; i < overrun->mark_count; i++) {
        if (mark_at(overrun, i) >= from) {
            return mark_at(overrun, i);
        }
    }
    return newest;
}

int32_t rsti_overrun_next_tries(int32_t tries, int64_t began_sent, int64_t high_water,
    int32_t term_length)
{
    if (high_water - 2 * (int64_t)term_length >= began_sent) {
        return 0;
    }
    return rsti_min_i32(tries + 1, RSTI_OVERRUN_TRIES_MAX);
}
