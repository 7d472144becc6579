/* Images come, go and return: which data are still read, which are refused, and which image owns
 * which counter. */
#include "tests/client/data.h"

#include "client/shared_log.h"
#include "concurrent/eviction.h"

#include <errno.h>
#include <fcntl.h>

/* B9, M2 */
TEST(unavailable_drains)
{
    CHECK(begin("unavailable"));
    fake_log_t *log = fake_image(subscription);
    int64_t at = fake_data(log, 0, "one");
    rst_image_event_t event;
    CHECK_EQ(rst_subscription_next_event(subscription, &event), 1);
    CHECK_EQ(event.kind, RST_IMAGE_AVAILABLE);
    CHECK_EQ(event.correlation_id, log->id);
    CHECK(rst_subscription_is_connected(subscription));
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 1);
    rst_batch_t *held = batch; /* held beyond the end of the image */
    CHECK_EQ(rst_batch_create(&batch, 8), 0);
    at = fake_data(log, at, "two");
    const int64_t whole = at;
    at = fake_frame(log, at, RSTI_FLAG_BEGIN, RSTI_FRAME_DATA, "thr", 3, 0);
    rsti_store_release_i64(&log->file.log.metadata->end_of_stream_position, at + 64);
    fake_available(subscription, log, 1); /* a second announcement of the same image */
    fake_unavailable(subscription, log);
    rsti_counters_free(&fake.counters, log->counter_id, fake_now_ms());
    FAKE_UNTIL(!rst_subscription_is_connected(subscription));
    CHECK_EQ(rst_subscription_image_count(subscription), 1);
    CHECK_EQ(rst_subscription_next_event(subscription, &event), 0);
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 1);
    CHECK_MEM(message(0)->data, "two", 3);
    CHECK_EQ(rst_subscription_next_event(subscription, &event), 1);
    CHECK_EQ(event.kind, RST_IMAGE_UNAVAILABLE);
    CHECK_EQ(event.position, whole);
    CHECK_EQ(event.received_position, at);
    CHECK_EQ(event.end_position, at + 64);
    CHECK_EQ(rst_subscription_image_count(subscription), 0);
    const int64_t counter = rsti_load_acquire_i64(fake_value(log->counter_id));
    CHECK_MEM(rst_batch_messages(held, NULL)->data, "one", 3);
    rst_batch_destroy(held);
    rst_batch_release(batch);
    /* no longer our handle */
    CHECK_EQ(rsti_load_acquire_i64(fake_value(log->counter_id)), counter);
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 0);
    fake_unavailable(subscription, log);
    end();
}

/* The padding at the end of a term, or of an abandoned claim, may be the last frame of a stream: a
 * reader that has read it has consumed everything. Messages that a reader dropped before it do not
 * count. */
TEST(a_stream_may_end_with_padding)
{
    CHECK(begin("padding"));
    fake_log_t *log = fake_image(subscription);
    const int64_t data = fake_data(log, 0, "one");
    const int64_t whole = fake_frame(log, data, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_PAD, NULL,
        FAKE_TERM - (int32_t)data - RSTI_DATA_HEADER_LENGTH, 0);
    CHECK_EQ(whole, FAKE_TERM);
    rsti_store_release_i64(&log->file.log.metadata->end_of_stream_position, whole);
    rst_image_event_t event;
    CHECK_EQ(rst_subscription_next_event(subscription, &event), 1);
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 1);
    CHECK_EQ(message(0)->position, data);
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 0);
    fake_unavailable(subscription, log);
    FAKE_UNTIL(!rst_subscription_is_connected(subscription));
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 0);
    CHECK_EQ(rst_subscription_next_event(subscription, &event), 1);
    CHECK_EQ(event.kind, RST_IMAGE_UNAVAILABLE);
    CHECK_EQ(event.position, whole);
    CHECK_EQ(event.end_position, whole);
    end();
}

