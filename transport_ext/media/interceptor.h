/* interceptor.h: a media table that wraps another and loses, doubles, reorders and delays datagrams
 * from one seed, per direction and per kind (data: DATA, PAD, SETUP, heartbeat; control: SM, NAK,
 * RTTM, ERR). Usable in production tests through the driver's options. */
#ifndef RSTI_MEDIA_INTERCEPTOR_H
#define RSTI_MEDIA_INTERCEPTOR_H

#include "media/media.h"

/* A reordered datagram is held back until this many later ones passed, or for this time. */
#define RSTI_FAULT_REORDER_COUNT 3
#define RSTI_FAULT_REORDER_NS INT64_C(1000000)

typedef struct rsti_fault_rates_t {
    double loss; /* probability 0 … 1 per datagram */
    double duplicate;
    double reorder;
} rsti_fault_rates_t;

/* One datagram, for drop functions (media/fault_target.h). */
typedef struct rsti_fault_view_t {
    const uint8_t *data;
    size_t length;
    const struct sockaddr_storage *peer; /* of connected sockets that send: zero */
    bool is_sent; /* else received */
    bool is_data;
    int64_t socket_number; /* of the socket: sockets are numbered as they open, from 0 */
} rsti_fault_view_t;

typedef struct rsti_fault_params_t {
    rsti_fault_rates_t send_data, send_control, receive_data, receive_control;
    int64_t delay_ns; /* added to everything received */
    uint64_t seed;
    /* For tests in C: true loses the datagram, whatever the dice say. NULL: only the dice decide.
     * Called by the agents' threads. A send that was refused asks again when it is repeated. */
    bool (*drop)(void *arg, const rsti_fault_view_t *datagram);
    void *drop_arg;
} rsti_fault_params_t;

bool rsti_fault_is_active(const rsti_fault_params_t *params);
/* Owns inner from now on and destroys it. A socket belongs to one agent: one thread calls its send
 * and receive; different sockets may be used by different threads. State is kept per socket and
 * direction. The n-th opened socket gets the n-th stream of dice of the seed, and every datagram
 * rolls three. So the fate of a datagram depends only on seed, socket, direction and its number.
 * Held datagrams lie in a bounded queue that is made when the socket opens. When it is full, a
 * delayed datagram is lost (as in a router), a reordered one passes at once, and a double is left
 * out. */
int rsti_media_interceptor_create(rsti_media_t *media, const rsti_media_t *inner,
    const rsti_fault_params_t *params, const rsti_clock_t *clock);
void rsti_media_interceptor_destroy(rsti_media_t *media);

/* What the interceptor did, for tests and `rstream stat`. */
typedef struct rsti_fault_counts_t {
    int64_t lost, duplicated, reordered; /* since creation, all sockets, closed ones too */
} rsti_fault_counts_t;
void rsti_media_interceptor_counts(const rsti_media_t *media, rsti_fault_counts_t *counts);

#endif
