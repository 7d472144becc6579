/* fill_echo.h: what a sender repeats of the fill NAKs of its group to the group, so that those who
 * wait with one (fill_suppress.h) stay silent. It goes the way of the data, so it reaches every
 * receiver, of a multicast group as of several destinations, and none of them has to join the group
 * of control frames. Law, with the window W:
 *
 *     an echo opens W/2; within it only one that is stronger by RSTI_FILL_ECHO_STEP than the last
 * is echoed
 *
 * so 1 + 1 / RSTI_FILL_ECHO_STEP at most leave in W/2, whatever comes in. W/2 is how long a
 * receiver that was heard keeps silent (fill.h). Only what the sender believes is echoed: a liar
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
