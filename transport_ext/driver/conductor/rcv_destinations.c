/* rcv_destinations.c: see rcv_destinations.h. */
#include "driver/conductor/rcv_destinations.h"

#include "driver/conductor/channels.h"
#include "driver/conductor/links.h"
#include "driver/conductor/receive_endpoints.h"
#include "driver/conductor/responses.h"
#include "driver/conductor/subscriptions.h"
#include "util/error.h"

#include <inttypes.h>
#include <stdio.h>

static rsti_subscription_t *find_subscription(const rst_driver_t *driver, int64_t registration_id)
{
    const rsti_ptr_array_t *subscriptions = &driver->conductor->subscriptions;
    for (size_t i = 0; i < subscriptions->count; i++) {
        rsti_subscription_t *subscription = subscriptions->items[i];
        if (subscription->registration_id == registration_id && subscription->destination_id == 0) {
            return subscription;
        }
    }
    return NULL;
}

/* The subscription that the command names. NULL after an error response: there is none, or it
 * cannot have destinations. */
static rsti_subscription_t *target(rst_driver_t *driver, const rsti_command_t *command)
{
    rsti_subscription_t *subscription = find_subscription(driver, command->registration_id);
    if (subscription == NULL) {
        char text[96];
        snprintf(text, sizeof text, "unknown subscription, registration id %" PRId64,
            command->registration_id);
        rsti_respond_error(driver, command->correlation_id, RSTI_DRIVER_UNKNOWN_SUBSCRIPTION, text);
        return NULL;
    }
    if (subscription->endpoint == NULL || !subscription->endpoint->is_manual) {
        (void)RST_SET_ERR(RST_ECHANNEL,
            "channel %s: only a subscription with"
            " control-mode=manual has destinations",
            subscription->uri);
        rsti_respond_channel_trail(driver, command);
        return NULL;
    }
    return subscription;
}

/* A local destination reads logs of this driver and has no socket. */
static bool is_local(const rsti_channel_t *channel)
{
    return channel->is_spy || channel->media == RSTI_MEDIA_IPC;
}

static int check_destination(const rsti_channel_t *channel)
{
    if (rsti_channel_check_destination(channel) < 0) {
        return -rst_last_error_code();
    }
    if (!is_local(channel) && channel->endpoint[0] == '\0' && channel->control[0] == '\0') {
        return RST_SET_ERR(RST_ECHANNEL, "destination %s: endpoint is missing", channel->uri);
    }
    return 0;
}

/* Parses the channel of the command. *udp gets the addresses of a destination with a socket.
 * Returns 0, RSTI_LOOKUP_PENDING, or a negative error code with a trail. */
static int parse_destination(rst_driver_t *driver, const rsti_command_t *command,
    rsti_udp_channel_t *udp)
{
    rsti_channel_t *channel = &driver->conductor->channel;
    if (rsti_channel_parse(channel, command->channel.text, (size_t)command->channel.length) < 0
        || check_destination(channel) < 0) {
        return -rst_last_error_code();
    }
    return is_local(channel) ? 0 : rsti_receive_channel_resolve(driver, channel, udp);
}

static int add_local(rst_driver_t *driver, const rsti_subscription_t *parent,
    const rsti_command_t *command)
{
    rsti_subscription_t *made = rsti_subscription_make_destination(driver, parent,
        &driver->conductor->channel, command->correlation_id);
    if (made == NULL) {
        return -rst_last_error_code();
    }
    rsti_respond_ok(driver, command->correlation_id);
    rsti_link_existing(driver, made);
    return 0;
}

static int add_transport(rst_driver_t *driver, const rsti_subscription_t *subscription,
    const rsti_udp_channel_t *udp, const rsti_command_t *command)
{
    const rsti_transport_facts_t facts = {
        .endpoint = subscription->endpoint,
        .channel = &driver->conductor->channel,
        .udp = udp,
        .registration_id = command->correlation_id,
        .client_id = command->client_id,
    };
    const rsti_channel_t *channel = facts.channel;
    /* The offsets are those of the subscription; a destination may repeat them. */
    if ((channel->receive_timestamp != RSTI_CHANNEL_UNSET
            && rsti_channel_check_timestamp("channel-rcv-ts-offset", channel->receive_timestamp,
                   facts.endpoint->receive_timestamp, channel)
                < 0)
        || (channel->media_timestamp != RSTI_CHANNEL_UNSET
            && rsti_channel_check_timestamp("media-rcv-ts-offset", channel->media_timestamp,
                   facts.endpoint->media_timestamp, channel)
                < 0)) {
        return -rst_last_error_code();
    }
    if (rsti_receive_transport_add(driver, &facts) < 0) {
        return -rst_last_error_code();
    }
    rsti_respond_ok(driver, command->correlation_id);
    return 0;
}

bool rsti_on_add_rcv_destination(rst_driver_t *driver, const rsti_command_t *command)
{
    rsti_udp_channel_t udp;
    const rsti_subscription_t *subscription = target(driver, command);
    if (subscription == NULL) {
        return false;
    }
    int result = parse_destination(driver, command, &udp);
    if (result == RSTI_LOOKUP_PENDING) {
        return true;
    }
    if (result == 0) {
        result = is_local(&driver->conductor->channel)
            ? add_local(driver, subscription, command)
            : add_transport(driver, subscription, &udp, command);
    }
    if (result < 0) {
        rsti_respond_channel_trail(driver, command);
    }
    return false;
}

