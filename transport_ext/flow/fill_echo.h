/* fill_echo.h: which fill NAKs of a group the sender repeats to the group, so that receivers that
 * wait with one of their own (fill_suppress.h) stay silent. An echo goes where the data goes, so it
 * reaches every receiver of a multicast group and of several destinations, and no receiver has to
 * join the group of control frames.
 *
 *     an echo opens a time of P; within it, only a fill NAK that allows less than 7/8 of what the
 *     last echo allowed is echoed, and at most RSTI_FILL_ECHOES of them
 *
 *   P     period of fill.h
 *
 * A receiver that was heard is silent for P itself (fill.h). The sender echoes only what it
 * believes: a liar cannot silence the others. Pure; owner: sender. */
#ifndef RSTI_FLOW_FILL_ECHO_H
#define RSTI_FLOW_FILL_ECHO_H

#include "flow/saturate.h"

#include <stdbool.h>
#include <stdint.h>

#define RSTI_FILL_ECHO_LOWER 0.875
#define RSTI_FILL_ECHOES 8

/* All zero: nothing was echoed yet. */
typedef struct rsti_fill_echo_t {
    double allowed; /* of the last one */
    int32_t count;  /* since the time was opened */
    int64_t until_ns;
} rsti_fill_echo_t;

static inline bool rsti_fill_echo_is_due(rsti_fill_echo_t *echo, double allowed, int64_t period_ns,
    int64_t now_ns)
{
    if (now_ns >= echo->until_ns) {
        echo->until_ns = now_ns + rsti_clamp_i64(period_ns, 0, RSTI_TIME_MAX_NS);
        echo->count = 0;
    } else if (allowed >= echo->allowed * RSTI_FILL_ECHO_LOWER || echo->count == RSTI_FILL_ECHOES) {
        return false;
    }
    echo->allowed = allowed;
    echo->count++;
    return true;
}

#endif
