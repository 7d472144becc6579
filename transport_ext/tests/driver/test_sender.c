/* The publisher's timeline: set-up, data, heartbeats, status messages, NAKs, the end. */
#include "logbuffer/appender.h"
#include "tests/driver/harness.h"

#define UDP                                                                                        \
    "aeron:udp?endpoint=127.0.0.1:24400|init-term-id=5|term-id=5|term-offset=0|term-length=64k"
#define RECEIVER "127.0.0.1:24400"

typedef struct publisher_t {
    harness_t *h;
    int64_t id;
    rsti_network_publication_t *publication;
    rsti_socket_t *socket;
    rsti_appender_t appender;
} publisher_t;

static void publisher_open_on(publisher_t *p, const char *channel)
{
    p->h = harness_open();
    p->id = add(p->h, RSTI_CMD_ADD_PUBLICATION, channel, 10);
    p->publication = p->h->driver->conductor->publications.items[0];
    p->socket = p->publication->endpoint->socket;
    rsti_publication_t *base = &p->publication->base;
    rsti_appender_init(&p->appender, &base->file.log, base->pub_lmt, base->session_id, 10, false);
    forget_frames(p->h);
}

static void publisher_open(publisher_t *p)
{
    publisher_open_on(p, UDP);
}

static void send_sm(publisher_t *p, uint8_t flags, int64_t position, int32_t window)
{
    const rsti_sm_t sm = {
        .frame = {RSTI_SM_LENGTH, 0, flags, RSTI_FRAME_SM},
        .session_id = p->publication->base.session_id,
        .stream_id = 10,
        .consumption_term_id = 5 + (int32_t)(position >> 16),
        .consumption_term_offset = (int32_t)(position & 0xFFFF),
        .receiver_window = window,
        .receiver_id = 99,
    };
    inject(p->h, p->socket, RECEIVER, &sm, sizeof sm);
}

static void send_nak(publisher_t *p, int32_t offset, int32_t length)
{
    const rsti_nak_t nak = {
        .frame = {RSTI_NAK_LENGTH, 0, 0, RSTI_FRAME_NAK},
        .session_id = p->publication->base.session_id,
        .stream_id = 10,
        .term_id = 5,
        .term_offset = offset,
        .length = length,
    };
    inject(p->h, p->socket, RECEIVER, &nak, sizeof nak);
}

static void publisher_connect(publisher_t *p)
{
    send_sm(p, 0, 0, 32 * 1024);
    pass(p->h);
    pass(p->h);
    forget_frames(p->h);
}

static int64_t offer(publisher_t *p, size_t length)
{
    static uint8_t message[2048];
    const rsti_iovec_t part = {message, length};
    return rsti_append(&p->appender, &part, 1, length, 0);
}

static void offer_up_to(publisher_t *p, int64_t position)
{
    int64_t reached = 0;
    for (int i = 0; i < 1000 && reached < position; i++) {
        reached = offer(p, 96);
        pass(p->h);
    }
    CHECK_EQ(reached, position);
}

/* J1, J2 */
TEST(setup_is_repeated_until_a_status_message)
{
    publisher_t p;
    publisher_open(&p);
    advance(p.h, 1000 * MS, 10 * MS);
    const int setups = count_frames(p.h, RSTI_FRAME_SETUP);
    CHECK(setups >= 9 && setups <= 10);
    CHECK_EQ(p.h->sent_count, setups); /* no heartbeats before the first status message */
    const rsti_setup_t *setup = (const void *)last_frame(p.h, RSTI_FRAME_SETUP)->data;
    CHECK_EQ(setup->frame.flags, RSTI_SETUP_FLAG_RSTREAM);
    CHECK_EQ(setup->initial_term_id, 5);
    CHECK_EQ(setup->active_term_id, 5);
    CHECK_EQ(setup->term_length, 65536);
    CHECK_EQ(setup->mtu, 1408);
    CHECK_EQ(offer(&p, 100), RST_NOT_CONNECTED);
    forget_frames(p.h);
    send_sm(&p, 0, 0, 32 * 1024);
    pass(p.h);
    CHECK_EQ(p.publication->base.file.log.metadata->is_connected, 1);
    CHECK_EQ(*p.publication->snd_lmt, 32 * 1024);
    CHECK_EQ(*p.publication->base.pub_lmt, 32 * 1024);
    advance(p.h, 1000 * MS, 10 * MS);
    CHECK_EQ(count_frames(p.h, RSTI_FRAME_SETUP), 0);
    const int heartbeats = count_frames(p.h, RSTI_FRAME_DATA);
    CHECK(heartbeats >= 9 && heartbeats <= 11);
    /* It is sent again on request. */
    forget_frames(p.h);
    send_sm(&p, RSTI_SM_FLAG_SEND_SETUP, 0, 0);
    pass(p.h);
    pass(p.h);
    CHECK_EQ(count_frames(p.h, RSTI_FRAME_SETUP), 1);
    harness_close(p.h);
}

