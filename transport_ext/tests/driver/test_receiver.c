/* The life of an image: created by SETUP, then status messages, NAKs, gap fill, the end. */
#include "tests/driver/harness.h"

#define UDP "aeron:udp?endpoint=127.0.0.1:24500"
#define SENDER "127.0.0.1:30001"
#define SESSION 1234

typedef struct reader_t {
    harness_t *h;
    int64_t id;
    rsti_receive_endpoint_t *endpoint;
    rsti_socket_t *socket;
} reader_t;

static void reader_open(reader_t *r, const char *channel)
{
    r->h = harness_open();
    r->id = add(r->h, RSTI_CMD_ADD_SUBSCRIPTION, channel, 10);
    r->endpoint = r->h->driver->conductor->receive_endpoints.items[0];
    r->socket = r->endpoint->owned[0]->socket;
}

static void send_setup(reader_t *r)
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
    inject(r->h, r->socket, SENDER, &setup, sizeof setup);
}

/* A datagram of one frame of length bytes at position; length 0: a heartbeat. */
static void send_data(reader_t *r, int64_t position, int32_t length, uint8_t flags)
{
    uint8_t datagram[2048] = {0};
    rsti_data_header_t header;
    rsti_data_header_fill(&header, flags, RSTI_FRAME_DATA, SESSION, 10,
        7 + (int32_t)(position >> 16), 0);
    /* also a length that no sender would produce */
    header.term_offset = (int32_t)(position & 0xFFFF);
    header.frame.frame_length = length;
    header.reserved_value = 0;
    memcpy(datagram, &header, sizeof header);
    inject(r->h, r->socket, SENDER, datagram,
        length == 0 ? 32 : (size_t)rsti_align_i32(abs(length), 32));
}

static rsti_image_t *image_of(const reader_t *r)
{
    return r->h->driver->conductor->images.count == 0 ? NULL
                                                      : r->h->driver->conductor->images.items[0];
}

static void reader_connect(reader_t *r)
{
    send_setup(r);
    pass(r->h);
    pass(r->h);
    forget_frames(r->h);
}

/* L4 */
TEST(setup_makes_an_image)
{
    reader_t r;
    reader_open(&r, UDP);
    send_setup(&r);
    pass(r.h);
    const answer_t *available = answer_of_type(r.h, RSTI_RSP_AVAILABLE_IMAGE);
    CHECK(available != NULL);
    const rsti_image_t *image = image_of(&r);
    CHECK_EQ(available->response.correlation_id, image->correlation_id);
    CHECK_EQ(available->response.registration_id, r.id);
    CHECK_EQ(available->response.session_id, SESSION);
    CHECK_STR(available->text, image->file.path);
    CHECK_STR(image->source, SENDER);
    pass(r.h);
    CHECK_EQ(r.h->sent_count, 1);
    const rsti_sm_t *sm = (const void *)r.h->sent[0].data;
    CHECK_EQ(sm->frame.type, RSTI_FRAME_SM);
    CHECK_EQ(sm->frame.flags, 0);
    CHECK_EQ(sm->consumption_term_id, 7);
    CHECK_EQ(sm->consumption_term_offset, 0);
    CHECK_EQ(sm->receiver_window, 32768); /* at most half a term */
    CHECK_EQ(sm->receiver_id, r.endpoint->receiver_id);
    forget_frames(r.h);
    advance_alive(r.h, 1000 * MS, 10 * MS);
    const int count = count_frames(r.h, RSTI_FRAME_SM);
    CHECK(count >= 4 && count <= 5);
    harness_close(r.h);
}

