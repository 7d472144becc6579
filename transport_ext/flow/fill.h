/* fill.h: how full an image is, how that changes, and when the sender gets a report.
 *
 *     fill      = queue / B
 *     level     = queue, whenever the consumer takes, the queue is empty, or the consumer is late
 *                 (nothing taken for twice the usual time between two takes); else as it was
 *     ahead     = (level + 2 T * slope) / B            slope: of level, smoothed over SLOPE_NS
 *     strength  = 1                                     on a stall: fill > f_lo / 2, and nothing
 *                                                       consumed for max(10 ms, 4 usual gaps)
 *               = 0                                     else, while level < 0.05 B
 *               = clamp((ahead - f_lo) / (0.9 - f_lo), 0, 1)      else
 *
 *     a fill NAK is due while strength > 0, and
 *       W/2 has passed since the last one, or strength is 0.25 above that of the last one
 *
 *   queue   bytes that could be consumed and are not       B     the buffer (rsti_fill_buffer)
 *   T, W, f_lo   of reaction.h, at the rate that the consumer drains
 *
 * So there is no fill NAK without overload, and at most 2 / W + 4 per second and one per rise. The
 * 10 ms of a stall leave room for handing over the GIL, which takes 5 ms.
 *
 * Data behind a gap is not in the queue: the consumer cannot take it, and a slower sender would
 * repair nothing. What a repair frees at once does not count as growth: slope leaves it out. (Else
 * loss looked like overload: 1 % of it at a round trip of 1 ms cost two thirds of the rate, 5 % all
 * but the floor.) Only data that was lost because this buffer was full counts as if it were here,
 * until it is. Else a slow consumer that waits for repairs with an empty queue would never slow its
 * sender down.
 *
 * Drain: what the consumer took in DRAIN_SAMPLE_NS or more, smoothed by 1/16, while the queue never
 * ran empty. If it did, the sample is only a lower bound. Stalls are not sampled. It is a
 * sixteenth because a sender goes by the lowest drain of its group: of four receivers with 15 % of
 * noise, the lowest drain smoothed by a quarter lies 6 % below the true one, and the stream lost
 * those 6 %. Variation: mean distance of the samples (smoothed by 1/8), as a share of the drain.
 *
 * Data that comes in (a of reaction.h): the end of the furthest data, in samples of DRAIN_SAMPLE_NS
 * or more. A higher sample counts at once, a lower one by a sixteenth.
 *
 * Pure; all input is clamped. Owner: receiver. */
#ifndef RSTI_FLOW_FILL_H
#define RSTI_FLOW_FILL_H

#include "flow/fill_report.h"
#include "flow/reaction.h"

#include <stdbool.h>
#include <stdint.h>

#define RSTI_FILL_RISE 0.25

typedef struct rsti_fill_facts_t {
    int64_t now_ns;
    int64_t received; /* end of contiguous data; going back changes nothing */
    int64_t consumed; /* at most received */
    int64_t buffer_bytes; /* B; 0: no fill */
    int64_t rtt_ns;   /* 0: unknown */
    int64_t highest;  /* end of the furthest data, also behind a gap; 0: received */
} rsti_fill_facts_t;

typedef struct rsti_fill_t {
    int64_t target_delay_ns, detect_ns; /* L and D of reaction.h */
    /* results */
    double fill, predicted, strength;
    double drain;     /* bytes per second; 0: not known yet */
    double variation; /* 0 ... 1 */
    rsti_reaction_t reaction;
    bool is_stalled;
    /* memory */
    bool has_begun;
    bool was_told;
    int64_t now_ns, received, highest, consumed, buffer_bytes, rtt_ns;
    double slope;     /* of level, bytes per second */
    int64_t level;    /* bytes */
    int64_t level_before, level_ns; /* at the last computation of slope */
    double still_ns;  /* seen without a taking, between two takings (1/8) */
    double deviation; /* of drain */
    double gap_ns;    /* usual time between two takings while there was data (1/8) */
    int64_t moved_ns; /* something was taken, or there was nothing to take */
    int64_t told_ns;
    double told_strength;
    bool has_sample, is_sample_busy;
    int64_t sample_ns, sample_at; /* where the running sample began */
    double arriving; /* bytes per second, highest recent value; 0: not known yet */
    bool has_arrival_sample;
    int64_t arrival_ns, arrived_at;
} rsti_fill_t;

/* target_delay_ns: L of reaction.h; 0: RSTI_TARGET_DELAY_NS. */
void rsti_fill_init(rsti_fill_t *fill, int64_t target_delay_ns);
/* Changes them from now on. target_delay_ns 0: RSTI_TARGET_DELAY_NS. */
void rsti_fill_set_target(rsti_fill_t *fill, int64_t target_delay_ns);
void rsti_fill_set_detect(rsti_fill_t *fill, int64_t detect_ns);

/* Each pass over the image. True: a fill NAK is due. */
bool rsti_fill_update(rsti_fill_t *fill, const rsti_fill_facts_t *facts);

/* A fill NAK of that strength was sent, or heard from another receiver of the group. */
void rsti_fill_on_told(rsti_fill_t *fill, double strength);

/* When a fill NAK may become due even if nothing arrives and nothing is taken. */
int64_t rsti_fill_due_ns(const rsti_fill_t *fill);

/* Fills in the report; the caller corrects receiver_id (0), drain_all (drain) and sender_count (1).
 */
void rsti_fill_report(const rsti_fill_t *fill, rsti_fill_report_t *report);

/* The highest demand of the last one to two T. */
typedef struct rsti_fill_demand_t {
    int64_t younger, older;
    int64_t ends_ns;
    bool has_begun;
} rsti_fill_demand_t;

void rsti_fill_demand_init(rsti_fill_demand_t *demand);
/* At each pass: messages that are asked for and not delivered yet; in_ns: T. */
void rsti_fill_demand_set(rsti_fill_demand_t *demand, int64_t messages, int64_t in_ns,
    int64_t now_ns);
/* -1: there was never a demand. */
int64_t rsti_fill_demand_highest(const rsti_fill_demand_t *demand);

/* B_eff = min(window, max(highest demand * mean message, one MTU)); without demand (-1): window. */
int64_t rsti_fill_buffer(int64_t window, int64_t highest_demand, int64_t mean_message_bytes,
    int64_t mtu);

#endif
