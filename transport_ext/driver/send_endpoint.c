/* send_endpoint.c: making and closing of a sending socket, and its publications by stream and
 * session. */
#include "driver/internal.h"

#include "util/alloc.h"
#include "util/error.h"

static int32_t buffer_length(int64_t asked, int64_t standard)
{
    return (int32_t)(asked == RSTI_CHANNEL_UNSET ? standard : asked);
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
    made->is_connected = driver->params.connect != 0;
    rsti_socket_params_t params = {
        .bind_address = udp->local_data,
        .so_sndbuf = buffer_length(channel->so_sndbuf, driver->params.so_sndbuf),
        .use_segmentation = driver->params.segmentation,
        .so_rcvbuf = buffer_length(channel->so_rcvbuf, driver->params.so_rcvbuf),
    };
    if (made->is_connected) {
        params.connect_address = udp->remote_data;
    }
    const rsti_media_t *media = &driver->media;
    if (media->table->open(media->arg, &params, &made->socket) < 0) {
        rsti_free(made);
        return -rst_last_error_code();
    }
    struct sockaddr_storage bound;
    char text[RSTI_NETADDR_TEXT_MAX];
    media->table->local_address(media->arg, made->socket, &bound);
    rsti_netaddr_format(&bound, text, sizeof text);
    made->channel_status_id = rsti_channel_counter_allocate(driver,
        RSTI_COUNTER_SEND_CHANNEL_STATUS, "snd-channel", channel->uri, text, registration_id,
        client_id);
    made->local_sockaddr_id = rsti_sockaddr_counter_allocate(driver, "snd-local-sockaddr",
        made->channel_status_id, text, registration_id, client_id);
    if (made->channel_status_id < 0 || made->local_sockaddr_id < 0) {
        rsti_send_endpoint_destroy(driver, made);
        return -rst_last_error_code();
    }
    *endpoint = made;
    return 0;
}

void rsti_send_endpoint_destroy(rst_driver_t *driver, rsti_send_endpoint_t *endpoint)
{
    rsti_counter_release(driver, &endpoint->channel_status_id);
    rsti_counter_release(driver, &endpoint->local_sockaddr_id);
    if (endpoint->socket != NULL) {
        driver->media.table->close(driver->media.arg, endpoint->socket);
    }
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
    rsti_network_publication_t **bucket =
        bucket_of(endpoint, publication->base.stream_id, publication->base.session_id);
    publication->bucket_next = *bucket;
    *bucket = publication;
}

void rsti_send_endpoint_unlink(rsti_send_endpoint_t *endpoint,
    rsti_network_publication_t *publication)
{
    rsti_network_publication_t **link =
        bucket_of(endpoint, publication->base.stream_id, publication->base.session_id);
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
    rsti_network_publication_t *publication =
        *bucket_of((rsti_send_endpoint_t *)(uintptr_t)endpoint, stream_id, session_id);
    while (publication != NULL
        && (publication->base.stream_id != stream_id
            || publication->base.session_id != session_id)) {
        publication = publication->bucket_next;
    }
    return publication;
}
