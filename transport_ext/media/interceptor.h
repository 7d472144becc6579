/* interceptor.h: a media table that wraps another and loses, doubles, reorders and delays datagrams
 * from one seed, per direction and per kind (data: DATA, PAD, SETUP, heartbeat; control: SM, NAK,
 * RTTM, ERR). Usable in production tests through the driver's options. */
#ifndef RSTI_MEDIA_INTERCEPTOR_H
#define RSTI_MEDIA_INTERCEPTOR_H

#include "media/media.h"

typedef struct rsti_fault_rates_t {
    double loss;      /* probability 0 … 1 per datagram */
    double duplicate;
    double reorder;   /* held back until reorder_count later datagrams passed or 1 ms */
} rsti_fault_rates_t;

typedef struct rsti_fault_params_t {
    rsti_fault_rates_t send_data, send_control, receive_data, receive_control;
    int64_t delay_ns; /* added to everything received */
    uint64_t seed;
} rsti_fault_params_t;

bool rsti_fault_is_active(const rsti_fault_params_t *params);
/* Takes inner over (destroyed with it). Not thread-safe across sockets of one direction: the sender
 * agent calls send, the receiver agent receive; state is kept per socket and direction. */
int rsti_media_interceptor_create(rsti_media_t *media, const rsti_media_t *inner,
    const rsti_fault_params_t *params, const rsti_clock_t *clock);
void rsti_media_interceptor_destroy(rsti_media_t *media);

/* What it did, for tests and `rstream stat`. */
typedef struct rsti_fault_counts_t {
    int64_t lost, duplicated, reordered;
} rsti_fault_counts_t;
void rsti_media_interceptor_counts(const rsti_media_t *media, rsti_fault_counts_t *counts);

#endif