TEST(a_message_without_its_end_is_not_consumed_by_padding)
{
    CHECK(begin("cut"));
    fake_log_t *log = fake_image(subscription);
    const int64_t whole = fake_data(log, 0, "one");
    const int64_t part = fake_frame(log, whole, RSTI_FLAG_BEGIN, RSTI_FRAME_DATA, "two", 3, 0);
    const int64_t end_at = fake_frame(log, part, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_PAD, NULL, 32,
        0);
    rsti_store_release_i64(&log->file.log.metadata->end_of_stream_position, end_at);
    rst_image_event_t event;
    CHECK_EQ(rst_subscription_next_event(subscription, &event), 1);
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 1);
    fake_unavailable(subscription, log);
    FAKE_UNTIL(!rst_subscription_is_connected(subscription));
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 0);
    CHECK_EQ(rst_subscription_next_event(subscription, &event), 1);
    CHECK_EQ(event.position, whole);
    CHECK_EQ(event.received_position, end_at);
    end();
}

static rst_poll_action_t on_fragment_never(void *arg, const rst_fragment_t *fragment)
{
    (void)arg;
    (void)fragment;
    abort();
}

/* An untethered reader is dropped: its publisher writes on, and the driver keeps the data only for
 * the linger. The reader learns it at once, while its held data are still intact. */
TEST(a_local_image_goes_at_once_while_its_publisher_goes_on)
{
    CHECK(begin("let-go"));
    fake_log_t *log = fake_log(RSTI_LOG_CONCURRENT, 0, NULL);
    log->counter_id = fake_counter(RSTI_COUNTER_SUBSCRIBER_POSITION, subscription->registration_id,
        log->id, 0);
    fake_available(subscription, log, 1);
    FAKE_UNTIL(rst_subscription_is_connected(subscription));
    const int64_t given = fake_data(log, 0, "given");
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 1);
    const int64_t behind = fake_data(log, given, "unread");
    fake_unavailable(subscription, log);
    FAKE_UNTIL(!rst_subscription_is_connected(subscription));
    CHECK_EQ(rst_subscription_image_count(subscription), 0);
    CHECK_MEM(message(0)->data, "given", 5);
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 0);
    rst_image_event_t event;
    CHECK_EQ(rst_subscription_next_event(subscription, &event), 1);
    CHECK_EQ(rst_subscription_next_event(subscription, &event), 1);
    CHECK_EQ(event.kind, RST_IMAGE_UNAVAILABLE);
    CHECK_EQ(event.position, given);
    CHECK_EQ(event.received_position, behind);
    CHECK_EQ(event.end_position, INT64_MAX);
    end();
}

/* The same over a network, where only the driver knows that the stream goes on: after the linger
 * the driver cleans unread data while the reader may still read. */
TEST(a_network_image_goes_at_once_when_the_driver_says_so)
{
    CHECK(begin("let-go-far"));
    fake_log_t *log = fake_image(subscription);
    const int64_t given = fake_data(log, 0, "given");
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 1);
    (void)fake_data(log, given, "unread");
    fake_gone(subscription, log, "aeron:udp?endpoint=1.2.3.4:5|tether=false|rs-let-go");
    FAKE_UNTIL(!rst_subscription_is_connected(subscription));
    CHECK_EQ(rst_subscription_image_count(subscription), 0);
    CHECK(rst_batch_is_intact(batch));
    CHECK_MEM(message(0)->data, "given", 5);
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 0);
    rst_image_event_t event;
    CHECK_EQ(rst_subscription_next_event(subscription, &event), 1);
    CHECK_EQ(rst_subscription_next_event(subscription, &event), 1);
    CHECK_EQ(event.kind, RST_IMAGE_UNAVAILABLE);
    CHECK_EQ(event.position, given);
    CHECK_EQ(event.evicted_ms, 0);
    end();
}

/* Evicted: the mark in the counter's record comes before the notice, and data copied since then may
 * be invalid. The notice gives the position; of a network image nothing more is read either. */
TEST(an_evicted_image_is_read_no_further)
{
    CHECK(begin("evicted"));
    fake_log_t *log = fake_image(subscription);
    const int64_t given = fake_data(log, 0, "given");
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 1);
    CHECK(rst_batch_is_intact(batch));
    (void)fake_data(log, given, "unread");
    rsti_counter_value_t *value = (void *)fake_value(log->counter_id);
    rsti_store_release_i64(&rsti_reader_ext(value)->let_go_ms, 1234);
    CHECK(!rst_batch_is_intact(batch));
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 0);
    CHECK(rst_batch_is_intact(batch)); /* it holds no batch */
    rst_poll_params_t params;
    rst_poll_params_init(&params);
    CHECK_EQ(rst_subscription_poll_each(subscription, &params, NULL, on_fragment_never), 0);
    fake_gone(subscription, log, "aeron:udp?endpoint=1.2.3.4:5|rs-evicted=1234");
    FAKE_UNTIL(!rst_subscription_is_connected(subscription));
    rst_image_event_t event;
    CHECK_EQ(rst_subscription_next_event(subscription, &event), 1);
    CHECK_EQ(event.evicted_ms, 0);
    CHECK_EQ(rst_subscription_next_event(subscription, &event), 1);
    CHECK_EQ(event.kind, RST_IMAGE_UNAVAILABLE);
    CHECK_EQ(event.evicted_ms, 1234);
    CHECK_EQ(event.position, given);
    CHECK_EQ(event.received_position, given);
    end();
}