/* K6 */
TEST(unknown_session_is_asked_for_setup)
{
    reader_t r;
    reader_open(&r, UDP);
    send_data(&r, 0, 64, RSTI_FLAG_UNFRAGMENTED);
    pass(r.h);
    const rsti_sm_t *sm = (const void *)last_frame(r.h, RSTI_FRAME_SM)->data;
    CHECK_EQ(sm->frame.flags, RSTI_SM_FLAG_SEND_SETUP);
    CHECK_EQ(sm->receiver_window, 0);
    send_data(&r, 64, 64, RSTI_FLAG_UNFRAGMENTED);
    advance_alive(r.h, 900 * MS, 100 * MS);
    CHECK_EQ(count_frames(r.h, RSTI_FRAME_SM), 1);
    advance_alive(r.h, 300 * MS, 100 * MS); /* after a second it is forgotten and requested again */
    send_data(&r, 128, 64, RSTI_FLAG_UNFRAGMENTED);
    pass(r.h);
    CHECK_EQ(count_frames(r.h, RSTI_FRAME_SM), 2);
    /* A SETUP is not requested for an end of stream nor for a stream without a subscription. */
    forget_frames(r.h);
    advance_alive(r.h, 1200 * MS, 100 * MS);
    send_data(&r, 128, 0, RSTI_FLAG_UNFRAGMENTED | RSTI_FLAG_EOS);
    pass(r.h);
    CHECK_EQ(r.h->sent_count, 0);
    CHECK(image_of(&r) == NULL);
    harness_close(r.h);
}

/* H2, K5 */
TEST(gap_is_asked_for)
{
    reader_t r;
    reader_open(&r, UDP);
    reader_connect(&r);
    rsti_image_t *image = image_of(&r);
    send_data(&r, 0, 1024, RSTI_FLAG_UNFRAGMENTED);
    send_data(&r, 3072, 1024, RSTI_FLAG_UNFRAGMENTED);
    pass(r.h);
    CHECK_EQ(*image->rcv_pos, 1024);
    CHECK_EQ(*image->hwm, 4096);
    advance_alive(r.h, 10000, 2000);
    CHECK_EQ(count_frames(r.h, RSTI_FRAME_NAK), 1);
    const rsti_nak_t *nak = (const void *)last_frame(r.h, RSTI_FRAME_NAK)->data;
    CHECK_EQ(nak->term_id, 7);
    CHECK_EQ(nak->term_offset, 1024);
    CHECK_EQ(nak->length, 2048);
    advance_alive(r.h, 120000, 10000); /* again after 100 us */
    CHECK_EQ(count_frames(r.h, RSTI_FRAME_NAK), 2);
    CHECK_EQ(*image->naks, 2);
    send_data(&r, 1024, 1024, RSTI_FLAG_UNFRAGMENTED);
    send_data(&r, 2048, 1024, RSTI_FLAG_UNFRAGMENTED);
    advance_alive(r.h, 400000, 100000);
    CHECK_EQ(*image->rcv_pos, 4096);
    forget_frames(r.h);
    advance_alive(r.h, 10 * MS, MS);
    CHECK_EQ(count_frames(r.h, RSTI_FRAME_NAK), 0);
    /* A heartbeat reveals a loss at the end. */
    send_data(&r, 5120, 0, RSTI_FLAG_UNFRAGMENTED);
    advance_alive(r.h, 20000, 2000);
    CHECK_EQ(((const rsti_nak_t *)(const void *)last_frame(r.h, RSTI_FRAME_NAK)->data)->term_offset,
        4096);
    harness_close(r.h);
}

/* H6: the first NAK waits as long as the channel says. */
TEST(the_channel_gives_the_delay_of_naks)
{
    reader_t r;
    reader_open(&r, UDP "|nak-delay=5ms");
    reader_connect(&r);
    send_data(&r, 0, 1024, RSTI_FLAG_UNFRAGMENTED);
    send_data(&r, 3072, 1024, RSTI_FLAG_UNFRAGMENTED);
    pass(r.h);
    advance_alive(r.h, 4900000, 100000);
    CHECK_EQ(count_frames(r.h, RSTI_FRAME_NAK), 0);
    advance_alive(r.h, 300000, 100000);
    CHECK_EQ(count_frames(r.h, RSTI_FRAME_NAK), 1);
    harness_close(r.h);
}

