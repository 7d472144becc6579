/* destinations.c: see destinations.h. */
#include "driver/conductor/destinations.h"

#include "driver/base/driver_state.h"
#include "driver/base/proxies.h"
#include "driver/conductor/publication_lists.h"
#include "driver/conductor/responses.h"
#include "driver/sender/network_publication.h"
#include "util/alloc.h"
#include "util/error.h"
#include "util/netaddr.h"

#include <inttypes.h>

/* The endpoint of the publication that the command names. NULL after an error response: there is
 * none, or it cannot have destinations. */
static rsti_send_endpoint_t *target(rst_driver_t *driver, const rsti_command_t *command)
{
    rsti_publication_t *publication = rsti_publication_of_id(driver, command->registration_id);
    if (publication == NULL || !publication->is_network) {
        rsti_respond_unknown_publication(driver, command);
        return NULL;
    }
    rsti_send_endpoint_t *endpoint = ((rsti_network_publication_t *)(void *)publication)->endpoint;
    if (endpoint->udp.control_mode != RSTI_CONTROL_MANUAL) {
        (void)RST_SET_ERR(RST_ECHANNEL,
            "channel %s: only a publication with"
            " control-mode=manual has destinations",
            endpoint->udp.canonical);
        rsti_respond_channel_trail(driver, command);
        return NULL;
    }
    return endpoint;
}

static int check_destination(const rsti_channel_t *channel)
{
    if (channel->is_spy || channel->media != RSTI_MEDIA_UDP) {
        return RST_SET_ERR(RST_ECHANNEL, "destination %s: a publication sends to aeron:udp only",
            channel->uri);
    }
    if (channel->endpoint[0] == '\0') {
        return RST_SET_ERR(RST_ECHANNEL, "destination %s: endpoint is missing", channel->uri);
    }
    return rsti_channel_check_destination(channel);
}

/* Parses the destination of the command. Returns 0, RSTI_LOOKUP_PENDING, or a negative error code
 * with a trail. A name that cannot be resolved is no error: its address is empty and may be found
 * later. */
static int parse_destination(rst_driver_t *driver, const rsti_command_t *command,
    const rsti_send_endpoint_t *endpoint, rsti_manual_destination_t *destination)
{
    rsti_channel_t *channel = &driver->conductor->channel;
    if (rsti_channel_parse(channel, command->channel.text, (size_t)command->channel.length) < 0
        || check_destination(channel) < 0) {
        return -rst_last_error_code();
    }
    const int family = endpoint->udp.local_data.ss_family;
    memset(destination, 0, sizeof *destination);
    destination->registration_id = command->correlation_id;
    destination->has_name = rsti_netaddr_has_name(channel->endpoint);
    memcpy(destination->endpoint, channel->endpoint, sizeof destination->endpoint);
    const int result = rsti_netaddr_resolve_with(&driver->resolver, channel->endpoint, family,
        &destination->address);
    if (result == -RST_EUNKNOWNHOST) {
        rsti_driver_log_trail(driver, "destination");
        return 0;
    }
    if (result != 0) {
        return result;
    }
    if (rsti_netaddr_port(&destination->address) == 0) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter endpoint=%s: a destination needs the port of its reader, not 0",
            channel->endpoint);
    }
    if (destination->address.ss_family != family) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter endpoint=%s: address family differs"
            " from that of the publication's socket (interface= or control= choose it)",
            channel->endpoint);
    }
    return 0;
}

static int add_destination(rst_driver_t *driver, rsti_send_endpoint_t *endpoint,
    const rsti_manual_destination_t *destination)
{
    if (endpoint->manual.count >= RSTI_DESTINATIONS_MAX) {
        return RST_SET_ERR(RST_EFULL, "channel %s: a publication has at most %d destinations",
            endpoint->udp.canonical, RSTI_DESTINATIONS_MAX);
    }
    rsti_manual_destination_t *kept = rsti_alloc(sizeof *kept);
    if (kept == NULL) {
        return -RST_ENOMEM;
    }
    *kept = *destination;
    if (rsti_ptr_array_add(&endpoint->manual, kept) < 0) {
        rsti_free(kept);
        return -RST_ENOMEM;
    }
    const rsti_agent_command_t add = {
        .endpoint = endpoint,
        .registration_id = kept->registration_id,
        .address = kept->address,
        .has_name = kept->has_name,
    };
    rsti_tell_sender(driver, RSTI_AGENT_ADD_DESTINATION, &add);
    return 0;
}

