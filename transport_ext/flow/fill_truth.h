/* fill_truth.h: whether a fill NAK can be true, by what the same receiver's status messages say.
 * With P the position up to which was sent, C the receiver's newest consumption position, p how
 * fast C moved over the last RSTI_TRUTH_PROGRESS_NS, a report lies when
 *
 *     fill B > P - C + B / 64 + slack      it holds more than was sent and not consumed
 *     strength > 0 and fill < 0.05         the law of fill.h sends no such report
 *     0 < drain < p / 4                    it consumes faster than it says that it can
 *
 * An honest receiver does none of the first two: C is as old as its message, which makes P - C
 * larger than its queue. Its drain may lag behind a sudden change, so one lie proves nothing: a
 * source is a liar when all its reports of RSTI_TRUTH_PATIENCE_NS, and at least RSTI_TRUTH_LIES of
 * them, were lies. It is then ignored until RSTI_TRUTH_IGNORED_NS after its last one. So a liar is
 * known within a second of its first lie, if it sends that many.
 *
 * A replay repeats a position that its receiver has left behind: rsti_fill_truth_on_status says so,
 * and nobody is blamed for it. (E9 of docs/results/history.md: replayed a thousand times a second,
 * a report that was true once held the group at its floor.)
 *
 * What it cannot do: tell a receiver from one who borrows its id and lies in its name. Then the
 * two are ignored together, or believed together; the floor of rate.h holds either way.
 *
 * Bounded: of more than RSTI_TRUTH_SOURCES the one heard longest ago is forgotten, a liar only when
 * all are. Pure. Owner: sender. */
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
    int64_t moved_ns;       /* when it grew; INT64_MIN: it never did */
    int64_t window;         /* of the newest status message */
    int64_t marked, marked_ns;
    double progress;        /* bytes per second; -1: not known yet */
    int64_t lying_since_ns; /* INT64_MIN: the last report was no lie */
    int32_t lie_count;
    int64_t ignored_until_ns; /* INT64_MIN: it never was a liar */
} rsti_truth_source_t;

typedef struct rsti_fill_truth_t {
    int32_t source_count;
    int64_t now_ns;
    int64_t ignored_count; /* reports of liars */
    rsti_truth_source_t sources[RSTI_TRUTH_SOURCES];
} rsti_fill_truth_t;

void rsti_fill_truth_init(rsti_fill_truth_t *truth);

/* A status message, with or without a fill NAK in it. False: the receiver has said more since then,
 * so a fill NAK in it is an old one, overtaken or replayed, and says nothing about now. */
bool rsti_fill_truth_on_status(rsti_fill_truth_t *truth, int64_t receiver_id, int64_t consumed,
    int64_t window, int64_t now_ns);

/* After the status message that it came in. False: a liar, ignore it. slack: one MTU. */
bool rsti_fill_truth_is_believed(rsti_fill_truth_t *truth, const rsti_fill_report_t *report,
    int64_t sent_position, int32_t slack, int64_t now_ns);

bool rsti_fill_truth_is_liar(const rsti_fill_truth_t *truth, int64_t receiver_id);
/* NULL: it is not known. */
const rsti_truth_source_t *rsti_fill_truth_find(const rsti_fill_truth_t *truth,
    int64_t receiver_id);

#endif
