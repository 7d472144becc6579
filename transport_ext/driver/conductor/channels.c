/* conductor_channels.c: which channels are served, and which endpoint a channel uses (driver
 * reference 7). */
#include "driver/internal.h"

#include "util/error.h"

#include <inttypes.h>
#include <stdio.h>

int rsti_channel_check_supported(const rsti_channel_t *channel, bool is_publication)
{
    if (is_publication && channel->budget_bytes != RSTI_CHANNEL_UNSET) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter rs-budget=%" PRId64
            ": belongs to the subscription, which says what may be under way to it",
            channel->budget_bytes);
    }
    if (is_publication && channel->is_fill_window_set) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter rs-fill-window=%s: belongs to the"
            " subscription, whose window it is",
            channel->fill_window ? "true" : "false");
    }
    if (!is_publication && channel->rate[0] != '\0') {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter rs-rate=%s: a subscription has no rate,"
            " give it to the publication, not in \"%s\"",
            channel->rate, channel->uri);
    }
    if (channel->is_spy && !is_publication) {
        return 0; /* it has no socket of its own */
    }
    if (!is_publication && channel->session_tag != RSTI_CHANNEL_UNSET) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter session-id=tag:%" PRId64 ": only a publication can take the session"
            " of another one",
            channel->session_tag);
    }
    return 0;
}

/* 0, RSTI_LOOKUP_PENDING, or negative with a trail. */
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
            "channel parameter endpoint=%s: a group cannot have"
            " destinations of its own (control-mode)",
            channel->endpoint);
    }
    /* Addresses that are the same for several sockets do not name one. */
    if (!udp->is_unique) {
        const size_t used = strlen(udp->canonical);
        snprintf(udp->canonical + used, sizeof udp->canonical - used, "-%" PRId32,
            driver->conductor.wildcard_count++);
    }
    return 0;
}

/* Two publications on one socket cannot disagree about whom it sends to. */
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

int rsti_channel_check_buffer(const char *name, int64_t asked, int64_t existing,
    const rsti_channel_t *channel)
{
    if (asked != RSTI_CHANNEL_UNSET && asked != existing) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel %s: %s=%" PRId64 " differs from that of the channel's existing socket",
            channel->uri, name, asked);
    }
    return 0;
}

/* A channel with neither address is whole only as the tag of a socket that exists. */
int rsti_channel_check_address(const rsti_channel_t *channel, const rsti_udp_channel_t *udp)
{
    if (rsti_udp_channel_has_address(udp) || udp->control_mode == RSTI_CONTROL_MANUAL
        || udp->channel_tag == RSTI_CHANNEL_UNSET) {
        return 0;
    }
    return RST_SET_ERR(RST_ECHANNEL,
        "channel \"%s\": there is no socket with tags=%" PRId64
        " to use, and no endpoint or control to make one",
        channel->uri, udp->channel_tag);
}

/* 1 found, 0 not, negative with a trail. */
static int find_send_endpoint(const rst_driver_t *driver, const rsti_udp_channel_t *udp,
    rsti_send_endpoint_t **endpoint)
{
    const rsti_ptr_array_t *endpoints = &driver->conductor.send_endpoints;
    for (size_t i = 0; i < endpoints->count; i++) {
        *endpoint = endpoints->items[i];
        const int result = rsti_udp_channel_matches_tag(udp, &(*endpoint)->udp);
        if (result != 0) {
            return (*endpoint)->is_closing ? 1 : result; /* its tag is just becoming free */
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

int rsti_send_endpoint_get(rst_driver_t *driver, const rsti_channel_t *channel,
    const rsti_command_t *command, rsti_send_endpoint_t **endpoint, bool *is_closing)
{
    rsti_conductor_t *conductor = &driver->conductor;
    rsti_udp_channel_t udp;
    *is_closing = false;
    const int resolved = resolve(driver, channel, &udp);
    if (resolved != 0) {
        *is_closing = resolved == RSTI_LOOKUP_PENDING; /* either way: try again */
        return *is_closing ? 0 : resolved;
    }
    const int found = find_send_endpoint(driver, &udp, endpoint);
    if (found > 0) {
        *is_closing = (*endpoint)->is_closing; /* then it is nothing to agree with */
        if (*is_closing) {
            return 0;
        }
        if (check_mode(channel, &(*endpoint)->udp) < 0
            || rsti_channel_check_buffer("so-sndbuf", channel->so_sndbuf, (*endpoint)->so_sndbuf,
                   channel)
                < 0
            || rsti_channel_check_buffer("so-rcvbuf", channel->so_rcvbuf, (*endpoint)->so_rcvbuf,
                   channel)
                < 0) {
            return -rst_last_error_code();
        }
        return 0;
    }
    if (found < 0 || rsti_channel_check_address(channel, &udp) < 0) {
        return -rst_last_error_code();
    }
    if (rsti_send_endpoint_create(driver, endpoint, channel, &udp, command->correlation_id,
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
        driver->conductor.closing_count++;
        rsti_tell_sender(driver, RSTI_AGENT_REMOVE_ENDPOINT, &remove);
    }
}

bool rsti_is_let_go(const rst_driver_t *driver, const int32_t *is_released)
{
    /* The release first: only then everything that the agent wrote before it counts. And the
     * length, not the first record: that may be one that the other agent is still writing. */
    return rsti_load_acquire_i32(is_released) && rsti_rb_size(&driver->conductor.queue.rb) == 0;
}

void rsti_endpoints_sweep(rst_driver_t *driver)
{
    rsti_conductor_t *conductor = &driver->conductor;
    if (conductor->closing_count == 0) {
        return;
    }
    for (size_t i = conductor->send_endpoints.count; i > 0; i--) {
        rsti_send_endpoint_t *endpoint = conductor->send_endpoints.items[i - 1];
        if (endpoint->is_closing && rsti_is_let_go(driver, &endpoint->is_released)) {
            rsti_ptr_array_remove_at(&conductor->send_endpoints, i - 1);
            rsti_send_endpoint_destroy(driver, endpoint);
            conductor->closing_count--;
        }
    }
    rsti_receive_endpoints_sweep(driver);
}
