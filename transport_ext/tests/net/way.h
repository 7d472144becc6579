/* way.h: one direction of an emulated link, as arithmetic: a drop-tail queue of bytes in front of a
 * rate, then a delay, random loss and reordering. Time comes with each call and never goes back, so
 * tests turn it by hand and a late caller loses nothing: what left the queue meanwhile has left it
 * at its own time.
 *
 *     net_way_init(&way, &params, capacity);
 *     net_way_offer(&way, now_ns, packet)      false: the queue is full, the packet stays yours
 *     net_way_next_ns(&way)                    when the next packet arrives at the far end
 *     net_way_take(&way, now_ns)               a packet that has arrived; lost ones are marked
 *     net_way_fini(&way) */
#ifndef RSTI_TESTS_NET_WAY_H
#define RSTI_TESTS_NET_WAY_H

#include "util/rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NET_STEPS_MAX 32
#define NET_PACKET_BYTES 2048

typedef struct net_packet_t {
    struct net_packet_t *next; /* the caller's */
    int64_t due_ns; /* at the far end */
    int64_t extra_ns; /* delay of its sender's own, beside the way's */
    uint64_t order; /* in which it left the queue */
    size_t length; /* IP bytes */
    int flow, host; /* the caller's: where it is counted, where it goes */
    bool is_lost;
    uint8_t data[NET_PACKET_BYTES];
} net_packet_t;

typedef struct net_step_t {
    int64_t at_ns;
    int64_t bits_per_s;
} net_step_t;

typedef struct net_way_params_t {
    int64_t bits_per_s; /* of IP bytes; 0: endless */
    int64_t delay_ns;
    int64_t queue_bytes; /* with the packet that is being sent; 0: endless */
    double loss; /* of packets, after the queue: they take their time on the link */
    double reorder; /* of packets, held back by reorder_ns */
    int64_t reorder_ns;
    uint64_t seed;
} net_way_params_t;

typedef struct net_way_t {
    net_way_params_t params;
    rsti_rng_t rng;
    net_step_t steps[NET_STEPS_MAX]; /* in order of time */
    int step_count;
    net_packet_t **queue; /* ring of capacity */
    size_t first, count, capacity;
    int64_t queued_bytes;
    int64_t sent_ns; /* when the first of the queue has been sent */
    uint64_t sent_count;
    net_packet_t **under_way; /* heap, the next to arrive first */
    size_t under_way_count;
} net_way_t;

/* capacity: packets in the queue, and packets under way, at most. False: no memory. */
bool net_way_init(net_way_t *way, const net_way_params_t *params, size_t capacity);
void net_way_fini(net_way_t *way);

/* From at_ns on the rate is another. Later than all steps before; false: there are too many. A
 * packet that is being sent keeps its rate. */
bool net_way_step(net_way_t *way, int64_t at_ns, int64_t bits_per_s);

bool net_way_offer(net_way_t *way, int64_t now_ns, net_packet_t *packet);
int64_t net_way_next_ns(const net_way_t *way); /* INT64_MAX: nothing is in it */
net_packet_t *net_way_take(net_way_t *way, int64_t now_ns); /* NULL: nothing has arrived */

/* How long a packet offered now would wait before it is sent. */
int64_t net_way_wait_ns(net_way_t *way, int64_t now_ns);

#endif
