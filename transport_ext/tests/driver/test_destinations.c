/* Transports of a receiver: groups, explicit control addresses, and several transports of one
 * subscription, whose copies of a stream become one image. */
#include "driver/conductor/receive_endpoints.h"
#include "driver/receiver/receiver.h"
#include "tests/driver/harness.h"

#define SENDER "127.0.0.1:30001"
#define OTHER_SENDER "127.0.0.1:30002"
#define SESSION 1234
#define STREAM 10
#define MANUAL "aeron:udp?control-mode=manual"

static rsti_receive_endpoint_t *endpoint_at(const harness_t *h, size_t index)
{
    return h->driver->conductor->receive_endpoints.items[index];
}

static rsti_socket_t *socket_of(const rsti_receive_endpoint_t *endpoint, int32_t slot)
{
    return endpoint->owned[slot]->socket;
}

static rsti_image_t *image_of(const harness_t *h)
{
    return h->driver->conductor->images.count == 0 ? NULL : h->driver->conductor->images.items[0];
}

static void send_setup(harness_t *h, rsti_socket_t *socket, const char *from, int32_t ttl)
{
    const rsti_setup_t setup = {
        .frame = {RSTI_SETUP_LENGTH, 0, 0, RSTI_FRAME_SETUP},
        .session_id = SESSION,
        .stream_id = STREAM,
        .initial_term_id = 7,
        .active_term_id = 7,
        .term_length = 65536,
        .mtu = 1408,
        .ttl = ttl,
    };
    inject(h, socket, from, &setup, sizeof setup);
}

/* One frame of length bytes at position; length 0: a heartbeat. */
static void send_data(harness_t *h, rsti_socket_t *socket, const char *from, int64_t position,
    int32_t length, uint8_t flags)
{
    uint8_t datagram[2048] = {0};
    rsti_data_header_t header;
    rsti_data_header_fill(&header, flags, RSTI_FRAME_DATA, SESSION, STREAM,
        7 + (int32_t)(position >> 16), (int32_t)(position & 0xFFFF));
    header.frame.frame_length = length;
    memcpy(datagram, &header, sizeof header);
    inject(h, socket, from, datagram, length == 0 ? 32 : (size_t)rsti_align_i32(length, 32));
}

/* Frames of a type that went to an address from a socket. */
static int count_sent(const harness_t *h, int16_t type, const rsti_socket_t *socket, const char *to)
{
    const struct sockaddr_storage address = address_of(to);
    int count = 0;
    for (int i = 0; i < h->sent_count; i++) {
        count += frame_type(&h->sent[i]) == type && h->sent[i].socket == socket
            && rsti_netaddr_equal(&h->sent[i].address, &address);
    }
    return count;
}

static int64_t destination(harness_t *h, int32_t type, int64_t subscription_id, const char *channel)
{
    rsti_command_t c = {
        .type = type,
        .registration_id = subscription_id,
        .channel = {channel, (int32_t)strlen(channel)},
    };
    return command(h, &c);
}

static int64_t add_destination(harness_t *h, int64_t subscription_id, const char *channel)
{
    return destination(h, RSTI_CMD_ADD_RCV_DESTINATION, subscription_id, channel);
}

static void check_error(harness_t *h, int64_t id, int32_t code, const char *word)
{
    const answer_t *error = answer(h, RSTI_RSP_ON_ERROR, id);
    CHECK(error != NULL);
    CHECK_EQ(error->response.error_code, code);
    if (strstr(error->text, word) == NULL) {
        CHECK_FAIL("\"%s\" does not name %s", error->text, word);
    }
}

/* ---- groups ---- */

/* N19 */
TEST(a_group_is_joined_and_answered_at_its_control_address)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION,
        "aeron:udp?endpoint=224.20.30.39:24326|interface=127.0.0.1|ttl=4", STREAM);
    const rsti_receive_endpoint_t *endpoint = endpoint_at(h, 0);
    rsti_socket_t *socket = socket_of(endpoint, 0);
    char text[RSTI_NETADDR_TEXT_MAX];
    CHECK_STR(rsti_netaddr_format(&socket->params.bind_address, text, sizeof text),
        "0.0.0.0:24326");
    CHECK_STR(rsti_netaddr_format(&socket->params.group_address, text, sizeof text),
        "224.20.30.39:24326");
    CHECK_STR(rsti_netaddr_format(&socket->params.interface_address, text, sizeof text),
        "127.0.0.1:0");
    CHECK_EQ(socket->params.multicast_ttl, 4);
    send_setup(h, socket, SENDER, 4);
    pass(h);
    pass(h);
    const rsti_image_t *image = image_of(h);
    CHECK(image != NULL);
    CHECK_STR(image->source, SENDER); /* the source address, not the control address */
    CHECK(image->loss.delay.is_group);
    CHECK_EQ(count_sent(h, RSTI_FRAME_SM, socket, "224.20.30.40:24326"), 1);
    CHECK_EQ(h->sent_count, 1);
    CHECK_EQ(counter(h, RSTI_SYSTEM_POSSIBLE_TTL_ASYMMETRY), 0);
    harness_close(h);
}

