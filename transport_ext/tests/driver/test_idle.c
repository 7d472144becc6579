/* test_idle.c: how often an idle driver checks its streams. Each pass checks all of them, so the
 * number of passes must not grow with the number of streams: otherwise an idle driver would cost
 * the square of them. */
#include "tests/driver/harness.h"

#define STREAMS_MOST 64
#define READER "127.0.0.1:24400"
#define WRITER "127.0.0.1:31001"

static void connect_publication(harness_t *h, int32_t number)
{
    char channel[96];
    snprintf(channel, sizeof channel, "aeron:udp?endpoint=" READER "|session-id=%" PRId32, number);
    (void)add(h, RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION, channel, 10);
    const rsti_network_publication_t *publication =
        h->driver->conductor->publications.items[h->driver->conductor->publications.count - 1];
    const rsti_sm_t sm = {
        .frame = {RSTI_SM_LENGTH, 0, 0, RSTI_FRAME_SM},
        .session_id = number,
        .stream_id = 10,
        .consumption_term_id = publication->base.file.log.initial_term_id,
        .receiver_window = 32 * 1024,
        .receiver_id = 99,
    };
    inject(h, publication->endpoint->socket, READER, &sm, sizeof sm);
    pass(h);
}

static void connect_image(harness_t *h, int32_t session_id)
{
    const rsti_receive_endpoint_t *endpoint = h->driver->conductor->receive_endpoints.items[0];
    const rsti_setup_t setup = {
        .frame = {RSTI_SETUP_LENGTH, 0, 0, RSTI_FRAME_SETUP},
        .session_id = session_id,
        .stream_id = 20,
        .initial_term_id = 5,
        .active_term_id = 5,
        .term_length = 65536,
        .mtu = 1408,
    };
    inject(h, endpoint->owned[0]->socket, WRITER, &setup, sizeof setup);
    pass(h);
    pass(h);
}

static int64_t work_of_a_pass(harness_t *h)
{
    int64_t deadline;
    h->manual.now_ns += MS;
    return rst_driver_do_work(h->driver, &deadline);
}

/* A limit that moved is work: the peer goes on within microseconds, and an Aeron client never wakes
 * the driver. A pass in which nothing moved is none. */
TEST(moved_limits_are_work)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:ipc?term-length=64k", 10);
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", 10);
    rsti_publication_t *ipc = h->driver->conductor->ipc_publications.items[0];
    pass(h);
    CHECK_EQ(work_of_a_pass(h), 0);
    const int64_t limit = *ipc->pub_lmt;
    *ipc->subscribers.items[0].position = 8192;
    CHECK_EQ(work_of_a_pass(h), 1);
    CHECK_EQ(*ipc->pub_lmt, limit + 8192);
    CHECK_EQ(work_of_a_pass(h), 0);
    harness_close(h);
}

/* Passes in half a second with as many publications and images, each with its own phase. The clock
 * advances from one deadline to the next. */
static int passes(int32_t count, int *heartbeats, int *status_messages)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:udp?endpoint=127.0.0.1:24501", 20);
    for (int32_t i = 1; i <= count; i++) {
        connect_publication(h, i);
        advance_alive(h, 700000, 700000);
        connect_image(h, 1000 + i);
        advance_alive(h, 800000, 800000);
    }
    advance_alive(h, 300 * MS, MS);
    forget_frames(h);
    int made = 0;
    for (int64_t end_ns = h->manual.now_ns + 500 * MS; h->manual.now_ns < end_ns; made++) {
        int64_t deadline_ns = end_ns;
        keepalive(h);
        if (rst_driver_do_work(h->driver, &deadline_ns) == 0) {
            h->manual.now_ns = rsti_max_i64(h->manual.now_ns + 1,
                rsti_min_i64(deadline_ns, end_ns));
        }
    }
    *heartbeats = count_frames(h, RSTI_FRAME_DATA);
    *status_messages = count_frames(h, RSTI_FRAME_SM);
    harness_close(h);
    return made;
}

TEST(many_streams_are_looked_at_together)
{
    int heartbeats = 0, status_messages = 0;
    const int few = passes(STREAMS_MOST / 8, &heartbeats, &status_messages);
    fprintf(stderr, "%d streams: %d passes\n", STREAMS_MOST / 8, few);
    const int many = passes(STREAMS_MOST, &heartbeats, &status_messages);
    fprintf(stderr, "%d streams: %d passes, %d heartbeats, %d status messages\n", STREAMS_MOST,
        many, heartbeats, status_messages);
    CHECK(many <= 250); /* one each 5 ms, and one between for images; it was 7 for each stream */
    CHECK(many <= 4 * few);
    /* And no deadline is missed: each is late by less than a twentieth. */
    CHECK(heartbeats >= STREAMS_MOST * 4 && heartbeats <= STREAMS_MOST * 5);
    CHECK(status_messages >= STREAMS_MOST * 2 && status_messages <= STREAMS_MOST * 3);
}

CHECK_MAIN(RUN(moved_limits_are_work), RUN(many_streams_are_looked_at_together))
