/* Fill NAKs in groups: the sender echoes the accepted fill to all its receivers, and a receiver
 * that hears another one's stays silent (flow/fill_echo.h, flow/fill_suppress.h). */
#include "logbuffer/appender.h"
#include "protocol/sm_fill.h"
#include "protocol/sm_items.h"
#include "tests/driver/harness.h"

#define STREAM 10
#define SESSION 1234
#define A "127.0.0.1:31001"
#define B "127.0.0.1:31002"
#define MB INT64_C(1000000)

#define IS_CLEAR -1

/* An additional status message with a fill NAK, or with "clear"; returns its length. */
static size_t fill_nak(uint8_t *frame, int64_t receiver_id, int32_t session_id, int64_t position,
    int64_t allowed)
{
    uint8_t value[RSTI_SM_FILL_LENGTH];
    const uint8_t has_tag = 0;
    const rsti_sm_fill_t fill = {.is_clear = allowed == IS_CLEAR,
        .fill = 0.5,
        .drain = 1000000,
        .allowed = allowed == IS_CLEAR ? 0 : allowed,
        .buffer_bytes = 65536};
    rsti_sm_items_writer_t writer;
    rsti_sm_fill_encode(&fill, value);
    rsti_sm_items_begin(&writer, frame + RSTI_SM_ITEMS_OFFSET, RSTI_SM_ITEMS_MAX);
    (void)rsti_sm_items_add(&writer, RSTI_SM_ITEM_TAG_PRESENT, &has_tag, 1);
    (void)rsti_sm_items_add(&writer, RSTI_SM_ITEM_FILL, value, sizeof value);
    const size_t length = RSTI_SM_ITEMS_OFFSET + rsti_sm_items_end(&writer);
    const rsti_sm_t sm = {
        .frame = {(int32_t)length, 0, 0, RSTI_FRAME_SM},
        .session_id = session_id,
        .stream_id = STREAM,
        .consumption_term_id = 5 + (int32_t)(position >> 16),
        .consumption_term_offset = (int32_t)(position & 0xFFFF),
        .receiver_window = 65536 / 2,
        .receiver_id = receiver_id,
    };
    memset(frame + RSTI_SM_LENGTH, 0, 8);
    memcpy(frame, &sm, sizeof sm);
    return length;
}

/* ---- the sender ---- */

typedef struct publisher_t {
    harness_t *h;
    rsti_network_publication_t *publication;
} publisher_t;

static void send_plain(const publisher_t *p, const char *from, int64_t receiver_id,
    int64_t position)
{
    rsti_sm_t sm = {
        .frame = {RSTI_SM_LENGTH, 0, 0, RSTI_FRAME_SM},
        .session_id = p->publication->base.session_id,
        .stream_id = STREAM,
        .consumption_term_id = 5 + (int32_t)(position >> 16),
        .consumption_term_offset = (int32_t)(position & 0xFFFF),
        .receiver_window = 65536 / 2,
        .receiver_id = receiver_id,
    };
    inject(p->h, p->publication->endpoint->socket, from, &sm, sizeof sm);
    pass(p->h);
}

/* The number of status messages sent after a report from this receiver. */
static int echoes_from(const publisher_t *p, const char *from, int64_t receiver_id,
    int64_t position, int64_t allowed)
{
    uint8_t frame[RSTI_SM_ITEMS_OFFSET + RSTI_SM_ITEMS_MAX];
    const size_t length = fill_nak(frame, receiver_id, p->publication->base.session_id, position,
        allowed);
    forget_frames(p->h);
    inject(p->h, p->publication->endpoint->socket, from, frame, length);
    p->h->manual.now_ns += 1000;
    pass(p->h);
    int count = 0;
    for (int i = 0; i < p->h->sent_count; i++) {
        const frame_t *sent = &p->h->sent[i];
        count += frame_type(sent) == RSTI_FRAME_SM && sent->length == length
            && memcmp(sent->data, frame, length) == 0;
    }
    return count;
}

static int echoes_of(const publisher_t *p, const char *from, int64_t receiver_id, int64_t allowed)
{
    return echoes_from(p, from, receiver_id, 0, allowed);
}

