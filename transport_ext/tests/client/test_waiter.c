/* Sleeping and being woken: by data, room, images, ends, and explicit wake-ups. */
#include "tests/client/fake_driver.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>

#define LONG_NS (10 * RSTI_NS_PER_S)

/* Instead of the C library's: counts the calls of this thread. */
static _Thread_local int64_t yields;

int sched_yield(void)
{
    yields++;
    return 0;
}

static rst_client_t *client;
static rst_subscription_t *subscription;
static rst_waiter_t *waiter;
static rst_batch_t *batch;

static bool begin(const char *name)
{
    client = fake_open(name) ? fake_client(50) : NULL;
    subscription = client != NULL ? fake_subscribe(client) : NULL;
    return subscription != NULL && rst_waiter_create(&waiter, client) == 0
        && rst_batch_create(&batch, 64) == 0;
}

static void end(void)
{
    rst_batch_destroy(batch);
    rst_waiter_destroy(waiter);
    rst_subscription_close(subscription);
    rst_client_close(client);
    fake_close();
}

static void take_events(void)
{
    rst_image_event_t event;
    while (rst_subscription_next_event(subscription, &event) == 1) {
    }
}

/* Like a driver's receiver: publishes, then wakes all sleepers on the log. */
static void wake_other(void *arg, int64_t client_id, int32_t waiter_id)
{
    rsti_waker_wake(arg, client_id, waiter_id);
}

static void publish(fake_log_t *log, int32_t kind)
{
    rsti_wake_log(&log->file.log.metadata->ext, kind, wake_other, fake.waker);
}

typedef struct sleeper_t {
    pthread_t thread;
    int result;
    int64_t timeout_ns;
} sleeper_t;

static void *sleep_on(void *arg)
{
    sleeper_t *sleeper = arg;
    sleeper->result = rst_waiter_wait(waiter, sleeper->timeout_ns, 0);
    return NULL;
}

/* Starts a wait and returns when it sleeps. */
static bool start(sleeper_t *sleeper)
{
    *sleeper = (sleeper_t){.result = -1, .timeout_ns = LONG_NS};
    if (pthread_create(&sleeper->thread, NULL, sleep_on, sleeper) != 0) {
        return false;
    }
    for (int i = 0; i < 5000 && rsti_load_acquire_i32(&waiter->target.armed) == 0; i++) {
        usleep(1000);
    }
    usleep(5000);
    return rsti_load_acquire_i32(&waiter->target.armed) != 0;
}

static int finish(sleeper_t *sleeper, int64_t *took_ns)
{
    const int64_t begin_ns = rsti_client_now_ns();
    (void)pthread_join(sleeper->thread, NULL);
    *took_ns = rsti_client_now_ns() - begin_ns;
    return sleeper->result;
}

/* A caller without time may hold Python's lock: then every thread of Python would wait. */
TEST(without_time_it_only_looks)
{
    CHECK(begin("without_time"));
    CHECK_EQ(rst_waiter_attach_subscription(waiter, subscription), 0);
    yields = 0;
    CHECK_EQ(rst_waiter_wait(waiter, 0, 0), 0);
    CHECK_EQ(rst_waiter_wait(waiter, 0, LONG_NS), 0);
    CHECK_EQ(rst_waiter_wait(waiter, -1, -1), 0);
    CHECK_EQ(yields, 0);
    CHECK_EQ(rst_waiter_wait(waiter, RSTI_NS_PER_MS, 0), 0);
    CHECK(yields > 0);
    rst_waiter_wake(waiter);
    CHECK_EQ(rst_waiter_wait(waiter, 0, 0), 1);
    end();
}

