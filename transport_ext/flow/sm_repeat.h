/* sm_repeat.h: when a status message that was lost is sent again.
 *
 * A sender stops within one MTU of the limit (position + window) that it knows. When the receiver
 * has announced a higher one since and the highest position seen still stands within one MTU below
 * an older limit, the newer message was lost, or is on its way. Waiting for the status message
 * timeout would idle the stream that long; so it is repeated, first after RSTI_SM_REPEAT_NS, or
 * where the round trip is known after max(5/4 of it, RSTI_SM_REPEAT_MIN_NS), because what it allows
 * cannot be here sooner; then after twice that, and so on up to the timeout. Repeating does no harm
 * to any sender: a limit never goes back. A sender that has nothing to send stands below its limit
 * and causes nothing. Pure. */
#ifndef RSTI_FLOW_SM_REPEAT_H
#define RSTI_FLOW_SM_REPEAT_H

#include <stdbool.h>
#include <stdint.h>

#define RSTI_SM_REPEAT_NS INT64_C(2000000)
#define RSTI_SM_REPEAT_MIN_NS INT64_C(200000)
/* Older limits remembered: this many lost in a row are left to the timeout. */
#define RSTI_SM_REPEAT_LIMITS 8

typedef struct rsti_sm_repeat_t {
    int64_t limits[RSTI_SM_REPEAT_LIMITS]; /* -1: none yet */
    int32_t next;
    int64_t limit;       /* the newest */
    int64_t first_ns;
    int64_t interval_ns; /* until the next repetition */
    int64_t due_ns;      /* RSTI_NO_DEADLINE: the sender is not waiting */
} rsti_sm_repeat_t;

void rsti_sm_repeat_init(rsti_sm_repeat_t *repeat);
/* The least round trip was measured. */
void rsti_sm_repeat_on_rtt(rsti_sm_repeat_t *repeat, int64_t least_ns);
/* A status message goes out: limit as in it, the same as before when it is repeated. */
void rsti_sm_repeat_on_sent(rsti_sm_repeat_t *repeat, int64_t limit, int64_t timeout_ns);
/* Whether it must go out again now. Asked in every pass, because hwm may have reached a limit. */
bool rsti_sm_repeat_is_due(rsti_sm_repeat_t *repeat, int64_t hwm, int32_t mtu, int64_t now_ns);

#endif
