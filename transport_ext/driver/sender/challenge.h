/* challenge.h: on an endpoint with dynamic destinations or response publications every host can
 * name the address that gets the data. A host that knows session and initial term id could name
 * another host's address. So the sender asks that address first, by an RTTM request with a stamp,
 * and only its answer proves it. All drivers, Aeron's too, answer RTTM requests. Called by the
 * sender alone.
 *
 * The stamp is a keyed hash of address, session, stream and time, so no state is kept for it. The
 * status message that led to the question is kept in one of a few places, and counts when the
 * answer comes. When more hosts are asked at once, the oldest one is dropped: its sender becomes a
 * destination by the answer, and its next status message counts. */
#ifndef RSTI_DRIVER_SENDER_CHALLENGE_H
#define RSTI_DRIVER_SENDER_CHALLENGE_H

#include "driver/sender/network_publication.h"
#include "driver/sender/sender_state.h"
#include "protocol/frame.h"
#include "protocol/sm_items.h"

#include <sys/socket.h>

#define RSTI_CHALLENGE_PLACES 16
#define RSTI_CHALLENGE_PERIOD_NS (5 * RSTI_NS_PER_S)

typedef struct rsti_kept_sm_t {
    struct sockaddr_storage source; /* ss_family 0: none */
    union {
        rsti_sm_t sm;
        uint8_t bytes[RSTI_SM_ITEMS_OFFSET + RSTI_SM_ITEMS_MAX];
    };
} rsti_kept_sm_t;

/* Returns the stamp for source of the stream and session that rttm names. */
int64_t rsti_challenge_stamp(const rsti_sender_t *sender, const struct sockaddr_storage *source,
    const rsti_rttm_t *rttm, int64_t now_ns);
/* Asks source for a proof. */
void rsti_challenge_send(rsti_sender_t *sender, const rsti_network_publication_t *publication,
    const struct sockaddr_storage *source, int64_t now_ns);
/* Whether an RTTM answer proves its source. A stamp is good for one to two periods. */
bool rsti_challenge_is_answered(const rsti_sender_t *sender, const rsti_rttm_t *answer,
    const struct sockaddr_storage *source, int64_t now_ns);
/* Keeps a status message of source. It is not kept when it is too long. */
void rsti_challenge_keep(rsti_send_endpoint_t *endpoint, const rsti_sm_t *sm,
    const struct sockaddr_storage *source);
/* Takes the kept status message of source. It is valid until the next call of keep. NULL: there is
 * none. */
const rsti_sm_t *rsti_challenge_take(rsti_send_endpoint_t *endpoint,
    const struct sockaddr_storage *source);

#endif