/* N19 */
TEST(data_of_an_unknown_session_elicits_at_the_control_group)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION,
        "aeron:udp?endpoint=224.20.30.39:24326|interface=127.0.0.1|ttl=4", STREAM);
    rsti_socket_t *socket = socket_of(endpoint_at(h, 0), 0);
    send_data(h, socket, SENDER, 0, 64, RSTI_FLAG_UNFRAGMENTED);
    pass(h);
    CHECK_EQ(count_sent(h, RSTI_FRAME_SM, socket, "224.20.30.40:24326"), 1);
    CHECK_EQ(((const rsti_sm_t *)(const void *)h->sent[0].data)->frame.flags,
        RSTI_SM_FLAG_SEND_SETUP);
    send_setup(h, socket, SENDER, 5); /* its ttl is larger than that of our answers */
    pass(h);
    CHECK(image_of(h) != NULL);
    CHECK_EQ(counter(h, RSTI_SYSTEM_POSSIBLE_TTL_ASYMMETRY), 1);
    harness_close(h);
}

/* N19 */
/* N19 */
/* driver.md 13, lesson 1 is tested with the socket; here: two groups on one port are two endpoints.
 */
TEST(two_groups_on_one_port)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION,
        "aeron:udp?endpoint=224.20.30.39:24326|interface=127.0.0.1", STREAM);
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION,
        "aeron:udp?endpoint=224.20.30.41:24326|interface=127.0.0.1", STREAM);
    CHECK_EQ(h->driver->conductor->receive_endpoints.count, 2);
    CHECK(socket_of(endpoint_at(h, 0), 0) != socket_of(endpoint_at(h, 1), 0));
    harness_close(h);
}

/* ---- explicit control ---- */

#define MDC "aeron:udp?endpoint=127.0.0.1:24500|control=127.0.0.1:24600|control-mode=dynamic"

TEST(explicit_control_is_asked_at_once_and_every_second)
{
    harness_t *h = harness_open();
    const int64_t id = add(h, RSTI_CMD_ADD_SUBSCRIPTION, MDC, STREAM);
    rsti_socket_t *socket = socket_of(endpoint_at(h, 0), 0);
    CHECK_EQ(count_sent(h, RSTI_FRAME_SM, socket, "127.0.0.1:24600"), 1);
    const rsti_sm_t *sm = (const void *)h->sent[0].data;
    CHECK_EQ(sm->frame.flags, RSTI_SM_FLAG_SEND_SETUP);
    CHECK_EQ(sm->session_id, 0);
    CHECK_EQ(sm->stream_id, 0);
    CHECK_EQ(sm->receiver_id, endpoint_at(h, 0)->receiver_id);
    advance_alive(h, 990 * MS, 10 * MS);
    CHECK_EQ(h->sent_count, 1);
    advance_alive(h, 2100 * MS, 10 * MS);
    CHECK_EQ(h->sent_count, 4);
    /* Connected: status messages go to this address too, whatever address the SETUP came from,
     * and SETUPs are still requested. */
    send_setup(h, socket, SENDER, 0);
    pass(h);
    pass(h);
    CHECK(image_of(h) != NULL);
    CHECK_EQ(count_sent(h, RSTI_FRAME_SM, socket, "127.0.0.1:24600"), 5);
    CHECK_EQ(h->sent_count, 5);
    (void)take_away(h, RSTI_CMD_REMOVE_SUBSCRIPTION, id);
    pass(h);
    forget_frames(h);
    advance_alive(h, 3000 * MS, 10 * MS);
    for (int i = 0; i < h->sent_count; i++) {
        CHECK_EQ(((const rsti_sm_t *)(const void *)h->sent[i].data)->frame.flags, RSTI_SM_FLAG_EOS);
    }
    harness_close(h);
}

TEST(another_subscription_on_explicit_control_asks_for_its_stream)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, MDC, STREAM);
    forget_frames(h);
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, MDC "|session-id=77", 11);
    CHECK_EQ(h->sent_count, 1);
    const rsti_sm_t *sm = (const void *)h->sent[0].data;
    CHECK_EQ(sm->frame.flags, RSTI_SM_FLAG_SEND_SETUP);
    CHECK_EQ(sm->stream_id, 11);
    CHECK_EQ(sm->session_id, 77);
    harness_close(h);
}

/* A name whose address changes; every first look-up returns RSTI_LOOKUP_PENDING when asked to. */
typedef struct names_t {
    const char *answer; /* NULL: unknown */
    bool is_slow;
    int asked;
} names_t;

