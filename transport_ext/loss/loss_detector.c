/* loss_detector.c: the first gap of a term, and the time of its next NAK. */
#include "loss/loss_detector.h"

#include "util/clock.h"

void rsti_loss_detector_init(rsti_loss_detector_t *detector, const rsti_feedback_delay_t *delay)
{
    *detector = (rsti_loss_detector_t){.delay = *delay};
}

static bool is_same_gap(const rsti_gap_t *a, const rsti_gap_t *b)
{
    return a->term_id == b->term_id && a->term_offset == b->term_offset && a->length == b->length;
}

/* A known gap keeps its timer. True: the gap is new. */
static bool track(rsti_loss_detector_t *detector, const rsti_gap_t *gap, int64_t now_ns,
    rsti_rng_t *rng)
{
    if (detector->has_gap && is_same_gap(&detector->gap, gap)) {
        return false;
    }
    detector->has_gap = true;
    detector->gap = *gap;
    detector->due_ns = rsti_saturating_add_i64(now_ns,
        rsti_feedback_delay_next(&detector->delay, false, rng));
    return true;
}

int64_t rsti_loss_detector_scan(rsti_loss_detector_t *detector, const rsti_log_t *log,
    int64_t rebuild_position, int64_t hwm_position, int64_t now_ns, rsti_rng_t *rng,
    rsti_on_gap_t on_gap, void *arg, bool *loss_found, int64_t *next_due_ns)
{
    *loss_found = false;
    *next_due_ns = RSTI_NO_DEADLINE;
    if (rebuild_position < 0 || rebuild_position >= hwm_position) {
        detector->has_gap = false;
        return rebuild_position;
    }
    const int32_t bits = log->position_bits;
    const int32_t offset = rsti_position_offset(rebuild_position, log->term_length);
    const int64_t term_begin = rebuild_position - offset;
    const int32_t limit = (int32_t)rsti_min_i64(hwm_position - term_begin, log->term_length);
    rsti_gap_t gap;
    int32_t contiguous;
    if (!rsti_term_gap_scan(log->terms[rsti_position_index(rebuild_position, bits)],
            rsti_position_term_id(rebuild_position, bits, log->initial_term_id), offset, limit,
            log->term_length, &contiguous, &gap)) {
        detector->has_gap = false;
        return term_begin + contiguous;
    }
    *loss_found = track(detector, &gap, now_ns, rng);
    if (now_ns >= detector->due_ns) {
        on_gap(arg, &detector->gap);
        detector->due_ns = rsti_saturating_add_i64(now_ns,
            rsti_feedback_delay_next(&detector->delay, true, rng));
    }
    *next_due_ns = detector->due_ns;
    return term_begin + contiguous;
}
