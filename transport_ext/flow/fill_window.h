/* fill_window.h: the window for a sender that does not understand fill NAKs, while its image fills
 * up.
 *
 *     share  = clamp((standing / B - f_lo) / (0.9 - f_lo), 0, 1)
 *     cut    = window                                        while share = 0
 *     cut    = min(window, max(MTU, (1 - share) * window))   else; rounded down to where frames may
 *                                                            end
 *
 *   standing  of fill.h      B  the memory         f_lo  set point of fill.h / B, at least 0.1
 *
 * The next status message is due when the usual rule says so (sm_due.h), and at once when
 *
 *     cut = window and told < window,   or   consumed + cut > position + told + window / 4
 *
 * position and told are the position and window of the last status message. So no sender waits at a
 * small window while the queue is empty. While the cut window falls the usual rule is enough: such
 * a sender never lowers its limit, and the window moves it only as consumed grows. What it may have
 * sent and the consumer has not reached settles where fill = 1 - (fill - f_lo) / (0.9 - f_lo), that
 * is
 *
 *     fill = 0.9 / (1.9 - f_lo),   0.5 to 0.64 of the window, instead of all.
 *
 * Three things of a fill NAK are not used here:
 *   - The rate that it asks for: a window limits the level itself.
 *   - B_eff, the demand of the readers: they get no more than that anyway, and with a window of one
 *     message each message would wait for a round trip.
 *   - The stop: a reader that takes nothing causes no status message.
 *
 * The window is at least one MTU, because with less the sender could not send any frame. Pure.
 * Owner: conductor. */
#ifndef RSTI_FLOW_FILL_WINDOW_H
#define RSTI_FLOW_FILL_WINDOW_H

#include "flow/fill.h"

/* buffer_bytes: B; 0: the window is never cut. window: from congestion control, at most B. */
int32_t rsti_fill_window(const rsti_fill_t *fill, int64_t buffer_bytes, int32_t window,
    int32_t mtu);

typedef struct rsti_fill_window_due_t {
    int64_t consumed;
    int64_t position; /* of the last status message */
    int32_t last_window;
    int32_t window; /* the cut window now */
    int32_t whole;  /* the window of congestion control now */
} rsti_fill_window_due_t;

bool rsti_fill_window_is_due(const rsti_fill_window_due_t *due);

#endif
