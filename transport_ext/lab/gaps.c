/* gaps.c: see the header for the law. */
#include "lab/gaps.h"

#include "util/int_math.h"

#include <stddef.h>

void rsti_lab_gaps_append(rsti_lab_gaps_t *gaps, int64_t from, int64_t to, int64_t ask_ns)
{
    if (to <= from) {
        return;
    }
    rsti_lab_gap_t *last = gaps->count > 0 ? &gaps->gaps[gaps->count - 1] : NULL;
    if (last != NULL && (last->to >= from || gaps->count == RSTI_LAB_GAPS_MAX)) {
        last->to = to;
        return;
    }
    gaps->gaps[gaps->count++] = (rsti_lab_gap_t){from, to, ask_ns};
}

int64_t rsti_lab_gaps_remove(rsti_lab_gaps_t *gaps, int64_t from, int64_t to)
{
    rsti_lab_gaps_t left = {0};
    int64_t removed = 0;
    for (int32_t i = 0; i < gaps->count; i++) {
        const rsti_lab_gap_t gap = gaps->gaps[i];
        const int64_t begins = rsti_max_i64(gap.from, from);
        const int64_t ends = rsti_min_i64(gap.to, to);
        if (ends <= begins) {
            left.gaps[left.count++] = gap;
            continue;
        }
        const int32_t behind = gaps->count - i - 1;
        const int32_t parts = (gap.from < begins) + (ends < gap.to);
        if (parts == 2 && left.count + behind + 2 > RSTI_LAB_GAPS_MAX) {
            left.gaps[left.count++] = gap; /* no room for two: keep the whole gap */
            continue;
        }
        removed += ends - begins;
        if (gap.from < begins) {
            left.gaps[left.count++] = (rsti_lab_gap_t){gap.from, begins, gap.ask_ns};
        }
        if (ends < gap.to) {
            left.gaps[left.count++] = (rsti_lab_gap_t){ends, gap.to, gap.ask_ns};
        }
    }
    gaps->count = left.count;
    for (int32_t i = 0; i < left.count; i++) {
        gaps->gaps[i] = left.gaps[i];
    }
    return removed;
}
