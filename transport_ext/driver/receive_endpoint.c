/* receive_endpoint.c: making of a receiving socket, and what to do with data, set-ups and
 * round-trip frames that arrive on it (wire reference 6). */
#include "driver/internal.h"

#include "util/alloc.h"
#include "util/error.h"

static int32_t buffer_length(int64_t asked, int64_t standard)
{
    return (int32_t)(asked == RSTI_CHANNEL_UNSET ? standard : asked);
}

static int allocate_counters(rst_driver_t *driver, rsti_receive_endpoint_t *endpoint,
    const rsti_channel_t *channel, int64_t registration_id, int64_t client_id)
{
    struct sockaddr_storage bound;
    char text[RSTI_NETADDR_TEXT_MAX];
    driver->media.table->local_address(driver->media.arg, endpoint->socket, &bound);
    rsti_netaddr_format(&bound, text, sizeof text);
    endpoint->channel_status_id = rsti_channel_counter_allocate(driver,
        RSTI_COUNTER_RECEIVE_CHANNEL_STATUS, "rcv-channel", channel->uri, text, registration_id,
        client_id);
    endpoint->local_sockaddr_id = rsti_sockaddr_counter_allocate(driver, "rcv-local-sockaddr",
        endpoint->channel_status_id, text, registration_id, client_id);
    return endpoint->channel_status_id < 0 || endpoint->local_sockaddr_id < 0
        ? -rst_last_error_code()
        : 0;
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
    made->so_rcvbuf = channel->so_rcvbuf;
    made->so_sndbuf = channel->so_sndbuf;
    made->channel_status_id = RSTI_NULL_COUNTER;
    made->local_sockaddr_id = RSTI_NULL_COUNTER;
    made->has_group_tag = channel->group_tag != RSTI_CHANNEL_UNSET;
    made->group_tag = made->has_group_tag ? channel->group_tag : 0;
    made->receiver_id = conductor->next_receiver_id++;
    if (conductor->next_receiver_id == 0) {
        conductor->next_receiver_id = 1; /* 0 means "any receiver" on the wire */
    }
    const rsti_socket_params_t params = {
        .bind_address = udp->remote_data, /* the endpoint is the reader's address */
        .so_sndbuf = buffer_length(channel->so_sndbuf, driver->params.so_sndbuf),
        .so_rcvbuf = buffer_length(channel->so_rcvbuf, driver->params.so_rcvbuf),
    };
    const rsti_media_t *media = &driver->media;
    if (rsti_dispatcher_init(&made->dispatcher, (int32_t)driver->params.session_limit) < 0
        || media->table->open(media->arg, &params, &made->socket) < 0
        || allocate_counters(driver, made, channel, registration_id, client_id) < 0) {
        rsti_receive_endpoint_destroy(driver, made);
        return -rst_last_error_code();
    }
    made->granted_rcvbuf = media->table->granted_rcvbuf(media->arg, made->socket);
    *endpoint = made;
    return 0;
}

void rsti_receive_endpoint_destroy(rst_driver_t *driver, rsti_receive_endpoint_t *endpoint)
{
    rsti_counter_release(driver, &endpoint->channel_status_id);
    rsti_counter_release(driver, &endpoint->local_sockaddr_id);
    if (endpoint->socket != NULL) {
        driver->media.table->close(driver->media.arg, endpoint->socket);
    }
    rsti_dispatcher_fini(&endpoint->dispatcher);
    rsti_free(endpoint);
}

bool rsti_receive_endpoint_send(rsti_receiver_t *receiver, rsti_receive_endpoint_t *endpoint,
    const void *frame, size_t length, const struct sockaddr_storage *to)
{
    const rsti_media_t *media = &receiver->driver->media;
    rsti_datagram_t datagram = {.data = (uint8_t *)(uintptr_t)frame, .length = length};
    datagram.address = *to;
    const int sent = media->table->send(media->arg, endpoint->socket, &datagram, 1);
    if (sent < 0) {
        rsti_driver_log_trail(receiver->driver, "receiver");
        return false;
    }
    if (sent < 1) {
        rsti_driver_count(receiver->driver, RSTI_SYSTEM_SHORT_SENDS, 1);
        return false;
    }
    rsti_driver_count(receiver->driver, RSTI_SYSTEM_BYTES_SENT, (int64_t)length);
    return true;
}

static void elicit_setup(rsti_receiver_t *receiver, rsti_receive_endpoint_t *endpoint,
    int32_t stream_id, int32_t session_id, const struct sockaddr_storage *to)
{
    const rsti_sm_t sm = {
        .frame = {RSTI_SM_LENGTH, 0, RSTI_SM_FLAG_SEND_SETUP, RSTI_FRAME_SM},
        .session_id = session_id,
        .stream_id = stream_id,
        .receiver_id = endpoint->receiver_id,
    };
    if (rsti_receive_endpoint_send(receiver, endpoint, &sm, sizeof sm, to)) {
        rsti_driver_count(receiver->driver, RSTI_SYSTEM_SM_SENT, 1);
    }
}

