/* admission.h: whether a source may begin a session, or join one that exists.
 *
 *     source                           is asked      then
 *     SETUP of a new session           RTTM          its echo makes the image, as proven
 *     data of a new session            SM, RTTM      waits for the SETUP
 *     a second SETUP, RTTM unanswered                an image with the quotas of image_limits.h
 *
 * So a publisher that answers RTTM, as every driver of Aeron and rstream does, is connected one
 * round trip later than without proof, and one whose data came first no later than before. Only a
 * source without rstream's flag is admitted unproven, because rstream's always answer; with
 * control= only at that host; and not while a proven source waits for the session.
 *
 * Law: a stranger gets at most three bytes for each of its own. A SETUP (40 bytes) is answered by
 * one RTTM (40), data (32 or more) by one SM and one RTTM (76, or 84 with a group tag). An unproven
 * image spends three bytes for each that it gets (image_send.h), and sends no NAK.
 *
 * A session belongs to its first source: see image_connections.h. Called by the receiver alone. */
#ifndef RSTI_DRIVER_RECEIVER_ADMISSION_H
#define RSTI_DRIVER_RECEIVER_ADMISSION_H

#include "driver/receiver/candidates.h"
#include "driver/receiver/dispatcher.h"
#include "driver/receiver/receiver_state.h"

/* Publishers repeat a SETUP after 100 ms. Two that are closer count as one. */
#define RSTI_SECOND_SETUP_NS (50 * RSTI_NS_PER_MS)
/* Least time between two unproven images that are asked for. */
#define RSTI_ADMISSION_INTERVAL_NS (10 * RSTI_NS_PER_MS)

/* A SETUP of a stranger. session: of the origin; NULL: there is none yet, and one is wanted. */
void rsti_admission_on_setup(rsti_receiver_t *receiver, const rsti_origin_t *origin,
    rsti_session_t *session, const rsti_setup_t *setup, int64_t now_ns);
/* Data of a stranger: it is dropped, and its source is asked for a SETUP and for its proof. */
void rsti_admission_on_data(rsti_receiver_t *receiver, const rsti_origin_t *origin, int64_t now_ns);
/* An echo of a stamp that the source was asked with. */
void rsti_admission_on_proof(rsti_receiver_t *receiver, const rsti_origin_t *origin,
    rsti_session_t *session, int64_t now_ns);
/* Asks a source for its proof. False: the system did not accept the frame. */
bool rsti_admission_ask(rsti_receiver_t *receiver, const rsti_origin_t *origin,
    const struct sockaddr_storage *to, int64_t now_ns);

#endif
