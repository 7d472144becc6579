/* Subscriptions that stall for rs-evict: when they are evicted, that the others go on, and that
 * they never return by themselves (docs/how-to/slow-consumers.md). */
#include "concurrent/eviction.h"
#include "logbuffer/appender.h"
#include "tests/driver/harness.h"

#define CHANNEL                                                                                    \
    "aeron:udp?endpoint=127.0.0.1:24400|term-length=64k|init-term-id=5|term-id=5|term-offset=0"
#define SPY "aeron-spy:aeron:udp?endpoint=127.0.0.1:24400"
#define RECEIVER "127.0.0.1:24400"
#define READERS "aeron:udp?endpoint=127.0.0.1:24500"
#define WINDOW (32 * 1024)

static rsti_publication_t *publication(const harness_t *h, bool is_spy)
{
    rsti_conductor_t *conductor = h->driver->conductor;
    if (is_spy) {
        return &((rsti_network_publication_t *)conductor->publications.items[0])->base;
    }
    return &((rsti_ipc_publication_t *)conductor->ipc_publications.items[0])->base;
}

/* Writes as much as there is room for; returns the producer's position. */
static int64_t fill(const harness_t *h, rsti_publication_t *base)
{
    static uint8_t message[2048];
    const rsti_iovec_t part = {message, 992};
    rsti_appender_t appender;
    rsti_appender_init(&appender, &base->file.log, base->pub_lmt, base->session_id, 10, false);
    for (int i = 0; i < 4000; i++) {
        const int64_t result = rsti_append(&appender, &part, 1, part.length, 0);
        if (result != RST_ADMIN_ACTION && result < 0) {
            break;
        }
    }
    (void)h;
    return rsti_log_producer_position(&base->file.log);
}

static int64_t *reader(const rsti_publication_t *base, int32_t index)
{
    return base->subscribers.items[index].position;
}

static int64_t let_go_ms(int64_t *position)
{
    return rsti_reader_ext((rsti_counter_value_t *)(void *)position)->let_go_ms;
}

static int count_of(const harness_t *h, int32_t type, int64_t registration_id)
{
    int count = 0;
    for (int i = 0; i < h->answer_count; i++) {
        count += h->answers[i].type == type
            && h->answers[i].response.registration_id == registration_id;
    }
    return count;
}

/* One of two readers stalls: it is warned after three quarters of the second and evicted after all
 * of it, and later data do not bring it back. */
static void check_two_readers(const char *channel, const char *good_channel,
    const char *hung_channel)
{
    harness_t *h = harness_open();
    const int64_t id = add(h, RSTI_CMD_ADD_PUBLICATION, channel, 10);
    const bool is_spy = h->driver->conductor->publications.count > 0;
    rsti_publication_t *base = publication(h, is_spy);
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, good_channel, 10);
    const int64_t hung = add(h, RSTI_CMD_ADD_SUBSCRIPTION, hung_channel, 10);
    pass(h);
    h->answer_count = 0;
    (void)fill(h, base);
    *reader(base, 0) = fill(h, base);
    advance_alive(h, 600 * MS, 10 * MS);
    CHECK_EQ(count_of(h, RSTI_RSP_UNAVAILABLE_IMAGE, hung), 0);
    CHECK_EQ(let_go_ms(reader(base, 1)), 0);
    advance_alive(h, 300 * MS, 10 * MS);
    const answer_t *gone = answer(h, RSTI_RSP_UNAVAILABLE_IMAGE, id);
    CHECK(gone != NULL);
    CHECK_EQ(gone->response.registration_id, hung);
    CHECK(strstr(gone->text, "|rs-evicted=") != NULL);
    CHECK(let_go_ms(reader(base, 1)) > 0);
    CHECK_EQ(let_go_ms(reader(base, 0)), 0);
    CHECK_EQ(*base->pub_lmt, WINDOW); /* its data stay while it lingers */
    advance_alive(h, 400 * MS, 10 * MS);
    CHECK_EQ(*base->pub_lmt, 2 * WINDOW);
    CHECK_EQ(base->file.log.metadata->is_connected, 1);
    *reader(base, 0) = fill(h, base);
    h->answer_count = 0;
    advance_alive(h, 20 * RSTI_NS_PER_S, 100 * MS);
    CHECK_EQ(*base->pub_lmt, 3 * WINDOW);
    (void)add(h, RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION, channel, 10);
    advance_alive(h, 100 * MS, 10 * MS);
    CHECK_EQ(count_of(h, RSTI_RSP_AVAILABLE_IMAGE, hung), 0); /* nor does another session */
    (void)take_away(h, RSTI_CMD_REMOVE_SUBSCRIPTION, hung);
    h->answer_count = 0;
    const int64_t again = add(h, RSTI_CMD_ADD_SUBSCRIPTION, hung_channel, 10);
    CHECK_EQ(count_of(h, RSTI_RSP_AVAILABLE_IMAGE, again), 2);
    harness_close(h);
}