static publisher_t publisher_open(const char *rate)
{
    char channel[256];
    snprintf(channel, sizeof channel,
        "aeron:udp?control=127.0.0.1:24401|control-mode=dynamic%s"
        "|init-term-id=5|term-id=5|term-offset=0|term-length=64k",
        rate);
    publisher_t p = {.h = harness_open()};
    (void)add(p.h, RSTI_CMD_ADD_PUBLICATION, channel, STREAM);
    p.publication = p.h->driver->conductor->publications.items[0];
    send_plain(&p, A, 1, 0);
    send_plain(&p, B, 2, 0);
    pass(p.h); /* both are asked for a proof, and answer */
    pass(p.h);
    return p;
}

TEST(accepted_fill_is_echoed_to_all_destinations)
{
    const publisher_t p = publisher_open("|rs-rate=adaptive");
    CHECK_EQ(p.publication->endpoint->destinations->count, 2);
    CHECK_EQ(echoes_of(&p, A, 1, 50 * MB), 2); /* to both: a receiver recognizes its own */
    CHECK_EQ(echoes_of(&p, B, 2, 50 * MB), 0); /* allows as much as the last: nothing new */
    CHECK_EQ(echoes_of(&p, B, 2, 10 * MB), 2);
    CHECK_EQ(echoes_of(&p, A, 1, IS_CLEAR), 0);
    advance_alive(p.h, 100 * MS, 10 * MS);
    CHECK_EQ(echoes_of(&p, A, 1, IS_CLEAR), 0);
    CHECK_EQ(echoes_of(&p, A, 1, 50 * MB), 2); /* a period later */
    harness_close(p.h);
}

/* Under fc=max a receiver whose buffer of half a term is full is behind by that and the bytes in
 * flight. That is too far for its status message to count, and near enough for its fill report. A
 * receiver that misses cleaned data cannot be waited for. */
TEST(the_fullest_is_heard_from_further_behind_than_half_a_term)
{
    const publisher_t p = publisher_open("|rs-rate=adaptive");
    rsti_publication_t *base = &p.publication->base;
    static uint8_t message[992];
    const rsti_iovec_t part = {message, sizeof message};
    rsti_appender_t appender;
    rsti_appender_init(&appender, &base->file.log, base->pub_lmt, base->session_id, base->stream_id,
        false);
    for (int i = 0; i < 200 && *p.publication->snd_pos < 98304; i++) {
        (void)rsti_append(&appender, &part, 1, sizeof message, 0);
        advance_alive(p.h, MS, MS);
        send_plain(&p, A, 1, *p.publication->snd_pos);
    }
    CHECK_EQ(*p.publication->snd_pos, 98304);
    const double before = p.publication->send_rate.rate.bytes_per_s;
    CHECK_EQ(echoes_from(&p, B, 2, 98304 - 65536 - 1024, 0), 0);
    CHECK(p.publication->send_rate.rate.bytes_per_s >= before);
    CHECK_EQ(echoes_from(&p, B, 2, 98304 - 65536, 0), 2);
    CHECK(p.publication->send_rate.rate.bytes_per_s < 0.6 * before);
    CHECK_EQ(counter(p.h, RSTI_SYSTEM_SM_REJECTED), 2); /* it is no sign of life */
    harness_close(p.h);
}

TEST(without_a_law_that_follows_fill_nothing_is_echoed)
{
    const publisher_t p = publisher_open("");
    CHECK_EQ(echoes_of(&p, A, 1, 0), 0);
    harness_close(p.h);
}

/* ---- the receiver ---- */

typedef struct reader_t {
    harness_t *h;
    rsti_image_t *image;
    rsti_socket_t *socket;
} reader_t;

static reader_t reader_open(void)
{
    reader_t r = {.h = harness_open()};
    (void)add(r.h, RSTI_CMD_ADD_SUBSCRIPTION,
        "aeron:udp?endpoint=127.0.0.1:24501|group=true|rcv-wnd=32k", STREAM);
    const rsti_receive_endpoint_t *endpoint = r.h->driver->conductor->receive_endpoints.items[0];
    r.socket = endpoint->owned[0]->socket;
    const rsti_setup_t setup = {
        .frame = {RSTI_SETUP_LENGTH, 0,
            RSTI_SETUP_FLAG_RSTREAM | RSTI_SETUP_FLAG_FILL | RSTI_SETUP_FLAG_GROUP,
            RSTI_FRAME_SETUP},
        .session_id = SESSION,
        .stream_id = STREAM,
        .initial_term_id = 5,
        .active_term_id = 5,
        .term_length = 65536,
        .mtu = 1408,
    };
    inject(r.h, r.socket, A, &setup, sizeof setup);
    pass(r.h);
    pass(r.h);
    r.image = r.h->driver->conductor->images.items[0];
    return r;
}

