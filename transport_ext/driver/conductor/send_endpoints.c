/* send_endpoint.c: making and closing of sending sockets, and its publications by stream and
 * session. */
#include "driver/internal.h"

#include "util/alloc.h"
#include "util/error.h"

static int32_t or_default(int64_t asked, int64_t standard)
{
    return (int32_t)(asked == RSTI_CHANNEL_UNSET ? standard : asked);
}

static struct sockaddr_storage any_address(const struct sockaddr_storage *like)
{
    struct sockaddr_storage address = {0};
    address.ss_family = like->ss_family;
    rsti_netaddr_set_port(&address, rsti_netaddr_port(like));
    return address;
}

static int open_one(rst_driver_t *driver, const rsti_socket_params_t *params,
    rsti_socket_t **socket)
{
    return driver->media.table->open(driver->media.arg, params, socket);
}

/* A connected socket hears its peer alone, and a group never answers: what receivers send comes by
 * a second socket. */
static int open_group(rst_driver_t *driver, rsti_send_endpoint_t *endpoint,
    const rsti_socket_params_t *common)
{
    const rsti_udp_channel_t *udp = &endpoint->udp;
    rsti_socket_params_t member = *common;
    member.bind_address = any_address(&udp->remote_control);
    member.group_address = udp->remote_control;
    if (open_one(driver, &member, &endpoint->socket) < 0) {
        return -rst_last_error_code();
    }
    endpoint->data_socket = endpoint->socket;
    if (endpoint->is_connected) {
        rsti_socket_params_t data = *common;
        data.bind_address = udp->local_data;
        data.connect_address = udp->remote_data;
        endpoint->data_socket = NULL;
        return open_one(driver, &data, &endpoint->data_socket);
    }
    return 0;
}

static int open_sockets(rst_driver_t *driver, rsti_send_endpoint_t *endpoint,
    const rsti_channel_t *channel)
{
    const rsti_udp_channel_t *udp = &endpoint->udp;
    rsti_socket_params_t params = {
        .so_sndbuf = or_default(channel->so_sndbuf, driver->params.so_sndbuf),
        .so_rcvbuf = or_default(channel->so_rcvbuf, driver->params.so_rcvbuf),
        .interface_address = udp->interface_address,
        .interface_index = udp->interface_index,
        .multicast_ttl = endpoint->ttl,
        .use_segmentation = driver->params.segmentation != 0,
    };
    if (udp->is_multicast) {
        return open_group(driver, endpoint, &params);
    }
    params.bind_address = udp->local_data;
    if (endpoint->is_connected) {
        params.connect_address = udp->remote_data;
    }
    /* Nobody has to find a publication that is found by its data. */
    const int result = udp->has_explicit_control
        ? rsti_port_manager_open(&driver->conductor.sender_ports, &driver->media, &params,
              &endpoint->socket, &endpoint->managed_port)
        : open_one(driver, &params, &endpoint->socket);
    endpoint->data_socket = endpoint->socket;
    return result;
}

/* The counter is there before the socket, to say when there is none. */
static int allocate_status(rst_driver_t *driver, rsti_send_endpoint_t *endpoint,
    const rsti_channel_t *channel, int64_t registration_id, int64_t client_id)
{
    endpoint->channel_status_id = rsti_channel_counter_allocate(driver,
        RSTI_COUNTER_SEND_CHANNEL_STATUS, "snd-channel", channel->uri, registration_id, client_id);
    return endpoint->channel_status_id < 0 ? -rst_last_error_code() : 0;
}

static int allocate_counters(rst_driver_t *driver, rsti_send_endpoint_t *endpoint,
    const rsti_channel_t *channel, int64_t registration_id, int64_t client_id)
{
    struct sockaddr_storage bound;
    char text[RSTI_NETADDR_TEXT_MAX];
    if (endpoint->destinations != NULL) {
        endpoint->destination_count_id = rsti_channel_counter_allocate(driver,
            RSTI_COUNTER_MDC_DESTINATIONS, "mdc-num-dest", channel->uri, registration_id,
            client_id);
        if (endpoint->destination_count_id < 0) {
            return -rst_last_error_code();
        }
    }
    driver->media.table->local_address(driver->media.arg, endpoint->socket, &bound);
    rsti_netaddr_format(&bound, text, sizeof text);
    endpoint->local_sockaddr_id = rsti_sockaddr_counter_allocate(driver, "snd-local-sockaddr",
        endpoint->channel_status_id, text, registration_id, client_id);
    if (endpoint->local_sockaddr_id < 0) {
        return -rst_last_error_code();
    }
    rsti_channel_status_bound(driver, endpoint->channel_status_id, endpoint->socket);
    return 0;
}

static int open_or_tell(rst_driver_t *driver, rsti_send_endpoint_t *endpoint,
    const rsti_channel_t *channel)
{
    const int result = open_sockets(driver, endpoint, channel);
    if (result < 0) {
        rsti_counter_store(driver, endpoint->channel_status_id, RSTI_CHANNEL_ERRORED);
    }
    return result;
}