/* N20: a stream that is in its third term is joined there. */
TEST(a_standing_stream_is_joined_where_it_stands)
{
    reader_t r;
    reader_open(&r, UDP);
    const rsti_setup_t setup = {
        .frame = {RSTI_SETUP_LENGTH, 0, 0, RSTI_FRAME_SETUP},
        .session_id = SESSION,
        .stream_id = 10,
        .initial_term_id = 7,
        .active_term_id = 9,
        .term_offset = 4096,
        .term_length = 65536,
        .mtu = 1408,
    };
    const int64_t position = 2 * 65536 + 4096;
    inject(r.h, r.socket, SENDER, &setup, sizeof setup);
    pass(r.h);
    pass(r.h);
    const rsti_image_t *image = image_of(&r);
    CHECK(image != NULL);
    CHECK_EQ(*image->subscribers.items[0].position, position);
    CHECK_EQ(*image->rcv_pos, position);
    const rsti_sm_t *sm = (const void *)last_frame(r.h, RSTI_FRAME_SM)->data;
    CHECK_EQ(sm->consumption_term_id, 9);
    CHECK_EQ(sm->consumption_term_offset, 4096);
    for (int i = 0; i < 150; i++) { /* heartbeats keep it alive, and it requests nothing */
        send_data(&r, position, 0, RSTI_FLAG_UNFRAGMENTED);
        advance_alive(r.h, 100 * MS, 100 * MS);
        CHECK_EQ(count_frames(r.h, RSTI_FRAME_NAK), 0);
        forget_frames(r.h);
    }
    send_data(&r, position, 1024, RSTI_FLAG_UNFRAGMENTED);
    pass(r.h);
    CHECK_EQ(*image->rcv_pos, position + 1024);
    harness_close(r.h);
}

/* F6, H7 */
TEST(unreliable_gap_is_filled)
{
    reader_t r;
    reader_open(&r, UDP "|reliable=false");
    reader_connect(&r);
    rsti_image_t *image = image_of(&r);
    send_data(&r, 0, 1024, RSTI_FLAG_UNFRAGMENTED);
    send_data(&r, 3072, 1024, RSTI_FLAG_UNFRAGMENTED);
    advance_alive(r.h, 10000, 1000);
    CHECK_EQ(count_frames(r.h, RSTI_FRAME_NAK), 0);
    CHECK_EQ(counter(r.h, RSTI_SYSTEM_LOSS_GAP_FILLS), 1);
    CHECK_EQ(*image->rcv_pos, 4096);
    const rsti_data_header_t *pad = (const void *)(image->file.log.terms[0] + 1024);
    CHECK_EQ(pad->frame.type, RSTI_FRAME_PAD);
    CHECK_EQ(pad->frame.frame_length, 2048);
    harness_close(r.h);
}

TEST(status_message_follows_consumption)
{
    reader_t r;
    reader_open(&r, UDP "|rcv-wnd=8k");
    reader_connect(&r);
    rsti_image_t *image = image_of(&r);
    CHECK_EQ(image->file.log.metadata->ext.conductor_position, 2048 + 1);
    for (int i = 0; i < 4; i++) {
        send_data(&r, i * 1024, 1024, RSTI_FLAG_UNFRAGMENTED);
    }
    pass(r.h);
    *image->subscribers.items[0].position = 2048;
    pass(r.h);
    pass(r.h);
    CHECK_EQ(count_frames(r.h, RSTI_FRAME_SM), 0);
    *image->subscribers.items[0].position = 3072;
    pass(r.h);
    pass(r.h);
    CHECK_EQ(count_frames(r.h, RSTI_FRAME_SM), 1);
    const rsti_sm_t *sm = (const void *)last_frame(r.h, RSTI_FRAME_SM)->data;
    CHECK_EQ(sm->consumption_term_offset, 3072);
    CHECK_EQ(sm->receiver_window, 8192);
    harness_close(r.h);
}

