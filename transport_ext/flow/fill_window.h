/* fill_window.h: the window for a sender that does not understand fill NAKs, while its image fills
 * up.
 *
 *     share  = clamp((level / B - f_lo) / (0.9 - f_lo), 0, 1)
 *     cut    = window                                        while share = 0
 *     cut    = min(window, max(MTU, (1 - share) * window))   else; rounded down to where frames may
 *                                                            end
 *
 *   level  of fill.h         B  the memory         f_lo  of reaction.h, for that memory
 *
 * The next status message is due when the usual rule says so (sm_due.h), and at once when
 *
 *     cut = window and told < window,   or   consumed + cut > position + told + window / 4
 *
 * with position and told, a window, as the last status message said. So no sender stands at a small
 * window beside an empty queue. While the cut window falls the usual rule is enough: such a sender
 * never lowers its limit, and the window moves it only as consumed grows. What it may have sent and
 * the consumer has not reached settles where fill = 1 - (fill - f_lo) / (0.9 - f_lo), that is
 *
 *     fill = 0.9 / (1.9 - f_lo),   0.5 to 0.64 of the window, instead of all.
 *
 * Why not the strength of a fill NAK: that looks 2 T ahead, because a rate takes effect as a slope.
 * A window is the level itself. A sender that waits at its limit lets the queue fall as fast as it
 * is drained. Looked ahead, that queue is an empty one: each status message then told the whole
 * window, and the queue was as long as without the law (median 0.86 of the window at 20 MB/s; this
 * law has 0.53). Nor B_eff, what the readers ask for: they get no more than that anyway, and a
 * window of one message would make each wait for a round trip. Nor 1 on a stall: a reader that
 * takes nothing causes no status message.
 *
 * Never less than one MTU: the sender could not send any frame. Pure. Owner: conductor. */
#ifndef RSTI_FLOW_FILL_WINDOW_H
#define RSTI_FLOW_FILL_WINDOW_H

#include "flow/fill.h"

/* buffer_bytes: B; 0: the window is never cut. window: what congestion control says, at most B. */
int32_t rsti_fill_window(const rsti_fill_t *fill, int64_t buffer_bytes, int32_t window,
    int32_t mtu);

typedef struct rsti_fill_window_due_t {
    int64_t consumed;
    int64_t position; /* of the last status message */
    int32_t last_window;
    int32_t window; /* the cut one, now */
    int32_t whole;  /* of congestion control now */
} rsti_fill_window_due_t;

bool rsti_fill_window_is_due(const rsti_fill_window_due_t *due);

#endif
