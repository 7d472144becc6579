/* tokens.h: how many bytes and datagrams may be sent now, with one bucket for each (bucket.h). For
 * any time t within which the rates stay the same:
 *
 *     bytes sent     <= bytes_per_s * t + burst         burst = max(2 ms of the rate, 4 mtu)
 *     datagrams sent <= datagrams_per_s * t + burst     burst = max(2 ms of the rate, 4)
 *
 * If the rate changes, its integral takes the place of rate * t, with the greatest burst.
 * Retransmissions spend without asking, into a debt of at most DEBT_BURSTS bursts. So a storm of
 * repairs stops new data no longer than it takes to pay that debt.
 *
 * Three states (fast-cast) answer a request to send:
 *   free        both buckets hold at least a quarter of their burst
 *   batch only  less than that, but enough for the request: the publisher fills datagrams and
 *               ignores "at once", because a small datagram costs the same as a full one
 *   refused     less than min(request, burst)
 * A rate of RSTI_RATE_MAX or more is no limit; the state is then always free. Pure: now_ns is an
 * argument; time that goes back counts as no time. Owner: sender. */
#ifndef RSTI_FLOW_TOKENS_H
#define RSTI_FLOW_TOKENS_H

#include "flow/bucket.h"

#include <stdint.h>

#define RSTI_TOKENS_BURST_NS INT64_C(2000000)
#define RSTI_TOKENS_BURST_DATAGRAMS 4
#define RSTI_TOKENS_DEBT_BURSTS 8

typedef enum rsti_tokens_state_t {
    RSTI_TOKENS_FREE = 0,
    RSTI_TOKENS_BATCH_ONLY = 1,
    RSTI_TOKENS_REFUSED = 2,
} rsti_tokens_state_t;

typedef struct rsti_tokens_t {
    rsti_bucket_t bytes, datagrams; /* filled at the same times */
    double mtu;
} rsti_tokens_t;

/* Both buckets are full. Rates are clamped to 1 ... RSTI_RATE_MAX. */
void rsti_tokens_init(rsti_tokens_t *tokens, double bytes_per_s, double datagrams_per_s,
    int32_t mtu, int64_t now_ns);
/* The new rates hold from now on; the time until now is counted at the old rates. */
void rsti_tokens_set(rsti_tokens_t *tokens, double bytes_per_s, double datagrams_per_s,
    int64_t now_ns);

rsti_tokens_state_t rsti_tokens_ask(rsti_tokens_t *tokens, int64_t bytes, int64_t datagrams,
    int64_t now_ns);
/* Bytes that may be sent now; INT64_MAX: no limit. */
int64_t rsti_tokens_room(rsti_tokens_t *tokens, int64_t now_ns);
void rsti_tokens_spend(rsti_tokens_t *tokens, int64_t bytes, int64_t datagrams, int64_t now_ns);
/* When a request of that size will no longer be refused; at least now_ns. */
int64_t rsti_tokens_due_ns(rsti_tokens_t *tokens, int64_t bytes, int64_t datagrams, int64_t now_ns);

#endif
