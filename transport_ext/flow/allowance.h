/* allowance.h: how far producers may write on their own, up to a limit in shared memory: a bucket
 * (bucket.h) that forgives no debt. For any time t within which the rate stays:
 *
 *     bytes written <= bytes_per_s * t + burst + one message      burst = max(10 ms of it, 4 mtu)
 *
 * because the limit is at most the burst ahead of the bytes written, and grows by the rate. The
 * last message may begin below it and end beyond: all of it is earned before the next. A limit that
 * is ahead by the whole burst is not updated until it is asked for, so an idle stream costs
 * nothing. The burst is 10 ms because the conductor sleeps, and wakes late on a busy machine.
 *
 * tokens.h is for a sender that asks before each datagram: finer, and it forgives debt. A rate of
 * RSTI_RATE_MAX or more is no limit. Pure: now_ns is an argument; time that goes
 * back counts as no time, and a position that goes back as no bytes. Owner: conductor. */
#ifndef RSTI_FLOW_ALLOWANCE_H
#define RSTI_FLOW_ALLOWANCE_H

#include "flow/bucket.h"
#include "flow/rate.h"

#include <stdint.h>

#define RSTI_ALLOWANCE_BURST_NS INT64_C(10000000)
#define RSTI_ALLOWANCE_BURST_FRAMES 4

typedef struct rsti_allowance_t {
    rsti_bucket_t bytes; /* a debt: bytes written that are not earned yet */
    int32_t mtu;
    int64_t position;
} rsti_allowance_t;

/* Begins with the whole burst. */
void rsti_allowance_init(rsti_allowance_t *allowance, double bytes_per_s, int32_t mtu,
    int64_t position, int64_t now_ns);
/* The new rate holds from now on; the time until now is counted at the old rate. */
void rsti_allowance_set(rsti_allowance_t *allowance, double bytes_per_s, int64_t position,
    int64_t now_ns);
/* The limit for producers that are at position; INT64_MAX: none. */
int64_t rsti_allowance_limit(rsti_allowance_t *allowance, int64_t position, int64_t now_ns);
/* The time at which the limit will have grown by a quarter of the burst, any debt paid first;
 * INT64_MAX: the limit is already ahead by the whole burst. */
int64_t rsti_allowance_due_ns(const rsti_allowance_t *allowance);

/* Bytes per second of a law for shared memory. There are no datagrams, so a limit on datagrams
 * counts as the bytes that they could carry. A law that follows fill NAKs begins without a limit
 * (driver/conductor/ipc_rate.h). */
double rsti_allowance_rate(const rsti_rate_law_t *law, const rsti_rate_params_t *params,
    int32_t mtu);

#endif