void rsti_receive_endpoint_on_data(rsti_receiver_t *receiver, rsti_receive_endpoint_t *endpoint,
    const uint8_t *datagram, size_t length, const struct sockaddr_storage *source,
    int64_t now_ns)
{
    rsti_data_header_t header;
    memcpy(&header, datagram, sizeof header);
    rsti_dispatcher_t *dispatcher = &endpoint->dispatcher;
    rsti_session_t *session =
        rsti_dispatcher_find(dispatcher, header.stream_id, header.session_id);
    if (session != NULL) {
        if (session->state == RSTI_SESSION_ACTIVE) {
            rsti_image_on_packet(receiver, session->image, datagram, length, source, now_ns);
        }
        return;
    }
    const bool is_eos = rsti_packet_is_heartbeat(datagram, length)
        && (header.frame.flags & RSTI_FLAG_EOS) != 0;
    if (is_eos
        || !rsti_dispatcher_is_wanted(dispatcher, header.stream_id, header.session_id)) {
        return;
    }
    if (rsti_dispatcher_put(dispatcher, header.stream_id, header.session_id,
            RSTI_SESSION_PENDING_SETUP, now_ns) != NULL) {
        elicit_setup(receiver, endpoint, header.stream_id, header.session_id, source);
    }
}

static void refresh_connection(rsti_image_t *image, const rsti_setup_t *setup,
    const struct sockaddr_storage *source, int64_t now_ns)
{
    for (int32_t i = 0; i < image->connection_count; i++) {
        rsti_connection_t *connection = &image->connections[i];
        if (rsti_netaddr_equal(&connection->control, source)) {
            connection->last_activity_ns = now_ns;
            connection->is_rstream = (setup->frame.flags & RSTI_SETUP_FLAG_RSTREAM) != 0;
        }
    }
}

void rsti_receive_endpoint_on_setup(rsti_receiver_t *receiver, rsti_receive_endpoint_t *endpoint,
    const rsti_setup_t *setup, const struct sockaddr_storage *source, int64_t now_ns)
{
    if (!rsti_setup_is_valid(setup)) {
        rsti_driver_count(receiver->driver, RSTI_SYSTEM_INVALID_PACKETS, 1);
        return;
    }
    rsti_dispatcher_t *dispatcher = &endpoint->dispatcher;
    rsti_session_t *session = rsti_dispatcher_find(dispatcher, setup->stream_id,
        setup->session_id);
    if (session != NULL && session->state == RSTI_SESSION_ACTIVE) {
        refresh_connection(session->image, setup, source, now_ns);
        return;
    }
    if (session != NULL && session->state != RSTI_SESSION_PENDING_SETUP) {
        return;
    }
    if (!rsti_dispatcher_is_wanted(dispatcher, setup->stream_id, setup->session_id)) {
        return;
    }
    rsti_agent_command_t command = {
        .endpoint = endpoint,
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
    if (!rsti_tell_conductor(receiver->driver, RSTI_AGENT_CREATE_IMAGE, &command)) {
        rsti_dispatcher_forget(dispatcher, session); /* the next SETUP tries again */
    }
}

void rsti_receive_endpoint_on_rttm(rsti_receiver_t *receiver, rsti_receive_endpoint_t *endpoint,
    const rsti_rttm_t *rttm, int64_t now_ns)
{
    if (rttm->receiver_id != endpoint->receiver_id && rttm->receiver_id != 0) {
        return;
    }
    const rsti_session_t *session = rsti_dispatcher_find(&endpoint->dispatcher, rttm->stream_id,
        rttm->session_id);
    if (session == NULL || session->state != RSTI_SESSION_ACTIVE
        || (rttm->frame.flags & RSTI_RTTM_FLAG_REPLY) == 0) {
        return; /* answers: the static law of congestion measures nothing */
    }
    (void)now_ns;
    rsti_rttm_t answer = *rttm;
    answer.frame = (rsti_frame_header_t){RSTI_RTTM_LENGTH, 0, 0, RSTI_FRAME_RTTM};
    answer.reception_delta = 0;
    answer.receiver_id = endpoint->receiver_id;
    const rsti_image_t *image = session->image;
    for (int32_t i = 0; i < image->connection_count; i++) {
        (void)rsti_receive_endpoint_send(receiver, endpoint, &answer, sizeof answer,
            &image->connections[i].control);
    }
}
