/* receive_endpoints.c: see receive_endpoints.h. */
#include "driver/conductor/receive_endpoints.h"

#include "driver/base/counters.h"
#include "driver/base/proxies.h"
#include "driver/conductor/channels.h"
#include "driver/conductor/group_keys.h"
#include "driver/conductor/peer_notes.h"
#include "driver/conductor/receive_transports.h"
#include "driver/receiver/dispatcher.h"
#include "util/alloc.h"
#include "util/error.h"
#include "util/netaddr.h"
#include "util/parse.h"

#include <inttypes.h>
#include <stdio.h>

int rsti_receive_channel_resolve(rst_driver_t *driver, const rsti_channel_t *channel,
    rsti_udp_channel_t *udp)
{
    const int result = rsti_udp_channel_resolve_with(udp, channel, &driver->resolver);
    if (result != 0) {
        return result;
    }
    if (udp->has_explicit_control && rsti_netaddr_port(&udp->remote_control) == 0) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter control=%s: a subscription needs a port other than 0",
            channel->control);
    }
    return 0;
}

/* Several sockets can have a wildcard address, so the address does not identify one of them. Every
 * such subscription gets an endpoint of its own. */
static void make_unique(rst_driver_t *driver, rsti_udp_channel_t *udp)
{
    if (!udp->is_unique) {
        const size_t used = strlen(udp->canonical);
        snprintf(udp->canonical + used, sizeof udp->canonical - used, "-%" PRId32,
            driver->conductor->wildcard_count++);
    }
}

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

