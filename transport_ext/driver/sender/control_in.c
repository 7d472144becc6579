/* control_in.c: see control_in.h. */
#include "driver/sender/control_in.h"

#include "driver/base/driver_state.h"
#include "driver/sender/challenge.h"
#include "driver/sender/receivers.h"
#include "driver/sender/resend.h"
#include "driver/sender/send_publication.h"
#include "driver/sender/setup.h"
#include "driver/sender/slowest_receiver.h"
#include "util/netaddr.h"

#define UNKNOWN_TERM_LENGTH 1073741824 /* the longest, for a publication that is not known here */

/* A receiver asked for a SETUP. A stranger gets an answer of its own, because a SETUP to all
 * destinations would multiply its bytes. */
static void on_setup_asked(rsti_sender_t *sender, rsti_send_endpoint_t *endpoint,
    rsti_network_publication_t *publication, const rsti_sm_t *sm,
    const struct sockaddr_storage *source, int64_t now_ns)
{
    if (publication == NULL) {
        if (endpoint->destinations != NULL && !endpoint->destinations->is_manual) {
            rsti_send_endpoint_answer(sender, endpoint, source);
        }
    } else if (rsti_send_endpoint_is_open(endpoint)
        && (publication->base.is_response || !rsti_proven_has(&endpoint->proven, source, now_ns))) {
        rsti_network_publication_answer(sender, publication, source);
    } else {
        rsti_network_publication_on_setup_asked(publication, sm, now_ns);
    }
}

/* On an open endpoint a status message counts when its source is proven. */
static bool is_admitted(rsti_sender_t *sender, rsti_send_endpoint_t *endpoint,
    const rsti_network_publication_t *publication, const rsti_sm_t *sm,
    const struct sockaddr_storage *source, int64_t now_ns)
{
    if (!rsti_send_endpoint_is_open(endpoint)
        || !rsti_proven_is_due(&endpoint->proven, source, now_ns)) {
        return true;
    }
    const bool is_proven = rsti_proven_has(&endpoint->proven, source, now_ns);
    if (rsti_network_publication_is_seen_by(publication, sm)) {
        rsti_challenge_send(sender, publication, source, now_ns);
        if (!is_proven) {
            rsti_challenge_keep(endpoint, sm, source);
        }
    } else if (!is_proven) {
        rsti_driver_count(sender->driver, RSTI_SYSTEM_SM_REJECTED, 1);
    }
    return is_proven;
}

static void on_position(rsti_sender_t *sender, rsti_send_endpoint_t *endpoint,
    rsti_network_publication_t *publication, const rsti_sm_t *sm,
    const struct sockaddr_storage *source, int64_t now_ns)
{
    if (!is_admitted(sender, endpoint, publication, sm, source, now_ns)) {
        return;
    }
    const rsti_sm_result_t result = rsti_network_publication_on_sm(sender, publication, sm, source,
        now_ns);
    if (result == RSTI_SM_REJECTED) {
        return;
    }
    rsti_send_endpoint_on_proof(sender, endpoint, sm->receiver_id, source, now_ns);
    if (result == RSTI_SM_ACCEPTED) {
        endpoint->last_sm_ns = now_ns;
        rsti_slowest_on_receivers(sender, publication, now_ns);
        if (publication->base.is_response) {
            publication->response_address = *source;
        }
    }
}

static void on_sm(rsti_sender_t *sender, rsti_send_endpoint_t *endpoint,
    rsti_network_publication_t *publication, const rsti_sm_t *sm,
    const struct sockaddr_storage *source, int64_t now_ns)
{
    const int32_t term_length = publication != NULL ? publication->base.file.log.term_length
                                                    : UNKNOWN_TERM_LENGTH;
    /* A source with port 0 gets no datagram: every send to it would fail. */
    if (rsti_netaddr_port(source) == 0 || !rsti_sm_is_valid(sm, term_length)) {
        rsti_driver_count(sender->driver, RSTI_SYSTEM_INVALID_PACKETS, 1);
        return;
    }
    if (publication != NULL) {
        rsti_driver_count(sender->driver, RSTI_SYSTEM_SM_RECEIVED, 1);
    }
    if ((sm->frame.flags & RSTI_SM_FLAG_SEND_SETUP) != 0) {
        on_setup_asked(sender, endpoint, publication, sm, source, now_ns);
    } else if (publication != NULL) {
        on_position(sender, endpoint, publication, sm, source, now_ns);
    }
}

