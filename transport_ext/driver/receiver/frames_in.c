/* receive_endpoint.c: what to do with data, set-ups and round-trip frames that arrive (wire
 * reference 6). */
#include "driver/internal.h"

#include "util/alloc.h"
#include "util/error.h"
#include "util/parse.h"

static int init_group_tag(const rst_driver_t *driver, rsti_receive_endpoint_t *endpoint,
    const rsti_channel_t *channel)
{
    endpoint->has_group_tag = channel->group_tag != RSTI_CHANNEL_UNSET;
    if (endpoint->has_group_tag) {
        endpoint->group_tag = channel->group_tag;
        return 0;
    }
    const char *standard = driver->params.receiver_group_tag;
    endpoint->has_group_tag = standard[0] != '\0';
    if (endpoint->has_group_tag && !rsti_parse_i64(standard, &endpoint->group_tag)) {
        return RST_SET_ERR(RST_EINVAL, "receiver-group-tag=%s: must be a number", standard);
    }
    return 0;
}

int rsti_receive_endpoint_create(rst_driver_t *driver, rsti_receive_endpoint_t **endpoint,
    const rsti_channel_t *channel, const rsti_udp_channel_t *udp, int64_t registration_id,
    int64_t client_id)
{
    rsti_conductor_t *conductor = &driver->conductor;
    rsti_receive_endpoint_t *made = rsti_alloc(sizeof *made);
    if (made == NULL) {
        return -RST_ENOMEM;
    }
    made->udp = *udp;
    made->is_manual = channel->control_mode == RSTI_CONTROL_MANUAL;
    made->registration_id = registration_id;
    made->client_id = client_id;
    made->so_rcvbuf = channel->so_rcvbuf;
    made->so_sndbuf = channel->so_sndbuf;
    made->channel_status_id = RSTI_NULL_COUNTER;
    made->receiver_id = conductor->next_receiver_id++;
    if (conductor->next_receiver_id == 0) {
        conductor->next_receiver_id = 1; /* 0 means "any receiver" on the wire */
    }
    if (rsti_dispatcher_init(&made->dispatcher, (int32_t)driver->params.session_limit) < 0
        || init_group_tag(driver, made, channel) < 0) {
        rsti_receive_endpoint_destroy(driver, made);
        return -rst_last_error_code();
    }
    made->channel_status_id = rsti_channel_counter_allocate(driver,
        RSTI_COUNTER_RECEIVE_CHANNEL_STATUS, "rcv-channel", channel->uri, registration_id,
        client_id);
    if (made->channel_status_id < 0) {
        rsti_receive_endpoint_destroy(driver, made);
        return -rst_last_error_code();
    }
    *endpoint = made;
    return 0;
}

void rsti_receive_endpoint_destroy(rst_driver_t *driver, rsti_receive_endpoint_t *endpoint)
{
    for (int32_t slot = 0; slot < RSTI_RECEIVE_TRANSPORTS_MAX; slot++) {
        if (endpoint->owned[slot] != NULL) {
            rsti_receive_transport_destroy(driver, endpoint->owned[slot]);
        }
    }
    rsti_counter_release(driver, &endpoint->channel_status_id);
    rsti_dispatcher_fini(&endpoint->dispatcher);
    rsti_free(endpoint);
}

void rsti_receive_transport_ask_setup(rsti_receiver_t *receiver,
    rsti_receive_transport_t *transport, int32_t stream_id, int32_t session_id,
    const struct sockaddr_storage *to)
{
    const rsti_sm_t sm = {
        .frame = {RSTI_SM_LENGTH, 0, RSTI_SM_FLAG_SEND_SETUP, RSTI_FRAME_SM},
        .session_id = session_id,
        .stream_id = stream_id,
        .receiver_id = transport->endpoint->receiver_id,
    };
    uint8_t frame[RSTI_SM_TAGGED_LENGTH];
    const size_t length = rsti_sm_with_tag(frame, &sm, transport->endpoint);
    if (rsti_receive_transport_send(receiver, transport, frame, length, to)) {
        rsti_driver_count(receiver->driver, RSTI_SYSTEM_SM_SENT, 1);
    }
}

size_t rsti_sm_with_tag(uint8_t frame[RSTI_SM_TAGGED_LENGTH], const rsti_sm_t *sm,
    const rsti_receive_endpoint_t *endpoint)
{
    rsti_sm_t sized = *sm;
    sized.frame.frame_length = endpoint->has_group_tag ? RSTI_SM_TAGGED_LENGTH : RSTI_SM_LENGTH;
    memcpy(frame, &sized, sizeof sized);
    rsti_put_i64(frame + RSTI_SM_LENGTH, endpoint->group_tag);
    return (size_t)sized.frame.frame_length;
}

void rsti_receive_endpoint_elicit(rsti_receiver_t *receiver, rsti_receive_endpoint_t *endpoint,
    int32_t stream_id, int32_t session_id)
{
    for (rsti_receive_transport_t *t = endpoint->transports; t != NULL; t = t->next) {
        if (t->is_eliciting) {
            rsti_receive_transport_ask_setup(receiver, t, stream_id, session_id, &t->control);
        }
    }
}

int64_t rsti_receive_transport_elicit(rsti_receiver_t *receiver,
    rsti_receive_transport_t *transport, int64_t now_ns)
{
    if (!transport->is_eliciting
        || !rsti_dispatcher_has_interest(&transport->endpoint->dispatcher)) {
        return RSTI_NO_DEADLINE;
    }
    if (transport->elicit_due_ns == RSTI_NO_DEADLINE || now_ns > transport->elicit_due_ns) {
        rsti_receive_transport_ask_setup(receiver, transport, 0, 0, &transport->control);
        transport->elicit_due_ns = now_ns + RSTI_ELICIT_INTERVAL_NS;
    }
    return transport->elicit_due_ns + 1;
}

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
        return; /* of no sender of ours: no others send any */
    }
    const rsti_session_t *session = rsti_dispatcher_find(&transport->endpoint->dispatcher,
        sm->stream_id, sm->session_id);
    if (session != NULL && session->state == RSTI_SESSION_ACTIVE) {
        rsti_image_fill_on_echo(receiver, session->image, sm);
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