bool rsti_on_add_destination(rst_driver_t *driver, const rsti_command_t *command)
{
    rsti_manual_destination_t destination;
    rsti_send_endpoint_t *endpoint = target(driver, command);
    if (endpoint == NULL) {
        return false;
    }
    const int result = parse_destination(driver, command, endpoint, &destination);
    if (result == RSTI_LOOKUP_PENDING) {
        return true;
    }
    if (result < 0 || add_destination(driver, endpoint, &destination) < 0) {
        rsti_respond_channel_trail(driver, command);
    } else {
        rsti_respond_ok(driver, command->correlation_id);
    }
    return false;
}

static void remove_at(rst_driver_t *driver, rsti_send_endpoint_t *endpoint, size_t index)
{
    rsti_manual_destination_t *destination = endpoint->manual.items[index];
    const rsti_agent_command_t remove = {
        .endpoint = endpoint,
        .registration_id = destination->registration_id,
    };
    rsti_ptr_array_remove_at(&endpoint->manual, index);
    rsti_free(destination);
    rsti_tell_sender(driver, RSTI_AGENT_REMOVE_DESTINATION, &remove);
}

/* Finds a destination by its text, else by its address. */
static bool find(const rsti_send_endpoint_t *endpoint, const rsti_manual_destination_t *wanted,
    size_t *index)
{
    for (size_t i = 0; i < endpoint->manual.count; i++) {
        const rsti_manual_destination_t *destination = endpoint->manual.items[i];
        if (strcmp(destination->endpoint, wanted->endpoint) == 0) {
            *index = i;
            return true;
        }
    }
    for (size_t i = 0; i < endpoint->manual.count; i++) {
        const rsti_manual_destination_t *destination = endpoint->manual.items[i];
        if (wanted->address.ss_family != AF_UNSPEC
            && rsti_netaddr_equal(&destination->address, &wanted->address)) {
            *index = i;
            return true;
        }
    }
    return false;
}

bool rsti_on_remove_destination(rst_driver_t *driver, const rsti_command_t *command)
{
    rsti_manual_destination_t wanted;
    size_t index;
    rsti_send_endpoint_t *endpoint = target(driver, command);
    if (endpoint == NULL) {
        return false;
    }
    const int result = parse_destination(driver, command, endpoint, &wanted);
    if (result == RSTI_LOOKUP_PENDING) {
        return true;
    }
    if (result < 0) {
        rsti_respond_channel_trail(driver, command);
        return false;
    }
    if (find(endpoint, &wanted, &index)) {
        remove_at(driver, endpoint, index);
    }
    /* removing an unknown destination is a success */
    rsti_respond_ok(driver, command->correlation_id);
    return false;
}

static bool remove_by_id(rst_driver_t *driver, rsti_send_endpoint_t *endpoint,
    int64_t registration_id)
{
    for (size_t i = 0; i < endpoint->manual.count; i++) {
        const rsti_manual_destination_t *destination = endpoint->manual.items[i];
        if (destination->registration_id == registration_id) {
            remove_at(driver, endpoint, i);
            return true;
        }
    }
    return false;
}

void rsti_on_remove_destination_by_id(rst_driver_t *driver, const rsti_command_t *command)
{
    const rsti_ptr_array_t *endpoints = &driver->conductor->send_endpoints;
    /* Aeron's C client writes the destination's id into both fields, so destination_id decides. */
    for (size_t i = 0; i < endpoints->count; i++) {
        rsti_send_endpoint_t *endpoint = endpoints->items[i];
        /* The sender has already got the command that releases a closing endpoint. */
        if (!endpoint->is_closing && remove_by_id(driver, endpoint, command->destination_id)) {
            rsti_respond_ok(driver, command->correlation_id);
            return;
        }
    }
    if (target(driver, command) != NULL) {
        (void)RST_SET_ERR(RST_EINVAL, "unknown destination, registration id %" PRId64,
            command->destination_id);
        rsti_respond_channel_trail(driver, command);
    }
}