/* J1 */
TEST(setup_goes_out_at_once_and_then_every_100_ms)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_PUBLICATION, UDP, 10);
    pass(h);
    CHECK_EQ(count_frames(h, RSTI_FRAME_SETUP), 1); /* the clock did not advance */
    for (int i = 2; i <= 5; i++) {
        advance_alive(h, 100 * MS, MS); /* the interval is over when it is exceeded */
        CHECK_EQ(count_frames(h, RSTI_FRAME_SETUP), i - 1);
        advance_alive(h, MS, MS);
        CHECK_EQ(count_frames(h, RSTI_FRAME_SETUP), i);
    }
    harness_close(h);
}

/* J2: a receiver that requests set-ups over and over does not suppress the heartbeats. */
TEST(heartbeats_go_on_between_elicited_setups)
{
    publisher_t p;
    publisher_open(&p);
    publisher_connect(&p);
    for (int i = 0; i < 100; i++) {
        send_sm(&p, RSTI_SM_FLAG_SEND_SETUP, 0, 0);
        advance_alive(p.h, 10 * MS, 2 * MS);
    }
    const int heartbeats = count_frames(p.h, RSTI_FRAME_DATA);
    CHECK(heartbeats >= 9 && heartbeats <= 11);
    CHECK(count_frames(p.h, RSTI_FRAME_SETUP) >= 5);
    harness_close(p.h);
}

/* N22: an uncommitted claim is padded and sent, while receivers still send status messages. */
TEST(a_dead_claim_is_padded_and_sent)
{
    publisher_t p;
    publisher_open(&p);
    publisher_connect(&p);
    rsti_data_header_t *frame;
    CHECK_EQ(rsti_append_claim(&p.appender, 100, 0, &frame), 160);
    CHECK_EQ(offer(&p, 96), 160 + 128);
    for (int i = 0; i < 170 && *p.publication->snd_pos == 0; i++) {
        send_sm(&p, 0, 0, 32 * 1024);
        forget_frames(p.h);
        advance_alive(p.h, 100 * MS, 50 * MS);
        CHECK(i > 140 || frame->frame.type != RSTI_FRAME_PAD);
    }
    CHECK_EQ(counter(p.h, RSTI_SYSTEM_UNBLOCKED_PUBLICATIONS), 1);
    CHECK_EQ(frame->frame.type, RSTI_FRAME_PAD);
    CHECK_EQ(*p.publication->snd_pos, 160 + 128);
    harness_close(p.h);
}

