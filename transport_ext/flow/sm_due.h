/* sm_due.h: when the conductor schedules a status message for an image
 * (docs/reference/aeron/wire.md 8.2).
 *
 * With p the position and w the window of the last one, c what the slowest local reader has
 * consumed:
 *     the law of congestion wants it,  or  c > p + w / 4,  or  c lies in a later term than p,
 *     or  the window is another one,   or  an acknowledgement is due and c > p.
 * The receiver repeats the last one after the status message timeout, whatever happens. Pure. */
#ifndef RSTI_FLOW_SM_DUE_H
#define RSTI_FLOW_SM_DUE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rsti_sm_due_t {
    int64_t consumed;
    int64_t position; /* of the last one */
    int32_t last_window;
    int32_t window;   /* now */
    int32_t position_bits;
    bool is_forced;
    bool is_ack_due;
} rsti_sm_due_t;

static inline bool rsti_sm_is_due(const rsti_sm_due_t *due)
{
    const bool is_ahead = due->consumed > due->position;
    const bool is_next_term = (due->consumed >> due->position_bits)
        > (due->position >> due->position_bits);
    return due->is_forced || due->window != due->last_window
        || due->consumed > due->position + due->window / 4
        || (is_ahead && (is_next_term || due->is_ack_due));
}

#endif