static int make_destinations(rsti_send_endpoint_t *endpoint)
{
    const rsti_control_mode_t mode = endpoint->udp.control_mode;
    if (mode != RSTI_CONTROL_DYNAMIC && mode != RSTI_CONTROL_MANUAL) {
        return 0;
    }
    endpoint->destinations = rsti_alloc(sizeof *endpoint->destinations);
    if (endpoint->destinations == NULL) {
        return -RST_ENOMEM;
    }
    rsti_destinations_init(endpoint->destinations, mode == RSTI_CONTROL_MANUAL);
    return 0;
}

int rsti_send_endpoint_create(rst_driver_t *driver, rsti_send_endpoint_t **endpoint,
    const rsti_channel_t *channel, const rsti_udp_channel_t *udp, int64_t registration_id,
    int64_t client_id)
{
    rsti_send_endpoint_t *made = rsti_alloc(sizeof *made);
    if (made == NULL) {
        return -RST_ENOMEM;
    }
    made->udp = *udp;
    made->so_sndbuf = channel->so_sndbuf;
    made->so_rcvbuf = channel->so_rcvbuf;
    made->channel_status_id = RSTI_NULL_COUNTER;
    made->local_sockaddr_id = RSTI_NULL_COUNTER;
    made->destination_count_id = RSTI_NULL_COUNTER;
    made->ttl = !udp->is_multicast ? 0 : or_default(channel->ttl, driver->params.multicast_ttl);
    made->data_address = udp->remote_data;
    made->has_name = udp->control_mode == RSTI_CONTROL_NONE && !udp->is_multicast
        && rsti_netaddr_has_name(channel->endpoint);
    memcpy(made->endpoint_text, channel->endpoint, sizeof made->endpoint_text);
    made->last_sm_ns = driver->conductor.now_ns;
    if (make_destinations(made) == 0) {
        made->is_group = udp->is_multicast || made->destinations != NULL;
        made->is_connected = driver->params.connect != 0 && made->destinations == NULL
            && udp->control_mode != RSTI_CONTROL_RESPONSE;
        if (allocate_status(driver, made, channel, registration_id, client_id) == 0
            && open_or_tell(driver, made, channel) == 0
            && allocate_counters(driver, made, channel, registration_id, client_id) == 0) {
            *endpoint = made;
            return 0;
        }
    }
    const int result = -rst_last_error_code();
    rsti_send_endpoint_destroy(driver, made);
    return result;
}

void rsti_send_endpoint_destroy(rst_driver_t *driver, rsti_send_endpoint_t *endpoint)
{
    const rsti_media_t *media = &driver->media;
    rsti_counter_release(driver, &endpoint->channel_status_id);
    rsti_counter_release(driver, &endpoint->local_sockaddr_id);
    rsti_counter_release(driver, &endpoint->destination_count_id);
    if (endpoint->data_socket != NULL && endpoint->data_socket != endpoint->socket) {
        media->table->close(media->arg, endpoint->data_socket);
    }
    if (endpoint->socket != NULL) {
        media->table->close(media->arg, endpoint->socket);
        rsti_port_manager_give(&driver->conductor.sender_ports, endpoint->managed_port);
    }
    for (size_t i = 0; i < endpoint->manual.count; i++) {
        rsti_free(endpoint->manual.items[i]);
    }
    rsti_ptr_array_fini(&endpoint->manual);
    rsti_free(endpoint->destinations);
    rsti_free(endpoint);
}

static rsti_network_publication_t **bucket_of(rsti_send_endpoint_t *endpoint, int32_t stream_id,
    int32_t session_id)
{
    const uint32_t hash = (uint32_t)stream_id * 0x9E3779B1u ^ (uint32_t)session_id * 0x85EBCA6Bu;
    return &endpoint->buckets[(hash ^ hash >> 16) & (RSTI_SEND_BUCKETS - 1)];
}

void rsti_send_endpoint_link(rsti_send_endpoint_t *endpoint,
    rsti_network_publication_t *publication)
{
    rsti_network_publication_t **bucket = bucket_of(endpoint, publication->base.stream_id,
        publication->base.session_id);
    publication->bucket_next = *bucket;
    *bucket = publication;
}

void rsti_send_endpoint_unlink(rsti_send_endpoint_t *endpoint,
    rsti_network_publication_t *publication)
{
    rsti_network_publication_t **link = bucket_of(endpoint, publication->base.stream_id,
        publication->base.session_id);
    while (*link != NULL && *link != publication) {
        link = &(*link)->bucket_next;
    }
    if (*link != NULL) {
        *link = publication->bucket_next;
    }
}

rsti_network_publication_t *rsti_send_endpoint_find(const rsti_send_endpoint_t *endpoint,
    int32_t stream_id, int32_t session_id)
{
    rsti_network_publication_t *publication = *bucket_of((rsti_send_endpoint_t *)(uintptr_t)
                                                             endpoint,
        stream_id, session_id);
    while (publication != NULL
        && (publication->base.stream_id != stream_id
            || publication->base.session_id != session_id)) {
        publication = publication->bucket_next;
    }
    return publication;
}
