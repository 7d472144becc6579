/* pace.h: spreads data out in time on a long lossy link (docs/reference/wire.md, "Repair"), between
 * rstream peers.
 *
 * Why: a lost datagram holds the consumption back, so the limit stands still for a round trip and
 * then jumps. Sent at once, the data of a jump stands in the queue before the bottleneck, each
 * further retransmission behind it, and the next jump is as large again. With 100 Mbit/s, 100 ms,
 * 1 % of loss and a window of three times their product, streams stay at 0.70 of the link; spread
 * out, at 0.97.
 *
 * Arrival law (receiver): within RSTI_ARRIVAL_WINDOW_NS the bytes behind the first datagram,
 * divided by the time from the first to the last one. The arrival rate is the highest of the last
 * one to two periods of RSTI_ARRIVAL_PERIODS round trips: idle times do not lower it, and a slower
 * link is believed. The rate that the receiver wishes for follows the queue:
 *
 *     queue = smoothed round trip - least round trip
 *     wish  = none                  until queue > least / 8 for the first time; from then on
 *             arrival rate * 9/8    while queue <= least / 8
 *             arrival rate          while queue <= least / 4
 *             arrival rate * 7/8    else
 *
 * So a faster link is found in steps of an eighth, and the queue stays short. There is no wish at
 * first, because a stream that stops at each gap arrives no faster than it is paced: in steps of an
 * eighth, less loss and stops, it stayed at 6 MB/s of 100 with 1 % of loss and a round trip of
 * 10 ms. The first burst that makes a queue arrives as fast as the link is.
 *
 * Pacing law (sender): a bucket (bucket.h) whose rate is the wish. What is sent in any time t is at
 * most  wish * t + burst,  burst what the wish makes in RSTI_PACE_BURST_NS, and at least
 * RSTI_PACE_BURST_MIN bytes. Retransmissions go at once and spend as well, with a debt of at most
 * one burst: they go first, and cannot starve new data.
 *
 * Pacing is active only for RSTI_PACE_LOSS_ROUND_TRIPS after a NAK, and only if the round trip is
 * at least RSTI_PACE_RTT_MIN_NS: queues of shorter links are too short to matter. Pure. */
#ifndef RSTI_FLOW_PACE_H
#define RSTI_FLOW_PACE_H

#include "flow/bucket.h"

#include <stdbool.h>
#include <stdint.h>

#define RSTI_ARRIVAL_WINDOW_NS INT64_C(10000000)
#define RSTI_ARRIVAL_PERIODS 8
#define RSTI_PACE_BURST_NS INT64_C(1000000)
#define RSTI_PACE_BURST_MIN (16 * 1024)
#define RSTI_PACE_RTT_MIN_NS INT64_C(5000000)
#define RSTI_PACE_LOSS_ROUND_TRIPS 16
#define RSTI_PACE_RATE_MAX INT64_C(1000000000000)

typedef struct rsti_arrival_t {
    int64_t window_begin_ns; /* of the first datagram in it; INT64_MIN: none */
    int64_t last_ns;
    int64_t bytes; /* behind the first datagram */
    int64_t period_ends_ns;
    int64_t younger, older; /* highest rates of this period and of the one before */
    bool has_queued; /* the queue has been above least / 8 */
} rsti_arrival_t;

void rsti_arrival_init(rsti_arrival_t *arrival);
void rsti_arrival_on_data(rsti_arrival_t *arrival, int64_t bytes, int64_t rtt_ns, int64_t now_ns);
/* Bytes per second; 0: not known. */
int64_t rsti_arrival_rate(const rsti_arrival_t *arrival);

/* The wish for the sender, bytes per second; 0: none. Remembers whether there was a queue. */
int64_t rsti_arrival_wanted(rsti_arrival_t *arrival, int64_t smoothed_rtt_ns, int64_t least_rtt_ns);

typedef struct rsti_pacer_t {
    int64_t rate; /* bytes per second, the wish of the receivers; 0 = unknown */
    int64_t rtt_ns;
    int64_t last_loss_ns;
    rsti_bucket_t bytes; /* filled_ns INT64_MIN: not pacing at the last call; it begins full */
} rsti_pacer_t;

void rsti_pacer_init(rsti_pacer_t *pacer);
/* 0: no longer known. */
void rsti_pacer_set(rsti_pacer_t *pacer, int64_t rate, int64_t rtt_ns);
void rsti_pacer_on_loss(rsti_pacer_t *pacer, int64_t now_ns);
/* How many bytes may be sent now; INT64_MAX: no pacing. */
int64_t rsti_pacer_room(rsti_pacer_t *pacer, int64_t now_ns);
/* When the room will be that large, at most a burst; the room was just asked for. */
int64_t rsti_pacer_due_ns(const rsti_pacer_t *pacer, int64_t bytes, int64_t now_ns);
void rsti_pacer_on_sent(rsti_pacer_t *pacer, int64_t bytes);

#endif