/* K4, O10 */
TEST(bad_datagrams_are_counted)
{
    reader_t r;
    reader_open(&r, UDP);
    reader_connect(&r);
    rsti_image_t *image = image_of(&r);
    send_data(&r, 40 * 1024, 1024, RSTI_FLAG_UNFRAGMENTED); /* beyond half a term */
    pass(r.h);
    CHECK_EQ(counter(r.h, RSTI_SYSTEM_FLOW_CONTROL_OVER_RUNS), 1);
    send_data(&r, 16, 64, RSTI_FLAG_UNFRAGMENTED); /* not on a frame boundary */
    send_data(&r, 0, -64, RSTI_FLAG_UNFRAGMENTED); /* negative length */
    uint8_t garbage[64];
    memset(garbage, 0xA5, sizeof garbage);
    for (size_t length = 1; length <= sizeof garbage; length += 9) {
        inject(r.h, r.socket, SENDER, garbage, length);
    }
    pass(r.h);
    CHECK(counter(r.h, RSTI_SYSTEM_INVALID_PACKETS) >= 3);
    CHECK_EQ(*image->hwm, 0);
    send_data(&r, -65536, 64, RSTI_FLAG_UNFRAGMENTED); /* before the first term */
    pass(r.h);
    CHECK_EQ(*image->hwm, 0);
    harness_close(r.h);
}

/* N13, K2 */
TEST(end_of_stream_drains_the_image)
{
    reader_t r;
    reader_open(&r, UDP);
    become_rstream(r.h);
    reader_connect(&r);
    rsti_image_t *image = image_of(&r);
    send_data(&r, 0, 1024, RSTI_FLAG_UNFRAGMENTED);
    send_data(&r, 1024, 0, RSTI_FLAG_UNFRAGMENTED | RSTI_FLAG_EOS);
    pass(r.h);
    pass(r.h);
    CHECK_EQ(image->file.log.metadata->end_of_stream_position, 1024);
    const rsti_sm_t *sm = (const void *)last_frame(r.h, RSTI_FRAME_SM)->data;
    CHECK_EQ(sm->frame.flags, RSTI_SM_FLAG_EOS);
    advance_alive(r.h, 3000 * MS, 50 * MS);
    CHECK(answer_of_type(r.h, RSTI_RSP_UNAVAILABLE_IMAGE) == NULL); /* not consumed yet */
    *image->subscribers.items[0].position = 1024;
    pass(r.h);
    CHECK(answer_of_type(r.h, RSTI_RSP_UNAVAILABLE_IMAGE) != NULL);
    advance_alive(r.h, 11 * RSTI_NS_PER_S, 200 * MS);
    CHECK(image_of(&r) == NULL);
    harness_close(r.h);
}

/* N13 */
/* N13 */
/* An rstream reader is notified as soon as it has read everything. An Aeron client drops an image
 * when it is notified, so its user gets five status message time-outs to see the end. */
TEST(readers_learn_the_end_when_they_can_handle_it)
{
    for (int is_rstream = 0; is_rstream < 2; is_rstream++) {
        reader_t r;
        reader_open(&r, UDP);
        if (is_rstream) {
            become_rstream(r.h);
        }
        reader_connect(&r);
        *image_of(&r)->subscribers.items[0].position = 1024;
        send_data(&r, 0, 1024, RSTI_FLAG_UNFRAGMENTED);
        send_data(&r, 1024, 0, RSTI_FLAG_UNFRAGMENTED | RSTI_FLAG_EOS);
        advance_alive(r.h, 990 * MS, 10 * MS);
        CHECK_EQ(answer_of_type(r.h, RSTI_RSP_UNAVAILABLE_IMAGE) != NULL, is_rstream);
        advance_alive(r.h, 50 * MS, 10 * MS);
        CHECK(answer_of_type(r.h, RSTI_RSP_UNAVAILABLE_IMAGE) != NULL);
        r.h->answer_count = 0;
        advance_alive(r.h, 3000 * MS, 10 * MS);
        CHECK(answer_of_type(r.h, RSTI_RSP_UNAVAILABLE_IMAGE) == NULL); /* once */
        harness_close(r.h);
    }
}

TEST(a_slow_aeron_reader_has_the_same_time_to_see_the_end)
{
    reader_t r;
    reader_open(&r, UDP);
    reader_connect(&r);
    send_data(&r, 0, 1024, RSTI_FLAG_UNFRAGMENTED);
    send_data(&r, 1024, 0, RSTI_FLAG_UNFRAGMENTED | RSTI_FLAG_EOS);
    advance_alive(r.h, 3000 * MS, 50 * MS);
    *image_of(&r)->subscribers.items[0].position = 1024;
    advance_alive(r.h, 950 * MS, 50 * MS);
    CHECK(answer_of_type(r.h, RSTI_RSP_UNAVAILABLE_IMAGE) == NULL);
    advance_alive(r.h, 150 * MS, 50 * MS);
    CHECK(answer_of_type(r.h, RSTI_RSP_UNAVAILABLE_IMAGE) != NULL);
    harness_close(r.h);
}