/* The driver tells the end of an image once. A reader that is evicted before it has read the image
 * must not wait for it. */
TEST(an_ended_image_of_an_evicted_reader_goes)
{
    CHECK(begin("evicted-late"));
    fake_log_t *log = fake_image(subscription);
    (void)fake_data(log, 0, "unread");
    fake_gone(subscription, log, "aeron:udp?endpoint=1.2.3.4:5");
    FAKE_UNTIL(!rst_subscription_is_connected(subscription));
    rsti_counter_value_t *value = (void *)fake_value(log->counter_id);
    rsti_store_release_i64(&rsti_reader_ext(value)->let_go_ms, 1234);
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 0);
    CHECK_EQ(rst_subscription_image_count(subscription), 0);
    rst_image_event_t event;
    CHECK_EQ(rst_subscription_next_event(subscription, &event), 1);
    CHECK_EQ(rst_subscription_next_event(subscription, &event), 1);
    CHECK_EQ(event.kind, RST_IMAGE_UNAVAILABLE);
    CHECK_EQ(event.evicted_ms, 1234);
    CHECK_EQ(event.position, 0);
    end();
}

/* A driver died, and the next one in its directory has given its own log the announced name. */
TEST(an_announcement_of_a_dead_driver_is_not_believed)
{
    CHECK(begin("replaced"));
    char ours[256], aside[256];
    snprintf(ours, sizeof ours, "%s/cnc.dat", fake.dir);
    snprintf(aside, sizeof aside, "%s/cnc.old", fake.dir);
    CHECK_EQ(rename(ours, aside), 0);
    const int fd = open(ours, O_CREAT | O_EXCL | O_WRONLY, 0600);
    CHECK(fd >= 0);
    close(fd);
    const fake_log_t *made = fake_log(RSTI_LOG_IMAGE, 0, NULL);
    const char *path = made->file.path;
    rsti_shared_log_t *log;
    CHECK_EQ(rsti_shared_log_open(client, path, strlen(path), &log), -RST_ECLOSED);
    CHECK_EQ(rst_last_error_detail(), ENOENT); /* as if the image had gone already */
    CHECK_EQ(rename(aside, ours), 0);
    CHECK_EQ(rsti_shared_log_open(client, path, strlen(path), &log), 0);
    rsti_shared_log_unref(log);
    end();
}

/* The driver frees the counter of an evicted image, and another image gets it: the mark is gone. A
 * stopped reader's batch is still not intact, neither before the notice is read nor after. */
TEST(an_evicted_image_stays_evicted_when_its_counter_is_given_away)
{
    for (int is_noticed = 0; is_noticed < 2; is_noticed++) {
        CHECK(begin("given-away"));
        fake_log_t *log = fake_image(subscription);
        (void)fake_data(log, 0, "given");
        CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 1);
        CHECK(rst_batch_is_intact(batch));
        rsti_counter_value_t *value = (void *)fake_value(log->counter_id);
        rsti_store_release_i64(&rsti_reader_ext(value)->let_go_ms, 1234);
        if (is_noticed) {
            fake_gone(subscription, log, "aeron:udp?endpoint=1.2.3.4:5|rs-evicted=1234");
            FAKE_UNTIL(!rst_subscription_is_connected(subscription));
        }
        rsti_counters_free(&fake.counters, log->counter_id, fake_now_ms());
        CHECK_EQ(fake_counter(RSTI_COUNTER_SUBSCRIBER_POSITION, 4711, 0, 0), log->counter_id);
        CHECK_EQ(rsti_reader_ext(value)->let_go_ms, 0);
        CHECK(!rst_batch_is_intact(batch));
        end();
    }
}

