/* fill_window.h: the window for a sender that does not understand fill NAKs, while its image fills
 * up. With l of fill.h, B the memory, f_lo of reaction.h for it:
 *
 *     s = clamp((l / B - f_lo) / (0.9 - f_lo), 0, 1)
 *     w = window                                       while s = 0
 *     w = min(window, max(MTU, (1 - s) window))        else; rounded down to where frames may end
 *
 * And with position p and such a window w0 in the last status message, c what is consumed, the next
 * one is due when the usual rule says so (sm_due.h), and at once when
 *
 *     w = window and w0 < window,   or   c + w > p + w0 + window / 4
 *
 * So no sender stands at a small window beside an empty queue. While w falls the usual rule is
 * enough: such a sender never lowers its limit, and w moves it only as c grows. What it may have
 * sent and c has not reached settles where f = 1 - (f - f_lo) / (0.9 - f_lo), that is
 *
 *     f = 0.9 / (1.9 - f_lo),   0.5 to 0.64 of the window, instead of all.
 *
 * Why not the strength of a fill NAK: that looks 2 T ahead, because a rate takes effect as a slope.
 * A window is the level itself. A sender that waits at its limit lets the queue fall as fast as it
 * is drained, which looked ahead is an empty one: each status message then told the whole window,
 * and the queue was as long as without (median 0.86 of the window at 20 MB/s, where this law has
 * 0.53). Nor B_eff, what the readers ask for: they get no more than that anyway, and a window of
 * one message would make each wait for a round trip. Nor 1 on a stall: who takes nothing causes no
 * status message.
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
    int32_t window; /* w now */
    int32_t whole;  /* of congestion control now */
} rsti_fill_window_due_t;

bool rsti_fill_window_is_due(const rsti_fill_window_due_t *due);

#endif
