/* fill_echo.h: which fill NAKs of a group the sender repeats to the group, so that receivers that
 * wait with one of their own (fill_suppress.h) stay silent. An echo goes where the data goes, so it
 * reaches every receiver of a multicast group and of several destinations, and no receiver has to
 * join the group of control frames.
 *
 *     an echo opens a time of W/2; within it, only a fill NAK that is stronger than the last echo
 *     by RSTI_FILL_ECHO_STEP is echoed
 *
 *   W     window of reaction.h
 *
 * So at most 1 + 1 / RSTI_FILL_ECHO_STEP echoes leave in W/2, for any input. A receiver that
 * was heard is silent for W/2 itself (fill.h). The sender echoes only what it believes: a liar
 * cannot silence the others. Pure; owner: sender. */
#ifndef RSTI_FLOW_FILL_ECHO_H
#define RSTI_FLOW_FILL_ECHO_H

#include "flow/saturate.h"

#include <stdbool.h>
#include <stdint.h>

#define RSTI_FILL_ECHO_STEP 0.125

/* All zero: nothing was echoed yet. */
typedef struct rsti_fill_echo_t {
    double strength; /* of the last one */
    int64_t until_ns;
} rsti_fill_echo_t;

static inline bool rsti_fill_echo_is_due(rsti_fill_echo_t *echo, double strength, int64_t window_ns,
    int64_t now_ns)
{
    if (!(strength > 0)
        || (now_ns < echo->until_ns && strength < echo->strength + RSTI_FILL_ECHO_STEP)) {
        return false;
    }
    if (now_ns >= echo->until_ns) {
        echo->until_ns = now_ns + rsti_clamp_i64(window_ns, 0, RSTI_TIME_MAX_NS) / 2;
    }
    echo->strength = strength;
    return true;
}

#endif
