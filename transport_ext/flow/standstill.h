/* standstill.h: the floor of a rate (rate.h) must not overrun a receiver that stops for a while. A
 * buffer with X >= 1 (rate_adaptive.c) holds what comes until the reports are felt. In a long stop
 * the floor alone fills any buffer, and under fc=max no window stops it. Then that receiver's
 * window counts:
 *
 *     a receiver stands  while fill NAKs come from it that are believed and allow nothing, and
 *                        its position, which has moved before, has not moved for T = RTT + P
 *                        (fill.h); and for max(2 T, RSTI_STANDSTILL_HELD_NS) after the last of
 *                        these
 *     limit              while one stands: the least position + window of all receivers that have
 *                        moved before and were heard within RSTI_STANDSTILL_HEARD_NS
 *     at most            for RSTI_STANDSTILL_MOST_NS, and then for a sixth of the time
 *
 * All receivers count in the limit, because a second one may stand too, and be silent since it
 * heard a report as strong as its own. A receiver that keeps up is far from its limit, and one that
 * moves again says so after a quarter of its window.
 *
 * So a stop of up to RSTI_STANDSTILL_MOST_NS overruns nothing where X >= 1. A longer stop meets the
 * floor again. A receiver that pretends to stand, with status messages that agree, costs its group
 * a sixth of the rate. A dead receiver reports nothing, so the group does not wait for it.
 *
 * The state is held after the last report, because reports come late where a machine stands still
 * for some milliseconds, and the buffer has no room for what would come meanwhile. A receiver that
 * moves again ends it with its next status message.
 *
 * One T, because the first report is felt after it. With ten, the floor overran single
 * stops of 200 ms until then, and with round trips of 4 and 10 ms half of the stops of ten T at X =
 * 1 (E3 and E4 of docs/results/history.md); with two, one stop of 650. A sixth, because a garbage
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
    int64_t left_ns;  /* how long it may still hold the stream; a late pass makes it negative */
    int64_t until_ns; /* a receiver stands until then; in the past: none does */
    bool is_holding;  /* at the last pass it allowed no data */
} rsti_standstill_t;

void rsti_standstill_init(rsti_standstill_t *standstill, int64_t now_ns);
/* A fill NAK that truth believes. */
void rsti_standstill_on_report(rsti_standstill_t *standstill, const rsti_fill_truth_t *truth,
    const rsti_fill_report_t *report, int64_t now_ns);
/* Each pass: the position up to which may be sent, from position to limit. It is position itself if
 * less than one MTU is left. */
int64_t rsti_standstill_limit(rsti_standstill_t *standstill, const rsti_fill_truth_t *truth,
    int64_t position, int64_t limit, int32_t mtu, int64_t now_ns);
/* While it holds the stream: when it stops to hold it without further reports. */
int64_t rsti_standstill_due_ns(const rsti_standstill_t *standstill);

#endif