/* J5 */
TEST(data_respects_window_and_mtu)
{
    publisher_t p;
    publisher_open(&p);
    send_sm(&p, 0, 0, 4096);
    pass(p.h);
    pass(p.h);
    forget_frames(p.h);
    for (int i = 0; i < 50; i++) {
        CHECK_EQ(offer(&p, 96), (i + 1) * 128);
    }
    pass(p.h);
    CHECK_EQ(*p.publication->snd_pos, 4096);
    int64_t bytes = 0;
    for (int i = 0; i < p.h->sent_count; i++) {
        CHECK(p.h->sent[i].length <= 1408);
        bytes += (int64_t)p.h->sent[i].length;
    }
    CHECK_EQ(bytes, 4096);
    pass(p.h);
    pass(p.h);
    CHECK_EQ(*p.publication->snd_bpe, 1);
    send_sm(&p, 0, 4096, 4096);
    pass(p.h);
    pass(p.h);
    CHECK_EQ(*p.publication->snd_pos, 50 * 128);
    /* Far away, wrong or truncated: counted and dropped. */
    send_sm(&p, 0, 60000 & ~31, 4096);
    send_sm(&p, 0, 4096, 60000);
    const uint8_t garbage[12] = {1, 2, 3};
    inject(p.h, p.socket, RECEIVER, garbage, sizeof garbage);
    pass(p.h);
    CHECK_EQ(counter(p.h, RSTI_SYSTEM_SM_REJECTED), 1);
    CHECK_EQ(counter(p.h, RSTI_SYSTEM_INVALID_PACKETS), 2);
    CHECK_EQ(*p.publication->snd_lmt, 8192);
    harness_close(p.h);
}

/* 5120 bytes are sent, in datagrams of at most 1408 bytes. */
static void open_with_sent(publisher_t *p)
{
    publisher_open(p);
    publisher_connect(p);
    for (int i = 0; i < 40; i++) {
        (void)offer(p, 96);
    }
    pass(p->h);
    forget_frames(p->h);
}

/* H5, H6 */
TEST(nak_is_answered_once)
{
    publisher_t p;
    open_with_sent(&p);
    send_nak(&p, 1408, 1408);
    pass(p.h);
    CHECK_EQ(count_frames(p.h, RSTI_FRAME_DATA), 1);
    CHECK_EQ(last_frame(p.h, RSTI_FRAME_DATA)->length, 1408);
    CHECK_EQ(((const rsti_data_header_t *)(const void *)p.h->sent[0].data)->term_offset, 1408);
    forget_frames(p.h);
    send_nak(&p, 1408, 1408);
    pass(p.h);
    CHECK_EQ(p.h->sent_count, 0); /* lingers for 10 ms */
    advance(p.h, 12 * MS, 4 * MS);
    send_nak(&p, 1408, 1408);
    pass(p.h);
    CHECK_EQ(count_frames(p.h, RSTI_FRAME_DATA), 1);
    CHECK_EQ(counter(p.h, RSTI_SYSTEM_RETRANSMITS_SENT), 2);
    CHECK_EQ(*p.publication->snd_naks, 3);
    send_nak(&p, 64, 65536);
    send_nak(&p, 64, -32);
    send_nak(&p, 33, 32);
    send_nak(&p, 64, 0);
    pass(p.h);
    CHECK_EQ(counter(p.h, RSTI_SYSTEM_INVALID_PACKETS), 3);
    CHECK_EQ(*p.publication->snd_naks, 3);
    harness_close(p.h);
}

/* H6: an Aeron unicast sender remembers one retransmission. A NAK that cannot be answered, late or
 * invented, does not displace an answerable one. */
TEST(nak_without_an_answer_takes_no_place)
{
    publisher_t p;
    publisher_open(&p);
    publisher_connect(&p);
    for (int i = 0; i < 40; i++) {
        (void)offer(&p, 96);
    }
    pass(p.h);
    send_nak(&p, 1408, 1408);
    pass(p.h);
    forget_frames(p.h);
    const rsti_pacer_t before = p.publication->pacer;
    send_nak(&p, 40 * 128, 1408);  /* not sent yet */
    send_nak(&p, 60000 & ~31, 32); /* far from the sent position */
    send_nak(&p, 1408, 1408);
    pass(p.h);
    CHECK_EQ(p.h->sent_count, 0); /* still lingers */
    CHECK_EQ(*p.publication->snd_naks, 4);
    const rsti_pacer_t *pacer = &p.publication->pacer; /* and reports no loss */
    CHECK_EQ(pacer->last_loss_ns, before.last_loss_ns);
    CHECK_EQ(pacer->rate, before.rate);
    CHECK_EQ(pacer->rtt_ns, before.rtt_ns);
    CHECK_EQ(pacer->bytes.filled_ns, before.bytes.filled_ns);
    CHECK(pacer->bytes.level == before.bytes.level);
    harness_close(p.h);
}

