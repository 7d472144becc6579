/* bottleneck.h: one link that all flows share: a queue that drops what does not fit, a rate that
 * may change, random loss behind it. Event by event, in whole datagrams. The queue is a ring,
 * allocated once. */
#ifndef RSTI_LAB_BOTTLENECK_H
#define RSTI_LAB_BOTTLENECK_H

#include "lab/spec.h"
#include "util/rng.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct rsti_lab_packet_t {
    int64_t id; /* its flow's number of it */
    int32_t flow;
    int32_t bytes;
} rsti_lab_packet_t;

typedef struct rsti_lab_bottleneck_t {
    rsti_lab_packet_t *packets; /* packets[head] is on its way into the link */
    int64_t head, tail, mask;
    double rate; /* bytes per second */
    double loss;
    int64_t queue_most, queue_bytes;
    int64_t leaves_ns; /* the first packet; INT64_MAX: none */
    rsti_rng_t rng;
} rsti_lab_bottleneck_t;

/* 0 or -RST_ENOMEM. packet_least: bytes of the smallest packet. */
int rsti_lab_bottleneck_init(rsti_lab_bottleneck_t *bottleneck, const rsti_lab_link_spec_t *spec,
    int32_t packet_least);
void rsti_lab_bottleneck_fini(rsti_lab_bottleneck_t *bottleneck);
/* False: the queue has no room, and the packet is dropped. */
bool rsti_lab_bottleneck_put(rsti_lab_bottleneck_t *bottleneck, const rsti_lab_packet_t *packet,
    int64_t now_ns);
/* Takes the packet that leaves at leaves_ns. False: it is lost. */
bool rsti_lab_bottleneck_take(rsti_lab_bottleneck_t *bottleneck, rsti_lab_packet_t *packet);

#endif