static int resolve_name(void *arg, const char *host, int family, struct sockaddr_storage *address)
{
    names_t *names = arg;
    (void)family;
    names->asked++;
    if (names->is_slow && names->asked % 2 == 1) {
        return RSTI_LOOKUP_PENDING;
    }
    if (names->answer == NULL) {
        return RST_SET_ERR(RST_EUNKNOWNHOST, "unknown host %s", host);
    }
    *address = address_of(names->answer);
    return 0;
}

/* N15, the counterpart of J4: the publisher moves to another address. */
TEST(a_silent_control_address_is_looked_up_again)
{
    harness_t *h = harness_open();
    names_t names = {.answer = "127.0.0.1:0", .is_slow = true};
    h->driver->resolver = (rsti_name_resolver_t){resolve_name, &names};
    const int64_t id = add(h, RSTI_CMD_ADD_SUBSCRIPTION,
        "aeron:udp?endpoint=127.0.0.1:24500|control=publisher:24600|control-mode=dynamic", STREAM);
    pass(h); /* the first look-up took longer than a pass */
    CHECK(answer(h, RSTI_RSP_SUBSCRIPTION_READY, id) != NULL);
    rsti_socket_t *socket = socket_of(endpoint_at(h, 0), 0);
    CHECK_EQ(count_sent(h, RSTI_FRAME_SM, socket, "127.0.0.1:24600"), 1);
    names.is_slow = false;
    send_setup(h, socket, SENDER, 0);
    pass(h);
    pass(h);
    names.answer = "127.0.0.9:0";
    const int asked = names.asked;
    for (int i = 0; i < 10; i++) { /* it sends: no look-up */
        send_data(h, socket, SENDER, 0, 0, RSTI_FLAG_UNFRAGMENTED);
        advance_alive(h, RSTI_NS_PER_S, 100 * MS);
    }
    CHECK_EQ(names.asked, asked);
    forget_frames(h);
    advance_alive(h, 7 * RSTI_NS_PER_S, 100 * MS); /* silent for more than 5 s */
    CHECK(names.asked > asked);
    CHECK_EQ(counter(h, RSTI_SYSTEM_RESOLUTION_CHANGES), 1);
    CHECK(count_sent(h, RSTI_FRAME_SM, socket, "127.0.0.9:24600") >= 1);
    send_data(h, socket, SENDER, 0, 0, RSTI_FLAG_UNFRAGMENTED);
    forget_frames(h);
    advance_alive(h, 250 * MS, 50 * MS); /* the image's status messages go there as well */
    CHECK(count_sent(h, RSTI_FRAME_SM, socket, "127.0.0.9:24600") >= 1);
    CHECK_EQ(count_sent(h, RSTI_FRAME_SM, socket, "127.0.0.1:24600"), 0);
    names.answer = NULL; /* a failing look-up changes nothing */
    advance_alive(h, 7 * RSTI_NS_PER_S, 100 * MS);
    names.answer = "127.0.0.1:0"; /* back to where it was */
    advance_alive(h, 2 * RSTI_NS_PER_S, 100 * MS);
    CHECK_EQ(counter(h, RSTI_SYSTEM_RESOLUTION_CHANGES), 2);
    harness_close(h);
}

TEST(numeric_control_addresses_are_not_looked_up)
{
    harness_t *h = harness_open();
    names_t names = {.answer = "127.0.0.9:0"};
    h->driver->resolver = (rsti_name_resolver_t){resolve_name, &names};
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, MDC, STREAM);
    advance_alive(h, 10 * RSTI_NS_PER_S, 100 * MS);
    CHECK_EQ(names.asked, 0);
    harness_close(h);
}

/* N15 */
TEST(destination_by_a_slow_name)
{
    harness_t *h = harness_open();
    names_t names = {.answer = "127.0.0.1:0", .is_slow = true};
    const int64_t id = add(h, RSTI_CMD_ADD_SUBSCRIPTION, MANUAL, STREAM);
    h->driver->resolver = (rsti_name_resolver_t){resolve_name, &names};
    const int64_t added = add_destination(h, id, "aeron:udp?endpoint=reader:24501");
    CHECK(answer(h, RSTI_RSP_OPERATION_SUCCESS, added) == NULL);
    pass(h);
    CHECK(answer(h, RSTI_RSP_OPERATION_SUCCESS, added) != NULL);
    CHECK_EQ(endpoint_at(h, 0)->owned_count, 1);
    harness_close(h);
}

/* ---- destinations ---- */

