/* Gaps of unreliable streams, which the driver has filled with padding. */
#include "tests/client/data.h"

#include "logbuffer/rebuilder.h"

static rst_image_event_t event;

static int64_t fill(const fake_log_t *log, int64_t position, int32_t length)
{
    const rsti_log_t *view = &log->file.log;
    const rsti_gap_t gap = {
        .term_id = rsti_position_term_id(position, view->position_bits, view->initial_term_id),
        .term_offset = rsti_position_offset(position, FAKE_TERM),
        .length = length,
    };
    return rsti_term_gap_fill(view, &gap) ? position + length : -1;
}

static int64_t part(fake_log_t *log, int64_t position, uint8_t flags)
{
    return fake_frame(log, position, flags, RSTI_FRAME_DATA, "part", 4, 0);
}

/* The messages that a poll hands out, until none is left. */
static int read_all(void)
{
    int count = 0;
    for (int some = 1; some > 0; count += some) {
        some = rst_subscription_poll(subscription, 64, 0, batch);
        rst_batch_release(batch);
    }
    return count;
}

static bool next_gap(void)
{
    while (rst_subscription_next_event(subscription, &event) == 1) {
        if (event.kind == RST_IMAGE_GAP) {
            return true;
        }
    }
    return false;
}

static void check_gap(const fake_log_t *log, int64_t begin, int64_t end)
{
    CHECK(next_gap());
    CHECK_EQ(event.position, begin);
    CHECK_EQ(event.end_position, end);
    CHECK_EQ(event.received_position, end - begin);
    CHECK_EQ(event.correlation_id, log->id);
    CHECK_EQ(event.session_id, FAKE_SESSION + fake.log_count);
}

TEST(a_gap_between_messages)
{
    CHECK(begin("gap"));
    fake_log_t *log = fake_image(subscription);
    const int64_t from = fake_data(log, 0, "one");
    const int64_t to = fill(log, fill(log, from, 128), 64);
    CHECK_EQ(read_all(), 1);
    CHECK(!next_gap()); /* its end is not known */
    (void)fake_data(log, to, "two");
    CHECK_EQ(read_all(), 1);
    check_gap(log, from, to);
    CHECK(!next_gap());
    end();
}

/* A message of which a part is missing is lost as a whole, and so is one that begins behind it and
 * is cut by the next gap. */
TEST(a_gap_inside_messages)
{
    CHECK(begin("gap-parts"));
    fake_log_t *log = fake_image(subscription);
    const int64_t from = fake_data(log, 0, "one");
    int64_t at = part(log, from, RSTI_FLAG_BEGIN);
    at = fill(log, at, 64);
    at = part(log, at, RSTI_FLAG_END);
    at = part(log, at, RSTI_FLAG_BEGIN);
    at = fill(log, at, 64);
    const int64_t to = part(log, at, 0);
    at = part(log, to, RSTI_FLAG_BEGIN);
    (void)part(log, at, RSTI_FLAG_END);
    CHECK_EQ(read_all(), 2);
    check_gap(log, from, to);
    CHECK(!next_gap());
    end();
}

TEST(padding_of_the_publisher_is_no_gap)
{
    CHECK(begin("gap-padding"));
    fake_log_t *log = fake_image(subscription);
    int64_t at = fake_data(log, 0, "one");
    at = fake_frame(log, at, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_PAD, NULL, 96, 0);
    (void)fake_data(log, at, "two");
    CHECK_EQ(read_all(), 2);
    CHECK(!next_gap());
    end();
}

TEST(a_gap_at_the_end_comes_before_the_end)
{
    CHECK(begin("gap-end"));
    fake_log_t *log = fake_image(subscription);
    const int64_t from = fake_data(log, 0, "one");
    const int64_t to = fill(log, from, 128);
    rsti_store_release_i64(&log->file.log.metadata->end_of_stream_position, to);
    CHECK_EQ(read_all(), 1);
    fake_unavailable(subscription, log);
    FAKE_UNTIL(!rst_subscription_is_connected(subscription));
    CHECK_EQ(read_all(), 0);
    check_gap(log, from, to);
    CHECK_EQ(rst_subscription_next_event(subscription, &event), 1);
    CHECK_EQ(event.kind, RST_IMAGE_UNAVAILABLE);
    end();
}

/* More gaps than are kept: the last ones are told as one, and no byte is forgotten. */
TEST(more_gaps_than_are_kept)
{
    enum {
        GAPS = RSTI_GAPS_MAX + 10
    };
    CHECK(begin("gap-many"));
    fake_log_t *log = fake_image(subscription);
    int64_t at = 0;
    for (int i = 0; i < GAPS; i++) {
        at = fake_data(log, fill(log, at, 32), "one");
    }
    CHECK_EQ(read_all(), GAPS);
    int64_t bytes = 0, last = 0;
    int count = 0;
    while (next_gap()) {
        last = event.end_position;
        bytes += event.received_position;
        count++;
    }
    CHECK_EQ(count, RSTI_GAPS_MAX);
    CHECK_EQ(bytes, GAPS * 32);
    CHECK_EQ(last, at - 64);
    CHECK_EQ(rst_subscription_events_lost(subscription), 0);
    end();
}

TEST(a_reliable_stream_is_not_looked_through)
{
    CHECK(begin("gap-reliable"));
    fake_log_t *log = fake_log(RSTI_LOG_IMAGE, 0, NULL);
    log->file.log.metadata->reliable = 1;
    log->counter_id = fake_counter(RSTI_COUNTER_SUBSCRIBER_POSITION, subscription->registration_id,
        log->id, 0);
    fake_available(subscription, log, FAKE_SESSION + fake.log_count);
    FAKE_UNTIL(rst_subscription_image_count(subscription) == 1);
    (void)fake_data(log, fill(log, 0, 64), "one");
    CHECK_EQ(read_all(), 1);
    CHECK(!next_gap());
    end();
}

CHECK_MAIN(RUN(a_gap_between_messages), RUN(a_gap_inside_messages),
    RUN(padding_of_the_publisher_is_no_gap), RUN(a_gap_at_the_end_comes_before_the_end),
    RUN(more_gaps_than_are_kept), RUN(a_reliable_stream_is_not_looked_through))