TEST(times_out)
{
    CHECK(begin("timeout"));
    CHECK_EQ(rst_waiter_attach_subscription(waiter, subscription), 0);
    CHECK_EQ(rst_waiter_attach_subscription(waiter, subscription), 0);
    int64_t begin_ns = rsti_client_now_ns();
    CHECK_EQ(rst_waiter_wait(waiter, 30 * RSTI_NS_PER_MS, 0), 0);
    CHECK(rsti_client_now_ns() - begin_ns >= 30 * RSTI_NS_PER_MS);
    begin_ns = rsti_client_now_ns();
    CHECK_EQ(rst_waiter_wait(waiter, 20 * RSTI_NS_PER_MS, LONG_NS), 0);
    CHECK(rsti_client_now_ns() - begin_ns >= 20 * RSTI_NS_PER_MS);
    CHECK_EQ(rst_waiter_wait(waiter, 0, 0), 0);
    CHECK_EQ(rst_waiter_wait(waiter, -1, -1), 0);
    CHECK_EQ(rst_waiter_wait(NULL, 0, 0), -RST_EINVAL);
    CHECK_EQ(rst_waiter_attach_subscription(waiter, NULL), -RST_EINVAL);
    rst_waiter_detach_subscription(waiter, subscription);
    rst_waiter_detach_subscription(waiter, subscription);
    rst_waiter_destroy(NULL);
    rst_waiter_wake(NULL);
    rst_waiter_disarm(NULL);
    end();
}

TEST(woken_by_data)
{
    CHECK(begin("data"));
    fake_log_t *log = fake_image(subscription);
    CHECK_EQ(rst_waiter_attach_subscription(waiter, subscription), 0);
    CHECK_EQ(rst_waiter_wait(waiter, LONG_NS, 0), 1); /* the available event */
    take_events();
    int64_t at = 0;
    for (int i = 0; i < 20; i++) {
        sleeper_t sleeper;
        int64_t took_ns;
        CHECK(start(&sleeper));
        at = fake_data(log, at, "x");
        publish(log, RSTI_WAIT_DATA);
        CHECK_EQ(finish(&sleeper, &took_ns), 1);
        CHECK(took_ns < RSTI_NS_PER_S);
        CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 1);
        rst_batch_release(batch);
    }
    /* Data that are already there are found without sleeping. */
    (void)fake_data(log, at, "x");
    CHECK_EQ(rst_waiter_wait(waiter, LONG_NS, 0), 1);
    end();
}

TEST(woken_by_images_and_by_any_thread)
{
    CHECK(begin("images"));
    CHECK_EQ(rst_waiter_attach_subscription(waiter, subscription), 0);
    sleeper_t sleeper;
    int64_t took_ns;
    CHECK(start(&sleeper));
    fake_log_t *log = fake_image(subscription);
    CHECK_EQ(finish(&sleeper, &took_ns), 1);
    CHECK(took_ns < RSTI_NS_PER_S);
    take_events();
    CHECK(start(&sleeper));
    fake_unavailable(subscription, log);
    CHECK_EQ(finish(&sleeper, &took_ns), 1);
    CHECK(took_ns < RSTI_NS_PER_S);
    take_events();
    CHECK(start(&sleeper));
    rst_waiter_wake(waiter);
    CHECK_EQ(finish(&sleeper, &took_ns), 1);
    CHECK(took_ns < RSTI_NS_PER_S);
    rst_waiter_wake(waiter); /* before the wait: not lost */
    CHECK_EQ(rst_waiter_wait(waiter, LONG_NS, 0), 1);
    CHECK_EQ(rst_waiter_wait(waiter, 0, 0), 0);
    end();
}

TEST(image_that_comes_while_asleep_is_armed)
{
    CHECK(begin("while"));
    CHECK_EQ(rst_waiter_attach_subscription(waiter, subscription), 0);
    /* An event loop that takes events elsewhere: the wait must include the new image's data. */
    fake_log_t *log = fake_image(subscription);
    take_events();
    sleeper_t sleeper;
    int64_t took_ns;
    CHECK(start(&sleeper));
    (void)fake_data(log, 0, "x");
    publish(log, RSTI_WAIT_DATA);
    CHECK_EQ(finish(&sleeper, &took_ns), 1);
    CHECK(took_ns < RSTI_NS_PER_S);
    /* The slot is freed with the image. */
    CHECK_EQ(log->file.log.metadata->ext.slots[0].owner >> 16, rst_client_id(client));
    rst_waiter_detach_subscription(waiter, subscription);
    CHECK_EQ(log->file.log.metadata->ext.slots[0].owner, 0);
    end();
}

