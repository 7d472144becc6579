/* sm_repeat.c: see the header for the rule. */
#include "flow/sm_repeat.h"

#include "util/clock.h"
#include "util/int_math.h"

void rsti_sm_repeat_init(rsti_sm_repeat_t *repeat)
{
    for (int32_t i = 0; i < RSTI_SM_REPEAT_LIMITS; i++) {
        repeat->limits[i] = -1;
    }
    repeat->next = 0;
    repeat->limit = -1;
    repeat->first_ns = RSTI_SM_REPEAT_NS;
    repeat->interval_ns = RSTI_SM_REPEAT_NS;
    repeat->due_ns = RSTI_NO_DEADLINE;
}

void rsti_sm_repeat_on_rtt(rsti_sm_repeat_t *repeat, int64_t least_ns)
{
    repeat->first_ns = rsti_max_i64(least_ns + least_ns / 4, RSTI_SM_REPEAT_MIN_NS);
}

void rsti_sm_repeat_on_sent(rsti_sm_repeat_t *repeat, int64_t limit, int64_t timeout_ns)
{
    if (limit != repeat->limit) {
        repeat->limits[repeat->next] = repeat->limit;
        repeat->next = (repeat->next + 1) % RSTI_SM_REPEAT_LIMITS;
        repeat->limit = limit;
        repeat->interval_ns = repeat->first_ns;
    } else {
        repeat->interval_ns = rsti_min_i64(repeat->interval_ns * 2, timeout_ns);
    }
    repeat->due_ns = RSTI_NO_DEADLINE;
}

static bool is_sender_waiting(const rsti_sm_repeat_t *repeat, int64_t hwm, int32_t mtu)
{
    if (hwm + mtu > repeat->limit) {
        return false; /* the sender knows the newest limit */
    }
    for (int32_t i = 0; i < RSTI_SM_REPEAT_LIMITS; i++) {
        const int64_t limit = repeat->limits[i];
        if (hwm <= limit && limit - hwm < mtu) {
            return true;
        }
    }
    return false;
}

bool rsti_sm_repeat_is_due(rsti_sm_repeat_t *repeat, int64_t hwm, int32_t mtu, int64_t now_ns)
{
    if (!is_sender_waiting(repeat, hwm, mtu)) {
        repeat->due_ns = RSTI_NO_DEADLINE;
        return false;
    }
    if (repeat->due_ns == RSTI_NO_DEADLINE) {
        repeat->due_ns = now_ns + repeat->interval_ns;
    }
    return now_ns >= repeat->due_ns;
}