static rsti_receive_transport_t *find_by_address(const rsti_receive_endpoint_t *endpoint,
    const rsti_udp_channel_t *udp)
{
    for (int32_t slot = 0; slot < RSTI_RECEIVE_TRANSPORTS_MAX; slot++) {
        rsti_receive_transport_t *transport = endpoint->owned[slot];
        if (transport != NULL && !transport->is_closing
            && strcmp(transport->udp.canonical, udp->canonical) == 0) {
            return transport;
        }
    }
    return NULL;
}

static rsti_receive_transport_t *find_by_id(const rsti_receive_endpoint_t *endpoint,
    int64_t registration_id)
{
    for (int32_t slot = 0; slot < RSTI_RECEIVE_TRANSPORTS_MAX; slot++) {
        rsti_receive_transport_t *transport = endpoint->owned[slot];
        if (transport != NULL && !transport->is_closing
            && transport->registration_id == registration_id) {
            return transport;
        }
    }
    return NULL;
}

static rsti_subscription_t *find_local(const rst_driver_t *driver, int64_t registration_id,
    const rsti_channel_t *channel)
{
    const rsti_ptr_array_t *subscriptions = &driver->conductor->subscriptions;
    for (size_t i = 0; i < subscriptions->count; i++) {
        rsti_subscription_t *subscription = subscriptions->items[i];
        if (subscription->registration_id == registration_id && subscription->destination_id != 0
            && strcmp(subscription->uri, channel->uri) == 0) {
            return subscription;
        }
    }
    return NULL;
}

static rsti_subscription_t *find_local_by_id(const rst_driver_t *driver, int64_t destination_id)
{
    const rsti_ptr_array_t *subscriptions = &driver->conductor->subscriptions;
    for (size_t i = 0; i < subscriptions->count; i++) {
        rsti_subscription_t *subscription = subscriptions->items[i];
        if (destination_id != 0 && subscription->destination_id == destination_id) {
            return subscription;
        }
    }
    return NULL;
}

/* Logs that another destination of the subscription matches too stay linked, at the same position.
 */
static void leave_to_others(rst_driver_t *driver, const rsti_subscription_t *destination)
{
    const rsti_ptr_array_t *subscriptions = &driver->conductor->subscriptions;
    for (size_t i = 0; i < subscriptions->count; i++) {
        rsti_subscription_t *other = subscriptions->items[i];
        if (other != destination && other->destination_id != 0
            && other->registration_id == destination->registration_id) {
            rsti_subscription_hand_over(driver, destination, other);
        }
    }
}

/* The success response comes before the UNAVAILABLE_IMAGE messages (docs/reference/aeron/memory.md
 * 15). */
static void remove_local(rst_driver_t *driver, rsti_subscription_t *destination,
    const rsti_command_t *command)
{
    leave_to_others(driver, destination);
    rsti_respond_ok(driver, command->correlation_id);
    rsti_subscription_tell_unavailable(driver, destination);
    rsti_subscription_remove(driver, destination);
}

static void remove_transport(rst_driver_t *driver, rsti_receive_transport_t *transport,
    const rsti_command_t *command)
{
    rsti_receive_transport_remove(driver, transport);
    rsti_respond_ok(driver, command->correlation_id);
}

bool rsti_on_remove_rcv_destination(rst_driver_t *driver, const rsti_command_t *command)
{
    rsti_udp_channel_t udp;
    const rsti_channel_t *channel = &driver->conductor->channel;
    const rsti_subscription_t *subscription = target(driver, command);
    if (subscription == NULL) {
        return false;
    }
    const int result = parse_destination(driver, command, &udp);
    if (result != 0) {
        if (result < 0) {
            rsti_respond_channel_trail(driver, command);
        }
        return result == RSTI_LOOKUP_PENDING;
    }
    rsti_receive_transport_t *transport = is_local(channel)
        ? NULL
        : find_by_address(subscription->endpoint, &udp);
    rsti_subscription_t *local = is_local(channel)
        ? find_local(driver, subscription->registration_id, channel)
        : NULL;
    if (transport != NULL) {
        remove_transport(driver, transport, command);
    } else if (local != NULL) {
        remove_local(driver, local, command);
    } else {
        (void)RST_SET_ERR(RST_ECHANNEL, "channel %s has no destination %s", subscription->uri,
            channel->uri);
        rsti_respond_channel_trail(driver, command);
    }
    return false;
}

bool rsti_on_remove_rcv_destination_by_id(rst_driver_t *driver, const rsti_command_t *command)
{
    const rsti_ptr_array_t *endpoints = &driver->conductor->receive_endpoints;
    /* Aeron's C client writes the destination's id into both fields, so destination_id decides. */
    for (size_t i = 0; i < endpoints->count; i++) {
        const rsti_receive_endpoint_t *endpoint = endpoints->items[i];
        rsti_receive_transport_t *transport = endpoint->is_manual && !endpoint->is_closing
            ? find_by_id(endpoint, command->destination_id)
            : NULL;
        if (transport != NULL) {
            remove_transport(driver, transport, command);
            return true;
        }
    }
    rsti_subscription_t *local = find_local_by_id(driver, command->destination_id);
    if (local != NULL) {
        remove_local(driver, local, command);
        return true;
    }
    return false;
}