TEST(the_others_go_on_without_a_reader_of_ipc)
{
    check_two_readers("aeron:ipc?term-length=64k", "aeron:ipc", "aeron:ipc?rs-evict=1s");
}

TEST(the_others_go_on_without_a_spy)
{
    check_two_readers(CHANNEL "|ssc=true", SPY, SPY "|rs-evict=1s");
}

/* The only reader: after its eviction the publisher is not connected, instead of stalled for ever.
 */
TEST(the_publisher_goes_on_without_its_only_reader)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:ipc?term-length=64k", 10);
    rsti_publication_t *base = publication(h, false);
    const int64_t hung = add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc?rs-evict=400ms", 10);
    pass(h);
    (void)fill(h, base);
    CHECK_EQ(base->file.log.metadata->is_connected, 1);
    advance_alive(h, 600 * MS, 10 * MS);
    CHECK_EQ(count_of(h, RSTI_RSP_UNAVAILABLE_IMAGE, hung), 1);
    CHECK_EQ(base->file.log.metadata->is_connected, 0);
    harness_close(h);
}

/* A slow reader does not stall: with one byte of progress in every half of the time it is never
 * evicted. A reader without unread data may stand still. */
TEST(moving_or_empty_reader_stays)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:ipc?term-length=64k", 10);
    rsti_publication_t *base = publication(h, false);
    const int64_t slow = add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc?rs-evict=1s", 10);
    pass(h);
    h->answer_count = 0;
    (void)fill(h, base);
    for (int i = 1; i <= 10; i++) {
        *reader(base, 0) = 1024 * i;
        advance_alive(h, 500 * MS, 10 * MS);
        (void)fill(h, base);
    }
    /* A little less than three quarters of a window are unread. */
    *reader(base, 0) = rsti_log_producer_position(&base->file.log) - WINDOW * 3 / 4 + 32;
    advance_alive(h, 5 * RSTI_NS_PER_S, 10 * MS);
    CHECK_EQ(count_of(h, RSTI_RSP_UNAVAILABLE_IMAGE, slow), 0);
    CHECK_EQ(base->subscribers.items[0].tether.state, RSTI_TETHER_ACTIVE);
    harness_close(h);
}

/* --- images ----------------------------------------------------------------------------------- */

static void receive(harness_t *h, const void *datagram, size_t length)
{
    const rsti_receive_endpoint_t *endpoint = h->driver->conductor->receive_endpoints.items[0];
    inject(h, endpoint->owned[0]->socket, RECEIVER, datagram, length);
    pass(h);
    pass(h);
}

static void receive_setup(harness_t *h)
{
    const rsti_setup_t setup = {
        .frame = {RSTI_SETUP_LENGTH, 0, 0, RSTI_FRAME_SETUP},
        .session_id = 1234,
        .stream_id = 10,
        .initial_term_id = 7,
        .active_term_id = 7,
        .term_length = 65536,
        .mtu = 1408,
    };
    receive(h, &setup, sizeof setup);
}

static void receive_frame(harness_t *h, int64_t position, int32_t length)
{
    uint8_t datagram[1024] = {0};
    rsti_data_header_t header;
    rsti_data_header_fill(&header, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA, 1234, 10,
        7 + (int32_t)(position >> 16), (int32_t)(position & 0xFFFF));
    header.frame.frame_length = length;
    memcpy(datagram, &header, sizeof header);
    receive(h, datagram, length == 0 ? 32 : (size_t)length);
}

static void heartbeats(harness_t *h, int64_t position, int64_t ns)
{
    for (int64_t t = 0; t < ns; t += 100 * MS) {
        receive_frame(h, position, 0);
        advance_alive(h, 100 * MS, 10 * MS);
    }
}

/* The last status message says that there is no reader. */
static bool has_told_its_end(const harness_t *h)
{
    for (int i = h->sent_count; i > 0; i--) {
        const rsti_frame_header_t *frame = (const void *)h->sent[i - 1].data;
        if (frame->type == RSTI_FRAME_SM) {
            return (frame->flags & RSTI_SM_FLAG_EOS) != 0;
        }
    }
    return false;
}

static const int64_t image_end = 28 * 1024; /* of a window of 32 KiB */

static rsti_image_t *open_image(harness_t *h)
{
    receive_setup(h);
    for (int64_t position = 0; position < image_end; position += 1024) {
        receive_frame(h, position, 1024);
    }
    return h->driver->conductor->images.items[0];
}