static void on_rttm(rsti_sender_t *sender, rsti_send_endpoint_t *endpoint,
    rsti_network_publication_t *publication, const rsti_rttm_t *rttm,
    const struct sockaddr_storage *source, int64_t now_ns)
{
    if ((rttm->frame.flags & RSTI_RTTM_FLAG_REPLY) != 0) {
        rsti_network_publication_on_rttm(sender, publication, rttm, source);
        return;
    }
    const bool was_proven = rsti_proven_has(&endpoint->proven, source, now_ns);
    if (!rsti_send_endpoint_is_open(endpoint)
        || !rsti_challenge_is_answered(sender, rttm, source, now_ns)
        || !rsti_proven_add(&endpoint->proven, source, now_ns)) {
        return;
    }
    const rsti_sm_t *kept = rsti_challenge_take(endpoint, source);
    if (kept == NULL && !was_proven) {
        /* Data must flow at once: the next status message may come 200 ms later. */
        rsti_send_endpoint_on_proof(sender, endpoint, rttm->receiver_id, source, now_ns);
    } else if (kept != NULL && kept->session_id == rttm->session_id
        && kept->stream_id == rttm->stream_id) {
        on_position(sender, endpoint, publication, kept, source, now_ns);
    }
}

/* The second gate: frames of strangers that could have an effect on others are dropped. */
static void on_frame_of_proven(rsti_sender_t *sender, rsti_network_publication_t *publication,
    const rsti_datagram_t *datagram, int64_t now_ns)
{
    const void *data = datagram->data;
    switch (((const rsti_frame_header_t *)data)->type) {
    case RSTI_FRAME_NAK:
        rsti_network_publication_on_nak(sender, publication, data, now_ns);
        break;
    case RSTI_FRAME_RSP_SETUP:
        rsti_network_publication_on_response_setup(sender, publication, data);
        break;
    case RSTI_FRAME_ERR:
        rsti_network_publication_on_err(sender, publication, data, &datagram->address, now_ns);
        break;
    default:
        break;
    }
}

static void on_control_frame(rsti_sender_t *sender, rsti_send_endpoint_t *endpoint,
    const rsti_datagram_t *datagram, int64_t now_ns)
{
    const uint8_t *data = datagram->data;
    const int16_t type = ((const rsti_frame_header_t *)(const void *)data)->type;
    if (type != RSTI_FRAME_SM && type != RSTI_FRAME_NAK && type != RSTI_FRAME_RTTM
        && type != RSTI_FRAME_ERR && type != RSTI_FRAME_RSP_SETUP) {
        return;
    }
    /* Every frame that concerns a publication names session and stream at the same place. */
    rsti_network_publication_t *publication = rsti_send_endpoint_find(endpoint,
        rsti_get_i32(data + 12), rsti_get_i32(data + 8));
    const struct sockaddr_storage *source = &datagram->address;
    if (type == RSTI_FRAME_ERR) {
        rsti_driver_count(sender->driver, RSTI_SYSTEM_ERROR_FRAMES_RECEIVED, 1);
        if (!rsti_err_is_valid((const void *)data, datagram->length)) {
            rsti_driver_count(sender->driver, RSTI_SYSTEM_INVALID_PACKETS, 1);
            return;
        }
    }
    if (type == RSTI_FRAME_SM) {
        on_sm(sender, endpoint, publication, (const void *)data, source, now_ns);
    } else if (publication != NULL && type == RSTI_FRAME_RTTM) {
        on_rttm(sender, endpoint, publication, (const void *)data, source, now_ns);
    } else if (publication != NULL && rsti_proven_has(&endpoint->proven, source, now_ns)) {
        on_frame_of_proven(sender, publication, datagram, now_ns);
    }
}

void rsti_send_endpoint_on_control(rsti_sender_t *sender, rsti_send_endpoint_t *endpoint,
    const rsti_datagram_t *datagrams, int count, int64_t now_ns)
{
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < count; i++) {
            const void *data = datagrams[i].data;
            if (!rsti_frame_is_acceptable(data, datagrams[i].length)) {
                rsti_driver_count(sender->driver, RSTI_SYSTEM_INVALID_PACKETS, round);
                continue;
            }
            const bool is_sm = ((const rsti_frame_header_t *)data)->type == RSTI_FRAME_SM;
            if (is_sm == (round == 0)) {
                on_control_frame(sender, endpoint, &datagrams[i], now_ns);
            }
        }
    }
}
