/* Several senders of one consumer: each is told its fair share of what the consumer takes from all
 * of them (flow/fair_share.h), by the images that share an endpoint and a stream. */
#include "protocol/sm_fill.h"
#include "protocol/sm_items.h"
#include "tests/driver/harness.h"

#define STREAM 10
#define FROM "127.0.0.1:31001"
#define SENDERS 3

typedef struct reader_t {
    harness_t *h;
    rsti_socket_t *socket;
    int32_t offsets[SENDERS];
    rsti_sm_fill_t told[SENDERS]; /* the last fill NAK to each */
    int counts[SENDERS];
} reader_t;

static void bring_setup(reader_t *r, int sender)
{
    const rsti_setup_t setup = {
        .frame = {RSTI_SETUP_LENGTH, 0, RSTI_SETUP_FLAG_RSTREAM | RSTI_SETUP_FLAG_FILL,
            RSTI_FRAME_SETUP},
        .session_id = sender,
        .stream_id = STREAM,
        .initial_term_id = 5,
        .active_term_id = 5,
        .term_length = 1 << 20,
        .mtu = 1408,
    };
    inject(r->h, r->socket, FROM, &setup, sizeof setup);
    pass(r->h);
    pass(r->h);
}

static reader_t reader_open(int senders)
{
    reader_t r = {.h = harness_open()};
    (void)add(r.h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:udp?endpoint=127.0.0.1:24501|rcv-wnd=64k",
        STREAM);
    const rsti_receive_endpoint_t *endpoint = r.h->driver->conductor->receive_endpoints.items[0];
    r.socket = endpoint->owned[0]->socket;
    for (int i = 0; i < senders; i++) {
        bring_setup(&r, i);
    }
    return r;
}

static rsti_image_t *image_of(const reader_t *r, int sender)
{
    rsti_image_t *found = NULL;
    const rsti_ptr_array_t *images = &r->h->driver->conductor->images;
    for (size_t i = 0; i < images->count; i++) {
        rsti_image_t *image = images->items[i];
        found = image->session_id == sender ? image : found;
    }
    return found;
}

static void bring(reader_t *r, int sender, int32_t length)
{
    uint8_t datagram[1408] = {0};
    rsti_data_header_t header;
    rsti_data_header_fill(&header, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA, sender, STREAM, 5,
        r->offsets[sender]);
    header.frame.frame_length = length;
    memcpy(datagram, &header, sizeof header);
    inject(r->h, r->socket, FROM, datagram, (size_t)length);
    r->offsets[sender] += length;
}

static void take_reports(reader_t *r)
{
    for (int i = 0; i < r->h->sent_count; i++) {
        const frame_t *sent = &r->h->sent[i];
        _Alignas(8) uint8_t frame[RSTI_SM_ITEMS_OFFSET + RSTI_SM_ITEMS_MAX];
        rsti_sm_items_t items;
        rsti_sm_t *sm = (void *)frame;
        if (frame_type(sent) != RSTI_FRAME_SM || sent->length > sizeof frame) {
            continue;
        }
        memcpy(frame, sent->data, sent->length);
        if (rsti_sm_items_decode(&items, sm) && items.has_fill && !items.fill.is_clear) {
            r->told[sm->session_id] = items.fill;
            r->counts[sm->session_id]++;
        }
    }
}

/* In each millisecond that many bytes come from each sender, and the consumer takes as many, so
 * that the rests stay in the queues. */
static void run(reader_t *r, int ms, int senders, const int32_t *bytes, const int32_t *rests)
{
    for (int step = 0; step < ms; step++) {
        forget_frames(r->h);
        for (int i = 0; i < senders; i++) {
            bring(r, i, bytes[i]);
        }
        pass(r->h);
        for (int i = 0; i < senders; i++) {
            int64_t *position = image_of(r, i)->subscribers.items[0].position;
            rsti_store_release_i64(position, rsti_max_i64(*position, r->offsets[i] - rests[i]));
        }
        advance_alive(r->h, MS, MS);
        take_reports(r);
    }
}

static bool is_near(int64_t value, int64_t expected)
{
    return value >= expected * 95 / 100 && value <= expected * 105 / 100;
}

/* 1.28 and 0.32 MB/s, and both would send more. */
TEST(unequal_senders_are_told_equal_shares)
{
    reader_t r = reader_open(2);
    run(&r, 300, 2, (const int32_t[]){1280, 320}, (const int32_t[]){12800, 12800});
    CHECK(r.counts[0] > 10 && r.counts[1] > 10);
    CHECK(is_near(r.told[0].drain, 800000));
    CHECK(is_near(r.told[1].drain, 800000));
    harness_close(r.h);
}

TEST(a_small_sender_keeps_its_rate)
{
    reader_t r = reader_open(3);
    run(&r, 300, 3, (const int32_t[]){1280, 640, 64}, (const int32_t[]){12800, 12800, 0});
    CHECK_EQ(r.counts[2], 0);
    CHECK(is_near(r.told[0].drain, 960000)); /* what it leaves, in equal parts */
    CHECK(is_near(r.told[1].drain, 960000));
    harness_close(r.h);
}

TEST(a_single_sender_is_told_the_drain)
{
    reader_t r = reader_open(1);
    run(&r, 300, 1, (const int32_t[]){640}, (const int32_t[]){12800});
    CHECK(r.counts[0] > 10);
    CHECK(is_near(r.told[0].drain, 640000));
    harness_close(r.h);
}

CHECK_MAIN(RUN(unequal_senders_are_told_equal_shares), RUN(a_small_sender_keeps_its_rate),
    RUN(a_single_sender_is_told_the_drain))