/* H6: the padding at the end of a term is sent at once, however long, and a message of maximum
 * length in small frames needs far more than its length: a receiver may miss data that far behind.
 */
TEST(nak_is_answered_after_the_longest_padding)
{
    publisher_t p;
    publisher_open_on(&p, UDP "|mtu=128");
    publisher_connect(&p);
    offer_up_to(&p, 32768);
    pass(p.h);
    send_sm(&p, 0, 24064, 32 * 1024);
    pass(p.h);
    pass(p.h);
    offer_up_to(&p, 56704);
    static uint8_t longest[8192];
    const rsti_iovec_t part = {longest, sizeof longest};
    CHECK_EQ(rsti_append(&p.appender, &part, 1, sizeof longest, 0), RST_ADMIN_ACTION);
    for (int i = 0; i < 40; i++) {
        pass(p.h);
    }
    CHECK_EQ(*p.publication->snd_pos, 65536);
    forget_frames(p.h);
    send_nak(&p, 24064, 128);
    pass(p.h);
    CHECK_EQ(p.h->sent_count, 1);
    harness_close(p.h);
}

/* Aeron answers up to half a term behind. This log keeps a whole term: a receiver whose buffer of
 * half a term is full may also lack the bytes in flight. */
TEST(nak_is_answered_up_to_a_term_behind)
{
    publisher_t p;
    publisher_open(&p);
    publisher_connect(&p);
    for (int64_t position = 16384; position <= 5 * 16384; position += 16384) {
        offer_up_to(&p, position);
        pass(p.h);
        send_sm(&p, 0, position, 32 * 1024);
        pass(p.h);
        forget_frames(p.h);
    }
    CHECK_EQ(*p.publication->snd_pos, 5 * 16384);
    send_nak(&p, 16384 - 128, 128); /* more than a term: the conductor has cleaned it */
    pass(p.h);
    CHECK_EQ(p.h->sent_count, 0);
    send_nak(&p, 16384, 128);
    pass(p.h);
    CHECK_EQ(count_frames(p.h, RSTI_FRAME_DATA), 1);
    CHECK_EQ(last_frame(p.h, RSTI_FRAME_DATA)->length, 128);
    CHECK_EQ(((const rsti_data_header_t *)(const void *)p.h->sent[0].data)->term_offset, 16384);
    harness_close(p.h);
}

/* H6: nor does a NAK whose answer is blocked by the resend limit or by the socket. */
TEST(nak_that_could_not_be_answered_is_answered_when_repeated)
{
    publisher_t p;
    open_with_sent(&p);
    p.publication->resend_bytes.level = 0;
    p.publication->resend_bytes.filled_ns = p.h->manual.now_ns;
    send_nak(&p, 1408, 1408);
    pass(p.h);
    CHECK_EQ(count_frames(p.h, RSTI_FRAME_DATA), 0);
    CHECK_EQ(counter(p.h, RSTI_SYSTEM_RETRANSMIT_OVERFLOW), 1);
    p.publication->resend_bytes.level = 4096;
    send_nak(&p, 1408, 1408);
    pass(p.h);
    CHECK_EQ(count_frames(p.h, RSTI_FRAME_DATA), 1);
    harness_close(p.h);
}

/* O6 */
TEST(rttm_request_is_answered)
{
    publisher_t p;
    publisher_open(&p);
    publisher_connect(&p);
    const rsti_rttm_t rttm = {
        .frame = {RSTI_RTTM_LENGTH, 0, RSTI_RTTM_FLAG_REPLY, RSTI_FRAME_RTTM},
        .session_id = p.publication->base.session_id,
        .stream_id = 10,
        .echo_timestamp = 123456789,
        .receiver_id = 99,
    };
    inject(p.h, p.socket, RECEIVER, &rttm, sizeof rttm);
    pass(p.h);
    const rsti_rttm_t *reply = (const void *)last_frame(p.h, RSTI_FRAME_RTTM)->data;
    CHECK_EQ(reply->frame.flags, 0);
    CHECK_EQ(reply->echo_timestamp, 123456789);
    CHECK_EQ(reply->receiver_id, 99);
    harness_close(p.h);
}