/* K1, N8, K3 */
TEST(equal_streams_of_two_destinations_are_one_image)
{
    harness_t *h = harness_open();
    const int64_t id = add(h, RSTI_CMD_ADD_SUBSCRIPTION, MANUAL, STREAM);
    CHECK(answer(h, RSTI_RSP_SUBSCRIPTION_READY, id) != NULL);
    const rsti_receive_endpoint_t *endpoint = endpoint_at(h, 0);
    CHECK_EQ(endpoint->owned_count, 0);
    const int64_t first = add_destination(h, id, "aeron:udp?endpoint=127.0.0.1:24501");
    const int64_t second = add_destination(h, id, "aeron:udp?endpoint=127.0.0.1:24502");
    CHECK(answer(h, RSTI_RSP_OPERATION_SUCCESS, first) != NULL);
    CHECK(answer(h, RSTI_RSP_OPERATION_SUCCESS, second) != NULL);
    CHECK_EQ(endpoint->owned_count, 2);
    rsti_socket_t *a = socket_of(endpoint, 0);
    rsti_socket_t *b = socket_of(endpoint, 1);
    send_setup(h, a, SENDER, 0);
    pass(h);
    pass(h);
    CHECK_EQ(count_sent(h, RSTI_FRAME_SM, a, SENDER), 1);
    send_setup(h, b, OTHER_SENDER, 0);
    pass(h);
    CHECK_EQ(h->driver->conductor->images.count, 1);
    forget_frames(h);
    rsti_image_t *image = image_of(h);
    send_data(h, a, SENDER, 0, 1024, RSTI_FLAG_UNFRAGMENTED);
    send_data(h, b, OTHER_SENDER, 1024, 1024, RSTI_FLAG_UNFRAGMENTED);
    send_data(h, b, OTHER_SENDER, 0, 1024, RSTI_FLAG_UNFRAGMENTED); /* a duplicate */
    pass(h);
    CHECK_EQ(*image->rcv_pos, 2048);
    /* A gap is asked for at both, status messages go to both. */
    send_data(h, a, SENDER, 4096, 1024, RSTI_FLAG_UNFRAGMENTED);
    advance_alive(h, 10000, 2000);
    CHECK_EQ(count_sent(h, RSTI_FRAME_NAK, a, SENDER), 1);
    CHECK_EQ(count_sent(h, RSTI_FRAME_NAK, b, OTHER_SENDER), 1);
    advance_alive(h, 201 * MS, 67 * MS);
    CHECK_EQ(count_sent(h, RSTI_FRAME_SM, a, SENDER), 1);
    CHECK_EQ(count_sent(h, RSTI_FRAME_SM, b, OTHER_SENDER), 1);
    CHECK_EQ(image->file.log.metadata->active_transport_count, 2); /* K3 */
    harness_close(h);
}

/* K1, K3: control frames go to those that were active within the last 5 seconds. */
TEST(silent_destinations_are_not_answered)
{
    harness_t *h = harness_open();
    const int64_t id = add(h, RSTI_CMD_ADD_SUBSCRIPTION, MANUAL, STREAM);
    (void)add_destination(h, id, "aeron:udp?endpoint=127.0.0.1:24501");
    (void)add_destination(h, id, "aeron:udp?endpoint=127.0.0.1:24502");
    rsti_socket_t *a = socket_of(endpoint_at(h, 0), 0);
    rsti_socket_t *b = socket_of(endpoint_at(h, 0), 1);
    send_setup(h, a, SENDER, 0);
    pass(h);
    send_setup(h, b, OTHER_SENDER, 0);
    pass(h);
    const rsti_image_t *image = image_of(h);
    for (int second = 0; second < 11; second++) {
        send_data(h, a, SENDER, 0, 0, RSTI_FLAG_UNFRAGMENTED);
        if (second == 6) {
            CHECK_EQ(image->file.log.metadata->active_transport_count, 2);
            forget_frames(h);
        }
        advance_alive(h, RSTI_NS_PER_S, 100 * MS);
        h->sent_count = h->sent_count > FRAMES_MAX / 2 ? 0 : h->sent_count;
    }
    CHECK(count_sent(h, RSTI_FRAME_SM, a, SENDER) > 10);
    CHECK_EQ(count_sent(h, RSTI_FRAME_SM, b, OTHER_SENDER), 0);
    CHECK_EQ(image->file.log.metadata->active_transport_count, 1); /* 10 s without a frame */
    /* Its next frame brings it back. */
    send_data(h, b, OTHER_SENDER, 0, 0, RSTI_FLAG_UNFRAGMENTED);
    advance_alive(h, 201 * MS, 67 * MS);
    CHECK_EQ(count_sent(h, RSTI_FRAME_SM, b, OTHER_SENDER), 1);
    CHECK_EQ(image->file.log.metadata->active_transport_count, 2);
    harness_close(h);
}

