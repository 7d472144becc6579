/* test_timestamps.c: channel-snd-ts-offset, channel-rcv-ts-offset and media-rcv-ts-offset in the
 * agents: what is stamped, with which time, and which channels are refused. */
#include "logbuffer/appender.h"
#include "tests/driver/harness.h"

#define ENDPOINT "aeron:udp?endpoint=127.0.0.1:24500"
#define SENDER "127.0.0.1:30001"
#define SESSION 1234

static int64_t epoch_ns(const harness_t *h)
{
    return rsti_clock_epoch_ns(&h->clock);
}

static void inject_setup(harness_t *h, rsti_socket_t *socket)
{
    const rsti_setup_t setup = {
        .frame = {RSTI_SETUP_LENGTH, 0, 0, RSTI_FRAME_SETUP},
        .session_id = SESSION,
        .stream_id = 10,
        .initial_term_id = 7,
        .active_term_id = 7,
        .term_length = 65536,
        .mtu = 1408,
    };
    inject(h, socket, SENDER, &setup, sizeof setup);
    pass(h);
    pass(h);
}

/* Two frames of 64 bytes in one datagram: a whole message, and the beginning of one. */
static void inject_data(harness_t *h, rsti_socket_t *socket, int32_t term_offset)
{
    uint8_t datagram[128] = {0};
    for (int32_t i = 0; i < 2; i++) {
        rsti_data_header_t header;
        rsti_data_header_fill(&header, i == 0 ? RSTI_FLAG_UNFRAGMENTED : RSTI_FLAG_BEGIN,
            RSTI_FRAME_DATA, SESSION, 10, 7, term_offset + 64 * i);
        header.frame.frame_length = 64;
        header.reserved_value = 3;
        memcpy(datagram + 64 * i, &header, sizeof header);
    }
    inject(h, socket, SENDER, datagram, sizeof datagram);
    pass(h);
}

static int64_t in_log(const harness_t *h, int32_t term_offset, int32_t payload_offset)
{
    const rsti_image_t *image = h->driver->conductor->images.items[0];
    return rsti_get_i64(image->file.log.terms[0] + term_offset + 32 + payload_offset);
}

static rsti_socket_t *socket_of(const harness_t *h, int slot)
{
    const rsti_receive_endpoint_t *endpoint = h->driver->conductor->receive_endpoints.items[0];
    return endpoint->owned[slot]->socket;
}

/* N25, K5 */
TEST(what_is_received_is_stamped)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION,
        ENDPOINT "|channel-rcv-ts-offset=8|media-rcv-ts-offset=reserved", 10);
    CHECK(socket_of(h, 0)->params.has_arrival_times);
    inject_setup(h, socket_of(h, 0));
    h->arrived_ns = epoch_ns(h) - 12345;
    inject_data(h, socket_of(h, 0), 0);
    for (int32_t at = 0; at < 128; at += 64) {
        CHECK_EQ(in_log(h, at, -8), epoch_ns(h) - 12345);
        CHECK_EQ(in_log(h, at, 8), epoch_ns(h));
        CHECK_EQ(in_log(h, at, 0), 0);
        CHECK_EQ(in_log(h, at, 16), 0);
    }
    h->arrived_ns = 0; /* the system did not tell it */
    inject_data(h, socket_of(h, 0), 128);
    CHECK_EQ(in_log(h, 128, -8), 3);
    CHECK_EQ(in_log(h, 128, 8), epoch_ns(h));
    harness_close(h);
}

/* N25: the offsets of a subscription with several destinations are its own. */
TEST(destinations_are_stamped_alike)
{
    harness_t *h = harness_open();
    const int64_t id = add(h, RSTI_CMD_ADD_SUBSCRIPTION,
        "aeron:udp?control-mode=manual|media-rcv-ts-offset=0", 10);
    static const char *const uris[] = {"aeron:udp?endpoint=127.0.0.1:24501",
        "aeron:udp?endpoint=127.0.0.1:24502|media-rcv-ts-offset=0",
        "aeron:udp?endpoint=127.0.0.1:24503|media-rcv-ts-offset=8",
        "aeron:udp?endpoint=127.0.0.1:24504|channel-rcv-ts-offset=16"};
    for (int i = 0; i < 4; i++) {
        rsti_command_t c = {
            .type = RSTI_CMD_ADD_RCV_DESTINATION,
            .registration_id = id,
            .channel = {uris[i], (int32_t)strlen(uris[i])},
        };
        const int64_t correlation_id = command(h, &c);
        CHECK_EQ(answer(h, RSTI_RSP_OPERATION_SUCCESS, correlation_id) != NULL, i < 2);
        CHECK_EQ(answer(h, RSTI_RSP_ON_ERROR, correlation_id) != NULL, i >= 2);
    }
    h->arrived_ns = 99;
    inject_setup(h, socket_of(h, 0));
    inject_data(h, socket_of(h, 0), 0);
    inject_setup(h, socket_of(h, 1));
    h->arrived_ns = 100;
    inject_data(h, socket_of(h, 1), 128);
    CHECK_EQ(in_log(h, 0, 0), 99);
    CHECK_EQ(in_log(h, 128, 0), 100);
    CHECK_EQ(in_log(h, 128, -8), 3);
    harness_close(h);
}

