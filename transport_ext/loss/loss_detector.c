/* loss_detector.c: the gaps of one term, each with the time at which it is asked for. */
#include "loss/loss_detector.h"

#include "util/clock.h"

#include <string.h>

void rsti_loss_detector_init(rsti_loss_detector_t *detector, const rsti_feedback_delay_t *delay,
    int32_t gap_capacity)
{
    RST_ASSERT(gap_capacity >= 1);
    RST_ASSERT(gap_capacity <= RSTI_LOSS_GAPS_MAX);
    memset(detector, 0, sizeof *detector);
    detector->gap_capacity = gap_capacity;
    detector->delay = *delay;
}

static bool is_same_gap(const rsti_gap_t *a, const rsti_gap_t *b)
{
    return a->term_id == b->term_id && a->term_offset == b->term_offset && a->length == b->length;
}

/* Tracks exactly the gaps of this scan; a gap that was known keeps its timer. */
static bool track(rsti_loss_detector_t *detector, const rsti_gap_t *gaps, int32_t gap_count,
    int64_t now_ns, rsti_rng_t *rng)
{
    rsti_tracked_gap_t tracked[RSTI_LOSS_GAPS_MAX];
    bool is_loss = false;
    int32_t known = 0;
    for (int32_t i = 0; i < gap_count; i++) {
        /* Both lists are in order of offset, so one that is passed by never comes again. */
        while (known < detector->gap_count
            && (detector->gaps[known].gap.term_id != gaps[i].term_id
                || detector->gaps[known].gap.term_offset < gaps[i].term_offset)) {
            known++;
        }
        tracked[i].gap = gaps[i];
        if (known < detector->gap_count && is_same_gap(&detector->gaps[known].gap, &gaps[i])) {
            tracked[i].due_ns = detector->gaps[known].due_ns;
        } else {
            tracked[i].due_ns = rsti_saturating_add_i64(now_ns,
                rsti_feedback_delay_next(&detector->delay, false, rng));
            is_loss = true;
        }
    }
    if (gap_count > 0) {
        memcpy(detector->gaps, tracked, (size_t)gap_count * sizeof tracked[0]);
    }
    detector->gap_count = gap_count;
    return is_loss;
}

static int64_t report_due(rsti_loss_detector_t *detector, int64_t now_ns, rsti_rng_t *rng,
    rsti_on_gap_t on_gap, void *arg)
{
    int64_t next_due_ns = RSTI_NO_DEADLINE;
    for (int32_t i = 0; i < detector->gap_count; i++) {
        rsti_tracked_gap_t *tracked = &detector->gaps[i];
        if (now_ns >= tracked->due_ns) {
            on_gap(arg, &tracked->gap);
            tracked->due_ns = rsti_saturating_add_i64(now_ns,
                rsti_feedback_delay_next(&detector->delay, true, rng));
        }
        next_due_ns = rsti_min_i64(next_due_ns, tracked->due_ns);
    }
    return next_due_ns;
}

int64_t rsti_loss_detector_scan(rsti_loss_detector_t *detector, const rsti_log_t *log,
    int64_t rebuild_position, int64_t hwm_position, int64_t now_ns, rsti_rng_t *rng,
    rsti_on_gap_t on_gap, void *arg, bool *loss_found, int64_t *next_due_ns)
{
    *loss_found = false;
    *next_due_ns = RSTI_NO_DEADLINE;
    if (rebuild_position < 0 || rebuild_position >= hwm_position) {
        detector->gap_count = 0;
        return rebuild_position;
    }
    const int32_t bits = log->position_bits;
    const int32_t offset = rsti_position_offset(rebuild_position, log->term_length);
    const int64_t term_begin = rebuild_position - offset;
    const int32_t limit = (int32_t)rsti_min_i64(hwm_position - term_begin, log->term_length);
    rsti_gap_t gaps[RSTI_LOSS_GAPS_MAX];
    int32_t contiguous;
    const int32_t gap_count =
        rsti_term_gap_scan_many(log->terms[rsti_position_index(rebuild_position, bits)],
            rsti_position_term_id(rebuild_position, bits, log->initial_term_id), offset, limit,
            log->term_length, &contiguous, gaps, detector->gap_capacity);
    *loss_found = track(detector, gaps, gap_count, now_ns, rng);
    *next_due_ns = report_due(detector, now_ns, rng, on_gap, arg);
    return term_begin + contiguous;
}
