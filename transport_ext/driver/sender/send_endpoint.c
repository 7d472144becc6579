/* send_endpoint.c: the sender's part of a send endpoint: the table of its publications, sending to
 * its peer, group or destinations, and the upkeep of the destinations
 * (docs/reference/aeron/wire.md 7.1, 13.1). */
#include "driver/sender/send_endpoint.h"

#include "driver/base/counters.h"
#include "driver/base/driver_state.h"
#include "driver/base/proxies.h"
#include "driver/sender/destination_tracker.h"
#include "driver/sender/network_publication.h"
#include "util/error.h"
#include "util/netaddr.h"

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

static int64_t length_of(const rsti_datagram_t *datagrams, int32_t count)
{
    int64_t bytes = 0;
    for (int32_t i = 0; i < count; i++) {
        bytes += (int64_t)datagrams[i].length;
    }
    return bytes;
}

static void set_address(rsti_datagram_t *datagrams, int32_t count,
    const struct sockaddr_storage *address)
{
    for (int32_t i = 0; i < count; i++) {
        memcpy(&datagrams[i].address, address, rsti_netaddr_length(address));
    }
}

/* Returns how many datagrams the system accepted. An error at the first one gives a negative result
 * and leaves a trail. */
static int32_t send_quietly(rst_driver_t *driver, rsti_socket_t *socket,
    const rsti_datagram_t *datagrams, int32_t count)
{
    const int sent = driver->media.table->send(driver->media.arg, socket, datagrams, count);
    if (sent > 0) {
        rsti_driver_count(driver, RSTI_SYSTEM_BYTES_SENT, length_of(datagrams, sent));
    }
    return sent;
}

/* The same, but an error is logged, and counts as nothing sent. */
static int32_t send_once(rst_driver_t *driver, rsti_socket_t *socket,
    const rsti_datagram_t *datagrams, int32_t count)
{
    const int32_t sent = send_quietly(driver, socket, datagrams, count);
    if (sent < 0) {
        rsti_driver_log_trail(driver, "sender");
    }
    return rsti_max_i32(sent, 0);
}

/* The conductor names the destination in a counter (docs/reference/wire.md). When its ring is full,
 * the next failure tells it. */
static void tell_failure(rst_driver_t *driver, rsti_send_endpoint_t *endpoint,
    const rsti_destination_t *destination)
{
    const rsti_agent_command_t failed = {
        .endpoint = endpoint,
        .registration_id = destination->registration_id,
        .address = destination->address,
        .count = destination->missed_count,
    };
    (void)rsti_tell_conductor(driver, RSTI_AGENT_DESTINATION_FAILED, &failed);
}

/* When the socket is full, the rest of the datagrams is lost for this destination, and its receiver
 * repairs the loss by NAKs. */
static void send_to_one(rst_driver_t *driver, rsti_send_endpoint_t *endpoint,
    rsti_destination_t *destination, rsti_datagram_t *datagrams, int32_t count, int64_t now_ns)
{
    if (!rsti_destination_takes(destination, count, now_ns)) {
        return;
    }
    set_address(datagrams, count, &destination->address);
    int32_t sent = send_quietly(driver, endpoint->data_socket, datagrams, count);
    if (sent >= 0 && sent < count) {
        /* Either the socket is full or the next datagram met an error: a second call tells. */
        const int32_t more = send_quietly(driver, endpoint->data_socket, datagrams + sent,
            count - sent);
        sent = more < 0 ? more : sent + more;
    }
    if (sent > 0) {
        rsti_destination_on_sent(destination);
    } else if (sent < 0) {
        rsti_driver_count(driver, RSTI_SYSTEM_SHORT_SENDS, 1);
        if (rsti_destination_on_failed(destination, count, now_ns)) {
            rsti_driver_log_trail(driver, "sender");
        }
        tell_failure(driver, endpoint, destination);
    }
    rsti_error_clear();
}

/* Each destination fails alone. The datagrams count as sent in any case: the others must not wait
 * for it, and its receiver repairs the loss by NAKs when it can be reached again. */
static void send_to_destinations(const rsti_sender_t *sender, rsti_send_endpoint_t *endpoint,
    rsti_datagram_t *datagrams, int32_t count)
{
    rsti_destination_tracker_t *tracker = endpoint->destinations;
    const int32_t first = rsti_destinations_rotate(tracker);
    for (int32_t n = 0; n < tracker->count; n++) {
        rsti_destination_t *destination = &tracker->items[(first + n) % tracker->count];
        if (!destination->is_repeated && destination->address.ss_family != AF_UNSPEC) {
            send_to_one(sender->driver, endpoint, destination, datagrams, count, sender->now_ns);
        }
    }
}

int32_t rsti_send_endpoint_send(rsti_sender_t *sender, rsti_send_endpoint_t *endpoint,
    rsti_datagram_t *datagrams, int32_t count)
{
    rst_driver_t *driver = sender->driver;
    if (endpoint->destinations != NULL) {
        send_to_destinations(sender, endpoint, datagrams, count);
        return count;
    }
    if (!endpoint->is_connected) {
        set_address(datagrams, count, &endpoint->data_address);
    }
    const int32_t sent = send_once(driver, endpoint->data_socket, datagrams, count);
    if (sent < count) {
        rsti_driver_count(driver, RSTI_SYSTEM_SHORT_SENDS, 1);
        sender->is_short = true;
    }
    return sent;
}