/* A value that merely looks like the mark belongs to a channel: a network image is read to its end.
 */
TEST(only_a_whole_mark_parts_a_reader)
{
    const char *const channels[] = {"aeron:ipc", "rs-evicted=1", "|rs-evicted=", "|rs-evicted=x",
        "aeron:udp?endpoint=1.2.3.4:5|alias=rs-evicted=12", "|rs-evicted=1|alias=2", "1234",
        "|rs-evicted=12345678901234567890123", "rs-let-go", "|rs-let-go=", "|rs-let-go|alias=2",
        "aeron:udp?endpoint=1.2.3.4:5|alias=rs-let-go", "o", ""};
    for (size_t i = 0; i < sizeof channels / sizeof channels[0]; i++) {
        CHECK(begin("not-evicted"));
        fake_log_t *log = fake_image(subscription);
        (void)fake_data(log, 0, "given");
        fake_gone(subscription, log, channels[i]);
        usleep(20000);
        CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 1);
        FAKE_UNTIL(!rst_subscription_is_connected(subscription));
        rst_image_event_t event = {.kind = RST_IMAGE_AVAILABLE};
        CHECK_EQ(rst_subscription_next_event(subscription, &event), 1);
        CHECK_EQ(rst_subscription_next_event(subscription, &event), 1);
        CHECK_EQ(event.kind, RST_IMAGE_UNAVAILABLE);
        CHECK_EQ(event.evicted_ms, 0);
        end();
    }
}

static fake_log_t *let_go_log;
static int handed_out;

static rst_poll_action_t on_fragment_let_go(void *arg, const rst_fragment_t *fragment)
{
    rst_image_event_t *event = arg;
    (void)fragment;
    handed_out++;
    fake_unavailable(subscription, let_go_log);
    for (int i = 0; i < 5000 && rst_subscription_is_connected(subscription); i++) {
        usleep(1000);
    }
    return rst_subscription_next_event(subscription, event) == 0 ? RST_POLL_CONTINUE
                                                                 : RST_POLL_ABORT;
}

/* The same while a callback runs: the delivered data count, and nothing more comes. */
TEST(an_image_that_goes_under_a_callback_ends_behind_what_was_handed_out)
{
    CHECK(begin("let-go-callback"));
    let_go_log = fake_log(RSTI_LOG_CONCURRENT, 0, NULL);
    handed_out = 0;
    let_go_log->counter_id = fake_counter(RSTI_COUNTER_SUBSCRIBER_POSITION,
        subscription->registration_id, let_go_log->id, 0);
    fake_available(subscription, let_go_log, 1);
    FAKE_UNTIL(rst_subscription_is_connected(subscription));
    rst_image_event_t event;
    CHECK_EQ(rst_subscription_next_event(subscription, &event), 1);
    const int64_t given = fake_data(let_go_log, 0, "given");
    (void)fake_data(let_go_log, given, "unread");
    rst_poll_params_t params;
    rst_poll_params_init(&params);
    CHECK_EQ(rst_subscription_poll_each(subscription, &params, &event, on_fragment_let_go), 1);
    CHECK_EQ(handed_out, 1);
    CHECK_EQ(rst_subscription_image_count(subscription), 0);
    CHECK_EQ(rst_subscription_next_event(subscription, &event), 1);
    CHECK_EQ(event.kind, RST_IMAGE_UNAVAILABLE);
    CHECK_EQ(event.position, given);
    end();
}

/* An untethered reader did not poll for long: it left its image and joined again further on before
 * it polled. The driver does not guarantee its unread data any more. */
TEST(an_image_comes_back_before_its_end_was_read)
{
    CHECK(begin("rejoin"));
    fake_log_t *log = fake_image(subscription);
    rst_image_event_t event;
    CHECK_EQ(rst_subscription_next_event(subscription, &event), 1);
    const int64_t joined = fake_data(log, 0, "missed");
    fake_unavailable(subscription, log);
    FAKE_UNTIL(!rst_subscription_is_connected(subscription));
    (void)fake_data(log, joined, "next");
    rsti_store_release_i64(fake_value(log->counter_id), joined);
    fake_available(subscription, log, 1);
    FAKE_UNTIL(rst_subscription_is_connected(subscription));
    CHECK_EQ(rst_subscription_image_count(subscription), 1);
    CHECK_EQ(rst_subscription_next_event(subscription, &event), 1);
    CHECK_EQ(event.kind, RST_IMAGE_UNAVAILABLE);
    CHECK_EQ(rst_subscription_next_event(subscription, &event), 1);
    CHECK_EQ(event.kind, RST_IMAGE_AVAILABLE);
    CHECK_EQ(event.correlation_id, log->id);
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 1);
    CHECK_MEM(message(0)->data, "next", 4);
    end();
}

