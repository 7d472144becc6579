/* tail.h: heartbeats that tell receivers of ours the end of a burst soon (docs/reference/wire.md,
 * "Repair").
 *
 * Law: while the slowest receiver has not consumed all that was sent, the n-th heartbeat after the
 * last data leaves  T * 2^(n - 1)  after what was sent before it, T = round trip / 4 within
 * [TAIL_MIN_NS, TAIL_MAX_NS]; never later than the common interval. So a burst costs at most
 * log2(interval / T) more of them, and a lost last datagram is missed after T instead of 100 ms. */
#ifndef RSTI_DRIVER_SENDER_TAIL_H
#define RSTI_DRIVER_SENDER_TAIL_H

#include "driver/sender/network_publication.h"

/* Data went out, or a heartbeat did. */
void rsti_network_publication_on_tail(rsti_network_publication_t *publication, bool is_data);
/* How long after it the next heartbeat is due. */
int64_t rsti_network_publication_heartbeat_ns(const rsti_network_publication_t *publication);

#endif
