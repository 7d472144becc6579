/* tail.h: early heartbeats that tell rstream receivers the end of a burst (docs/reference/wire.md,
 * "Repair"). Called by the sender alone.
 *
 * Law: while the slowest receiver has not consumed all sent data, the n-th heartbeat after the last
 * data leaves  T * 2^(n - 1)  after the frame before it, and never later than the common interval.
 * T is a quarter of the round trip, within [TAIL_MIN_NS, TAIL_MAX_NS]. So a burst costs at most
 * log2(interval / T) additional heartbeats, and a receiver notices the loss of the last datagram
 * after T instead of 100 ms. */
#ifndef RSTI_DRIVER_SENDER_TAIL_H
#define RSTI_DRIVER_SENDER_TAIL_H

#include "driver/sender/network_publication.h"

/* Data or a heartbeat was sent. */
void rsti_network_publication_on_tail(rsti_network_publication_t *publication, bool is_data);
/* Returns the delay from the last frame to the next heartbeat. */
int64_t rsti_network_publication_heartbeat_ns(const rsti_network_publication_t *publication);

#endif