/* A session returns while data of its last image are unread: messages and events keep their order.
 */
static fake_log_t *come_back(const char *text)
{
    fake_log_t *log = fake_log(RSTI_LOG_IMAGE, 0, NULL);
    log->counter_id = fake_counter(RSTI_COUNTER_SUBSCRIBER_POSITION, subscription->registration_id,
        log->id, 0);
    (void)fake_data(log, 0, text);
    fake_available(subscription, log, FAKE_SESSION);
    return log;
}

static void check_event(int kind, const fake_log_t *log)
{
    rst_image_event_t event;
    CHECK_EQ(rst_subscription_next_event(subscription, &event), 1);
    CHECK_EQ(event.kind, kind);
    CHECK_EQ(event.correlation_id, log->id);
}

/* It goes with an unread message. */
static void go_unread(fake_log_t *log)
{
    FAKE_UNTIL(rst_subscription_image_count(subscription) == 1);
    check_event(RST_IMAGE_AVAILABLE, log);
    fake_unavailable(subscription, log);
    FAKE_UNTIL(!rst_subscription_is_connected(subscription));
}

TEST(a_session_that_comes_back_waits_until_its_past_is_read)
{
    CHECK(begin("heir"));
    fake_log_t *first = come_back("first");
    go_unread(first);
    fake_log_t *second = come_back("second");
    fake_unavailable(subscription, second);
    fake_log_t *third = come_back("third");
    fake_log_t *other = fake_image(subscription); /* another session: behind the rest in the ring */
    CHECK_EQ(rst_subscription_image_count(subscription), 2);
    check_event(RST_IMAGE_AVAILABLE, other);
    static const char *const texts[] = {"first", "second", "third"};
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 1);
        CHECK_MEM(message(0)->data, texts[i], strlen(texts[i]));
        rst_batch_release(batch);
    }
    check_event(RST_IMAGE_UNAVAILABLE, first);
    check_event(RST_IMAGE_AVAILABLE, second);
    check_event(RST_IMAGE_UNAVAILABLE, second);
    check_event(RST_IMAGE_AVAILABLE, third);
    end();
}

TEST(a_session_that_waits_goes_with_its_subscription)
{
    CHECK(begin("heirs-gone"));
    go_unread(come_back("first"));
    (void)come_back("second");
    (void)fake_image(subscription);
    end();
}

/* The driver is gone: everything that it announced ends. */
TEST(a_session_that_waits_is_read_after_the_driver)
{
    CHECK(begin("heirs-left"));
    go_unread(come_back("first"));
    fake_log_t *second = come_back("second");
    fake_log_t *other = fake_image(subscription);
    check_event(RST_IMAGE_AVAILABLE, other);
    rsti_subscription_lose_images(subscription, false);
    CHECK_EQ(rst_subscription_image_count(subscription), 0);
    rst_image_event_t event;
    int comes = 0;
    int goes = 0;
    while (rst_subscription_next_event(subscription, &event) == 1) {
        CHECK(event.correlation_id != second->id || comes + goes > 0);
        *(event.kind == RST_IMAGE_AVAILABLE ? &comes : &goes) += 1;
    }
    CHECK_EQ(comes, 1);
    CHECK_EQ(goes, 3);
    end();
}

/* The counter of a closed image is used by another one. */
static void reuse(const fake_log_t *log, int64_t registration_id, int64_t reference_id,
    int64_t value)
{
    rsti_counters_free(&fake.counters, log->counter_id, fake_now_ms());
    usleep(2000);
    CHECK_EQ(fake_counter(RSTI_COUNTER_SUBSCRIBER_POSITION, registration_id, reference_id, value),
        log->counter_id);
}

