/* standstill.h: the floor of a rate (rate.h) buries nobody who stands still for a while. A buffer
 * with X >= 1 (reaction.h) takes what comes until the cuts are felt; in a long stop the floor alone
 * fills any buffer, and under fc=max no window is in its way. Then that receiver's own window
 * counts:
 *
 *     somebody stands    a fill NAK of strength 1 that is believed, from a receiver whose position
 * has moved before and has not moved for T of reaction.h, at the drain that it reports; until 2 T,
 *                        and RSTI_STANDSTILL_HELD_NS at least, after the last one of these
 *     limit              then min(position + window) of all receivers that have moved before and
 * were heard within RSTI_STANDSTILL_HEARD_NS: another one may stand too, and stay silent because it
 * heard of a report as strong; who keeps up is far from its limit; and who begins to move again
 * says so after a quarter of its window at most            for RSTI_STANDSTILL_MOST_NS, and then
 * for a sixth of the time
 *
 * So a stop of up to RSTI_STANDSTILL_MOST_NS overruns nothing where X >= 1; who stands for longer
 * meets the floor again; and who pretends to stand, with status messages that agree, costs a group
 * a sixth of what it has. Who died reports nothing, so nobody waits for him.
 *
 * Held for a while after the last report, because reports come late where a machine stands still
 * for some milliseconds, and the buffer has no room left for what would come meanwhile; who moves
 * again ends it with his next status message.
 *
 * One reaction time, because the first cut is felt after it: with ten, what the floor sends until
 * then overran single stops of 200 ms, and with round trips of 4 and 10 ms half of the stops of ten
 * T at X = 1 (E3 and E4 of docs/flow.md); with two, one stop of 650. A sixth, because a garbage
 * collection of 200 ms may come each second and a half.
 *
 * Pure. Owner: sender. */
#ifndef RSTI_FLOW_STANDSTILL_H
#define RSTI_FLOW_STANDSTILL_H

#include "flow/fill_report.h"
#include "flow/fill_truth.h"

#include <stdbool.h>
#include <stdint.h>

#define RSTI_STANDSTILL_MOST_NS INT64_C(250000000)
#define RSTI_STANDSTILL_HEARD_NS INT64_C(500000000)
#define RSTI_STANDSTILL_HELD_NS INT64_C(25000000)

typedef struct rsti_standstill_t {
    int64_t now_ns;
    int64_t left_ns;  /* that it may still hold the stream; a look that comes late makes a debt */
    int64_t until_ns; /* somebody stands; in the past: nobody */
    bool is_holding;  /* at the last look: nothing may be sent because of it */
} rsti_standstill_t;

void rsti_standstill_init(rsti_standstill_t *standstill, int64_t now_ns);
/* A fill NAK that truth believes; target_delay_ns: L of reaction.h. */
void rsti_standstill_on_report(rsti_standstill_t *standstill, const rsti_fill_truth_t *truth,
    const rsti_fill_report_t *report, int64_t target_delay_ns, int64_t now_ns);
/* Each pass: how far may be sent, from position to limit; position itself, when that is less than
 * the mtu. */
int64_t rsti_standstill_limit(rsti_standstill_t *standstill, const rsti_fill_truth_t *truth,
    int64_t position, int64_t limit, int32_t mtu, int64_t now_ns);
/* While it holds: when it lets go if nothing is heard. */
int64_t rsti_standstill_due_ns(const rsti_standstill_t *standstill);

#endif
