/* loss_detector.h: the known gap of an image and when to ask for it again
 * (docs/reference/aeron/wire.md 9.1, 9.2), by Aeron's rule: only the first gap is tracked. A gap
 * that differs in term, offset or length is a new one. A NAK goes out when its timer is due, and
 * the timer is set again by the retry delay. Streams between rstream peers are repaired by
 * loss/repair.h, which tracks many. Pure. */
#ifndef RSTI_LOSS_LOSS_DETECTOR_H
#define RSTI_LOSS_LOSS_DETECTOR_H

#include "logbuffer/rebuilder.h"
#include "loss/feedback_delay.h"
#include "util/rng.h"

typedef struct rsti_loss_detector_t {
    bool has_gap;
    rsti_gap_t gap;
    int64_t due_ns;
    rsti_feedback_delay_t delay;
} rsti_loss_detector_t;

void rsti_loss_detector_init(rsti_loss_detector_t *detector, const rsti_feedback_delay_t *delay);

typedef void (*rsti_on_gap_t)(void *arg, const rsti_gap_t *gap);
/* One scan of [rebuild_position, hwm_position). Returns the end of contiguous data. on_gap is
 * called if the gap's timer is due; *loss_found: the gap is a new one; *next_due_ns: its timer,
 * RSTI_NO_DEADLINE when there is no gap. */
int64_t rsti_loss_detector_scan(rsti_loss_detector_t *detector, const rsti_log_t *log,
    int64_t rebuild_position, int64_t hwm_position, int64_t now_ns, rsti_rng_t *rng,
    rsti_on_gap_t on_gap, void *arg, bool *loss_found, int64_t *next_due_ns);

#endif