static void counter_reused(const char *name, bool is_of_same_subscription)
{
    CHECK(begin(name));
    fake_log_t *log = fake_image(subscription);
    int64_t at = fake_data(log, 0, "one");
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 1);
    at = fake_data(log, at, "two");
    const int64_t heir = is_of_same_subscription ? subscription->registration_id : 987654;
    reuse(log, heir, log->id + 1, 5);
    rst_batch_release(batch);
    CHECK_EQ(rsti_load_acquire_i64(fake_value(log->counter_id)), 5);
    /* The driver may change the log by now: nothing is read until we are notified. */
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 0);
    end();
}

TEST(counter_reused_before_we_hear)
{
    counter_reused("reused", false);
    counter_reused("reused-here", true);
}

/* The join position is no longer known: the counter has another image's position. */
static void late_news(const char *name, bool is_of_same_subscription)
{
    CHECK(begin(name));
    fake_log_t *log = fake_log(RSTI_LOG_IMAGE, 0, NULL);
    (void)fake_data(log, fake_data(log, 0, "one"), "two");
    log->counter_id = fake_counter(RSTI_COUNTER_SUBSCRIBER_POSITION, subscription->registration_id,
        log->id, 0);
    const int64_t heir = is_of_same_subscription ? subscription->registration_id : 987654;
    reuse(log, heir, log->id + 1, 64);
    fake_available(subscription, log, 1);
    fake_unavailable(subscription, log);
    fake_log_t *next = fake_image(subscription); /* announced behind it */
    rst_image_event_t event;
    CHECK_EQ(rst_subscription_next_event(subscription, &event), 1);
    CHECK_EQ(event.correlation_id, next->id);
    CHECK_EQ(rst_subscription_next_event(subscription, &event), 0);
    CHECK_EQ(rst_subscription_image_count(subscription), 1);
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 0);
    CHECK_EQ(rsti_load_acquire_i64(fake_value(log->counter_id)), 64);
    end();
}

TEST(counter_reused_before_we_hear_of_the_image)
{
    late_news("late-news", false);
    late_news("late-news-here", true);
}

/* M2 */
TEST(events_are_bounded)
{
    CHECK(begin("bounded"));
    fake_log_t *first = fake_image(subscription);
    for (int i = 0; i < RSTI_EVENTS_MAX + 10; i++) {
        fake_log_t *log = &fake.logs[fake.log_count];
        *log = *first; /* more images of one file: only ids and counters differ */
        log->id = rsti_mpsc_rb_next_correlation_id(&fake.ring);
        log->counter_id = fake_counter(RSTI_COUNTER_SUBSCRIBER_POSITION,
            subscription->registration_id, log->id, 0);
        fake_available(subscription, log, i);
        usleep(20);
    }
    FAKE_UNTIL(rst_subscription_image_count(subscription) == RSTI_EVENTS_MAX + 11);
    CHECK_EQ(rst_subscription_events_lost(subscription), 11);
    rst_image_event_t event;
    int count = 0;
    while (rst_subscription_next_event(subscription, &event) == 1) {
        count++;
    }
    CHECK_EQ(count, RSTI_EVENTS_MAX);
    (void)fake_data(first, 0, "x");
    int polled = 0, some;
    while ((some = rst_subscription_poll(subscription, 64, 0, batch)) > 0) {
        polled += some;
    }
    CHECK_EQ(polled, RSTI_EVENTS_MAX + 11);
    end();
}

CHECK_MAIN(RUN(unavailable_drains), RUN(a_stream_may_end_with_padding),
    RUN(a_message_without_its_end_is_not_consumed_by_padding),
    RUN(a_local_image_goes_at_once_while_its_publisher_goes_on),
    RUN(a_network_image_goes_at_once_when_the_driver_says_so),
    RUN(an_evicted_image_is_read_no_further), RUN(an_ended_image_of_an_evicted_reader_goes),
    RUN(an_announcement_of_a_dead_driver_is_not_believed),
    RUN(an_evicted_image_stays_evicted_when_its_counter_is_given_away),
    RUN(only_a_whole_mark_parts_a_reader),
    RUN(an_image_that_goes_under_a_callback_ends_behind_what_was_handed_out),
    RUN(an_image_comes_back_before_its_end_was_read),
    RUN(a_session_that_comes_back_waits_until_its_past_is_read),
    RUN(a_session_that_waits_goes_with_its_subscription),
    RUN(a_session_that_waits_is_read_after_the_driver), RUN(counter_reused_before_we_hear),
    RUN(counter_reused_before_we_hear_of_the_image), RUN(events_are_bounded))
