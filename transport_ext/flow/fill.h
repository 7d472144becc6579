/* fill.h: how full an image is, which rate would keep its queue short, and when its sender is told.
 *
 *     standing  = the queue, whenever the consumer takes, the queue is empty, or the consumer is
 *                 late (nothing taken for twice the usual time between two takes); else as it was
 *     set point = min(max(0.8 L d, RTT d, 2 MTU, M), most);   most until d is known
 *     most      = B / 4; 3 B / 4 where the window holds the sender (W > 0)
 *     allowed   = max(0, d' + (set point - standing) / tau)        tau = max(8 ms, 3 RTT)
 *     d'        = d while the consumer takes as usual; 0 on a stall: nothing taken for
 *                 S = max(10 ms, 4 g), with data; between, d (1 - (w - g) / (S - g))
 *
 *     the receiver reports from  standing > set point / 2  until  standing < set point / 4,
 *     every P = max(4 ms, RTT), and at once on a stall; and then says once that it is clear, if
 *     its last report is at most F = max(60 ms, 6 RTT) old (an older one the sender has forgotten)
 *     no report                  while the window alone keeps the delay: 0 < W <= L d, and before
 *                                anything was taken, where W > 0
 *     on a stall of 250 ms       allowed is at least W / 250 ms
 *
 *   queue   bytes that could be consumed and are not      B   the buffer
 *   d       drain: what the consumer takes, bytes/s       L   target delay
 *   M       largest recent message                        RTT round trip
 *   g       usual time between two takes                  w   time since the last one
 *   W       bytes that its window lets the sender be ahead; 0: no such bound (a group, fc=max)
 *
 * So there is no report without overload. In overload there is one per P, also while the sender is
 * right: it forgets a receiver that falls silent, and would send faster. `allowed` brings the queue
 * to its set point within tau, and then equals the drain.
 *
 * The set point is at least a round trip's worth of data, because a sender that is a round trip
 * away cannot steer a shorter queue. It is at most a quarter of the buffer, so that three quarters
 * are left for what arrives after a stop. Where the window holds the sender, nothing can overrun.
 * There the window of a consumer that has stopped for 250 ms may be filled in another 250 ms: a
 * program that sends and then reads in one thread must not wait for itself.
 *
 * What a repair frees at once counts when it stands for 2 ms: else loss would look like overload.
 *
 * The rest that a taking leaves is the overload, not the queue before it: a consumer in Python
 * takes in bursts, because handing over the GIL alone takes 5 ms.
 *
 * Data behind a gap is not in the queue: the consumer cannot take it, and a slower sender would
 * repair nothing. Only data that was lost because this buffer was full counts as if it were here,
 * until it is. Else a slow consumer that waits for repairs with an empty queue would never slow its
 * sender down.
 *
 * The demand of request(n) needs no part here: a consumer that asks for little takes little, and
 * the set point follows what it takes.
 *
 * Drain: what the consumer took in DRAIN_SAMPLE_NS or more, smoothed by an eighth, while the queue
 * never ran empty. If it did, the sample is only a lower bound. Stalls are not sampled.
 *
 * Pure; all input is clamped. Owner: receiver; conductor for shared memory. */
#ifndef RSTI_FLOW_FILL_H
#define RSTI_FLOW_FILL_H

#include "flow/fill_report.h"

#include <stdbool.h>
#include <stdint.h>

#define RSTI_TARGET_DELAY_NS INT64_C(10000000)
#define RSTI_FILL_PERIOD_NS INT64_C(4000000)

/* F: a report counts for so long after it was sent. */
static inline int64_t rsti_fill_fresh_ns(int64_t rtt_ns)
{
    const int64_t six_ns = 6 * rtt_ns;
    return six_ns > INT64_C(60000000) ? six_ns : INT64_C(60000000);
}

typedef struct rsti_fill_facts_t {
    int64_t now_ns;
    int64_t received; /* end of contiguous data; going back changes nothing */
    int64_t highest; /* end of all data, also behind gaps */
    int64_t consumed; /* at most received */
    int64_t buffer_bytes; /* B; 0: no fill */
    int64_t rtt_ns; /* 0: unknown */
    int32_t mtu;
    int64_t largest; /* M: the largest recent message; 0: unknown */
    int64_t window_bytes; /* W */
} rsti_fill_facts_t;

typedef enum rsti_fill_due_t {
    RSTI_FILL_QUIET = 0,
    RSTI_FILL_REPORT, /* tell `allowed` */
    RSTI_FILL_CLEAR /* tell that the overload is over */
} rsti_fill_due_t;

typedef struct rsti_fill_t {
    int64_t target_delay_ns; /* L */
    /* results */
    double fill;
    double drain; /* bytes per second; 0: not known yet */
    double allowed; /* bytes per second */
    int64_t set_point; /* bytes */
    int64_t period_ns; /* P */
    bool is_reporting, is_stalled;
    /* memory */
    bool has_begun, was_told, was_stall_told;
    int64_t highest, repaired_ns; /* when a repair last freed data; INT64_MIN: never */
    int64_t above_ns; /* standing > set point / 2 since then; INT64_MIN: it is not, or reports */
    int64_t sent_ns; /* the last own report; INT64_MIN: none in this overload */
    int64_t now_ns, received, consumed, buffer_bytes, rtt_ns, largest, window_bytes;
    int32_t mtu;
    int64_t standing;
    double still_ns; /* seen without a taking, between two takings (1/8) */
    double gap_ns; /* usual time between two takings while there was data (1/8) */
    int64_t moved_ns; /* something was taken, or there was nothing to take */
    int64_t told_ns;
    double latest; /* the newest sample of the drain, busy or not */
    double taking; /* as drain, and also while the queue runs empty */
    bool has_sample, is_sample_busy;
    int64_t sample_ns, sample_at; /* where the running sample began */
} rsti_fill_t;

/* target_delay_ns: L; 0: RSTI_TARGET_DELAY_NS. */
void rsti_fill_init(rsti_fill_t *fill, int64_t target_delay_ns);
/* Changes it from now on. */
void rsti_fill_set_target(rsti_fill_t *fill, int64_t target_delay_ns);

/* Each pass over the image. Returns what is due now. A clear is due once, with this call. */
rsti_fill_due_t rsti_fill_update(rsti_fill_t *fill, const rsti_fill_facts_t *facts);

/* A report was sent. */
void rsti_fill_on_sent(rsti_fill_t *fill);
/* Another receiver of the group has asked for no more than this one would; it counts as told. */
void rsti_fill_on_heard(rsti_fill_t *fill);

/* When a report may become due even if nothing arrives and nothing is taken. */
int64_t rsti_fill_due_ns(const rsti_fill_t *fill);

/* The set point in a buffer, at a drain. */
int64_t rsti_fill_set_point(const rsti_fill_t *fill, double drain, int64_t buffer_bytes);

/* Fills in the report; the caller sets receiver_id (0). drain: fill->drain, or this sender's fair
 * share of it (fair_share.h), with which `allowed` is computed anew. With clear the newest sample
 * is told where it is higher: an obstacle that has gone shows there first. */
void rsti_fill_report(const rsti_fill_t *fill, double drain, bool is_clear,
    rsti_fill_report_t *report);

#endif
