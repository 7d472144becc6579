/* test_path_udp.c: streams that follow the path (flow/path.h, docs/reference/wire.md "Path"): what
 * a receiver tells, and to whom; what a sender makes of it, on a bottleneck in virtual time. */
#include "protocol/sm_items.h"
#include "tests/driver/link.h"

#define SENDER "127.0.0.1:30001"
#define SESSION 1234
#define STREAM 10
#define TERM 65536
#define FLAGS (RSTI_SETUP_FLAG_RSTREAM | RSTI_SETUP_FLAG_PATH)

typedef struct reader_t {
    harness_t *h;
    rsti_socket_t *socket;
} reader_t;

static reader_t reader_open(const char *channel, uint8_t flags)
{
    reader_t r = {.h = harness_open()};
    (void)add(r.h, RSTI_CMD_ADD_SUBSCRIPTION, channel, STREAM);
    const rsti_receive_endpoint_t *endpoint = r.h->driver->conductor->receive_endpoints.items[0];
    r.socket = endpoint->owned[0]->socket;
    const rsti_setup_t setup = {
        .frame = {RSTI_SETUP_LENGTH, 0, flags, RSTI_FRAME_SETUP},
        .session_id = SESSION,
        .stream_id = STREAM,
        .initial_term_id = 7,
        .active_term_id = 7,
        .term_length = TERM,
        .mtu = 1408,
    };
    inject(r.h, r.socket, SENDER, &setup, sizeof setup);
    pass(r.h);
    pass(r.h);
    forget_frames(r.h);
    return r;
}

static void bring(const reader_t *r, int32_t offset)
{
    uint8_t datagram[1024] = {0};
    rsti_data_header_t header;
    rsti_data_header_fill(&header, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA, SESSION, STREAM, 7,
        offset);
    header.frame.frame_length = sizeof datagram;
    memcpy(datagram, &header, sizeof header);
    inject(r->h, r->socket, SENDER, datagram, sizeof datagram);
    pass(r->h);
}

/* How many status messages told of arrivals since the last call, and the newest of these. */
static int told(const reader_t *r, rsti_sm_path_t *path)
{
    int count = 0;
    for (int i = 0; i < r->h->sent_count; i++) {
        const frame_t *frame = &r->h->sent[i];
        rsti_sm_items_t items;
        if (frame_type(frame) == RSTI_FRAME_SM
            && rsti_sm_items_decode(&items, (const void *)frame->data) && items.has_path) {
            *path = items.path;
            count++;
        }
    }
    forget_frames(r->h);
    return count;
}

TEST(a_source_that_follows_the_path_is_told_what_arrives)
{
    const reader_t r = reader_open("aeron:udp?endpoint=127.0.0.1:24500", FLAGS);
    rsti_sm_path_t path = {0};
    advance_alive(r.h, 50 * MS, MS);
    CHECK_EQ(told(&r, &path), 0); /* nothing came */
    bring(&r, 0);
    CHECK_EQ(told(&r, &path), 1); /* the first one at once */
    CHECK_EQ(path.highest, 1024);
    CHECK_EQ(path.received, 1024);
    CHECK(path.clock_ns < 100 * MS); /* since the image began */
    bring(&r, 3072);
    bring(&r, 3072);
    CHECK_EQ(told(&r, &path), 0);
    advance(r.h, RSTI_PATH_PERIOD_LEAST_NS, RSTI_PATH_PERIOD_LEAST_NS);
    CHECK_EQ(told(&r, &path), 1); /* no round trip is known: the least period */
    CHECK_EQ(path.contiguous, 1024);
    CHECK_EQ(path.highest, 4096);
    CHECK_EQ(path.received, 3072);
    CHECK_EQ(path.since, 1024);
    CHECK_EQ(path.missing, 2048);
    CHECK_EQ(path.hold_ns, RSTI_PATH_PERIOD_LEAST_NS);
    advance_alive(r.h, 50 * MS, MS);
    CHECK_EQ(told(&r, &path), 0);
    harness_close(r.h);
}

TEST(others_are_told_nothing_of_it)
{
    static const uint8_t kinds[] = {0, RSTI_SETUP_FLAG_RSTREAM,
        RSTI_SETUP_FLAG_PATH, /* a flag that an Aeron driver may set one day */
        RSTI_SETUP_FLAG_RSTREAM | RSTI_SETUP_FLAG_FILL};
    for (size_t i = 0; i < sizeof kinds; i++) {
        const reader_t r = reader_open("aeron:udp?endpoint=127.0.0.1:24500", kinds[i]);
        rsti_sm_path_t path;
        for (int32_t n = 0; n < 20; n++) {
            bring(&r, 1024 * n);
            advance_alive(r.h, MS, MS);
        }
        CHECK_EQ(told(&r, &path), 0);
        harness_close(r.h);
    }
}

CHECK_MAIN(RUN(a_source_that_follows_the_path_is_told_what_arrives),
    RUN(others_are_told_nothing_of_it))