TEST(publication_waits_for_room_and_connection)
{
    CHECK(begin("room"));
    fake_log_t *log = fake_log(RSTI_LOG_CONCURRENT, 0, NULL);
    fake.publication_log = log;
    rst_publication_t *publication = fake_publish(client, "aeron:ipc", false);
    CHECK(publication != NULL);
    CHECK_EQ(rst_waiter_attach_publication(waiter, publication), 0);
    CHECK_EQ(rst_publication_offer(publication, "x", 1, 0), RST_NOT_CONNECTED);
    CHECK_EQ(rst_waiter_wait(waiter, RSTI_NS_PER_MS, 0), 0);
    sleeper_t sleeper;
    int64_t took_ns;
    CHECK(start(&sleeper));
    rsti_store_release_i64(fake_value(log->counter_id), 64);
    rsti_store_release_i32(&log->file.log.metadata->is_connected, 1);
    publish(log, RSTI_WAIT_LIMIT);
    CHECK_EQ(finish(&sleeper, &took_ns), 1);
    CHECK(took_ns < RSTI_NS_PER_S);
    CHECK_EQ(rst_publication_offer(publication, "x", 1, 0), 64);
    CHECK_EQ(rst_publication_offer(publication, "x", 1, 0), RST_BACK_PRESSURED);
    CHECK(start(&sleeper));
    rsti_store_release_i64(fake_value(log->counter_id), 128);
    publish(log, RSTI_WAIT_LIMIT);
    CHECK_EQ(finish(&sleeper, &took_ns), 1);
    CHECK_EQ(rst_publication_offer(publication, "x", 1, 0), 128);
    CHECK_EQ(rst_publication_offer(publication, "x", 1, 0), RST_BACK_PRESSURED);
    /* Refused for lack of room: it also waits for the reader to leave. */
    CHECK(start(&sleeper));
    rsti_store_release_i32(&log->file.log.metadata->is_connected, 0);
    publish(log, RSTI_WAIT_LIMIT);
    CHECK_EQ(finish(&sleeper, &took_ns), 1);
    CHECK_EQ(rst_publication_offer(publication, "x", 1, 0), RST_NOT_CONNECTED);
    /* Closing the publication ends the wait. */
    CHECK(start(&sleeper));
    rst_publication_close(publication);
    CHECK_EQ(finish(&sleeper, &took_ns), 1);
    rst_waiter_detach_publication(waiter, publication);
    CHECK_EQ(rst_waiter_wait(waiter, 0, 0), 0);
    end();
}

TEST(one_log_for_reading_and_writing)
{
    CHECK(begin("both"));
    fake_log_t *log = fake_log(RSTI_LOG_CONCURRENT, 0, NULL);
    fake.publication_log = log;
    rst_publication_t *publication = fake_publish(client, "aeron:ipc", false);
    CHECK(publication != NULL);
    fake_log_t view = *log;
    view.counter_id = fake_counter(RSTI_COUNTER_SUBSCRIBER_POSITION, subscription->registration_id,
        log->id, 0);
    fake_available(subscription, &view, 1);
    FAKE_UNTIL(rst_subscription_image_count(subscription) == 1);
    take_events();
    CHECK_EQ(rst_waiter_attach_publication(waiter, publication), 0);
    CHECK_EQ(rst_waiter_attach_subscription(waiter, subscription), 0);
    CHECK_EQ(rst_publication_offer(publication, "x", 1, 0), RST_NOT_CONNECTED);
    sleeper_t sleeper;
    int64_t took_ns;
    CHECK(start(&sleeper));
    CHECK_EQ(log->file.log.metadata->ext.slots[0].armed, RSTI_WAIT_DATA | RSTI_WAIT_LIMIT);
    rst_publication_t *writer = fake_publish(client, "aeron:ipc", false);
    CHECK(writer != NULL);
    rsti_store_release_i64(fake_value(log->counter_id), 64);
    CHECK(rst_publication_offer(writer, "x", 1, 0) > 0); /* wakes the reader by itself */
    CHECK_EQ(finish(&sleeper, &took_ns), 1);
    CHECK(took_ns < RSTI_NS_PER_S);
    rst_publication_close(writer);
    rst_publication_close(publication);
    end();
}