static int create_endpoint(rst_driver_t *driver, rsti_receive_endpoint_t **endpoint,
    const rsti_channel_t *channel, const rsti_udp_channel_t *udp, int64_t registration_id,
    int64_t client_id)
{
    rsti_receive_endpoint_t *made = rsti_alloc(sizeof *made);
    if (made == NULL) {
        return -RST_ENOMEM;
    }
    made->udp = *udp;
    made->is_manual = channel->control_mode == RSTI_CONTROL_MANUAL;
    made->registration_id = registration_id;
    made->client_id = client_id;
    made->so_rcvbuf = channel->so_rcvbuf == RSTI_CHANNEL_UNSET ? driver->params.so_rcvbuf
                                                               : channel->so_rcvbuf;
    made->is_rcvbuf_given = channel->so_rcvbuf != RSTI_CHANNEL_UNSET;
    made->so_sndbuf = channel->so_sndbuf == RSTI_CHANNEL_UNSET ? driver->params.so_sndbuf
                                                               : channel->so_sndbuf;
    made->receive_timestamp = channel->receive_timestamp;
    (void)rsti_source_list_parse(&made->sources, channel->sources); /* was checked */
    made->media_timestamp = channel->media_timestamp;
    made->channel_status_id = RSTI_NULL_COUNTER;
    do {
        made->receiver_id = (int64_t)rsti_ids_next(&driver->conductor->ids);
    } while (made->receiver_id == 0); /* 0 means "any receiver" on the wire */
    if (rsti_dispatcher_init(&made->dispatcher, (int32_t)driver->params.session_limit) < 0
        || init_group_tag(driver, made, channel) < 0
        || rsti_group_keys_get(driver, udp->key, &made->keys) < 0) {
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
    rsti_peer_notes_forget(driver, endpoint);
    rsti_group_keys_put(driver, endpoint->keys);
    rsti_free(endpoint);
}

/* Returns 1: found, 0: not found, or a negative error code with a trail. */
static int find(const rst_driver_t *driver, const rsti_udp_channel_t *udp,
    rsti_receive_endpoint_t **endpoint)
{
    const rsti_ptr_array_t *endpoints = &driver->conductor->receive_endpoints;
    for (size_t i = 0; i < endpoints->count; i++) {
        *endpoint = endpoints->items[i];
        const int result = rsti_udp_channel_matches_tag(udp, &(*endpoint)->udp);
        if (result != 0) {
            return (*endpoint)->is_closing ? 1 : result; /* its tag is free soon */
        }
    }
    for (size_t i = 0; i < endpoints->count; i++) {
        *endpoint = endpoints->items[i];
        if (rsti_udp_channel_matches_form(udp, &(*endpoint)->udp)) {
            return 1;
        }
    }
    return 0;
}

static int create(rst_driver_t *driver, const rsti_channel_t *channel,
    const rsti_udp_channel_t *udp, const rsti_command_t *command,
    rsti_receive_endpoint_t **endpoint)
{
    if (create_endpoint(driver, endpoint, channel, udp, command->correlation_id, command->client_id)
        < 0) {
        return -rst_last_error_code();
    }
    const rsti_transport_facts_t facts = {
        .endpoint = *endpoint,
        .channel = channel,
        .udp = udp,
        .registration_id = command->correlation_id,
        .client_id = command->client_id,
    };
    rsti_receive_transport_t *transport = NULL;
    if (!(*endpoint)->is_manual && rsti_receive_transport_create(driver, &transport, &facts) < 0) {
        const int result = -rst_last_error_code();
        rsti_counter_store(driver, (*endpoint)->channel_status_id, RSTI_CHANNEL_ERRORED);
        rsti_receive_endpoint_destroy(driver, *endpoint);
        return result;
    }
    if (rsti_ptr_array_add(&driver->conductor->receive_endpoints, *endpoint) < 0) {
        rsti_receive_endpoint_destroy(driver, *endpoint);
        return -rst_last_error_code();
    }
    const rsti_agent_command_t add = {.endpoint = *endpoint, .object = transport};
    rsti_tell_receiver(driver, RSTI_AGENT_ADD_ENDPOINT, &add);
    if (transport == NULL) {
        rsti_counter_store(driver, (*endpoint)->channel_status_id, RSTI_CHANNEL_ACTIVE);
    } else {
        rsti_channel_status_bound(driver, (*endpoint)->channel_status_id, transport->socket);
        rsti_tell_receiver(driver, RSTI_AGENT_ADD_TRANSPORT, &add);
    }
    return 0;
}

/* A channel that has no address of its own need not repeat them. */
static int check_sources(const rsti_channel_t *channel, const rsti_udp_channel_t *udp,
    const rsti_receive_endpoint_t *endpoint)
{
    rsti_source_list_t asked;
    (void)rsti_source_list_parse(&asked, channel->sources);
    if (rsti_source_list_equal(&asked, &endpoint->sources)
        || (asked.count == 0 && !rsti_udp_channel_has_address(udp))) {
        return 0;
    }
    return RST_SET_ERR(RST_ECHANNEL, "channel %s: rs-sources=%s: its existing socket has others",
        channel->uri, channel->sources[0] == '\0' ? "(all)" : channel->sources);
}

int rsti_receive_endpoint_get(rst_driver_t *driver, const rsti_channel_t *channel,
    const rsti_command_t *command, rsti_receive_endpoint_t **endpoint, bool *is_closing)
{
    rsti_udp_channel_t udp;
    *is_closing = false;
    const int resolved = rsti_receive_channel_resolve(driver, channel, &udp);
    if (resolved != 0) {
        *is_closing = resolved == RSTI_LOOKUP_PENDING; /* both cases: try again */
        return *is_closing ? 0 : resolved;
    }
    make_unique(driver, &udp);
    const int found = find(driver, &udp, endpoint);
    if (found < 0 || (found == 0 && rsti_channel_check_address(channel, &udp) < 0)) {
        return -rst_last_error_code();
    }
    if (found == 0) {
        return create(driver, channel, &udp, command, endpoint);
    }
    /* A closing endpoint needs no comparison, nor one that only images keep whose readers left. */
    const bool differs = rsti_channel_check_key(&udp, &(*endpoint)->udp) < 0
        || check_sources(channel, &udp, *endpoint) < 0;
    *is_closing = (*endpoint)->is_closing || (differs && (*endpoint)->subscription_count == 0);
    if (*is_closing) {
        return 0;
    }
    if (differs
        || rsti_channel_check_buffer("so-rcvbuf", channel->so_rcvbuf, (*endpoint)->so_rcvbuf,
               channel)
            < 0
        || rsti_channel_check_buffer("so-sndbuf", channel->so_sndbuf, (*endpoint)->so_sndbuf,
               channel)
            < 0
        || rsti_channel_check_timestamp("channel-rcv-ts-offset", channel->receive_timestamp,
               (*endpoint)->receive_timestamp, channel)
            < 0
        || rsti_channel_check_timestamp("media-rcv-ts-offset", channel->media_timestamp,
               (*endpoint)->media_timestamp, channel)
            < 0) {
        return -rst_last_error_code();
    }
    return 0;
}

void rsti_receive_endpoint_put(rst_driver_t *driver, rsti_receive_endpoint_t *endpoint)
{
    if (endpoint->subscription_count > 0 || endpoint->image_count > 0 || endpoint->is_closing) {
        return;
    }
    const rsti_agent_command_t remove = {.endpoint = endpoint};
    endpoint->is_closing = true;
    driver->conductor->closing_count++;
    for (int32_t slot = 0; slot < RSTI_RECEIVE_TRANSPORTS_MAX; slot++) {
        if (endpoint->owned[slot] != NULL && !endpoint->owned[slot]->is_closing) {
            rsti_counter_store(driver, endpoint->owned[slot]->local_sockaddr_id,
                RSTI_CHANNEL_CLOSING);
        }
    }
    rsti_tell_receiver(driver, RSTI_AGENT_REMOVE_ENDPOINT, &remove);
}

int rsti_receive_transport_add(rst_driver_t *driver, const rsti_transport_facts_t *facts)
{
    rsti_receive_transport_t *transport;
    if (rsti_receive_transport_create(driver, &transport, facts) < 0) {
        return -rst_last_error_code();
    }
    const rsti_agent_command_t add = {.endpoint = facts->endpoint, .object = transport};
    rsti_tell_receiver(driver, RSTI_AGENT_ADD_TRANSPORT, &add);
    return 0;
}

void rsti_receive_transport_remove(rst_driver_t *driver, rsti_receive_transport_t *transport)
{
    RST_ASSERT(!transport->is_closing);
    const rsti_agent_command_t remove = {.endpoint = transport->endpoint, .object = transport};
    transport->is_closing = true;
    driver->conductor->closing_count++;
    rsti_counter_store(driver, transport->local_sockaddr_id, RSTI_CHANNEL_CLOSING);
    rsti_tell_receiver(driver, RSTI_AGENT_REMOVE_TRANSPORT, &remove);
}

static void sweep_transports(rst_driver_t *driver, rsti_receive_endpoint_t *endpoint)
{
    for (int32_t slot = 0; slot < RSTI_RECEIVE_TRANSPORTS_MAX; slot++) {
        rsti_receive_transport_t *transport = endpoint->owned[slot];
        if (transport != NULL && transport->is_closing
            && rsti_is_let_go(driver, &transport->is_released)) {
            rsti_receive_transport_destroy(driver, transport);
        }
    }
}

void rsti_receive_endpoints_sweep(rst_driver_t *driver)
{
    rsti_conductor_t *conductor = driver->conductor;
    for (size_t i = conductor->receive_endpoints.count; i > 0; i--) {
        rsti_receive_endpoint_t *endpoint = conductor->receive_endpoints.items[i - 1];
        if (endpoint->is_manual) {
            sweep_transports(driver, endpoint);
        }
        if (endpoint->is_closing && rsti_is_let_go(driver, &endpoint->is_released)) {
            rsti_ptr_array_remove_at(&conductor->receive_endpoints, i - 1);
            rsti_receive_endpoint_destroy(driver, endpoint);
            conductor->closing_count--;
        }
    }
}
