/* Loss and fill: data behind a gap are not a full buffer, data that the buffer could not take are
 * one; and a stream under the adaptive rate fills a lossy link (E6 of docs/results/flow.md, in
 * short). */
#include "tests/driver/link.h"

#define STREAM 10
#define SESSION 1234
#define FROM "127.0.0.1:31001"

typedef struct reader_t {
    harness_t *h;
    rsti_image_t *image;
    rsti_socket_t *socket;
} reader_t;

static reader_t reader_open(void)
{
    reader_t r = {.h = harness_open()};
    (void)add(r.h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:udp?endpoint=127.0.0.1:24501|rcv-wnd=32k",
        STREAM);
    const rsti_receive_endpoint_t *endpoint = r.h->driver->conductor->receive_endpoints.items[0];
    r.socket = endpoint->owned[0]->socket;
    const rsti_setup_t setup = {
        .frame = {RSTI_SETUP_LENGTH, 0, RSTI_SETUP_FLAG_RSTREAM | RSTI_SETUP_FLAG_FILL,
            RSTI_FRAME_SETUP},
        .session_id = SESSION,
        .stream_id = STREAM,
        .initial_term_id = 5,
        .active_term_id = 5,
        .term_length = 65536,
        .mtu = 1408,
    };
    inject(r.h, r.socket, FROM, &setup, sizeof setup);
    pass(r.h);
    pass(r.h);
    r.image = r.h->driver->conductor->images.items[0];
    return r;
}

static void bring(const reader_t *r, int32_t offset)
{
    uint8_t datagram[1024] = {0};
    rsti_data_header_t header;
    rsti_data_header_fill(&header, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA, SESSION, STREAM, 5,
        offset);
    header.frame.frame_length = sizeof datagram;
    memcpy(datagram, &header, sizeof header);
    inject(r->h, r->socket, FROM, datagram, sizeof datagram);
    advance_alive(r->h, MS, MS);
}

TEST(data_behind_a_gap_are_no_full_buffer)
{
    reader_t r = reader_open();
    for (int32_t i = 1; i < 28; i++) { /* the first one is missing */
        bring(&r, 1024 * i);
    }
    CHECK_EQ(*r.image->fill.told_fill, 0);
    CHECK_EQ(*r.image->fill.told_naks, 0);
    bring(&r, 0); /* now all of it is readable */
    advance_alive(r.h, MS, MS);
    CHECK_EQ(*r.image->fill.told_fill, 1000 * 28 / 32);
    advance_alive(r.h, 50 * MS, MS);
    CHECK_EQ(*r.image->fill.told_naks, 0); /* nothing was taken yet: the window may be filled */
    harness_close(r.h);
}

/* A reader of 1 MB/s, so its set point is 8 KB. After a repair 9 KB are readable at once. */
static int64_t naks_after_a_repair(int ms_until_taken)
{
    reader_t r = reader_open();
    int64_t *position = r.image->subscribers.items[0].position;
    int32_t at = 0;
    for (; at < 30 * 1024; at += 1024) {
        bring(&r, at);
        *position = at + 1024;
    }
    for (int32_t i = 1; i <= 8; i++) {
        bring(&r, at + 1024 * i);
    }
    bring(&r, at);
    advance_alive(r.h, ms_until_taken * MS, MS);
    *position = at + 9 * 1024;
    advance_alive(r.h, 20 * MS, MS);
    const bool is_all_there = rsti_load_acquire_i64(&r.image->high_water) == at + 9 * 1024;
    const int64_t naks = is_all_there ? *r.image->fill.told_naks : -1;
    harness_close(r.h);
    return naks;
}

TEST(repaired_data_that_are_taken_soon_are_no_overload)
{
    CHECK_EQ(naks_after_a_repair(0), 0);
    CHECK_EQ(naks_after_a_repair(1), 0);
    CHECK(naks_after_a_repair(3) > 0);
}

TEST(dropped_data_count_until_they_arrive)
{
    reader_t r = reader_open();
    for (int32_t i = 1; i < 32; i++) {
        bring(&r, 1024 * i);
    }
    bring(&r, 1024 * 32); /* half a term beyond what was consumed: dropped */
    CHECK_EQ(counter(r.h, RSTI_SYSTEM_FLOW_CONTROL_OVER_RUNS), 1);
    advance_alive(r.h, 50 * MS, MS);
    CHECK_EQ(*r.image->fill.told_fill, 1000);
    harness_close(r.h);
}

/* A link of 100 MB/s that is the sender's own interface, and a receiver that could take twice as
 * much. */
static double goodput(int64_t delay_ns, double loss, int64_t *reports)
{
    const link_params_t params = {.rate_bytes_per_s = 100000000,
        .delay_ns = delay_ns,
        .loss = loss,
        .seed = check_seed(),
        .is_own = true};
    link_t *l = link_open(&params);
    l->read_bytes_per_s = 200000000;
    double share = 0;
    if (link_stream(l, "cc=auto|rcv-wnd=4m", "term-length=8m|rs-rate=adaptive")) {
        link_run(l, RSTI_NS_PER_S);
        const int64_t before = l->bytes_read;
        /* At least 200 round trips. A datagram that is lost four times holds up what comes behind
         * it for longer than the buffer lasts, so fewer do not tell what the stream gets. */
        const int64_t sample_ns = rsti_max_i64(RSTI_NS_PER_S / 2, 400 * delay_ns);
        link_run(l, sample_ns);
        share = (double)(l->bytes_read - before) / (double)sample_ns / (0.1 * (1 - loss));
        *reports = *l->publication->send_rate.told.fill_naks;
    }
    fprintf(stderr, "loss %.3f, %.2f ms: %.3f of link x (1 - loss), %" PRId64 " fill NAKs\n", loss,
        (double)delay_ns / 5e5, share, *reports);
    link_close(l);
    return share;
}

TEST(lossy_path_is_full_all_the_same)
{
    static const int64_t delays_ns[] = {25000, 500000, 5000000};
    static const double losses[] = {0.001, 0.01, 0.05};
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            int64_t reports = -1;
            CHECK(goodput(delays_ns[i], losses[j], &reports) >= 0.9);
            /* At 10 ms a repair makes 1 MB readable at once, a quarter of the buffer: in
             * every other round trip of 3 s there may be a report, and none slows the stream. */
            CHECK(reports <= (i < 2 ? 3 : 150));
        }
    }
}

CHECK_MAIN(RUN(data_behind_a_gap_are_no_full_buffer),
    RUN(repaired_data_that_are_taken_soon_are_no_overload),
    RUN(dropped_data_count_until_they_arrive), RUN(lossy_path_is_full_all_the_same))