/* K6 */
TEST(silent_image_is_given_up_and_may_come_back)
{
    reader_t r;
    reader_open(&r, UDP);
    reader_connect(&r);
    advance_alive(r.h, 9 * RSTI_NS_PER_S, 100 * MS);
    CHECK(answer_of_type(r.h, RSTI_RSP_UNAVAILABLE_IMAGE) == NULL);
    advance_alive(r.h, 3 * RSTI_NS_PER_S, 100 * MS);
    CHECK(answer_of_type(r.h, RSTI_RSP_UNAVAILABLE_IMAGE) != NULL);
    r.h->answer_count = 0;
    reader_connect(&r);
    CHECK(answer_of_type(r.h, RSTI_RSP_AVAILABLE_IMAGE) != NULL);
    harness_close(r.h);
}

TEST(without_rejoin_it_stays_out)
{
    reader_t r;
    reader_open(&r, UDP "|rejoin=false");
    reader_connect(&r);
    advance_alive(r.h, 12 * RSTI_NS_PER_S, 100 * MS);
    CHECK(answer_of_type(r.h, RSTI_RSP_UNAVAILABLE_IMAGE) != NULL);
    r.h->answer_count = 0;
    reader_connect(&r);
    CHECK(answer_of_type(r.h, RSTI_RSP_AVAILABLE_IMAGE) == NULL);
    harness_close(r.h);
}

/* L5, N2, N13 */
TEST(closed_subscription_says_goodbye_and_frees_the_socket)
{
    reader_t r;
    reader_open(&r, UDP);
    reader_connect(&r);
    (void)take_away(r.h, RSTI_CMD_REMOVE_SUBSCRIPTION, r.id);
    pass(r.h);
    const rsti_sm_t *sm = (const void *)last_frame(r.h, RSTI_FRAME_SM)->data;
    CHECK_EQ(sm->frame.flags, RSTI_SM_FLAG_EOS);
    /* Opened again at once: the same socket, a new image. */
    r.h->answer_count = 0;
    (void)add(r.h, RSTI_CMD_ADD_SUBSCRIPTION, UDP, 10);
    CHECK_EQ(r.h->driver->conductor->receive_endpoints.count, 1);
    forget_frames(r.h);
    send_setup(&r);
    pass(r.h);
    pass(r.h);
    CHECK(answer_of_type(r.h, RSTI_RSP_AVAILABLE_IMAGE) != NULL);
    int welcomes = 0; /* a goodbye of the old image may come before, and never after */
    for (int i = 0; i < r.h->sent_count; i++) {
        sm = (const void *)r.h->sent[i].data;
        const bool is_goodbye = sm->frame.type == RSTI_FRAME_SM
            && sm->frame.flags == RSTI_SM_FLAG_EOS;
        welcomes += sm->frame.type == RSTI_FRAME_SM && !is_goodbye;
        CHECK(!is_goodbye || welcomes == 0);
    }
    CHECK(welcomes > 0);
    (void)take_away(r.h, RSTI_CMD_REMOVE_SUBSCRIPTION, r.h->answers[0].response.correlation_id);
    advance_alive(r.h, 3000 * MS, 50 * MS);
    CHECK_EQ(r.h->driver->conductor->receive_endpoints.count, 0);
    CHECK_EQ(r.h->driver->conductor->images.count, 0);
    CHECK(!r.h->sockets[0].is_open);
    harness_close(r.h);
}

/* F6, L4, N6 */
TEST(session_filter)
{
    reader_t r;
    reader_open(&r, UDP "|session-id=99");
    reader_connect(&r);
    CHECK(image_of(&r) == NULL);
    (void)add(r.h, RSTI_CMD_ADD_SUBSCRIPTION, UDP "|session-id=1234", 10);
    reader_connect(&r);
    CHECK(image_of(&r) != NULL);
    CHECK_EQ(image_of(&r)->subscribers.count, 1);
    harness_close(r.h);
}