TEST(demand_rules_the_wait)
{
    CHECK(begin("demand"));
    fake_log_t *log = fake_image(subscription);
    take_events();
    CHECK_EQ(rst_waiter_attach_subscription(waiter, subscription), 0);
    CHECK_EQ(rst_subscription_poll_demanded(subscription, 8, 0, batch), 0);
    (void)fake_data(log, 0, "x");
    /* data, but no reader wants them */
    CHECK_EQ(rst_waiter_wait(waiter, 5 * RSTI_NS_PER_MS, 0), 0);
    sleeper_t sleeper;
    int64_t took_ns;
    CHECK(start(&sleeper));
    CHECK_EQ(log->file.log.metadata->ext.slots[0].armed, 0); /* nor is its writer woken */
    rst_subscription_request(subscription, 1);
    CHECK_EQ(finish(&sleeper, &took_ns), 1);
    CHECK(took_ns < RSTI_NS_PER_S);
    CHECK_EQ(rst_subscription_poll_demanded(subscription, 8, 0, batch), 1);
    end();
}

TEST(driver_dies_while_asleep)
{
    CHECK(begin("dies"));
    fake_log_t *log = fake_image(subscription);
    take_events();
    CHECK_EQ(rst_waiter_attach_subscription(waiter, subscription), 0);
    sleeper_t sleeper;
    int64_t took_ns;
    CHECK(start(&sleeper));
    (void)log;
    fake_die();
    CHECK_EQ(finish(&sleeper, &took_ns), 1); /* the event of the closed image */
    CHECK(took_ns < RSTI_NS_PER_S);
    take_events();
    CHECK_EQ(rst_waiter_wait(waiter, LONG_NS, 0), -RST_EDRIVERLOST);
    CHECK_EQ(rst_subscription_poll(subscription, 8, 0, batch), -RST_EDRIVERLOST);
    end();
}

TEST(closing_wakes)
{
    CHECK(begin("closing"));
    CHECK_EQ(rst_waiter_attach_subscription(waiter, subscription), 0);
    sleeper_t sleeper;
    int64_t took_ns;
    CHECK(start(&sleeper));
    rst_subscription_close(subscription);
    CHECK_EQ(finish(&sleeper, &took_ns), 1);
    rst_waiter_detach_subscription(waiter, subscription);
    subscription = fake_subscribe(client);
    CHECK(subscription != NULL);
    CHECK(start(&sleeper)); /* nothing attached */
    rst_client_close(client);
    CHECK_EQ(finish(&sleeper, &took_ns), -RST_ECLOSED);
    CHECK(took_ns < RSTI_NS_PER_S);
    rst_batch_destroy(batch);
    rst_waiter_destroy(waiter);
    rst_subscription_close(subscription);
    fake_close();
}

static bool is_fd_readable(int timeout_ms)
{
    struct pollfd watched = {.fd = rst_waiter_fd(waiter), .events = POLLIN};
    return poll(&watched, 1, timeout_ms) == 1;
}

/* The client's own thread may be late with an event, and wakes it once more then. */
static bool becomes_quiet(void)
{
    for (int i = 0; i < 3; i++) {
        if (!is_fd_readable(5)) {
            return true;
        }
        rst_waiter_disarm(waiter);
        take_events();
        if (rst_waiter_arm(waiter) != 0) {
            return false;
        }
    }
    return false;
}

TEST(event_loop)
{
    CHECK(begin("loop"));
    fake_log_t *log = fake_image(subscription);
    CHECK_EQ(rst_waiter_attach_subscription(waiter, subscription), 0);
    CHECK_EQ(rst_waiter_arm(waiter), 1); /* the available event */
    take_events();
    CHECK_EQ(rst_waiter_arm(waiter), 0);
    CHECK(becomes_quiet());
    (void)fake_data(log, 0, "x");
    publish(log, RSTI_WAIT_DATA);
    CHECK(is_fd_readable(1000));
    rst_waiter_disarm(waiter);
    CHECK(!is_fd_readable(0));
    CHECK_EQ(rst_waiter_arm(waiter), 1);
    CHECK_EQ(rst_subscription_poll(subscription, 8, 0, batch), 1);
    end();
}

