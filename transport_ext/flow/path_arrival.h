/* path_arrival.h: what a receiver tells the sender of arrival, and when. Arrival, not consumption:
 * so the sender sees the path alone, free of the consumer's delay.
 *
 *     due     period after the last item, but only if a datagram has come since;
 *             period = clamp(RTT / 4, RSTI_PATH_PERIOD_LEAST_NS, RSTI_PATH_PERIOD_MOST_NS)
 *     since   bytes that came after the datagram that moved highest: resends, mostly. The sender
 *             needs them to know what is under way
 *     missing bytes that were jumped over when highest moved, or whatever the receiver counts
 *             instead: one that waits for late datagrams before it asks again counts what it asks
 *             for. They are not taken back
 *
 * 1 ms between items is too sparse at a round trip of 1 ms: a paced 300 Mbit/s fell to 0.62 of the
 * link. Bytes are those of datagrams, without UDP's and IP's headers. Pure:
 * now_ns is an argument; time that goes back counts as no time. Owner: receiver. */
#ifndef RSTI_FLOW_PATH_ARRIVAL_H
#define RSTI_FLOW_PATH_ARRIVAL_H

#include "protocol/sm_path.h"

#include <stdbool.h>
#include <stdint.h>

#define RSTI_PATH_PERIOD_LEAST_NS INT64_C(250000)
#define RSTI_PATH_PERIOD_MOST_NS INT64_C(20000000)
#define RSTI_PATH_HOLD_MAX_NS INT64_C(10000000000)

typedef rsti_sm_path_t rsti_path_item_t; /* what an item says */

typedef struct rsti_path_arrival_t {
    int64_t highest;
    int64_t received, since, missing;
    int64_t now_ns;     /* of the newest datagram */
    int64_t highest_ns; /* when highest moved last */
    int64_t told_ns;    /* last item; INT64_MIN: none */
    bool has_news;      /* a datagram has come since the last item */
} rsti_path_arrival_t;

/* The time between two items. rtt_ns 0: unknown. */
int64_t rsti_path_period_ns(int64_t rtt_ns);

/* position: where the image begins. */
void rsti_path_arrival_init(rsti_path_arrival_t *arrival, int64_t position, int64_t now_ns);
/* A datagram with frames from `from` to `to` has arrived, for the first time or again. It was
 * checked before: it lies in the window. bytes: of the datagram; padding is longer than that. */
void rsti_path_arrival_on_data(rsti_path_arrival_t *arrival, int64_t from, int64_t to,
    int64_t bytes, int64_t now_ns);
/* So many bytes more are missing, which no datagram jumped over. */
void rsti_path_arrival_on_missing(rsti_path_arrival_t *arrival, int64_t bytes);
/* When an item is due; RSTI_NO_DEADLINE: nothing new to tell. */
int64_t rsti_path_arrival_due_ns(const rsti_path_arrival_t *arrival, int64_t rtt_ns);
/* The item, which goes out now. contiguous: as the rebuilder knows it. */
void rsti_path_arrival_tell(rsti_path_arrival_t *arrival, int64_t contiguous, int64_t now_ns,
    rsti_path_item_t *item);

#endif
