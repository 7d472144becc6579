/* Destinations of a subscription of every kind: groups, explicit control, inherited buffers, and a
 * reader that catches up by one destination and then goes live by another. */
#include "tests/driver/harness.h"

#define REPLAY "127.0.0.1:30001"
#define LIVE "127.0.0.1:30002"
#define SESSION 1234
#define STREAM 10
#define MANUAL "aeron:udp?control-mode=manual"

static rsti_receive_endpoint_t *endpoint_of(const harness_t *h)
{
    return h->driver->conductor->receive_endpoints.items[0];
}

static rsti_socket_t *socket_at(const harness_t *h, int32_t slot)
{
    return endpoint_of(h)->owned[slot]->socket;
}

static int64_t destination(harness_t *h, int32_t type, int64_t id, const char *channel)
{
    rsti_command_t c = {
        .type = type,
        .registration_id = id,
        .channel = {channel, (int32_t)strlen(channel)},
    };
    return command(h, &c);
}

static bool is_added(harness_t *h, int64_t id, const char *channel)
{
    const int64_t added = destination(h, RSTI_CMD_ADD_RCV_DESTINATION, id, channel);
    return answer(h, RSTI_RSP_OPERATION_SUCCESS, added) != NULL;
}

static uint8_t setup_flags;

static void send_setup(harness_t *h, rsti_socket_t *socket, const char *from, int64_t position)
{
    const rsti_setup_t setup = {
        .frame = {RSTI_SETUP_LENGTH, 0, setup_flags, RSTI_FRAME_SETUP},
        .session_id = SESSION,
        .stream_id = STREAM,
        .initial_term_id = 7,
        .active_term_id = 7 + (int32_t)(position >> 16),
        .term_offset = (int32_t)(position & 0xFFFF),
        .term_length = 65536,
        .mtu = 1408,
    };
    inject(h, socket, from, &setup, sizeof setup);
    pass(h);
    pass(h);
}

/* One frame of 1 KiB; length 0: a heartbeat. */
static void send_data(harness_t *h, rsti_socket_t *socket, const char *from, int64_t position,
    int32_t length)
{
    uint8_t datagram[1024] = {0};
    rsti_data_header_t header;
    rsti_data_header_fill(&header, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA, SESSION, STREAM,
        7 + (int32_t)(position >> 16), (int32_t)(position & 0xFFFF));
    header.frame.frame_length = length;
    memcpy(datagram, &header, sizeof header);
    inject(h, socket, from, datagram, length == 0 ? 32 : (size_t)length);
}

static int count_sent(const harness_t *h, int16_t type, const char *to)
{
    const struct sockaddr_storage address = address_of(to);
    int count = 0;
    for (int i = 0; i < h->sent_count; i++) {
        count += frame_type(&h->sent[i]) == type
            && rsti_netaddr_equal(&h->sent[i].address, &address);
    }
    return count;
}

/* N8, N19: two groups on one port, explicit control and a plain address in one subscription; each
 * gets the answers of its kind. */
TEST(destinations_of_every_kind)
{
    harness_t *h = harness_open();
    const int64_t id = add(h, RSTI_CMD_ADD_SUBSCRIPTION, MANUAL, STREAM);
    CHECK(is_added(h, id, "aeron:udp?endpoint=224.20.30.39:24326|interface=127.0.0.1"));
    CHECK(is_added(h, id, "aeron:udp?endpoint=224.20.30.41:24326|interface=127.0.0.1"));
    CHECK(is_added(h, id, "aeron:udp?endpoint=127.0.0.1:24501"));
    forget_frames(h);
    CHECK(is_added(h, id,
        "aeron:udp?endpoint=127.0.0.1:24502|control=127.0.0.1:24600|control-mode=dynamic"));
    pass(h);
    CHECK_EQ(count_sent(h, RSTI_FRAME_SM, "127.0.0.1:24600"), 1); /* asked at once */
    CHECK_EQ(endpoint_of(h)->owned_count, 4);
    static const char *const groups[] = {"224.20.30.39:24326", "224.20.30.41:24326"};
    for (int i = 0; i < 2; i++) {
        char text[RSTI_NETADDR_TEXT_MAX];
        const rsti_socket_params_t *params = &socket_at(h, i)->params;
        CHECK_STR(rsti_netaddr_format(&params->group_address, text, sizeof text), groups[i]);
    }
    CHECK_EQ(socket_at(h, 2)->params.group_address.ss_family, AF_UNSPEC);
    for (int i = 0; i < 4; i++) {
        send_setup(h, socket_at(h, i), REPLAY, 0);
    }
    CHECK_EQ(h->driver->conductor->images.count, 1);
    forget_frames(h);
    advance_alive(h, 201 * MS, 67 * MS);
    CHECK_EQ(count_sent(h, RSTI_FRAME_SM, "224.20.30.40:24326"), 1);
    CHECK_EQ(count_sent(h, RSTI_FRAME_SM, "224.20.30.42:24326"), 1);
    CHECK_EQ(count_sent(h, RSTI_FRAME_SM, REPLAY), 1);
    CHECK_EQ(count_sent(h, RSTI_FRAME_SM, "127.0.0.1:24600"), 1);
    harness_close(h);
}

/* A source may have no SETUP because its destination went and came again. It is asked for one: only
 * a sender of rstream receives demand, budget and fill. A sender of Aeron is not asked. */