TEST(writers_that_never_wake)
{
    CHECK(begin("foreign"));
    fake_log_t *log = fake_image(subscription);
    take_events();
    /* The heartbeat counter of an Aeron client: no extension in it. */
    const int32_t foreign = fake_counter(RSTI_COUNTER_CLIENT_HEARTBEAT, 4242, 0, fake_now_ms());
    CHECK_EQ(rst_waiter_attach_subscription(waiter, subscription), 0);
    FAKE_UNTIL(rsti_load_acquire_i32(&client->has_foreign_peers) == 1);
    sleeper_t sleeper;
    int64_t took_ns;
    CHECK(start(&sleeper));
    int64_t at = fake_data(log, 0, "x"); /* silently */
    CHECK_EQ(finish(&sleeper, &took_ns), 1);
    CHECK(took_ns < RSTI_NS_PER_S);
    CHECK_EQ(rst_subscription_poll(subscription, 8, 0, batch), 1);
    CHECK_EQ(rst_waiter_arm(waiter), 0);
    (void)fake_data(log, at, "x");
    CHECK(is_fd_readable(1000)); /* the conductor checked on behalf of the event loop */
    rst_waiter_disarm(waiter);
    rsti_counters_free(&fake.counters, foreign, fake_now_ms());
    FAKE_UNTIL(rsti_load_acquire_i32(&client->has_foreign_peers) == 0);
    end();
}

TEST(full_table_of_sleepers)
{
    CHECK(begin("full"));
    fake_log_t *log = fake_image(subscription);
    take_events();
    for (int32_t i = 0; i < RSTI_WAKE_SLOTS; i++) {
        CHECK(rsti_wake_slot_take(&log->file.log.metadata->ext, 777, i + 1) >= 0);
    }
    CHECK_EQ(rst_waiter_attach_subscription(waiter, subscription), 0);
    sleeper_t sleeper;
    int64_t took_ns;
    *(&sleeper) = (sleeper_t){.result = -1, .timeout_ns = LONG_NS};
    CHECK_EQ(pthread_create(&sleeper.thread, NULL, sleep_on, &sleeper), 0);
    usleep(20000);
    (void)fake_data(log, 0, "x");
    CHECK_EQ(finish(&sleeper, &took_ns), 1);
    CHECK(took_ns < RSTI_NS_PER_S);
    end();
}

/* O3 */
TEST(beside_an_aeron_driver)
{
    CHECK(fake_open("aeron"));
    fake.cnc.ext->magic = 0;
    fake.cnc.ext->version = 0;
    client = fake_client(50);
    CHECK(client != NULL);
    CHECK_EQ(rst_client_is_aeron_driver(client), 1);
    CHECK_EQ(fake.commands, 0); /* no hello: an Aeron driver does not expect it */
    subscription = fake_subscribe(client);
    CHECK(subscription != NULL);
    CHECK_EQ(rst_waiter_create(&waiter, client), 0);
    CHECK_EQ(rst_batch_create(&batch, 8), 0);
    fake_log_t *log = fake_image(subscription);
    memset(&log->file.log.metadata->ext, 0, sizeof log->file.log.metadata->ext);
    take_events();
    CHECK_EQ(rst_waiter_attach_subscription(waiter, subscription), 0);
    sleeper_t sleeper;
    int64_t took_ns;
    CHECK(start(&sleeper));
    int64_t at = fake_data(log, 0, "x");
    CHECK_EQ(finish(&sleeper, &took_ns), 1);
    CHECK(took_ns < RSTI_NS_PER_S);
    CHECK_EQ(rst_subscription_poll(subscription, 8, 0, batch), 1);
    CHECK_EQ(rst_waiter_arm(waiter), 0);
    at = fake_data(log, at, "x");
    CHECK(is_fd_readable(1000));
    rst_waiter_disarm(waiter);
    rst_batch_release(batch);
    /* The extension wrote nothing where Aeron keeps zeros. */
    const rsti_log_ext_t zeros = {0};
    CHECK_MEM(&log->file.log.metadata->ext, &zeros, sizeof zeros);
    const rsti_counter_value_t *value = &fake.counters.counters.values[fake.heartbeat_counter];
    CHECK_MEM(value->spare, &zeros, sizeof value->spare);
    char path[256];
    snprintf(path, sizeof path, "%s/wake/%lld.0", fake.dir, (long long)rst_client_id(client));
    CHECK_EQ(access(path, F_OK), -1);
    end();
}

