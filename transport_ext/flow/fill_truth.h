/* fill_truth.h: whether a fill NAK agrees with the status messages of its receiver. A report is a
 * lie when
 *
 *     fill B > sent - consumed + B / 64 + slack    it holds more than was sent and not consumed
 *     0 < drain < progress / 4                     it consumes faster than the reported drain
 *     allowed < progress / 4 - fill B / 8 ms       fill.h never asks for so little
 *
 *   sent       position up to which the sender has sent
 *   consumed   newest consumption position of the receiver
 *   progress   bytes per second by which consumed grew over the last RSTI_TRUTH_PROGRESS_NS
 *
 * The first never holds for an honest receiver: consumed is as old as its message, so
 * sent - consumed is larger than its queue. Its drain may lag behind a sudden change, so one lie
 * proves nothing. With clear a receiver asks for nothing, so only the first line is checked. A
 * source is a liar when all its reports of RSTI_TRUTH_PATIENCE_NS were lies, and there were at
 * least RSTI_TRUTH_LIES of them. It is then ignored until RSTI_TRUTH_IGNORED_NS after its last lie.
 * So a liar is found within a second of its first lie, if it sends that many.
 *
 * A replayed report repeats an old position of its receiver. rsti_fill_truth_on_status detects
 * this, and it does not count as a lie of the receiver. (E9 of docs/results/history.md: without
 * this, a true report, replayed a thousand times a second, held the group at its floor.)
 *
 * A forger that uses a receiver's id cannot be told from that receiver. Both are then ignored
 * together or believed together; the floor of rate.h holds either way.
 *
 * Bounded: of more than RSTI_TRUTH_SOURCES sources the one heard longest ago is forgotten. Liars
 * are forgotten only when all sources are liars. Pure. Owner: sender. */
#ifndef RSTI_FLOW_FILL_TRUTH_H
#define RSTI_FLOW_FILL_TRUTH_H

#include "flow/fill_report.h"

#include <stdbool.h>
#include <stdint.h>

#define RSTI_TRUTH_SOURCES 64
#define RSTI_TRUTH_PROGRESS_NS INT64_C(200000000)
#define RSTI_TRUTH_PATIENCE_NS INT64_C(500000000)
#define RSTI_TRUTH_LIES 4
#define RSTI_TRUTH_IGNORED_NS INT64_C(10000000000)

typedef struct rsti_truth_source_t {
    int64_t receiver_id;
    int64_t heard_ns;
    int64_t consumed;       /* highest */
    int64_t moved_ns;       /* when consumed grew last; INT64_MIN: never */
    int64_t window;         /* of the newest status message */
    int64_t marked, marked_ns;
    double progress;        /* bytes per second; -1: not known yet */
    int64_t lying_since_ns; /* INT64_MIN: the last report was no lie */
    int32_t lie_count;
    int64_t ignored_until_ns; /* INT64_MIN: it was never a liar */
} rsti_truth_source_t;

typedef struct rsti_fill_truth_t {
    int32_t source_count;
    int64_t now_ns;
    int64_t ignored_count; /* reports of liars */
    rsti_truth_source_t sources[RSTI_TRUTH_SOURCES];
} rsti_fill_truth_t;

void rsti_fill_truth_init(rsti_fill_truth_t *truth);

/* A status message, with or without a fill NAK in it. False: a newer one came
 * before it, so a fill NAK in it is late or replayed and must not be used. */
bool rsti_fill_truth_on_status(rsti_fill_truth_t *truth, int64_t receiver_id, int64_t consumed,
    int64_t window, int64_t now_ns);

/* Call it after rsti_fill_truth_on_status. False: ignore the report of a liar. slack: one MTU. */
bool rsti_fill_truth_is_believed(rsti_fill_truth_t *truth, const rsti_fill_report_t *report,
    int64_t sent_position, int32_t slack, int64_t now_ns);

bool rsti_fill_truth_is_liar(const rsti_fill_truth_t *truth, int64_t receiver_id);
/* NULL: it is not known. */
const rsti_truth_source_t *rsti_fill_truth_find(const rsti_fill_truth_t *truth,
    int64_t receiver_id);

#endif