/* N11 */
TEST(rejected_image_sends_errors)
{
    reader_t r;
    reader_open(&r, UDP);
    reader_connect(&r);
    rsti_command_t reject = {
        .type = RSTI_CMD_REJECT_IMAGE,
        .registration_id = image_of(&r)->correlation_id,
        .channel = {"bad data", 8},
    };
    (void)command(r.h, &reject);
    forget_frames(r.h);
    send_data(&r, 0, 1024, RSTI_FLAG_UNFRAGMENTED);
    advance_alive(r.h, 1000 * MS, 50 * MS);
    CHECK_EQ(*image_of(&r)->hwm, 0);
    CHECK_EQ(count_frames(r.h, RSTI_FRAME_SM), 0);
    CHECK(count_frames(r.h, RSTI_FRAME_ERR) >= 4);
    const rsti_err_t *err = (const void *)last_frame(r.h, RSTI_FRAME_ERR)->data;
    CHECK_EQ(err->error_length, 8);
    CHECK_MEM(last_frame(r.h, RSTI_FRAME_ERR)->data + RSTI_ERR_LENGTH, "bad data", 8);
    harness_close(r.h);
}

TEST(flood_of_sessions_is_bounded)
{
    reader_t r;
    reader_open(&r, UDP);
    r.h->is_rude = true;
    for (int32_t session = 0; session < 5000; session++) {
        uint8_t datagram[64] = {0};
        rsti_data_header_t header;
        rsti_data_header_fill(&header, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA, session, 10, 7, 0);
        header.frame.frame_length = 64;
        memcpy(datagram, &header, sizeof header);
        inject(r.h, r.socket, SENDER, datagram, sizeof datagram);
        if (session % 50 == 49) {
            pass(r.h);
            forget_frames(r.h);
        }
    }
    for (int state = 0; state < RSTI_SESSION_STATES; state++) {
        CHECK_EQ(r.endpoint->dispatcher.counts[state], 0);
    }
    r.h->is_rude = false;
    reader_connect(&r);
    CHECK(image_of(&r) != NULL);
    harness_close(r.h);
}

/* F6: receiver-group-consideration: the value of group= when the channel has none. */
TEST(a_driver_may_take_every_sender_for_a_groups)
{
    static const struct {
        rsti_tristate_t of_driver;
        const char *channel;
        bool is_group;
    } rows[] = {
        {RSTI_INFER, UDP, false},
        {RSTI_TRUE, UDP, true},
        {RSTI_FALSE, UDP, false},
        {RSTI_TRUE, UDP "|group=false", false},
        {RSTI_FALSE, UDP "|group=true", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        reader_t r = {.h = harness_open()};
        r.h->driver->params.receiver_group = rows[i].of_driver;
        r.id = add(r.h, RSTI_CMD_ADD_SUBSCRIPTION, rows[i].channel, 10);
        r.endpoint = r.h->driver->conductor->receive_endpoints.items[0];
        r.socket = r.endpoint->owned[0]->socket;
        reader_connect(&r);
        CHECK_EQ(image_of(&r)->loss.delay.is_group, rows[i].is_group);
        harness_close(r.h);
    }
}

CHECK_MAIN(RUN(setup_makes_an_image), RUN(unknown_session_is_asked_for_setup),
    RUN(gap_is_asked_for), RUN(the_channel_gives_the_delay_of_naks),
    RUN(a_standing_stream_is_joined_where_it_stands), RUN(unreliable_gap_is_filled),
    RUN(status_message_follows_consumption), RUN(bad_datagrams_are_counted),
    RUN(end_of_stream_drains_the_image), RUN(readers_learn_the_end_when_they_can_handle_it),
    RUN(a_slow_aeron_reader_has_the_same_time_to_see_the_end),
    RUN(silent_image_is_given_up_and_may_come_back), RUN(without_rejoin_it_stays_out),
    RUN(closed_subscription_says_goodbye_and_frees_the_socket), RUN(session_filter),
    RUN(rejected_image_sends_errors), RUN(flood_of_sessions_is_bounded),
    RUN(a_driver_may_take_every_sender_for_a_groups))
