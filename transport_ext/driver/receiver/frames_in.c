/* frames_in.c: see frames_in.h. */
#include "driver/receiver/frames_in.h"

#include "driver/base/driver_state.h"
#include "driver/base/proxies.h"
#include "driver/receiver/dispatcher.h"
#include "driver/receiver/image_connections.h"
#include "driver/receiver/image_insert.h"
#include "driver/receiver/image_rtt.h"
#include "driver/receiver/receive_endpoint.h"
#include "driver/receiver/receive_transport.h"

void rsti_receive_endpoint_on_data(rsti_receiver_t *receiver, rsti_receive_transport_t *transport,
    const uint8_t *datagram, size_t length, const struct sockaddr_storage *source, int64_t now_ns)
{
    rsti_data_header_t header;
    memcpy(&header, datagram, sizeof header);
    transport->last_activity_ns = now_ns;
    rsti_dispatcher_t *dispatcher = &transport->endpoint->dispatcher;
    rsti_session_t *session = rsti_dispatcher_find(dispatcher, header.stream_id, header.session_id);
    if (session != NULL) {
        if (session->state == RSTI_SESSION_ACTIVE) {
            rsti_image_on_packet(receiver, session->image, transport, datagram, length, source,
                now_ns);
        }
        return;
    }
    const bool is_eos = rsti_packet_is_heartbeat(datagram, length)
        && (header.frame.flags & RSTI_FLAG_EOS) != 0;
    if (is_eos || !rsti_dispatcher_is_wanted(dispatcher, header.stream_id, header.session_id)) {
        return;
    }
    if (rsti_dispatcher_put(dispatcher, header.stream_id, header.session_id,
            RSTI_SESSION_PENDING_SETUP, now_ns)
        != NULL) {
        rsti_receive_transport_ask_setup(receiver, transport, header.stream_id, header.session_id,
            rsti_receive_transport_control(transport, source));
    }
}

/* The session becomes INIT_IN_PROGRESS and the conductor is asked for an image. */
static void request_image(rsti_receiver_t *receiver, rsti_receive_transport_t *transport,
    rsti_session_t *session, const rsti_setup_t *setup, const struct sockaddr_storage *source,
    int64_t now_ns)
{
    rsti_dispatcher_t *dispatcher = &transport->endpoint->dispatcher;
    rsti_agent_command_t command = {
        .endpoint = transport->endpoint,
        .object = transport,
        .stream_id = setup->stream_id,
        .session_id = setup->session_id,
        .setup = *setup,
    };
    command.address = *source;
    if (session == NULL) {
        session = rsti_dispatcher_put(dispatcher, setup->stream_id, setup->session_id,
            RSTI_SESSION_INIT_IN_PROGRESS, now_ns);
        if (session == NULL) {
            return;
        }
    } else {
        rsti_dispatcher_set_state(dispatcher, session, RSTI_SESSION_INIT_IN_PROGRESS, now_ns);
    }
    if (transport->udp.is_multicast && transport->ttl < setup->ttl) {
        rsti_driver_count(receiver->driver, RSTI_SYSTEM_POSSIBLE_TTL_ASYMMETRY, 1);
    }
    if (!rsti_tell_conductor(receiver->driver, RSTI_AGENT_CREATE_IMAGE, &command)) {
        rsti_dispatcher_forget(dispatcher, session); /* the next SETUP tries again */
    }
}

void rsti_receive_endpoint_on_echo(rsti_receiver_t *receiver, rsti_receive_transport_t *transport,
    const rsti_sm_t *sm, size_t length)
{
    if (length < sizeof *sm || sm->frame.frame_length != (int32_t)length) {
        return; /* not from an rstream sender, and Aeron's senders send no status messages */
    }
    const rsti_session_t *session = rsti_dispatcher_find(&transport->endpoint->dispatcher,
        sm->stream_id, sm->session_id);
    if (session != NULL && session->state == RSTI_SESSION_ACTIVE) {
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
    transport->last_activity_ns = now_ns;
    rsti_dispatcher_t *dispatcher = &transport->endpoint->dispatcher;
    rsti_session_t *session = rsti_dispatcher_find(dispatcher, setup->stream_id, setup->session_id);
    if (session != NULL && session->state == RSTI_SESSION_ACTIVE) {
        rsti_image_on_setup(session->image, transport, setup, source, now_ns);
        return;
    }
    if ((session == NULL || session->state == RSTI_SESSION_PENDING_SETUP)
        && rsti_dispatcher_is_wanted(dispatcher, setup->stream_id, setup->session_id)) {
        request_image(receiver, transport, session, setup, source, now_ns);
    }
}

void rsti_receive_endpoint_on_rttm(rsti_receiver_t *receiver, rsti_receive_transport_t *transport,
    const rsti_rttm_t *rttm, int64_t now_ns)
{
    rsti_receive_endpoint_t *endpoint = transport->endpoint;
    if (rttm->receiver_id != endpoint->receiver_id && rttm->receiver_id != 0) {
        return;
    }
    const rsti_session_t *session = rsti_dispatcher_find(&endpoint->dispatcher, rttm->stream_id,
        rttm->session_id);
    if (session == NULL || session->state != RSTI_SESSION_ACTIVE) {
        return;
    }
    if ((rttm->frame.flags & RSTI_RTTM_FLAG_REPLY) == 0) {
        rsti_image_on_rtt_answer(session->image, rttm, now_ns);
        return;
    }
    const rsti_image_t *image = session->image;
    const rsti_connection_t *connection = &image->connections[transport->slot];
    if (connection->transport != transport) {
        return;
    }
    rsti_rttm_t answer = *rttm;
    answer.frame = (rsti_frame_header_t){RSTI_RTTM_LENGTH, 0, 0, RSTI_FRAME_RTTM};
    answer.reception_delta = 0;
    answer.receiver_id = endpoint->receiver_id;
    (void)rsti_receive_transport_send(receiver, transport, &answer, sizeof answer,
        &connection->control);
}
