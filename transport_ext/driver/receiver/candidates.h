/* candidates.h: sources of a session that have not proved yet that they receive what we send. Any
 * host can forge the source of a datagram, so a stranger is asked first: by a round-trip frame with
 * a stamp that nobody can guess. Its echo proves the source.
 *
 * The stamp is a keyed hash of the address, the session and the time, so an echo can be checked
 * without memory. The table only saves time: it remembers who was asked, the SETUP that waits for
 * its proof, and who has proved itself before its SETUP came. It has a fixed size. A stranger takes
 * the place of the oldest stranger, never of a source that is proven. When an entry is lost, the
 * next SETUP of an honest publisher comes within 100 ms.
 *
 * Used by the receiver alone. */
#ifndef RSTI_DRIVER_RECEIVER_CANDIDATES_H
#define RSTI_DRIVER_RECEIVER_CANDIDATES_H

#include "protocol/frame.h"
#include "util/clock.h"
#include "util/netaddr.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct rsti_receive_transport_t rsti_receive_transport_t;

#define RSTI_CANDIDATE_SETS 256
#define RSTI_CANDIDATE_WAYS 4
/* An entry is forgotten this long after the last frame of its source. */
#define RSTI_CANDIDATE_LIFE_NS RSTI_NS_PER_S
/* A stamp is accepted for one to two of these periods. */
#define RSTI_STAMP_PERIOD_NS (INT64_C(8) * RSTI_NS_PER_S)

/* Where a frame says that it comes from, and by which transport it came. */
typedef struct rsti_origin_t {
    rsti_receive_transport_t *transport;
    const struct sockaddr_storage *source;
    int32_t stream_id;
    int32_t session_id;
} rsti_origin_t;

typedef struct rsti_candidate_t {
    rsti_receive_transport_t *transport; /* NULL: the place is free */
    rsti_packed_address_t source;
    uint64_t sealer; /* of that source; util/netaddr.h */
    int32_t stream_id;
    int32_t session_id;
    int64_t seen_ns;  /* of the last frame */
    int64_t setup_ns; /* of the first of the SETUPs that agree; valid with has_setup */
    int64_t ask_due_ns; /* data that comes before this time asks for nothing */
    bool has_setup;
    bool is_proven;
    rsti_setup_t setup; /* the last one */
} rsti_candidate_t;

typedef struct rsti_candidates_t {
    uint64_t key[2];
    rsti_candidate_t *places;
} rsti_candidates_t;

/* key: secret. 0 or -RST_ENOMEM. */
int rsti_candidates_init(rsti_candidates_t *candidates, const uint64_t key[2]);
void rsti_candidates_fini(rsti_candidates_t *candidates);

/* The stamp that a source is asked with. */
int64_t rsti_candidates_stamp(const rsti_candidates_t *candidates, const rsti_origin_t *origin,
    int64_t now_ns);
/* True when the stamp is one that this source was asked with, in this period or the last one. */
bool rsti_candidates_is_stamp(const rsti_candidates_t *candidates, const rsti_origin_t *origin,
    int64_t stamp, int64_t now_ns);
/* Finds or adds the entry of a source, and notes that a frame came. is_proven: marks it as proven.
 * NULL: proven sources hold all places that it may have, and this one is not proven. The pointer is
 * valid until the next call. */
rsti_candidate_t *rsti_candidates_put(rsti_candidates_t *candidates, const rsti_origin_t *origin,
    bool is_proven, int64_t now_ns);
/* Whether a proven source waits for the session of that origin. */
bool rsti_candidates_have_proven(const rsti_candidates_t *candidates, const rsti_origin_t *origin,
    int64_t now_ns);
void rsti_candidates_forget(rsti_candidate_t *candidate);
/* Forgets all sources of a transport that is being closed. */
void rsti_candidates_forget_transport(rsti_candidates_t *candidates,
    const rsti_receive_transport_t *transport);

#endif
