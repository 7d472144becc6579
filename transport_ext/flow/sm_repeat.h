/* sm_repeat.h: when a status message that was lost is sent again.
 *
 * A sender stops within one MTU of the limit (position + window) that it knows. The receiver may
 * since have announced a higher limit. If the highest position seen is still within one MTU below
 * an older limit, the newer message was lost, or is in flight. The stream would be idle until the
 * status message timeout, so the message is repeated:
 *
 *     first wait   max(5/4 round trip, RSTI_SM_REPEAT_MIN_NS);  RSTI_SM_REPEAT_NS if unknown
 *     then         twice the wait before, up to the timeout
 *
 * New data cannot arrive sooner than after a round trip. A repetition is harmless: a limit never
 * goes back. A sender that has nothing to send stops below its limit and causes no repetition.
 * Pure. */
#ifndef RSTI_FLOW_SM_REPEAT_H
#define RSTI_FLOW_SM_REPEAT_H

#include <stdbool.h>
#include <stdint.h>

#define RSTI_SM_REPEAT_NS INT64_C(2000000)
#define RSTI_SM_REPEAT_MIN_NS INT64_C(200000)
/* Older limits that are remembered. After that many losses in a row only the timeout helps. */
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
/* A new least round trip was measured. */
void rsti_sm_repeat_on_rtt(rsti_sm_repeat_t *repeat, int64_t least_ns);
/* A status message with this limit was sent; a repetition has the same limit as before. */
void rsti_sm_repeat_on_sent(rsti_sm_repeat_t *repeat, int64_t limit, int64_t timeout_ns);
/* Whether to repeat it now. Call it in every pass, because hwm may have reached a limit. */
bool rsti_sm_repeat_is_due(rsti_sm_repeat_t *repeat, int64_t hwm, int32_t mtu, int64_t now_ns);

#endif