/* N25: the log, and so a spy, has the time of the last send. */
TEST(what_is_sent_is_stamped)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION,
        ENDPOINT "|term-length=64k|init-term-id=7|term-id=7|term-offset=0"
                 "|channel-snd-ts-offset=reserved",
        10);
    pass(h);
    rsti_network_publication_t *p = h->driver->conductor->publications.items[0];
    const rsti_sm_t sm = {
        .frame = {RSTI_SM_LENGTH, 0, 0, RSTI_FRAME_SM},
        .session_id = p->base.session_id,
        .stream_id = 10,
        .consumption_term_id = 7,
        .receiver_window = 16384,
        .receiver_id = 5,
    };
    inject(h, p->endpoint->socket, SENDER, &sm, sizeof sm);
    pass(h);
    forget_frames(h);
    rsti_appender_t appender;
    rsti_appender_init(&appender, &p->base.file.log, p->base.pub_lmt, p->base.session_id, 10, true);
    static uint8_t message[32];
    const rsti_iovec_t part = {message, sizeof message};
    CHECK_EQ(rsti_append(&appender, &part, 1, sizeof message, 3), 64);
    const uint8_t *term = p->base.file.log.terms[0];
    pass(h);
    const frame_t *frame = last_frame(h, RSTI_FRAME_DATA);
    CHECK(frame != NULL && frame->length == 64);
    const int64_t sent_ns = epoch_ns(h);
    CHECK_EQ(rsti_get_i64(frame->data + 24), sent_ns);
    CHECK_EQ(rsti_get_i64(frame->data + 32), 0);
    CHECK_EQ(rsti_get_i64(term + 24), sent_ns);
    advance_alive(h, 50 * MS, 10 * MS);
    forget_frames(h);
    const rsti_nak_t nak = {
        .frame = {RSTI_NAK_LENGTH, 0, 0, RSTI_FRAME_NAK},
        .session_id = p->base.session_id,
        .stream_id = 10,
        .term_id = 7,
        .length = 64,
    };
    inject(h, p->endpoint->socket, SENDER, &nak, sizeof nak);
    pass(h);
    frame = last_frame(h, RSTI_FRAME_DATA);
    CHECK(frame != NULL && frame->length == 64);
    CHECK_EQ(rsti_get_i64(frame->data + 24), epoch_ns(h)); /* of the retransmission */
    forget_frames(h);
    advance_alive(h, 300 * MS, 10 * MS);
    frame = last_frame(h, RSTI_FRAME_DATA);
    CHECK(frame != NULL && frame->length == 32);
    CHECK_EQ(rsti_get_i64(frame->data + 24), 0); /* a heartbeat */
    harness_close(h);
}

/* N25: all streams of a socket are stamped alike. */
TEST(streams_of_a_socket_agree)
{
    static const struct {
        int32_t type;
        const char *channel;
        bool is_taken;
    } rows[] = {
        {RSTI_CMD_ADD_SUBSCRIPTION, ENDPOINT "|channel-rcv-ts-offset=0|tags=1", true},
        {RSTI_CMD_ADD_SUBSCRIPTION, ENDPOINT "|channel-rcv-ts-offset=0", true},
        {RSTI_CMD_ADD_SUBSCRIPTION, "aeron:udp?tags=1", true},
        {RSTI_CMD_ADD_SUBSCRIPTION, ENDPOINT "|channel-rcv-ts-offset=8", false},
        {RSTI_CMD_ADD_SUBSCRIPTION, ENDPOINT, false},
        {RSTI_CMD_ADD_SUBSCRIPTION, ENDPOINT "|channel-rcv-ts-offset=0|media-rcv-ts-offset=8",
            false},
        {RSTI_CMD_ADD_PUBLICATION, ENDPOINT "|channel-snd-ts-offset=0", true},
        {RSTI_CMD_ADD_PUBLICATION, ENDPOINT "|channel-snd-ts-offset=0|channel-rcv-ts-offset=8",
            true},
        {RSTI_CMD_ADD_PUBLICATION, ENDPOINT "|channel-snd-ts-offset=reserved", false},
        {RSTI_CMD_ADD_PUBLICATION, ENDPOINT, false},
        {RSTI_CMD_ADD_PUBLICATION, "aeron:ipc?channel-snd-ts-offset=0", false},
    };
    harness_t *h = harness_open();
    for (int32_t i = 0; i < (int32_t)(sizeof rows / sizeof rows[0]); i++) {
        const int64_t id = add(h, rows[i].type, rows[i].channel, 10 + i);
        const answer_t *refused = answer(h, RSTI_RSP_ON_ERROR, id);
        if ((refused == NULL) != rows[i].is_taken) {
            CHECK_FAIL("%s: %s", rows[i].channel, refused == NULL ? "accepted" : refused->text);
        }
    }
    harness_close(h);
}

CHECK_MAIN(RUN(what_is_received_is_stamped), RUN(destinations_are_stamped_alike),
    RUN(what_is_sent_is_stamped), RUN(streams_of_a_socket_agree))