/* N2 */
TEST(silent_receiver_disconnects)
{
    publisher_t p;
    publisher_open(&p);
    publisher_connect(&p);
    CHECK(offer(&p, 100) > 0);
    advance_alive(p.h, 6 * RSTI_NS_PER_S, 50 * MS);
    CHECK_EQ(p.publication->base.file.log.metadata->is_connected, 0);
    CHECK_EQ(*p.publication->base.pub_lmt, *p.publication->snd_pos);
    CHECK_EQ(offer(&p, 100), RST_NOT_CONNECTED);
    harness_close(p.h);
}

TEST(error_frame_reaches_the_client)
{
    publisher_t p;
    publisher_open(&p);
    publisher_connect(&p);
    uint8_t frame[RSTI_ERR_LENGTH + 6];
    const rsti_err_t err = {
        .frame = {sizeof frame, 0, 0, RSTI_FRAME_ERR},
        .session_id = p.publication->base.session_id,
        .stream_id = 10,
        .receiver_id = 99,
        .error_code = 13,
        .error_length = 6,
    };
    memcpy(frame, &err, sizeof err);
    memcpy(frame + RSTI_ERR_LENGTH, "no way", 6);
    inject(p.h, p.socket, RECEIVER, frame, sizeof frame);
    pass(p.h);
    const answer_t *error = answer_of_type(p.h, RSTI_RSP_PUBLICATION_ERROR);
    CHECK(error != NULL);
    CHECK_EQ(error->response.registration_id, p.id);
    CHECK_EQ(error->response.error_code, 13);
    CHECK_STR(error->text, "no way");
    CHECK_EQ(p.publication->base.file.log.metadata->is_connected, 0);
    harness_close(p.h);
}

/* J7, N13 */
TEST(end_of_stream_then_linger)
{
    publisher_t p;
    publisher_open(&p);
    publisher_connect(&p);
    CHECK_EQ(offer(&p, 96), 128);
    (void)take_away(p.h, RSTI_CMD_REMOVE_PUBLICATION, p.id);
    pass(p.h);
    pass(p.h);
    CHECK_EQ(p.publication->base.file.log.metadata->end_of_stream_position, 128);
    advance_alive(p.h, 110 * MS, MS);
    const rsti_data_header_t *eos = (const void *)last_frame(p.h, RSTI_FRAME_DATA)->data;
    CHECK_EQ(eos->frame.frame_length, 0);
    CHECK_EQ(eos->frame.flags, RSTI_FLAG_UNFRAGMENTED | RSTI_FLAG_EOS);
    CHECK_EQ(eos->term_offset, 128);
    forget_frames(p.h);
    send_nak(&p, 0, 128); /* still answered */
    advance_alive(p.h, 1000 * MS, 50 * MS);
    CHECK_EQ(counter(p.h, RSTI_SYSTEM_RETRANSMITS_SENT), 1);
    CHECK_EQ(p.h->driver->conductor->publications.count, 1);
    advance_alive(p.h, 5000 * MS, 50 * MS);
    CHECK_EQ(p.h->driver->conductor->publications.count, 0);
    CHECK_EQ(p.h->driver->conductor->send_endpoints.count, 0);
    CHECK(!p.h->sockets[0].is_open);
    harness_close(p.h);
}

static bool has_flag(const frame_t *frame, uint8_t flag)
{
    return (((const rsti_frame_header_t *)(const void *)frame->data)->flags & flag) != 0;
}

/* J7: no frame tells the end before more than 100 ms have passed since the last data, neither a
 * heartbeat of the interval nor an early one of a tail. Receivers of Aeron clients need that time:
 * an image takes no subscribers after its end. */