/* K2, N8 */
TEST(the_stream_ends_when_all_destinations_ended)
{
    harness_t *h = harness_open();
    const int64_t id = add(h, RSTI_CMD_ADD_SUBSCRIPTION, MANUAL, STREAM);
    (void)add_destination(h, id, "aeron:udp?endpoint=127.0.0.1:24501");
    (void)add_destination(h, id, "aeron:udp?endpoint=127.0.0.1:24502");
    rsti_socket_t *a = socket_of(endpoint_at(h, 0), 0);
    rsti_socket_t *b = socket_of(endpoint_at(h, 0), 1);
    const uint8_t eos = RSTI_FLAG_UNFRAGMENTED | RSTI_FLAG_EOS;
    send_setup(h, a, SENDER, 0);
    pass(h);
    send_setup(h, b, OTHER_SENDER, 0);
    pass(h);
    rsti_image_t *image = image_of(h);
    send_data(h, a, SENDER, 0, 1024, RSTI_FLAG_UNFRAGMENTED);
    send_data(h, b, OTHER_SENDER, 1024, 1024, RSTI_FLAG_UNFRAGMENTED);
    send_data(h, b, OTHER_SENDER, 2048, 0, eos);
    pass(h);
    CHECK_EQ(image->is_end_of_stream, 0);
    CHECK_EQ(image->file.log.metadata->end_of_stream_position, INT64_MAX);
    send_data(h, a, SENDER, 1024, 0, eos);
    pass(h);
    CHECK_EQ(image->is_end_of_stream, 1);
    CHECK_EQ(image->file.log.metadata->end_of_stream_position, 2048);
    harness_close(h);
}

/* K2 */
TEST(removing_the_destination_that_goes_on_ends_the_stream)
{
    harness_t *h = harness_open();
    const int64_t id = add(h, RSTI_CMD_ADD_SUBSCRIPTION, MANUAL, STREAM);
    (void)add_destination(h, id, "aeron:udp?endpoint=127.0.0.1:24501");
    const int64_t second = add_destination(h, id, "aeron:udp?endpoint=127.0.0.1:24502");
    rsti_socket_t *a = socket_of(endpoint_at(h, 0), 0);
    rsti_socket_t *b = socket_of(endpoint_at(h, 0), 1);
    send_setup(h, a, SENDER, 0);
    pass(h);
    send_setup(h, b, OTHER_SENDER, 0);
    pass(h);
    send_data(h, a, SENDER, 0, 0, RSTI_FLAG_UNFRAGMENTED | RSTI_FLAG_EOS);
    pass(h);
    CHECK_EQ(image_of(h)->is_end_of_stream, 0);
    /* Aeron's C client writes the id of the destination into both fields. */
    rsti_command_t c = {
        .type = RSTI_CMD_REMOVE_DESTINATION_BY_ID,
        .registration_id = second,
        .destination_id = second,
    };
    CHECK(answer(h, RSTI_RSP_OPERATION_SUCCESS, command(h, &c)) != NULL);
    CHECK_EQ(image_of(h)->is_end_of_stream, 1);
    pass(h);
    CHECK(!b->is_open);
    CHECK_EQ(endpoint_at(h, 0)->owned_count, 1);
    CHECK_EQ(h->driver->conductor->closing_count, 0);
    check_error(h, command(h, &c), RSTI_DRIVER_UNKNOWN_PUBLICATION, "unknown"); /* it is gone */
    harness_close(h);
}

/* N8, K1, L7: the port is free again; each destination has its own address counter. */
TEST(destination_is_removed_by_its_channel)
{
    harness_t *h = harness_open();
    const int64_t id = add(h, RSTI_CMD_ADD_SUBSCRIPTION, MANUAL, STREAM);
    const char *channel = "aeron:udp?endpoint=127.0.0.1:24501";
    (void)add_destination(h, id, channel);
    rsti_receive_endpoint_t *endpoint = endpoint_at(h, 0);
    const int32_t counter_id = endpoint->owned[0]->local_sockaddr_id;
    const rsti_counter_metadata_t *metadata = &h->driver->counters.counters.metadata[counter_id];
    CHECK_EQ(rsti_get_i32(metadata->key), endpoint->channel_status_id);
    CHECK_STR((const char *)metadata->key + 8, "127.0.0.1:24501");
    check_error(h, add_destination(h, id, channel), RSTI_DRIVER_GENERIC_ERROR, "in use");
    CHECK_EQ(endpoint->owned_count, 1);
    check_error(h,
        destination(h, RSTI_CMD_REMOVE_RCV_DESTINATION, id, "aeron:udp?endpoint=127.0.0.1:24509"),
        RSTI_DRIVER_INVALID_CHANNEL, "24509");
    const int64_t removed = destination(h, RSTI_CMD_REMOVE_RCV_DESTINATION, id, channel);
    CHECK(answer(h, RSTI_RSP_OPERATION_SUCCESS, removed) != NULL);
    pass(h);
    CHECK_EQ(endpoint->owned_count, 0);
    CHECK_EQ(metadata->state, -1); /* freed */
    const int64_t again = add_destination(h, id, channel);
    CHECK(answer(h, RSTI_RSP_OPERATION_SUCCESS, again) != NULL);
    (void)take_away(h, RSTI_CMD_REMOVE_SUBSCRIPTION, id);
    pass(h);
    CHECK_EQ(h->driver->conductor->receive_endpoints.count, 0);
    harness_close(h);
}

