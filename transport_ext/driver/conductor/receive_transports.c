/* receive_transports.c: see receive_transports.h. */
#include "driver/conductor/receive_transports.h"

#include "driver/base/counters.h"
#include "driver/base/port_manager.h"
#include "driver/conductor/group_keys.h"
#include "util/alloc.h"
#include "util/error.h"
#include "util/netaddr.h"

static int take_slot(rsti_receive_endpoint_t *endpoint, rsti_receive_transport_t *transport)
{
    for (int32_t slot = 0; slot < RSTI_RECEIVE_TRANSPORTS_MAX; slot++) {
        if (endpoint->owned[slot] == NULL) {
            endpoint->owned[slot] = transport;
            endpoint->owned_count++;
            transport->endpoint = endpoint;
            transport->slot = slot;
            return 0;
        }
    }
    return RST_SET_ERR(RST_EFULL, "a subscription has at most %d destinations",
        RSTI_RECEIVE_TRANSPORTS_MAX);
}

static int open_socket(rst_driver_t *driver, rsti_receive_transport_t *transport)
{
    const rsti_receive_endpoint_t *endpoint = transport->endpoint;
    const rsti_udp_channel_t *udp = &transport->udp;
    rsti_socket_params_t params = {
        .bind_address = udp->remote_data, /* endpoint= is the address of the reader */
        .so_sndbuf = (int32_t)endpoint->so_sndbuf,
        .so_rcvbuf = (int32_t)endpoint->so_rcvbuf,
        .has_arrival_times = endpoint->media_timestamp != RSTI_CHANNEL_UNSET,
        .use_coalescing = driver->params.segmentation != 0,
        .keys = rsti_group_keys_ring(endpoint->keys),
    };
    if (udp->is_multicast) {
        params.bind_address = (struct sockaddr_storage){0};
        params.bind_address.ss_family = udp->remote_data.ss_family;
        rsti_netaddr_set_port(&params.bind_address, rsti_netaddr_port(&udp->remote_data));
        params.group_address = udp->remote_data;
        params.interface_address = udp->interface_address;
        params.interface_index = udp->interface_index;
        params.multicast_ttl = transport->ttl;
    }
    const rsti_media_t *media = &driver->media;
    if (rsti_port_manager_open(&driver->conductor->receiver_ports, media, &params,
            &transport->socket, &transport->managed_port)
        < 0) {
        return -rst_last_error_code();
    }
    transport->granted_rcvbuf = media->table->granted_rcvbuf(media->arg, transport->socket);
    return 0;
}

static int allocate_counter(rst_driver_t *driver, rsti_receive_transport_t *transport,
    const rsti_transport_facts_t *facts)
{
    struct sockaddr_storage bound;
    char text[RSTI_NETADDR_TEXT_MAX];
    driver->media.table->local_address(driver->media.arg, transport->socket, &bound);
    transport->local_sockaddr_id = rsti_sockaddr_counter_allocate(driver, "rcv-local-sockaddr",
        transport->endpoint->channel_status_id, rsti_netaddr_format(&bound, text, sizeof text),
        facts->registration_id, facts->client_id);
    return transport->local_sockaddr_id < 0 ? -rst_last_error_code() : 0;
}

int rsti_receive_transport_create(rst_driver_t *driver, rsti_receive_transport_t **transport,
    const rsti_transport_facts_t *facts)
{
    const rsti_channel_t *channel = facts->channel;
    rsti_receive_transport_t *made = rsti_alloc(sizeof *made);
    if (made == NULL) {
        return -RST_ENOMEM;
    }
    made->registration_id = facts->registration_id;
    made->udp = *facts->udp;
    made->local_sockaddr_id = RSTI_NULL_COUNTER;
    made->ttl = (int32_t)(channel->ttl == RSTI_CHANNEL_UNSET ? driver->params.multicast_ttl
                                                             : channel->ttl);
    made->has_control = made->udp.is_multicast || made->udp.has_explicit_control;
    made->is_eliciting = made->udp.has_explicit_control;
    made->control = made->udp.remote_control;
    made->resolved_control = made->control;
    if (made->is_eliciting && rsti_netaddr_has_name(channel->control)) {
        memcpy(made->control_name, channel->control, sizeof made->control_name);
    }
    made->last_activity_ns = driver->conductor->now_ns;
    made->elicit_due_ns = RSTI_NO_DEADLINE;
    if (take_slot(facts->endpoint, made) < 0) {
        rsti_free(made);
        return -RST_EFULL;
    }
    if (open_socket(driver, made) < 0 || allocate_counter(driver, made, facts) < 0) {
        const int result = -rst_last_error_code();
        rsti_receive_transport_destroy(driver, made);
        return result;
    }
    *transport = made;
    return 0;
}

void rsti_receive_transport_destroy(rst_driver_t *driver, rsti_receive_transport_t *transport)
{
    rsti_receive_endpoint_t *endpoint = transport->endpoint;
    rsti_counter_release(driver, &transport->local_sockaddr_id);
    if (transport->socket != NULL) {
        driver->media.table->close(driver->media.arg, transport->socket);
        rsti_port_manager_give(&driver->conductor->receiver_ports, transport->managed_port);
    }
    endpoint->owned[transport->slot] = NULL;
    endpoint->owned_count--;
    driver->conductor->closing_count -= transport->is_closing;
    rsti_free(transport);
}
