/* send_endpoints.c: see send_endpoints.h. */
#include "driver/conductor/send_endpoints.h"

#include "driver/base/counters.h"
#include "driver/base/port_manager.h"
#include "driver/base/proxies.h"
#include "driver/conductor/channels.h"
#include "driver/conductor/group_keys.h"
#include "driver/conductor/peer_notes.h"
#include "driver/sender/destination_tracker.h"
#include "util/alloc.h"
#include "util/error.h"
#include "util/netaddr.h"

#include <inttypes.h>
#include <stdio.h>

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

/* A connected socket receives from its peer only, and a group address never sends. The datagrams
 * of receivers therefore arrive on a second socket. */
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

static int open_sockets(rst_driver_t *driver, rsti_send_endpoint_t *endpoint)
{
    const rsti_udp_channel_t *udp = &endpoint->udp;
    rsti_socket_params_t params = {
        .so_sndbuf = (int32_t)endpoint->so_sndbuf,
        .so_rcvbuf = (int32_t)endpoint->so_rcvbuf,
        .interface_address = udp->interface_address,
        .interface_index = udp->interface_index,
        .multicast_ttl = endpoint->ttl,
        .use_segmentation = driver->params.segmentation != 0,
        .keys = rsti_group_keys_ring(endpoint->keys),
    };
    if (udp->is_multicast) {
        return open_group(driver, endpoint, &params);
    }
    params.bind_address = udp->local_data;
    if (endpoint->is_connected) {
        params.connect_address = udp->remote_data;
    }
    /* Only a socket with control= needs a port of the managed range: receivers must know its
     * address. */
    const int result = udp->has_explicit_control
        ? rsti_port_manager_open(&driver->conductor->sender_ports, &driver->media, &params,
              &endpoint->socket, &endpoint->managed_port)
        : open_one(driver, &params, &endpoint->socket);
    endpoint->data_socket = endpoint->socket;
    return result;
}

/* Allocated before the socket is opened, so that it can report a failure to open it. */
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

static int open_or_tell(rst_driver_t *driver, rsti_send_endpoint_t *endpoint)
{
    const int result = open_sockets(driver, endpoint);
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

/* The hosts that may be proven at once. */
static int make_proven(rst_driver_t *driver, rsti_send_endpoint_t *endpoint)
{
    const bool has_many = endpoint->udp.is_multicast || endpoint->destinations != NULL
        || endpoint->udp.control_mode == RSTI_CONTROL_RESPONSE;
    uint64_t key[2];
    rsti_secret_key(&driver->secret, RSTI_PURPOSE_PROVEN, key);
    return rsti_proven_init(&endpoint->proven, has_many ? RSTI_PROVEN_MANY : RSTI_PROVEN_FEW, key);
}

static int create_endpoint(rst_driver_t *driver, rsti_send_endpoint_t **endpoint,
    const rsti_channel_t *channel, const rsti_udp_channel_t *udp, int64_t registration_id,
    int64_t client_id)
{
    rsti_send_endpoint_t *made = rsti_alloc(sizeof *made);
    if (made == NULL) {
        return -RST_ENOMEM;
    }
    made->udp = *udp;
    made->so_sndbuf = or_default(channel->so_sndbuf, driver->params.so_sndbuf);
    made->so_rcvbuf = or_default(channel->so_rcvbuf, driver->params.so_rcvbuf);
    made->send_timestamp = channel->send_timestamp;
    made->channel_status_id = RSTI_NULL_COUNTER;
    made->local_sockaddr_id = RSTI_NULL_COUNTER;
    made->destination_count_id = RSTI_NULL_COUNTER;
    made->ttl = !udp->is_multicast ? 0 : or_default(channel->ttl, driver->params.multicast_ttl);
    made->data_address = udp->remote_data;
    made->has_name = udp->control_mode == RSTI_CONTROL_NONE && !udp->is_multicast
        && rsti_netaddr_has_name(channel->endpoint);
    memcpy(made->endpoint_text, channel->endpoint, sizeof made->endpoint_text);
    made->last_sm_ns = driver->conductor->now_ns;
    if (rsti_group_keys_get(driver, udp->key, &made->keys) == 0 && make_destinations(made) == 0
        && make_proven(driver, made) == 0) {
        made->is_group = udp->is_multicast || made->destinations != NULL;
        made->is_connected = driver->params.connect != 0 && made->destinations == NULL
            && udp->control_mode != RSTI_CONTROL_RESPONSE;
        if (allocate_status(driver, made, channel, registration_id, client_id) == 0
            && open_or_tell(driver, made) == 0
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
    rsti_peer_notes_forget(driver, endpoint);
    rsti_counter_release(driver, &endpoint->channel_status_id);
    rsti_counter_release(driver, &endpoint->local_sockaddr_id);
    rsti_counter_release(driver, &endpoint->destination_count_id);
    if (endpoint->data_socket != NULL && endpoint->data_socket != endpoint->socket) {
        media->table->close(media->arg, endpoint->data_socket);
    }
    if (endpoint->socket != NULL) {
        media->table->close(media->arg, endpoint->socket);
        rsti_port_manager_give(&driver->conductor->sender_ports, endpoint->managed_port);
    }
    for (size_t i = 0; i < endpoint->manual.count; i++) {
        rsti_free(endpoint->manual.items[i]);
    }
    rsti_ptr_array_fini(&endpoint->manual);
    rsti_free(endpoint->destinations);
    rsti_proven_fini(&endpoint->proven);
    rsti_group_keys_put(driver, endpoint->keys);
    rsti_free(endpoint);
}

/* Returns 0, RSTI_LOOKUP_PENDING, or a negative error code with a trail. */
static int resolve(rst_driver_t *driver, const rsti_channel_t *channel, rsti_udp_channel_t *udp)
{
    const int result = rsti_udp_channel_resolve_with(udp, channel, &driver->resolver);
    if (result != 0) {
        return result;
    }
    if (udp->has_explicit_endpoint && rsti_netaddr_port(&udp->remote_data) == 0) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter endpoint=%s: a publication needs a port other than 0",
            channel->endpoint);
    }
    if (udp->is_multicast && udp->control_mode != RSTI_CONTROL_NONE) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter endpoint=%s: a multicast address cannot be"
            " combined with destinations (control-mode)",
            channel->endpoint);
    }
    /* Several sockets can have a wildcard address, so the address does not identify one of them. */
    if (!udp->is_unique) {
        const size_t used = strlen(udp->canonical);
        snprintf(udp->canonical + used, sizeof udp->canonical - used, "-%" PRId32,
            driver->conductor->wildcard_count++);
    }
    return 0;
}