TEST(end_of_stream_waits_after_the_last_data)
{
    for (int has_tail = 0; has_tail < 2; has_tail++) {
        publisher_t p;
        publisher_open(&p);
        publisher_connect(&p);
        p.publication->rtt_ns = has_tail ? 8 * MS : 0;
        advance_alive(p.h, 500 * MS, 10 * MS);
        CHECK_EQ(offer(&p, 96), 128);
        pass(p.h);
        forget_frames(p.h);
        (void)take_away(p.h, RSTI_CMD_REMOVE_PUBLICATION, p.id);
        advance_alive(p.h, 100 * MS, MS);
        CHECK_EQ(count_frames(p.h, RSTI_FRAME_DATA), has_tail ? 5 : 0); /* 2 + 4 + 8 + 16 + 32 */
        for (int i = 0; i < p.h->sent_count; i++) {
            CHECK(!has_flag(&p.h->sent[i], RSTI_FLAG_EOS));
        }
        forget_frames(p.h);
        advance_alive(p.h, 2 * MS, MS);
        CHECK(has_flag(last_frame(p.h, RSTI_FRAME_DATA), RSTI_FLAG_EOS));
        harness_close(p.h);
    }
}

/* J7: a publication whose linger is shorter than that wait tells its end when it leaves. */
TEST(short_linger_tells_the_end)
{
    publisher_t p;
    publisher_open_on(&p, UDP "|linger=20ms");
    publisher_connect(&p);
    CHECK_EQ(offer(&p, 96), 128);
    (void)take_away(p.h, RSTI_CMD_REMOVE_PUBLICATION, p.id);
    advance_alive(p.h, 30 * MS, MS);
    CHECK_EQ(p.h->driver->conductor->publications.count, 0);
    CHECK(has_flag(last_frame(p.h, RSTI_FRAME_DATA), RSTI_FLAG_EOS));
    harness_close(p.h);
}

/* J7: a publisher that has been silent for longer tells the end at once. */
TEST(end_of_an_idle_stream_leaves_at_once)
{
    publisher_t p;
    publisher_open(&p);
    publisher_connect(&p);
    advance_alive(p.h, 350 * MS, 10 * MS);
    forget_frames(p.h);
    (void)take_away(p.h, RSTI_CMD_REMOVE_PUBLICATION, p.id);
    pass(p.h);
    pass(p.h);
    CHECK(has_flag(last_frame(p.h, RSTI_FRAME_DATA), RSTI_FLAG_EOS));
    harness_close(p.h);
}

/* J7, N13 */
TEST(receiver_that_leaves_ends_linger)
{
    publisher_t p;
    publisher_open(&p);
    publisher_connect(&p);
    (void)take_away(p.h, RSTI_CMD_REMOVE_PUBLICATION, p.id);
    send_sm(&p, RSTI_SM_FLAG_EOS, 0, 32 * 1024);
    advance_alive(p.h, 1200 * MS, 50 * MS);
    CHECK_EQ(p.h->driver->conductor->publications.count, 0);
    harness_close(p.h);
}

/* J7, N12 */
TEST(revoked_publication_says_so)
{
    publisher_t p;
    publisher_open(&p);
    const int64_t id = add(p.h, RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION, UDP, 11);
    rsti_network_publication_t *publication = p.h->driver->conductor->publications.items[1];
    const rsti_sm_t sm = {
        .frame = {RSTI_SM_LENGTH, 0, 0, RSTI_FRAME_SM},
        .session_id = publication->base.session_id,
        .stream_id = 11,
        .consumption_term_id = 5,
        .receiver_window = 32 * 1024,
        .receiver_id = 99,
    };
    inject(p.h, p.socket, RECEIVER, &sm, sizeof sm);
    pass(p.h);
    forget_frames(p.h);
    rsti_command_t revoke = {
        .type = RSTI_CMD_REMOVE_PUBLICATION, .registration_id = id, .flags = 1};
    (void)command(p.h, &revoke);
    pass(p.h);
    const rsti_data_header_t *eos = (const void *)last_frame(p.h, RSTI_FRAME_DATA)->data;
    CHECK_EQ(eos->frame.flags, 0xF0);
    CHECK_EQ(counter(p.h, RSTI_SYSTEM_PUBLICATIONS_REVOKED), 1);
    harness_close(p.h);
}

