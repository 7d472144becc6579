/* frames_in.c: see frames_in.h. */
#include "driver/receiver/frames_in.h"

#include "driver/base/driver_state.h"
#include "driver/receiver/admission.h"
#include "driver/receiver/dispatcher.h"
#include "driver/receiver/image_connections.h"
#include "driver/receiver/image_insert.h"
#include "driver/receiver/image_rtt.h"
#include "driver/receiver/image_send.h"
#include "driver/receiver/receive_endpoint.h"
#include "driver/receiver/receive_transport.h"

void rsti_receive_endpoint_on_data(rsti_receiver_t *receiver, rsti_receive_transport_t *transport,
    const uint8_t *datagram, size_t length, const struct sockaddr_storage *source, int64_t now_ns)
{
    rsti_data_header_t header;
    memcpy(&header, datagram, sizeof header);
    rsti_dispatcher_t *dispatcher = &transport->endpoint->dispatcher;
    const rsti_session_t *session = rsti_dispatcher_find(dispatcher, header.stream_id,
        header.session_id);
    if (session != NULL && session->state != RSTI_SESSION_ACTIVE) {
        return;
    }
    rsti_image_t *image = session == NULL ? NULL : session->image;
    if (image != NULL) {
        rsti_connection_t *connection = rsti_image_connection(image, transport, source, now_ns);
        if (connection != NULL) {
            transport->last_activity_ns = now_ns;
            rsti_connection_earn(connection, length);
            rsti_image_on_packet(receiver, image, connection, datagram, length, now_ns);
            return;
        }
    }
    const bool is_eos = rsti_packet_is_heartbeat(datagram, length)
        && (header.frame.flags & RSTI_FLAG_EOS) != 0;
    if (is_eos
        || (image != NULL
                ? !rsti_image_may_join(image, transport, now_ns)
                : !rsti_dispatcher_is_wanted(dispatcher, header.stream_id, header.session_id))) {
        return;
    }
    const rsti_origin_t origin = {transport, source, header.stream_id, header.session_id};
    rsti_admission_on_data(receiver, &origin, now_ns);
}

void rsti_receive_endpoint_on_echo(rsti_receiver_t *receiver, rsti_receive_transport_t *transport,
    const rsti_sm_t *sm, size_t length, const struct sockaddr_storage *source)
{
    if (length < sizeof *sm || sm->frame.frame_length != (int32_t)length) {
        return; /* not from an rstream sender, and Aeron's senders send no status messages */
    }
    const rsti_session_t *session = rsti_dispatcher_find(&transport->endpoint->dispatcher,
        sm->stream_id, sm->session_id);
    if (session != NULL && session->state == RSTI_SESSION_ACTIVE
        && rsti_image_bound(session->image, transport, source) != NULL) {
        rsti_image_on_echo(receiver, session->image, sm);
    }
}

void rsti_receive_endpoint_on_setup(rsti_receiver_t *receiver, rsti_receive_transport_t *transport,
    const rsti_setup_t *setup, const struct sockaddr_storage *source, int64_t now_ns)
{
    if (!rsti_setup_is_valid(setup)) {
        rsti_driver_count(receiver->driver, RSTI_SYSTEM_INVALID_PACKETS, 1);
        return;
    }
    rsti_dispatcher_t *dispatcher = &transport->endpoint->dispatcher;
    rsti_session_t *session = rsti_dispatcher_find(dispatcher, setup->stream_id, setup->session_id);
    if (session != NULL && session->state == RSTI_SESSION_ACTIVE) {
        rsti_image_t *image = session->image;
        rsti_connection_t *connection = rsti_image_connection(image, transport, source, now_ns);
        if (connection != NULL) {
            transport->last_activity_ns = now_ns;
            rsti_connection_earn(connection, RSTI_SETUP_LENGTH);
            rsti_image_on_setup(image, connection, setup, now_ns);
            return;
        }
        if (!rsti_image_may_join(image, transport, now_ns)
            || (!rsti_image_is_same_stream(image, setup)
                && !rsti_image_is_displaced_by(image, transport, setup))) {
            return;
        }
    } else if (session != NULL
        || !rsti_dispatcher_is_wanted(dispatcher, setup->stream_id, setup->session_id)) {
        return;
    }
    const rsti_origin_t origin = {transport, source, setup->stream_id, setup->session_id};
    rsti_admission_on_setup(receiver, &origin, session, setup, now_ns);
}

/* A source that no image has echoed a frame: perhaps the one that it was asked with. */
static void on_stranger_echo(rsti_receiver_t *receiver, const rsti_origin_t *origin,
    const rsti_rttm_t *rttm, rsti_session_t *session, int64_t now_ns)
{
    const rsti_dispatcher_t *dispatcher = &origin->transport->endpoint->dispatcher;
    if (rttm->receiver_id == origin->transport->endpoint->receiver_id
        && rsti_candidates_is_stamp(&receiver->candidates, origin, rttm->echo_timestamp, now_ns)
        && (session != NULL
                ? rsti_image_may_join(session->image, origin->transport, now_ns)
                : rsti_dispatcher_is_wanted(dispatcher, rttm->stream_id, rttm->session_id))) {
        rsti_admission_on_proof(receiver, origin, session, now_ns);
    }
}

void rsti_receive_endpoint_on_rttm(rsti_receiver_t *receiver, rsti_receive_transport_t *transport,
    const rsti_rttm_t *rttm, const struct sockaddr_storage *source, int64_t now_ns)
{
    rsti_receive_endpoint_t *endpoint = transport->endpoint;
    const bool is_request = (rttm->frame.flags & RSTI_RTTM_FLAG_REPLY) != 0;
    if (rttm->receiver_id != endpoint->receiver_id && rttm->receiver_id != 0) {
        return;
    }
    rsti_session_t *session = rsti_dispatcher_find(&endpoint->dispatcher, rttm->stream_id,
        rttm->session_id);
    if (session != NULL && session->state != RSTI_SESSION_ACTIVE) {
        return;
    }
    const rsti_origin_t origin = {transport, source, rttm->stream_id, rttm->session_id};
    rsti_connection_t *connection = session == NULL
        ? NULL
        : rsti_image_bound(session->image, transport, source);
    if (connection == NULL) {
        if (!is_request) {
            on_stranger_echo(receiver, &origin, rttm, session, now_ns);
        }
        return;
    }
    if (!is_request) {
        if (rsti_image_on_rtt_answer(session->image, rttm, now_ns)
            || rsti_candidates_is_stamp(&receiver->candidates, &origin, rttm->echo_timestamp,
                now_ns)) {
            rsti_image_prove(receiver, session->image, connection);
        }
        return;
    }
    rsti_rttm_t answer = *rttm;
    answer.frame = (rsti_frame_header_t){RSTI_RTTM_LENGTH, 0, 0, RSTI_FRAME_RTTM};
    answer.reception_delta = 0;
    answer.receiver_id = endpoint->receiver_id;
    rsti_connection_earn(connection, RSTI_RTTM_LENGTH);
    (void)rsti_connection_send(receiver, connection, &answer, sizeof answer);
}