/* All publications on one socket must have the same destinations, hence the same control mode. */
static int check_mode(const rsti_channel_t *channel, const rsti_udp_channel_t *existing)
{
    const bool is_by_tag = channel->channel_tag != RSTI_CHANNEL_UNSET
        && channel->channel_tag == existing->channel_tag;
    if (channel->control_mode != existing->control_mode
        && !(is_by_tag && channel->control_mode == RSTI_CONTROL_NONE)) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel %s: its control-mode differs from that of the channel's existing socket",
            channel->uri);
    }
    return 0;
}

/* Returns 1: found, 0: not found, or a negative error code with a trail. */
static int find_send_endpoint(const rst_driver_t *driver, const rsti_udp_channel_t *udp,
    rsti_send_endpoint_t **endpoint)
{
    const rsti_ptr_array_t *endpoints = &driver->conductor->send_endpoints;
    for (size_t i = 0; i < endpoints->count; i++) {
        *endpoint = endpoints->items[i];
        const int result = rsti_udp_channel_matches_tag(udp, &(*endpoint)->udp);
        if (result != 0) {
            return (*endpoint)->is_closing ? 1 : result; /* its tag is free soon */
        }
    }
    for (size_t i = 0; i < endpoints->count; i++) {
        *endpoint = endpoints->items[i];
        if (rsti_udp_channel_matches_form(udp, &(*endpoint)->udp)
            && rsti_udp_channel_has_same_key(udp, &(*endpoint)->udp)) {
            return 1;
        }
    }
    return 0;
}

int rsti_send_endpoint_get(rst_driver_t *driver, const rsti_channel_t *channel,
    const rsti_command_t *command, rsti_send_endpoint_t **endpoint, bool *is_closing)
{
    rsti_conductor_t *conductor = driver->conductor;
    rsti_udp_channel_t udp;
    *is_closing = false;
    const int resolved = resolve(driver, channel, &udp);
    if (resolved != 0) {
        *is_closing = resolved == RSTI_LOOKUP_PENDING; /* both cases: try again */
        return *is_closing ? 0 : resolved;
    }
    const int found = find_send_endpoint(driver, &udp, endpoint);
    if (found > 0) {
        *is_closing = (*endpoint)->is_closing; /* a closing endpoint needs no comparison */
        if (*is_closing) {
            return 0;
        }
        if (check_mode(channel, &(*endpoint)->udp) < 0
            || rsti_channel_check_key(&udp, &(*endpoint)->udp) < 0
            || rsti_channel_check_buffer("so-sndbuf", channel->so_sndbuf, (*endpoint)->so_sndbuf,
                   channel)
                < 0
            || rsti_channel_check_buffer("so-rcvbuf", channel->so_rcvbuf, (*endpoint)->so_rcvbuf,
                   channel)
                < 0
            || rsti_channel_check_timestamp("channel-snd-ts-offset", channel->send_timestamp,
                   (*endpoint)->send_timestamp, channel)
                < 0) {
            return -rst_last_error_code();
        }
        return 0;
    }
    if (found < 0 || rsti_channel_check_address(channel, &udp) < 0) {
        return -rst_last_error_code();
    }
    if (create_endpoint(driver, endpoint, channel, &udp, command->correlation_id,
            command->client_id)
        < 0) {
        return -rst_last_error_code();
    }
    if (rsti_ptr_array_add(&conductor->send_endpoints, *endpoint) < 0) {
        rsti_send_endpoint_destroy(driver, *endpoint);
        return -RST_ENOMEM;
    }
    const rsti_agent_command_t add = {.endpoint = *endpoint};
    rsti_tell_sender(driver, RSTI_AGENT_ADD_ENDPOINT, &add);
    return 0;
}

void rsti_send_endpoint_put(rst_driver_t *driver, rsti_send_endpoint_t *endpoint)
{
    if (endpoint->ref_count == 0 && !endpoint->is_closing) {
        const rsti_agent_command_t remove = {.endpoint = endpoint};
        endpoint->is_closing = true;
        driver->conductor->closing_count++;
        rsti_tell_sender(driver, RSTI_AGENT_REMOVE_ENDPOINT, &remove);
    }
}

void rsti_send_endpoints_sweep(rst_driver_t *driver)
{
    rsti_conductor_t *conductor = driver->conductor;
    for (size_t i = conductor->send_endpoints.count; i > 0; i--) {
        rsti_send_endpoint_t *endpoint = conductor->send_endpoints.items[i - 1];
        if (endpoint->is_closing && rsti_is_let_go(driver, &endpoint->is_released)) {
            rsti_ptr_array_remove_at(&conductor->send_endpoints, i - 1);
            rsti_send_endpoint_destroy(driver, endpoint);
            conductor->closing_count--;
        }
    }
}