TEST(the_others_go_on_without_a_reader_of_an_image)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, READERS "|rcv-wnd=32k", 10);
    const int64_t hung = add(h, RSTI_CMD_ADD_SUBSCRIPTION, READERS "|rcv-wnd=32k|rs-evict=1s", 10);
    rsti_image_t *image = open_image(h);
    CHECK_EQ(*image->rcv_pos, image_end);
    *image->subscribers.items[0].position = image_end;
    h->answer_count = 0;
    heartbeats(h, image_end, 600 * MS);
    CHECK_EQ(image->next_sm_position, 0);
    CHECK_EQ(count_of(h, RSTI_RSP_UNAVAILABLE_IMAGE, hung), 0);
    heartbeats(h, image_end, 700 * MS);
    CHECK_EQ(count_of(h, RSTI_RSP_UNAVAILABLE_IMAGE, hung), 1);
    CHECK_EQ(image->next_sm_position, image_end);
    CHECK(!has_told_its_end(h));
    harness_close(h);
}

/* The only reader: the sender learns that this receiver has gone, and its SETUPs and data create no
 * image until the consumer subscribes again. */
TEST(a_receiver_without_its_only_reader_leaves_the_group)
{
    harness_t *h = harness_open();
    const int64_t hung = add(h, RSTI_CMD_ADD_SUBSCRIPTION, READERS "|rcv-wnd=32k|rs-evict=1s", 10);
    (void)open_image(h);
    heartbeats(h, image_end, 1300 * MS);
    CHECK_EQ(count_of(h, RSTI_RSP_UNAVAILABLE_IMAGE, hung), 1);
    CHECK(has_told_its_end(h));
    h->answer_count = 0;
    for (int i = 0; i < 300; i++) {
        receive_setup(h);
        receive_frame(h, image_end, 1024);
        advance_alive(h, 100 * MS, 10 * MS);
        h->sent_count = 0;
    }
    CHECK_EQ(count_of(h, RSTI_RSP_AVAILABLE_IMAGE, hung), 0);
    CHECK_EQ(h->driver->conductor->images.count, 0);
    const int64_t again = add(h, RSTI_CMD_ADD_SUBSCRIPTION, READERS "|rcv-wnd=32k", 10);
    receive_setup(h);
    CHECK_EQ(count_of(h, RSTI_RSP_AVAILABLE_IMAGE, again), 1);
    (void)take_away(h, RSTI_CMD_REMOVE_SUBSCRIPTION, hung);
    CHECK_EQ(h->driver->conductor->images.count, 1);
    harness_close(h);
}

/* A consumer is one thread: it stalls for all its streams, so it is evicted from all of them. */
TEST(it_is_let_go_from_all_its_sessions)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION, "aeron:ipc?term-length=64k", 10);
    (void)add(h, RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION, "aeron:ipc?term-length=64k", 10);
    const int64_t hung = add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc?rs-evict=1s", 10);
    pass(h);
    h->answer_count = 0;
    (void)fill(h, publication(h, false)); /* the other one is empty */
    advance_alive(h, 1300 * MS, 10 * MS);
    CHECK_EQ(count_of(h, RSTI_RSP_UNAVAILABLE_IMAGE, hung), 2);
    harness_close(h);
}

/* A stream that ends waits for its readers, but not for an evicted one. */
TEST(a_stream_that_ends_does_not_wait_for_it)
{
    harness_t *h = harness_open();
    const int64_t id = add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:ipc?term-length=64k", 10);
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc?rs-evict=1s", 10);
    pass(h);
    (void)fill(h, publication(h, false));
    advance_alive(h, 100 * MS, 10 * MS);
    (void)take_away(h, RSTI_CMD_REMOVE_PUBLICATION, id);
    CHECK_EQ(publication(h, false)->life, RSTI_LIFE_DRAINING);
    advance_alive(h, 3 * RSTI_NS_PER_S, 10 * MS);
    CHECK_EQ(h->driver->conductor->ipc_publications.count, 0);
    harness_close(h);
}

TEST(impossible_eviction_times_are_refused)
{
    harness_t *h = harness_open();
    const char *const bad[] = {"aeron:ipc?rs-evict=0", "aeron:ipc?rs-evict=9ms",
        "aeron:ipc?rs-evict=86401s", "aeron:ipc?rs-evict=soon"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const int64_t id = add(h, RSTI_CMD_ADD_SUBSCRIPTION, bad[i], 10);
        CHECK(answer(h, RSTI_RSP_SUBSCRIPTION_READY, id) == NULL);
    }
    const int64_t good = add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc?rs-evict=10ms", 10);
    CHECK(answer(h, RSTI_RSP_SUBSCRIPTION_READY, good) != NULL);
    harness_close(h);
}

CHECK_MAIN(RUN(the_others_go_on_without_a_reader_of_ipc), RUN(the_others_go_on_without_a_spy),
    RUN(the_publisher_goes_on_without_its_only_reader), RUN(moving_or_empty_reader_stays),
    RUN(the_others_go_on_without_a_reader_of_an_image),
    RUN(a_receiver_without_its_only_reader_leaves_the_group),
    RUN(it_is_let_go_from_all_its_sessions), RUN(a_stream_that_ends_does_not_wait_for_it),
    RUN(impossible_eviction_times_are_refused))
