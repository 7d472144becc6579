/* standstill.c: see the header for the law. */
#include "flow/standstill.h"

#include "flow/fill.h"

#include <stddef.h>

#define HELD_REACHES 2
#define EARNED_PART 6

void rsti_standstill_init(rsti_standstill_t *standstill, int64_t now_ns)
{
    const int64_t begins_ns = rsti_later_ns(-RSTI_TIME_MAX_NS, now_ns);
    *standstill = (rsti_standstill_t){
        .now_ns = begins_ns,
        .left_ns = RSTI_STANDSTILL_MOST_NS,
        .until_ns = begins_ns,
    };
}

static void pass_time(rsti_standstill_t *standstill, int64_t now_ns)
{
    const int64_t until_ns = rsti_later_ns(standstill->now_ns, now_ns);
    const int64_t passed_ns = until_ns - standstill->now_ns;
    const int64_t left_ns = standstill->is_holding ? standstill->left_ns - passed_ns
                                                   : standstill->left_ns + passed_ns / EARNED_PART;
    standstill->left_ns = rsti_clamp_i64(left_ns, -RSTI_STANDSTILL_MOST_NS,
        RSTI_STANDSTILL_MOST_NS);
    standstill->now_ns = until_ns;
}

void rsti_standstill_on_report(rsti_standstill_t *standstill, const rsti_fill_truth_t *truth,
    const rsti_fill_report_t *report, int64_t now_ns)
{
    rsti_fill_report_t cleaned = *report;
    rsti_fill_report_clean(&cleaned);
    pass_time(standstill, now_ns);
    const rsti_truth_source_t *source = rsti_fill_truth_find(truth, cleaned.receiver_id);
    if (cleaned.is_clear || cleaned.allowed > 0 || source == NULL
        || source->moved_ns == INT64_MIN) {
        return;
    }
    const int64_t reach_ns = cleaned.rtt_ns + rsti_max_i64(cleaned.rtt_ns, RSTI_FILL_PERIOD_NS);
    if (standstill->now_ns - source->moved_ns >= reach_ns) {
        standstill->until_ns = standstill->now_ns
            + rsti_max_i64(HELD_REACHES * reach_ns, RSTI_STANDSTILL_HELD_NS);
    }
}

int64_t rsti_standstill_limit(rsti_standstill_t *standstill, const rsti_fill_truth_t *truth,
    int64_t position, int64_t limit, int32_t mtu, int64_t now_ns)
{
    pass_time(standstill, now_ns);
    standstill->is_holding = false;
    if (standstill->now_ns >= standstill->until_ns || standstill->left_ns <= 0) {
        return limit;
    }
    int64_t least = limit;
    for (int32_t i = 0; i < truth->source_count; i++) {
        const rsti_truth_source_t *source = &truth->sources[i];
        if (source->moved_ns != INT64_MIN
            && standstill->now_ns - source->heard_ns < RSTI_STANDSTILL_HEARD_NS) {
            least = rsti_min_i64(least, source->consumed + source->window);
        }
    }
    standstill->is_holding = least < limit && least - mtu < position;
    return standstill->is_holding ? rsti_min_i64(position, limit) : least;
}

int64_t rsti_standstill_due_ns(const rsti_standstill_t *standstill)
{
    return rsti_min_i64(standstill->until_ns,
        standstill->now_ns + rsti_max_i64(standstill->left_ns, 0));
}