static void come_again(uint8_t flags)
{
    harness_t *h = harness_open();
    const int64_t id = add(h, RSTI_CMD_ADD_SUBSCRIPTION, MANUAL, STREAM);
    CHECK(is_added(h, id, "aeron:udp?endpoint=127.0.0.1:24501"));
    CHECK(is_added(h, id, "aeron:udp?endpoint=127.0.0.1:24502"));
    setup_flags = flags;
    send_setup(h, socket_at(h, 0), REPLAY, 0);
    send_setup(h, socket_at(h, 1), LIVE, 0);
    CHECK_EQ(h->driver->conductor->images.count, 1);
    const rsti_image_t *image = h->driver->conductor->images.items[0];
    send_data(h, socket_at(h, 1), LIVE, 0, 1024);
    pass(h);
    (void)destination(h, RSTI_CMD_REMOVE_RCV_DESTINATION, id, "aeron:udp?endpoint=127.0.0.1:24502");
    pass(h);
    CHECK(is_added(h, id, "aeron:udp?endpoint=127.0.0.1:24503"));
    forget_frames(h);
    rsti_socket_t *again = socket_at(h, 1);
    for (int i = 1; i < 40; i++) {
        send_data(h, again, LIVE, 1024 * i, 1024);
        pass(h);
        advance_alive(h, 200 * MS, 100 * MS);
    }
    CHECK(image->connections[1].transport != NULL);
    int asked = 0;
    for (int i = 0; i < h->sent_count; i++) {
        const rsti_frame_header_t *frame = (const void *)h->sent[i].data;
        asked += frame->type == RSTI_FRAME_SM && (frame->flags & RSTI_SM_FLAG_SEND_SETUP) != 0;
    }
    CHECK_EQ(asked, flags != 0 ? 5 : 0);
    CHECK(!image->connections[1].is_rstream);
    send_setup(h, again, LIVE, 0);
    CHECK_EQ(image->connections[1].is_rstream, flags != 0);
    setup_flags = 0;
    harness_close(h);
}

TEST(a_destination_that_comes_again_is_asked_for_its_setup)
{
    come_again(RSTI_SETUP_FLAG_RSTREAM);
    come_again(0);
}

/* N8: the subscription's socket parameters apply to each of its destinations. */
TEST(destinations_inherit_the_buffers)
{
    harness_t *h = harness_open();
    const int64_t id = add(h, RSTI_CMD_ADD_SUBSCRIPTION, MANUAL "|so-rcvbuf=256k|so-sndbuf=192k",
        STREAM);
    CHECK(is_added(h, id, "aeron:udp?endpoint=127.0.0.1:24501"));
    CHECK(is_added(h, id, "aeron:udp?endpoint=224.20.30.39:24326|interface=127.0.0.1"));
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(socket_at(h, i)->params.so_rcvbuf, 256 * 1024);
        CHECK_EQ(socket_at(h, i)->params.so_sndbuf, 192 * 1024);
    }
    harness_close(h);
}

/* N8: a recording is replayed into one destination until it reaches the live stream of the other;
 * then the first one is removed, and the stream continues without a gap. */
TEST(a_reader_catches_up_and_goes_live)
{
    harness_t *h = harness_open();
    const int64_t id = add(h, RSTI_CMD_ADD_SUBSCRIPTION, MANUAL, STREAM);
    const char *replay = "aeron:udp?endpoint=127.0.0.1:24501";
    CHECK(is_added(h, id, replay));
    rsti_socket_t *from_replay = socket_at(h, 0);
    send_setup(h, from_replay, REPLAY, 0);
    rsti_image_t *image = h->driver->conductor->images.items[0];
    int64_t live = 20 * 1024, replayed = 0;
    while (replayed < live) {
        send_data(h, from_replay, REPLAY, replayed, 1024);
        replayed += 1024;
        pass(h);
        *image->subscribers.items[0].position = *image->rcv_pos;
    }
    CHECK(is_added(h, id, "aeron:udp?endpoint=127.0.0.1:24502"));
    rsti_socket_t *from_live = socket_at(h, 1);
    send_setup(h, from_live, LIVE, live);
    CHECK_EQ(h->driver->conductor->images.count, 1);
    for (int i = 0; i < 8; i++) { /* both, for a while: duplicates are dropped */
        send_data(h, from_live, LIVE, live, 1024);
        send_data(h, from_replay, REPLAY, live, 1024);
        live += 1024;
        pass(h);
        *image->subscribers.items[0].position = *image->rcv_pos;
    }
    CHECK_EQ(*image->rcv_pos, live);
    advance_alive(h, 1200 * MS, 100 * MS); /* the transports are counted from time to time */
    CHECK_EQ(image->file.log.metadata->active_transport_count, 2);
    const int64_t removed = destination(h, RSTI_CMD_REMOVE_RCV_DESTINATION, id, replay);
    CHECK(answer(h, RSTI_RSP_OPERATION_SUCCESS, removed) != NULL);
    pass(h);
    CHECK(!from_replay->is_open);
    h->answer_count = 0;
    for (int i = 0; i < 150; i++) {
        send_data(h, from_live, LIVE, live, 1024);
        live += 1024;
        forget_frames(h);
        advance_alive(h, 100 * MS, 100 * MS);
        CHECK_EQ(*image->rcv_pos, live);
        *image->subscribers.items[0].position = live;
        CHECK_EQ(count_sent(h, RSTI_FRAME_SM, REPLAY), 0);
    }
    CHECK_EQ(image->file.log.metadata->active_transport_count, 1);
    CHECK_EQ(image->file.log.metadata->end_of_stream_position, INT64_MAX);
    CHECK(answer_of_type(h, RSTI_RSP_UNAVAILABLE_IMAGE) == NULL);
    harness_close(h);
}

CHECK_MAIN(RUN(destinations_of_every_kind),
    RUN(a_destination_that_comes_again_is_asked_for_its_setup),
    RUN(destinations_inherit_the_buffers), RUN(a_reader_catches_up_and_goes_live))
