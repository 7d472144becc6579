/* retell.h: when a value for the sender is repeated, because a status message may be lost. A change
 * is sent at once. While no data arrive, the value is sent again after RSTI_RETELL_MIN_NS, then
 * after twice that, up to RSTI_RETELL_MAX_NS. While data arrive, it is not sent
 * again: the sender has data to send, so it needs nothing until the next change. Pure; owner:
 * conductor. */
#ifndef RSTI_FLOW_RETELL_H
#define RSTI_FLOW_RETELL_H

#include "util/clock.h"
#include "util/int_math.h"

#include <stdbool.h>
#include <stdint.h>

#define RSTI_RETELL_MIN_NS (10 * RSTI_NS_PER_MS)
#define RSTI_RETELL_MAX_NS RSTI_NS_PER_S

/* All zero: nothing was sent yet. */
typedef struct rsti_retell_t {
    int64_t hwm; /* of the data, at the last look that was due */
    int64_t due_ns;
    int64_t interval_ns;
} rsti_retell_t;

/* True: send the value now. Without a change it is never true before due_ns. */
static inline bool rsti_retell_look(rsti_retell_t *retell, bool has_changed, int64_t hwm,
    int64_t now_ns)
{
    if (!has_changed && now_ns < retell->due_ns) {
        return false;
    }
    const bool has_data = hwm != retell->hwm;
    retell->interval_ns = has_changed || has_data || retell->interval_ns == 0
        ? RSTI_RETELL_MIN_NS
        : rsti_min_i64(2 * retell->interval_ns, RSTI_RETELL_MAX_NS);
    retell->hwm = hwm;
    retell->due_ns = now_ns + retell->interval_ns;
    return has_changed || !has_data;
}

#endif