/* A destination whose frames are still on their way to the conductor is not used any more. */
TEST(setup_of_a_removed_destination_makes_no_image)
{
    harness_t *h = harness_open();
    const int64_t id = add(h, RSTI_CMD_ADD_SUBSCRIPTION, MANUAL, STREAM);
    const char *channel = "aeron:udp?endpoint=127.0.0.1:24501";
    (void)add_destination(h, id, channel);
    rsti_receive_transport_t *transport = endpoint_at(h, 0)->owned[0];
    send_setup(h, transport->socket, SENDER, 0);
    int64_t deadline = 0;
    (void)rsti_receiver_do_work(h->driver->receiver, h->manual.now_ns, &deadline);
    rsti_receive_transport_remove(h->driver, transport);
    pass(h);
    CHECK(image_of(h) == NULL);
    pass(h);
    CHECK_EQ(endpoint_at(h, 0)->owned_count, 0);
    harness_close(h);
}

/* L7 */
TEST(destinations_are_checked)
{
    harness_t *h = harness_open();
    const int64_t plain = add(h, RSTI_CMD_ADD_SUBSCRIPTION, MDC, STREAM);
    const int64_t id = add(h, RSTI_CMD_ADD_SUBSCRIPTION, MANUAL, STREAM);
    const char *good = "aeron:udp?endpoint=127.0.0.1:24501";
    check_error(h, add_destination(h, 9999, good), RSTI_DRIVER_UNKNOWN_SUBSCRIPTION, "9999");
    check_error(h, add_destination(h, plain, good), RSTI_DRIVER_INVALID_CHANNEL,
        "control-mode=manual");
    const struct {
        const char *channel;
        const char *word;
    } bad[] = {
        {"aeron:udp?endpoint=127.0.0.1:24501|mtu=1408", "mtu=1408"},
        {"aeron:udp?endpoint=127.0.0.1:24501|rcv-wnd=64k", "rcv-wnd=65536"},
        {"aeron:udp?endpoint=127.0.0.1:24501|so-rcvbuf=64k", "so-rcvbuf=65536"},
        {"aeron:udp?endpoint=127.0.0.1:24501|so-sndbuf=64k", "so-sndbuf=65536"},
        {"aeron:udp?endpoint=127.0.0.1:24501|response-correlation-id=3",
            "response-correlation-id=3"},
        {"aeron:udp?control=127.0.0.1:24501|control-mode=response", "control-mode=response"},
        {"aeron:udp?endpoint=224.20.30.40:24501", "endpoint=224.20.30.40:24501"},
        {"aeron:tcp?endpoint=127.0.0.1:24501", "tcp"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        check_error(h, add_destination(h, id, bad[i].channel), RSTI_DRIVER_INVALID_CHANNEL,
            bad[i].word);
    }
    CHECK_EQ(endpoint_at(h, 1)->owned_count, 0);
    harness_close(h);
}

/* As many as there are slots, above what a poller would look at one by one. N8 */
TEST(destinations_have_a_limit)
{
    harness_t *h = harness_open();
    const int64_t id = add(h, RSTI_CMD_ADD_SUBSCRIPTION, MANUAL, STREAM);
    rsti_receive_endpoint_t *endpoint = endpoint_at(h, 0);
    char channel[64];
    for (int i = 0; i < RSTI_RECEIVE_TRANSPORTS_MAX; i++) {
        snprintf(channel, sizeof channel, "aeron:udp?endpoint=127.0.0.1:%d", 25000 + i);
        CHECK(answer(h, RSTI_RSP_OPERATION_SUCCESS, add_destination(h, id, channel)) != NULL);
        h->answer_count = 0;
    }
    check_error(h, add_destination(h, id, "aeron:udp?endpoint=127.0.0.1:24999"),
        RSTI_DRIVER_GENERIC_ERROR, "64 destinations");
    rsti_socket_t *last = socket_of(endpoint, RSTI_RECEIVE_TRANSPORTS_MAX - 1);
    send_setup(h, last, SENDER, 0);
    pass(h);
    pass(h);
    CHECK_EQ(count_sent(h, RSTI_FRAME_SM, last, SENDER), 1);
    snprintf(channel, sizeof channel, "aeron:udp?endpoint=127.0.0.1:25000");
    (void)destination(h, RSTI_CMD_REMOVE_RCV_DESTINATION, id, channel);
    pass(h);
    const int64_t again = add_destination(h, id, "aeron:udp?endpoint=127.0.0.1:24999");
    CHECK(answer(h, RSTI_RSP_OPERATION_SUCCESS, again) != NULL);
    harness_close(h);
}

/* Answers of a type that name a log and a subscription. */
static int count_images(const harness_t *h, int32_t type, int64_t log_id, int64_t subscription_id)
{
    int count = 0;
    for (int i = 0; i < h->answer_count; i++) {
        count += h->answers[i].type == type && h->answers[i].response.correlation_id == log_id
            && h->answers[i].response.registration_id == subscription_id;
    }
    return count;
}

/* N8, L7: logs of this driver join a multi-destination subscription and leave it. */
static void check_local_destination(const char *publication, const char *channel, bool is_by_id)
{
    harness_t *h = harness_open();
    const int64_t id = add(h, RSTI_CMD_ADD_SUBSCRIPTION, MANUAL, STREAM);
    const int64_t pub = add(h, RSTI_CMD_ADD_PUBLICATION, publication, STREAM);
    const int64_t other = add(h, RSTI_CMD_ADD_PUBLICATION, publication, STREAM + 1);
    CHECK_EQ(count_images(h, RSTI_RSP_AVAILABLE_IMAGE, pub, id), 0);
    const int64_t added = add_destination(h, id, channel);
    CHECK(answer(h, RSTI_RSP_OPERATION_SUCCESS, added) != NULL);
    CHECK_EQ(count_images(h, RSTI_RSP_AVAILABLE_IMAGE, pub, id), 1);
    CHECK_EQ(count_images(h, RSTI_RSP_AVAILABLE_IMAGE, other, id), 0);
    check_error(h, destination(h, RSTI_CMD_REMOVE_RCV_DESTINATION, id, "aeron:ipc?alias=x"),
        RSTI_DRIVER_INVALID_CHANNEL, "alias=x");
    h->answer_count = 0;
    int64_t removed;
    if (is_by_id) {
        rsti_command_t c = {
            .type = RSTI_CMD_REMOVE_DESTINATION_BY_ID,
            .registration_id = id,
            .destination_id = added,
        };
        removed = command(h, &c);
    } else {
        removed = destination(h, RSTI_CMD_REMOVE_RCV_DESTINATION, id, channel);
    }
    /* First that it is done, then what it cost. */
    CHECK_EQ(h->answers[0].type, RSTI_RSP_OPERATION_SUCCESS);
    CHECK_EQ(h->answers[0].response.correlation_id, removed);
    CHECK_EQ(h->answers[1].type, RSTI_RSP_UNAVAILABLE_IMAGE);
    CHECK_EQ(count_images(h, RSTI_RSP_UNAVAILABLE_IMAGE, pub, id), 1);
    /* Again, and a publication that comes later is found as well. */
    h->answer_count = 0;
    (void)add_destination(h, id, channel);
    CHECK_EQ(count_images(h, RSTI_RSP_AVAILABLE_IMAGE, pub, id), 1);
    const int64_t gone = take_away(h, RSTI_CMD_REMOVE_SUBSCRIPTION, id);
    CHECK(answer(h, RSTI_RSP_OPERATION_SUCCESS, gone) != NULL);
    CHECK_EQ(h->driver->conductor->subscriptions.count, 0);
    pass(h);
    CHECK_EQ(h->driver->conductor->receive_endpoints.count, 0);
    harness_close(h);
}

/* L7, N8 */
TEST(ipc_destination)
{
    check_local_destination("aeron:ipc", "aeron:ipc", false);
    check_local_destination("aeron:ipc", "aeron:ipc", true);
}

/* L7, N8 */
TEST(spy_destination)
{
    const char *udp = "aeron:udp?endpoint=127.0.0.1:24700";
    check_local_destination(udp, "aeron-spy:aeron:udp?endpoint=127.0.0.1:24700", false);
    check_local_destination(udp, "aeron-spy:aeron:udp?endpoint=127.0.0.1:24700", true);
}

/* A log that two destinations bring is read once: the client has one image of it, so a second
 * position would stand still and hold up the publisher for ever. The one that stays goes on where
 * the other one was. */
static void check_local_twice(const char *publication, const char *channel, const char *same)
{
    harness_t *h = harness_open();
    const int64_t id = add(h, RSTI_CMD_ADD_SUBSCRIPTION, MANUAL, STREAM);
    const int64_t pub = add(h, RSTI_CMD_ADD_PUBLICATION, publication, STREAM);
    (void)add_destination(h, id, channel);
    const int64_t twice = add_destination(h, id, same);
    CHECK(answer(h, RSTI_RSP_OPERATION_SUCCESS, twice) != NULL);
    CHECK_EQ(count_images(h, RSTI_RSP_AVAILABLE_IMAGE, pub, id), 1);
    /* Nor has a publication that comes later two positions of one subscription. */
    const int64_t late = add(h, RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION, publication, STREAM);
    CHECK_EQ(count_images(h, RSTI_RSP_AVAILABLE_IMAGE, late, id), 1);
    /* Another subscription is another reader. */
    const int64_t other = add(h, RSTI_CMD_ADD_SUBSCRIPTION, channel, STREAM);
    CHECK_EQ(count_images(h, RSTI_RSP_AVAILABLE_IMAGE, pub, other), 1);
    h->answer_count = 0;
    const int64_t removed = destination(h, RSTI_CMD_REMOVE_RCV_DESTINATION, id, channel);
    CHECK(answer(h, RSTI_RSP_OPERATION_SUCCESS, removed) != NULL);
    CHECK_EQ(count_images(h, RSTI_RSP_UNAVAILABLE_IMAGE, pub, id), 0);
    CHECK_EQ(count_images(h, RSTI_RSP_AVAILABLE_IMAGE, pub, id), 0);
    (void)destination(h, RSTI_CMD_REMOVE_RCV_DESTINATION, id, same);
    CHECK_EQ(count_images(h, RSTI_RSP_UNAVAILABLE_IMAGE, pub, id), 1);
    CHECK_EQ(count_images(h, RSTI_RSP_UNAVAILABLE_IMAGE, late, id), 1);
    CHECK_EQ(count_images(h, RSTI_RSP_UNAVAILABLE_IMAGE, pub, other), 0);
    harness_close(h);
}

/* L7, N8 */
TEST(a_log_of_two_local_destinations_is_read_once)
{
    const char *udp = "aeron:udp?endpoint=127.0.0.1:24700";
    check_local_twice("aeron:ipc", "aeron:ipc", "aeron:ipc");
    check_local_twice("aeron:ipc", "aeron:ipc", "aeron:ipc?alias=x");
    check_local_twice(udp, "aeron-spy:aeron:udp?endpoint=127.0.0.1:24700",
        "aeron-spy:aeron:udp?endpoint=127.0.0.1:24700|alias=x");
}

/* L3 */
TEST(local_destinations_go_with_a_dead_client)
{
    harness_t *h = harness_open();
    const int64_t id = add(h, RSTI_CMD_ADD_SUBSCRIPTION, MANUAL, STREAM);
    (void)add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:ipc", STREAM);
    (void)add_destination(h, id, "aeron:ipc");
    (void)add_destination(h, id, "aeron:udp?endpoint=127.0.0.1:24501");
    (void)add_destination(h, id, "aeron-spy:aeron:udp?endpoint=127.0.0.1:24700");
    CHECK_EQ(h->driver->conductor->subscriptions.count, 3);
    advance(h, 14 * RSTI_NS_PER_S, 100 * MS);
    CHECK_EQ(h->driver->conductor->clients.count, 0);
    CHECK_EQ(h->driver->conductor->subscriptions.count, 0);
    CHECK_EQ(h->driver->conductor->receive_endpoints.count, 0);
    CHECK_EQ(h->driver->conductor->closing_count, 0);
    harness_close(h);
}

/* Two manual subscriptions share nothing. N16: port 0 is resolved per destination. */
TEST(manual_subscriptions_are_apart)
{
    harness_t *h = harness_open();
    const int64_t a = add(h, RSTI_CMD_ADD_SUBSCRIPTION, MANUAL, STREAM);
    const int64_t b = add(h, RSTI_CMD_ADD_SUBSCRIPTION, MANUAL, STREAM);
    CHECK_EQ(h->driver->conductor->receive_endpoints.count, 2);
    (void)add_destination(h, a, "aeron:udp?endpoint=127.0.0.1:0");
    (void)add_destination(h, b, "aeron:udp?endpoint=127.0.0.1:0");
    CHECK_EQ(rsti_netaddr_port(&socket_of(endpoint_at(h, 0), 0)->local), 50000);
    CHECK_EQ(rsti_netaddr_port(&socket_of(endpoint_at(h, 1), 0)->local), 50001);
    harness_close(h);
}

CHECK_MAIN(RUN(a_group_is_joined_and_answered_at_its_control_address),
    RUN(data_of_an_unknown_session_elicits_at_the_control_group), RUN(two_groups_on_one_port),
    RUN(explicit_control_is_asked_at_once_and_every_second),
    RUN(a_silent_control_address_is_looked_up_again),
    RUN(numeric_control_addresses_are_not_looked_up), RUN(destination_by_a_slow_name),
    RUN(another_subscription_on_explicit_control_asks_for_its_stream),
    RUN(equal_streams_of_two_destinations_are_one_image), RUN(silent_destinations_are_not_answered),
    RUN(the_stream_ends_when_all_destinations_ended),
    RUN(removing_the_destination_that_goes_on_ends_the_stream),
    RUN(destination_is_removed_by_its_channel), RUN(setup_of_a_removed_destination_makes_no_image),
    RUN(destinations_are_checked), RUN(destinations_have_a_limit), RUN(ipc_destination),
    RUN(spy_destination), RUN(a_log_of_two_local_destinations_is_read_once),
    RUN(local_destinations_go_with_a_dead_client), RUN(manual_subscriptions_are_apart))