static int fill_naks_sent(const reader_t *r)
{
    int count = 0;
    for (int i = 0; i < r->h->sent_count; i++) {
        count += frame_type(&r->h->sent[i]) == RSTI_FRAME_SM
            && r->h->sent[i].length > RSTI_SM_ITEMS_OFFSET + 50;
    }
    return count;
}

/* A window of data comes in half a second and there is no reader. Each millisecond an echo of
 * receiver_id arrives (0: of its own), or none at all. Returns the number of fill NAKs sent. */
static int overload(bool has_echo, int64_t receiver_id, int32_t session_id, int64_t allowed)
{
    reader_t r = reader_open();
    const int64_t own_id = r.image->endpoint->receiver_id;
    int naks = 0;
    for (int i = 0; i < 500; i++) {
        uint8_t datagram[64] = {0};
        rsti_data_header_t header;
        rsti_data_header_fill(&header, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA, SESSION, STREAM, 5,
            64 * i);
        header.frame.frame_length = sizeof datagram;
        memcpy(datagram, &header, sizeof header);
        inject(r.h, r.socket, A, datagram, sizeof datagram);
        if (has_echo) {
            uint8_t frame[RSTI_SM_ITEMS_OFFSET + RSTI_SM_ITEMS_MAX];
            const size_t length = fill_nak(frame, receiver_id == 0 ? own_id : receiver_id,
                session_id, 0, allowed);
            inject(r.h, r.socket, A, frame, length);
        }
        forget_frames(r.h);
        advance_alive(r.h, MS, MS);
        naks += fill_naks_sent(&r);
    }
    harness_close(r.h);
    return naks;
}

TEST(receiver_that_hears_an_echo_stays_silent)
{
    const int alone = overload(false, 1, SESSION, 0);
    fprintf(stderr, "%d fill NAKs alone\n", alone);
    CHECK(alone > 10);
    CHECK_EQ(overload(true, 4711, SESSION, 0), 0);
    /* One that allows more does not silence a fuller receiver. */
    CHECK_EQ(overload(true, 4711, SESSION, 100 * MB), alone);
    CHECK_EQ(overload(true, 4711, SESSION, IS_CLEAR), alone);
    CHECK_EQ(overload(true, 0, SESSION, 0), alone); /* its own echo does not count */
    CHECK_EQ(overload(true, 4711, SESSION + 1, 0), alone);
}

TEST(invalid_echoes_change_nothing)
{
    reader_t r = reader_open();
    uint8_t frame[RSTI_SM_ITEMS_OFFSET + RSTI_SM_ITEMS_MAX];
    const size_t length = fill_nak(frame, 4711, SESSION, 0, 0);
    for (size_t cut = RSTI_SM_LENGTH; cut < length; cut++) {
        uint8_t shorter[sizeof frame];
        const int32_t told = (int32_t)cut;
        memcpy(shorter, frame, cut);
        inject(r.h, r.socket, A, shorter, cut); /* its report says that its queue is longer */
        memcpy(shorter, &told, sizeof told);
        inject(r.h, r.socket, A, shorter, cut);
        pass(r.h);
    }
    CHECK_EQ(r.image->fill.heard_count, 0);
    inject(r.h, r.socket, A, frame, length);
    pass(r.h);
    CHECK_EQ(r.image->fill.heard_count, 1);
    harness_close(r.h);
}

CHECK_MAIN(RUN(accepted_fill_is_echoed_to_all_destinations),
    RUN(the_fullest_is_heard_from_further_behind_than_half_a_term),
    RUN(without_a_law_that_follows_fill_nothing_is_echoed),
    RUN(receiver_that_hears_an_echo_stays_silent), RUN(invalid_echoes_change_nothing))