/* J7, N12: data sent after the revocation would create the readers' images again. */
TEST(revoked_publication_sends_nothing_more)
{
    publisher_t p;
    publisher_open(&p);
    p.publication->base.is_exclusive = true;
    send_sm(&p, 0, 0, 1500);
    pass(p.h);
    pass(p.h);
    CHECK_EQ(offer(&p, 992), 1024);
    CHECK_EQ(offer(&p, 992), 2048); /* the window has no room for it */
    pass(p.h);
    CHECK_EQ(*p.publication->snd_pos, 1024);
    forget_frames(p.h);
    rsti_command_t revoke = {
        .type = RSTI_CMD_REMOVE_PUBLICATION, .registration_id = p.id, .flags = 1};
    (void)command(p.h, &revoke);
    pass(p.h);
    const rsti_data_header_t *eos = (const void *)last_frame(p.h, RSTI_FRAME_DATA)->data;
    CHECK_EQ(eos->frame.flags, 0xF0);
    CHECK_EQ(eos->term_offset, 1024);
    forget_frames(p.h);
    send_sm(&p, 0, 1024, 32 * 1024); /* it was sent before the revocation arrived */
    send_sm(&p, RSTI_SM_FLAG_SEND_SETUP, 0, 0);
    pass(p.h);
    advance_alive(p.h, 300 * MS, 50 * MS);
    CHECK_EQ(*p.publication->snd_pos, 1024);
    CHECK_EQ(count_frames(p.h, RSTI_FRAME_SETUP), 0);
    for (int i = 0; i < p.h->sent_count; i++) {
        const rsti_data_header_t *header = (const void *)p.h->sent[i].data;
        CHECK(header->frame.type != RSTI_FRAME_DATA || header->frame.flags == 0xF0);
    }
    harness_close(p.h);
}

/* J3 */
TEST(limit_waits_for_clean_memory)
{
    publisher_t p;
    publisher_open(&p);
    publisher_connect(&p);
    int64_t position = 0;
    for (int i = 0; i < 4000; i++) {
        const int64_t result = offer(&p, 992);
        position = result > 0 ? result : position;
        if (result < 0) {
            forget_frames(p.h);
            pass(p.h);
            send_sm(&p, 0, *p.publication->snd_pos, 32 * 1024);
            pass(p.h);
        }
        const rsti_publication_t *base = &p.publication->base;
        CHECK(*base->pub_lmt <= *p.publication->snd_pos + 32 * 1024);
        CHECK((*base->pub_lmt >> 16) - (base->clean_position >> 16) <= 2);
    }
    CHECK(position > 20 * 65536);
    harness_close(p.h);
}

CHECK_MAIN(RUN(setup_is_repeated_until_a_status_message), RUN(data_respects_window_and_mtu),
    RUN(setup_goes_out_at_once_and_then_every_100_ms),
    RUN(heartbeats_go_on_between_elicited_setups), RUN(a_dead_claim_is_padded_and_sent),
    RUN(nak_is_answered_once), RUN(nak_without_an_answer_takes_no_place),
    RUN(nak_is_answered_after_the_longest_padding), RUN(nak_is_answered_up_to_a_term_behind),
    RUN(nak_that_could_not_be_answered_is_answered_when_repeated), RUN(rttm_request_is_answered),
    RUN(silent_receiver_disconnects), RUN(error_frame_reaches_the_client),
    RUN(end_of_stream_then_linger), RUN(end_of_stream_waits_after_the_last_data),
    RUN(short_linger_tells_the_end), RUN(end_of_an_idle_stream_leaves_at_once),
    RUN(receiver_that_leaves_ends_linger), RUN(revoked_publication_says_so),
    RUN(revoked_publication_sends_nothing_more), RUN(limit_waits_for_clean_memory))