/* ---- many threads at once, for the race detector ---- */

static int32_t is_done;
static fake_log_t *shared_log;
static rst_publication_t *shared_publication;

static void *write_loop(void *arg)
{
    (void)arg;
    int64_t sent = 0;
    while (sent < 5000 && rsti_load_acquire_i32(&is_done) == 0) {
        if (rst_publication_offer(shared_publication, &sent, sizeof sent, 0) > 0) {
            sent++;
        } else {
            usleep(50);
        }
    }
    return NULL;
}

/* The counters are accessed through the client's mapping: TSan identifies memory by address, and
 * would take the driver's mapping for other memory, which orders nothing. */
static void *drive_loop(void *arg)
{
    const int64_t *position = rsti_counter_address(&client->counters, *(const int32_t *)arg);
    int64_t *limit = rsti_counter_address(&client->counters, shared_log->counter_id);
    while (rsti_load_acquire_i32(&is_done) == 0) {
        const int64_t consumed = rsti_load_acquire_i64(position);
        while (rsti_log_clean_up_to(&shared_log->file.log, &shared_log->clean_position, consumed)
            > 0) {
        }
        rsti_store_release_i64(limit, consumed + FAKE_TERM / 2);
        rsti_mpsc_rb_set_heartbeat(&fake.ring, fake_now_ms());
        usleep(100);
    }
    return NULL;
}

TEST(writers_and_a_sleeping_reader)
{
    CHECK(begin("threads"));
    shared_log = fake_log(RSTI_LOG_CONCURRENT, 0, NULL);
    fake.publication_log = shared_log;
    shared_publication = fake_publish(client, "aeron:ipc", false);
    CHECK(shared_publication != NULL);
    rsti_store_release_i32(&shared_log->file.log.metadata->is_connected, 1);
    fake_log_t view = *shared_log;
    view.counter_id = fake_counter(RSTI_COUNTER_SUBSCRIBER_POSITION, subscription->registration_id,
        shared_log->id, 0);
    fake_available(subscription, &view, 1);
    FAKE_UNTIL(rst_subscription_image_count(subscription) == 1);
    CHECK_EQ(rst_waiter_attach_subscription(waiter, subscription), 0);
    rsti_store_release_i32(&is_done, 0);
    pthread_t threads[3];
    CHECK_EQ(pthread_create(&threads[0], NULL, write_loop, NULL), 0);
    CHECK_EQ(pthread_create(&threads[1], NULL, write_loop, NULL), 0);
    CHECK_EQ(pthread_create(&threads[2], NULL, drive_loop, &view.counter_id), 0);
    int64_t sum = 0;
    int received = 0;
    take_events();
    while (received < 10000 && rst_waiter_wait(waiter, LONG_NS, 0) == 1) {
        const int count = rst_subscription_poll(subscription, 64, 0, batch);
        const rst_message_t *messages = rst_batch_messages(batch, NULL);
        for (int i = 0; i < count; i++) {
            int64_t value;
            memcpy(&value, messages[i].data, sizeof value);
            sum += value;
        }
        received += count > 0 ? count : 0;
        rst_batch_release(batch);
    }
    rsti_store_release_i32(&is_done, 1);
    for (int i = 0; i < 3; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    CHECK_EQ(received, 10000);
    CHECK_EQ(sum, INT64_C(4999) * 5000);
    rst_publication_close(shared_publication);
    end();
}

CHECK_MAIN(RUN(without_time_it_only_looks), RUN(times_out), RUN(woken_by_data),
    RUN(woken_by_images_and_by_any_thread), RUN(image_that_comes_while_asleep_is_armed),
    RUN(publication_waits_for_room_and_connection), RUN(one_log_for_reading_and_writing),
    RUN(demand_rules_the_wait), RUN(driver_dies_while_asleep), RUN(closing_wakes), RUN(event_loop),
    RUN(writers_that_never_wake), RUN(full_table_of_sleepers), RUN(beside_an_aeron_driver),
    RUN(writers_and_a_sleeping_reader))