void rsti_send_endpoint_send_to(rsti_sender_t *sender, const rsti_send_endpoint_t *endpoint,
    const void *frame, size_t length, const struct sockaddr_storage *address)
{
    rsti_datagram_t datagram = {.data = (uint8_t *)(uintptr_t)frame, .length = length};
    set_address(&datagram, 1, address);
    (void)send_quietly(sender->driver, endpoint->data_socket, &datagram, 1);
    rsti_error_clear(); /* a log of it would let strangers fill the error log */
}

static void tell_destination_count(rst_driver_t *driver, const rsti_send_endpoint_t *endpoint)
{
    const int32_t id = endpoint->destination_count_id;
    const int64_t count = endpoint->destinations->count;
    if (*rsti_counter_address(&driver->counters.counters, id) != count) {
        rsti_counter_store(driver, id, count);
    }
}

void rsti_send_endpoint_on_proof(rsti_sender_t *sender, rsti_send_endpoint_t *endpoint,
    int64_t receiver_id, const struct sockaddr_storage *source, int64_t now_ns)
{
    if (!rsti_send_endpoint_is_open(endpoint)) {
        (void)rsti_proven_add(&endpoint->proven, source, now_ns);
    }
    if (endpoint->destinations == NULL) {
        return;
    }
    if (!rsti_destinations_on_sm(endpoint->destinations, receiver_id, source, now_ns)) {
        /* The text omits the address: a flood of source addresses would fill the error log. */
        (void)RST_SET_ERR(RST_EFULL, "channel %s: more than %d destinations, not all are served",
            endpoint->udp.canonical, RSTI_DESTINATIONS_MAX);
        rsti_driver_log_trail(sender->driver, "sender");
    }
    tell_destination_count(sender->driver, endpoint);
}

void rsti_send_endpoint_on_destination(rsti_sender_t *sender, int32_t type,
    const rsti_agent_command_t *command)
{
    rsti_send_endpoint_t *endpoint = command->endpoint;
    if (type == RSTI_AGENT_ADD_DESTINATION) {
        /* There is room: the conductor counts destinations before it sends the command. */
        const bool is_added = rsti_destinations_add(endpoint->destinations,
            command->registration_id, &command->address, command->has_name, sender->now_ns);
        RST_ASSERT(is_added);
        (void)is_added;
    } else {
        (void)rsti_destinations_remove(endpoint->destinations, command->registration_id);
    }
    tell_destination_count(sender->driver, endpoint);
}

void rsti_send_endpoint_check(rsti_sender_t *sender, rsti_send_endpoint_t *endpoint, int64_t now_ns,
    int64_t *next_deadline_ns)
{
    if (endpoint->destinations != NULL) {
        rsti_destinations_expire(endpoint->destinations, now_ns);
        tell_destination_count(sender->driver, endpoint);
        rsti_lower_deadline(next_deadline_ns, endpoint->destinations->expiry_due_ns);
    }
}

void rsti_send_endpoint_on_resolved(rsti_sender_t *sender, const rsti_agent_command_t *command)
{
    const rst_driver_t *driver = sender->driver;
    rsti_send_endpoint_t *endpoint = command->endpoint;
    if (endpoint->destinations != NULL) {
        (void)rsti_destinations_move(endpoint->destinations, command->registration_id,
            &command->address);
        return;
    }
    endpoint->data_address = command->address;
    if (endpoint->is_connected
        && driver->media.table->reconnect(driver->media.arg, endpoint->data_socket,
               &command->address)
            < 0) {
        rsti_driver_log_trail(sender->driver, "sender");
    }
}

static void ask_again(rsti_sender_t *sender, rsti_send_endpoint_t *endpoint,
    int64_t registration_id)
{
    const rsti_agent_command_t ask = {
        .endpoint = endpoint,
        .registration_id = registration_id,
    };
    (void)rsti_tell_conductor(sender->driver, RSTI_AGENT_RERESOLVE, &ask);
}

bool rsti_send_endpoint_check_names(rsti_sender_t *sender, rsti_send_endpoint_t *endpoint,
    int64_t now_ns)
{
    const rsti_destination_tracker_t *tracker = endpoint->destinations;
    if (tracker == NULL) {
        if (endpoint->has_name && now_ns > endpoint->last_sm_ns + RSTI_DESTINATION_TIMEOUT_NS) {
            ask_again(sender, endpoint, -1);
        }
        return endpoint->has_name;
    }
    bool has_name = false;
    for (int32_t i = 0; i < tracker->count; i++) {
        const rsti_destination_t *destination = &tracker->items[i];
        has_name |= destination->has_name;
        if (destination->has_name
            && now_ns > destination->last_activity_ns + RSTI_DESTINATION_TIMEOUT_NS) {
            ask_again(sender, endpoint, destination->registration_id);
        }
    }
    return has_name;
}
