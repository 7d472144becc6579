/* The client's life: opening, commands and answers, the driver's death, fork. */
#include "concurrent/error_log.h"
#include "rstream/driver.h"
#include "tests/client/fake_driver.h"

#include <pthread.h>
#include <sys/wait.h>

static rst_client_t *client;

static bool begin(const char *name)
{
    client = fake_open(name) ? fake_client(50) : NULL;
    return client != NULL;
}

static void end(void)
{
    rst_client_close(client);
    fake_close();
}

/* M9 */
TEST(open_without_driver)
{
    rst_client_t *none;
    rst_client_params_t params;
    rst_client_params_init(&params);
    params.dir = "/dev/shm/rstream-test-no-such-driver";
    params.driver_timeout_ms = 30;
    CHECK_EQ(rst_client_open(&none, &params), -RST_ENODRIVER);
    CHECK(none == NULL);
    CHECK(strstr(rst_last_error_text(), "rstreamd") != NULL);
    CHECK_EQ(rst_client_open(NULL, &params), -RST_EINVAL);
    params.keepalive_interval_ns = 5;
    CHECK_EQ(rst_client_open(&none, &params), -RST_EINVAL);
    rst_client_close(NULL);
    CHECK_EQ(rst_client_state(NULL), -RST_EINVAL);
    CHECK_EQ(rst_client_add_publication(NULL, "aeron:ipc", 1, false), -RST_EINVAL);
}

/* M9 */
TEST(open_beside_dead_driver)
{
    CHECK(fake_open("dead"));
    fake_die();
    rst_client_t *none;
    rst_client_params_t params;
    rst_client_params_init(&params);
    params.dir = fake.dir;
    params.driver_timeout_ms = 30;
    CHECK_EQ(rst_client_open(&none, &params), -RST_ENODRIVER);
    fake_close();
}

/* A CnC file in two steps: some bytes of it, then the rest. */
static void write_cnc(size_t length, const void *bytes, size_t size)
{
    char path[160];
    snprintf(path, sizeof path, "%s/cnc.dat", fake.dir);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    CHECK_EQ(fwrite(bytes, 1, size, file), size);
    CHECK_EQ(ftruncate(fileno(file), (off_t)length), 0);
    CHECK_EQ(fclose(file), 0);
}

/* M9: an empty file, a short one, one without version, one of another major version. */
TEST(open_beside_a_partly_written_file)
{
    rst_client_t *none;
    rst_client_params_t params;
    int32_t header[32] = {0};
    CHECK(fake_open("partly"));
    rst_client_params_init(&params);
    params.dir = fake.dir;
    params.driver_timeout_ms = 30;
    write_cnc(0, header, 0);
    CHECK_EQ(rst_client_open(&none, &params), -RST_ENODRIVER);
    write_cnc(128, header, sizeof header);
    CHECK_EQ(rst_client_open(&none, &params), -RST_ENODRIVER);
    write_cnc(1 << 20, header, sizeof header);
    CHECK_EQ(rst_client_open(&none, &params), -RST_ENODRIVER);
    CHECK(none == NULL);
    header[0] = 1 << 16;
    write_cnc(1 << 20, header, sizeof header);
    CHECK_EQ(rst_client_open(&none, &params), -RST_EVERSION);
    /* Marked as ready, but shorter than its regions need. */
    header[0] = 512;
    header[1] = 1 << 24;
    write_cnc(4096, header, sizeof header);
    CHECK(rst_client_open(&none, &params) < 0);
    fake_close();
}

static void *publish_late(void *arg)
{
    (void)arg;
    usleep(50000);
    rsti_store_release_i32(&fake.cnc.header->cnc_version, 512);
    return NULL;
}

/* M9: the client waits for a driver that is still starting. */
TEST(open_waits_for_a_starting_driver)
{
    CHECK(fake_open("starting"));
    rsti_store_release_i32(&fake.cnc.header->cnc_version, 0);
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, publish_late, NULL), 0);
    client = fake_client(50);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK(client != NULL);
    end();
}

/* M9, O3: an old heartbeat of an Aeron driver, which has no lock to check. */
TEST(open_beside_a_stale_driver)
{
    rst_client_t *none;
    rst_client_params_t params;
    CHECK(fake_open("stale"));
    fake.cnc.ext->magic = 0;
    rst_client_params_init(&params);
    params.dir = fake.dir;
    params.driver_timeout_ms = 30;
    rsti_mpsc_rb_set_heartbeat(&fake.ring, fake_now_ms() - 60000);
    CHECK_EQ(rst_client_open(&none, &params), -RST_ENODRIVER);
    CHECK(strstr(rst_last_error_text(), "not been heard of") != NULL);
    rsti_mpsc_rb_set_heartbeat(&fake.ring, 0);
    CHECK_EQ(rst_client_open(&none, &params), -RST_ENODRIVER);
    rsti_mpsc_rb_set_heartbeat(&fake.ring, -1);
    CHECK_EQ(rst_client_open(&none, &params), -RST_ENODRIVER);
    rsti_mpsc_rb_set_heartbeat(&fake.ring, fake_now_ms());
    params.driver_timeout_ms = 2000;
    CHECK_EQ(rst_client_open(&client, &params), 0);
    CHECK_EQ(rst_client_is_aeron_driver(client), 1);
    rst_client_close(client);
    fake_close();
}

/* M5: the name is cut at its limit, the text behind it stays. */
TEST(long_names_are_cut)
{
    char name[151];
    char wanted[160];
    memset(name, 'n', sizeof name);
    name[150] = '\0';
    snprintf(wanted, sizeof wanted, " name=%.*s version=", RSTI_CLIENT_NAME_MAX, name);
    CHECK(fake_open("named"));
    rst_client_params_t params;
    rst_client_params_init(&params);
    params.dir = fake.dir;
    params.name = name;
    CHECK_EQ(rst_client_open(&client, &params), 0);
    fake_pump();
    const char *label = fake.counters.counters.metadata[fake.heartbeat_counter].label;
    const int32_t *length = &fake.counters.counters.metadata[fake.heartbeat_counter].label_length;
    FAKE_UNTIL(rsti_load_acquire_i32(length) > 110);
    CHECK(strstr(label, wanted) != NULL);
    end();
}

/* M5 */
TEST(hello_and_heartbeat)
{
    CHECK(begin("hello"));
    CHECK_EQ(fake.last_client_id, rst_client_id(client));
    CHECK_EQ(rst_client_is_aeron_driver(client), 0);
    CHECK_STR(rst_client_dir(client), fake.dir);
    const rsti_counter_value_t *value = &fake.counters.counters.values[fake.heartbeat_counter];
    const rsti_heartbeat_ext_t *ext = (const rsti_heartbeat_ext_t *)(const void *)value->spare;
    FAKE_UNTIL(rsti_load_acquire_i32(&ext->magic) == RSTI_EXT_MAGIC);
    CHECK_EQ(ext->pid, getpid());
    const int64_t first = rsti_load_acquire_i64(&value->value);
    FAKE_UNTIL(rsti_load_acquire_i64(&value->value) > first);
    const rsti_counter_metadata_t *metadata = &fake.counters.counters
                                                   .metadata[fake.heartbeat_counter];
    CHECK(strstr(metadata->label, "name=" FAKE_NAME) != NULL);
    rst_client_close(client);
    fake_pump();
    CHECK(fake.was_client_closed);
    fake_close();
}

/* A driver ends its text with the channel, which the error begins with: it stands there once. */
TEST(refused_command_names_its_channel_once)
{
    static const char *const rows[][2] = {
        {"no room; channel=aeron:ipc?mtu=64k", "channel aeron:ipc?mtu=64k, stream 7: no room"},
        {"no room; channel=aeron:ipc?m", "channel aeron:ipc?mtu=64k, stream 7: no room"},
        {"no room; channel=aeron:ipc?x=1",
            "channel aeron:ipc?mtu=64k, stream 7: no room; channel=aeron:ipc?x=1"},
    };
    CHECK(begin("refused once"));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fake.refuse_code = RSTI_DRIVER_GENERIC_ERROR;
        fake.refuse_text = rows[i][0];
        const int64_t id = rst_client_add_subscription(client, "aeron:ipc?mtu=64k", 7);
        CHECK(id > 0);
        CHECK_EQ(fake_await(client, id), -RST_EREGISTRATION);
        CHECK_STR(rst_last_error_text(), rows[i][1]);
    }
    end();
}

/* M1 */
TEST(refused_command)
{
    CHECK(begin("refused"));
    fake.refuse_code = RSTI_DRIVER_INVALID_CHANNEL;
    const int64_t id = rst_client_add_subscription(client, "aeron:ipc", 7);
    CHECK(id > 0);
    CHECK_EQ(fake_await(client, id), -RST_EREGISTRATION);
    CHECK_EQ(rst_last_error_detail(), RSTI_DRIVER_INVALID_CHANNEL);
    CHECK(strstr(rst_last_error_text(), "no such thing") != NULL);
    CHECK_EQ(rst_client_await(client, id, 0), -RST_EINVAL);
    CHECK(rst_client_take_subscription(client, id) == NULL);
    CHECK_EQ(rst_client_add_subscription(client, NULL, 7), -RST_ECHANNEL);
    CHECK_EQ(rst_client_add_publication(client, "", 7, true), -RST_ECHANNEL);
    end();
}

static rsti_rb_trailer_t *ring_trailer(void)
{
    return fake.ring.rb.trailer;
}

/* Any process with access to the directory can write the counter of correlation ids. */
TEST(a_forged_correlation_id_is_refused)
{
    CHECK(begin("forged"));
    const int64_t before = rst_client_add_subscription(client, "aeron:ipc", 7);
    CHECK(before > 0);
    const int64_t forged[] = {-5, INT64_MIN, 0, before};
    for (size_t i = 0; i < sizeof forged / sizeof forged[0]; i++) {
        rsti_store_release_i64(&ring_trailer()->correlation_counter, forged[i]);
        CHECK_EQ(rst_client_add_subscription(client, "aeron:ipc", 8), -RST_ECORRUPT);
        CHECK(strstr(rst_last_error_text(), "correlation ids") != NULL);
    }
    CHECK_EQ(fake_await(client, before), 1);
    rst_client_t *second = NULL;
    rst_client_params_t params;
    rst_client_params_init(&params);
    params.dir = fake.dir;
    rsti_store_release_i64(&ring_trailer()->correlation_counter, -7);
    CHECK_EQ(rst_client_open(&second, &params), -RST_ECORRUPT);
    CHECK(second == NULL);
    end();
}

/* M1, M2 */
TEST(answer_takes_time)
{
    CHECK(begin("slow"));
    const int64_t id = rst_client_add_subscription(client, "aeron:ipc", 7);
    CHECK_EQ(rst_client_await(client, id, 5 * RSTI_NS_PER_MS), 0);
    CHECK_EQ(rst_client_await(client, id + 1000, 0), -RST_EINVAL);
    CHECK_EQ(fake_await(client, id), 1);
    CHECK_EQ(rst_client_await(client, id, 0), 1);
    CHECK(rst_client_take_publication(client, id) == NULL);
    rst_subscription_t *subscription = rst_client_take_subscription(client, id);
    CHECK(subscription != NULL);
    CHECK(rst_client_take_subscription(client, id) == NULL);
    rst_subscription_info_t info;
    rst_subscription_info(subscription, &info);
    CHECK_EQ(info.registration_id, id);
    CHECK_STR(info.channel, "aeron:ipc");
    rst_subscription_close(subscription);
    fake_pump();
    CHECK_EQ(fake.last_removed, id);
    end();
}

/* M6 */
TEST(cancelled)
{
    CHECK(begin("cancelled"));
    /* Before the answer: undone when the answer comes. */
    const int64_t early = rst_client_add_publication(client, "aeron:ipc", 7, false);
    rst_client_cancel(client, early);
    CHECK_EQ(rst_client_await(client, early, 0), -RST_EINVAL);
    for (int i = 0; i < 1000 && fake.last_removed != early; i++) {
        fake_pump();
        usleep(1000);
    }
    CHECK_EQ(fake.last_removed, early);
    /* After the answer. */
    const int64_t late = rst_client_add_subscription(client, "aeron:ipc", 7);
    CHECK_EQ(fake_await(client, late), 1);
    rst_client_cancel(client, late);
    fake_pump();
    CHECK_EQ(fake.last_removed, late);
    rst_client_cancel(client, late);
    /* Answered and never taken: closed with the client. */
    CHECK_EQ(fake_await(client, rst_client_add_subscription(client, "aeron:ipc", 7)), 1);
    (void)rst_client_add_subscription(client, "aeron:ipc", 7);
    end();
}

TEST(impossible_answers)
{
    CHECK(begin("impossible"));
    fake.limit_counter = 1 << 20;
    const int64_t id = rst_client_add_publication(client, "aeron:ipc", 7, false);
    CHECK_EQ(fake_await(client, id), -RST_ECORRUPT);
    fake_pump();
    CHECK_EQ(fake.last_removed, id);
    /* Invalid messages on the broadcast: no client fails. */
    uint8_t bytes[512];
    for (int type = 0x0F00; type < 0x0F10; type++) {
        for (size_t length = 0; length < sizeof bytes; length += 37) {
            memset(bytes, (int)(type + (int)length), sizeof bytes);
            (void)rsti_broadcast_transmit(&fake.tx, type, bytes, length);
        }
        fake_wake_client();
        usleep(2000);
    }
    CHECK_EQ(rst_client_state(client), RST_CLIENT_OPEN);
    /* An image whose counter or file does not exist: the subscription reports it. */
    rst_subscription_t *subscription = fake_subscribe(client);
    CHECK(subscription != NULL);
    fake_log_t *log = fake_log(RSTI_LOG_IMAGE, 0, NULL);
    log->counter_id = 1 << 20;
    fake_available(subscription, log, 1);
    rst_batch_t *batch;
    CHECK_EQ(rst_batch_create(&batch, 8), 0);
    int result = 0;
    FAKE_UNTIL(result != 0 || (result = rst_subscription_poll(subscription, 8, 0, batch)) != 0);
    CHECK_EQ(result, -RST_ECORRUPT);
    result = 0;
    log->counter_id = fake_counter(RSTI_COUNTER_SUBSCRIBER_POSITION, subscription->registration_id,
        log->id, 7); /* unaligned */
    fake_available(subscription, log, 1);
    FAKE_UNTIL(result != 0 || (result = rst_subscription_poll(subscription, 8, 0, batch)) != 0);
    CHECK_EQ(result, -RST_ECORRUPT);
    CHECK_EQ(rst_subscription_image_count(subscription), 0);
    /* An image that came and went before we read its event is no error. */
    log->counter_id = fake_counter(RSTI_COUNTER_SUBSCRIBER_POSITION, subscription->registration_id,
        log->id, 0);
    CHECK_EQ(unlink(log->file.path), 0);
    fake_available(subscription, log, 1);
    for (int i = 0; i < 50; i++) {
        CHECK_EQ(rst_subscription_poll(subscription, 8, 0, batch), 0);
        usleep(1000);
    }
    CHECK_EQ(rst_subscription_image_count(subscription), 0);
    rst_batch_destroy(batch);
    rst_subscription_close(subscription);
    end();
}

/* M4, D11 */
TEST(lapped)
{
    CHECK(begin("lapped"));
    uint8_t bytes[4096] = {0};
    for (int i = 0; i < 2000 && rst_client_state(client) == RST_CLIENT_OPEN; i++) {
        for (int k = 0; k < 64; k++) {
            (void)rsti_broadcast_transmit(&fake.tx, RSTI_RSP_OPERATION_SUCCESS, bytes,
                sizeof bytes);
        }
        fake_wake_client();
        usleep(100);
    }
    CHECK_EQ(rst_client_state(client), RST_CLIENT_TIMED_OUT);
    end();
}

/* M4 */
TEST(driver_dies)
{
    CHECK(begin("dies"));
    rst_subscription_t *subscription = fake_subscribe(client);
    rst_publication_t *publication = fake_publish(client, "aeron:ipc", false);
    CHECK(subscription != NULL && publication != NULL);
    fake_log_t *log = fake_image(subscription);
    const int64_t end_position = fake_data(log, fake_data(log, 0, "one"), "two");
    fake_die();
    FAKE_UNTIL(rst_client_state(client) == RST_CLIENT_DRIVER_LOST);
    CHECK_EQ(rst_publication_offer(publication, "x", 1, 0), RST_CLOSED);
    CHECK(rst_publication_is_closed(publication));
    CHECK_EQ(rst_publication_position(publication), RST_CLOSED);
    CHECK_EQ(rst_client_add_publication(client, "aeron:ipc", 7, false), -RST_EDRIVERLOST);
    rst_waiter_t *waiter;
    CHECK_EQ(rst_waiter_create(&waiter, client), -RST_EDRIVERLOST);
    /* First the data in memory, then the event, then the error. */
    rst_image_event_t event;
    CHECK_EQ(rst_subscription_next_event(subscription, &event), 1);
    CHECK_EQ(event.kind, RST_IMAGE_AVAILABLE);
    CHECK_STR(event.source, "127.0.0.1:9");
    CHECK_EQ(rst_subscription_next_event(subscription, &event), 0);
    rst_batch_t *batch;
    CHECK_EQ(rst_batch_create(&batch, 8), 0);
    CHECK_EQ(rst_subscription_poll(subscription, 1, 0, batch), 1);
    CHECK_EQ(rst_subscription_next_event(subscription, &event), 0);
    CHECK_EQ(rst_subscription_poll(subscription, 8, 0, batch), 1);
    CHECK_EQ(rst_subscription_next_event(subscription, &event), 1);
    CHECK_EQ(event.kind, RST_IMAGE_UNAVAILABLE);
    CHECK_EQ(event.position, end_position);
    CHECK_EQ(event.received_position, end_position);
    CHECK_EQ(event.end_position, INT64_MAX);
    CHECK_EQ(rst_subscription_poll(subscription, 8, 0, batch), -RST_EDRIVERLOST);
    CHECK_EQ(rst_subscription_image_count(subscription), 0);
    rst_batch_destroy(batch);
    rst_publication_close(publication);
    rst_subscription_close(subscription);
    end();
}

/* M4 */
TEST(driver_shuts_down)
{
    CHECK(begin("shut"));
    const int64_t id = rst_client_add_subscription(client, "aeron:ipc", 7);
    rsti_mpsc_rb_set_heartbeat(&fake.ring, -1);
    CHECK_EQ(rst_client_await(client, id, 2 * RSTI_NS_PER_S), -RST_EDRIVERLOST);
    CHECK_EQ(rst_client_state(client), RST_CLIENT_DRIVER_LOST);
    CHECK(strstr(rst_last_error_text(), "shut down") != NULL);
    end();
}

/* M4 */
TEST(driver_is_replaced)
{
    CHECK(begin("replaced"));
    pthread_mutex_lock(&client->lock);
    client->cnc.inode++; /* as if another file had got the name since it was opened */
    pthread_mutex_unlock(&client->lock);
    FAKE_UNTIL(rst_client_state(client) == RST_CLIENT_DRIVER_LOST);
    end();
}

/* A driver that was only stopped reads the command when it goes on. */
TEST(driver_stands_still)
{
    CHECK(begin("still"));
    pthread_mutex_lock(&client->lock);
    client->driver_heartbeat_ms = rsti_mpsc_rb_heartbeat(&fake.ring);
    client->driver_heartbeat_changed_ns -= 100 * RSTI_NS_PER_S;
    pthread_mutex_unlock(&client->lock);
    FAKE_UNTIL(rst_client_state(client) == RST_CLIENT_DRIVER_LOST);
    CHECK(strstr(client->failure, "stands still") != NULL);
    fake_pump();
    CHECK(fake.was_client_closed);
    CHECK_EQ(fake.last.client_id, rst_client_id(client));
    end();
}

static void expect_timed_out(void)
{
    rst_subscription_t *subscription = fake_subscribe(client);
    CHECK(subscription != NULL);
    fake_log_t *log = fake_image(subscription);
    const int64_t end_position = fake_data(log, 0, "one");
    rst_batch_t *batch;
    CHECK_EQ(rst_batch_create(&batch, 8), 0);
    const rsti_response_t response = {
        .type = RSTI_RSP_CLIENT_TIMEOUT, .correlation_id = rst_client_id(client)};
    fake_respond(&response);
    FAKE_UNTIL(rst_client_state(client) == RST_CLIENT_TIMED_OUT);
    /* The driver no longer waits for us before it overwrites the log: no data are handed out. */
    CHECK_EQ(rst_subscription_poll(subscription, 8, 0, batch), -RST_ECLIENTTIMEOUT);
    rst_image_event_t event;
    CHECK_EQ(rst_subscription_next_event(subscription, &event), 1);
    CHECK_EQ(rst_subscription_next_event(subscription, &event), 1);
    CHECK_EQ(event.kind, RST_IMAGE_UNAVAILABLE);
    CHECK_EQ(event.position, 0);
    CHECK_EQ(event.received_position, end_position);
    rst_batch_destroy(batch);
    rst_subscription_close(subscription);
}

/* M4 */
TEST(client_timed_out)
{
    CHECK(begin("timed-out"));
    expect_timed_out();
    fake_pump();
    CHECK(fake.was_client_closed);
    end();
}

/* M4 */
TEST(heartbeat_counter_taken_away)
{
    CHECK(begin("taken"));
    const rsti_counter_value_t *value = &fake.counters.counters.values[fake.heartbeat_counter];
    const rsti_heartbeat_ext_t *ext = (const rsti_heartbeat_ext_t *)(const void *)value->spare;
    FAKE_UNTIL(rsti_load_acquire_i32(&ext->magic) == RSTI_EXT_MAGIC);
    rsti_counters_free(&fake.counters, (int32_t)fake.heartbeat_counter, fake_now_ms());
    FAKE_UNTIL(rst_client_state(client) == RST_CLIENT_TIMED_OUT);
    end();
}

/* M6, M7, B9 */
TEST(handles_outlive_the_client)
{
    CHECK(begin("outlive"));
    rst_subscription_t *subscription = fake_subscribe(client);
    rst_publication_t *publication = fake_publish(client, "aeron:ipc", false);
    CHECK(subscription != NULL && publication != NULL);
    rst_waiter_t *waiter;
    CHECK_EQ(rst_waiter_create(&waiter, client), 0);
    CHECK_EQ(rst_waiter_attach_subscription(waiter, subscription), 0);
    CHECK_EQ(rst_waiter_attach_publication(waiter, publication), 0);
    fake_log_t *log = fake_image(subscription);
    (void)fake_data(log, 0, "still here");
    rst_batch_t *batch;
    CHECK_EQ(rst_batch_create(&batch, 8), 0);
    CHECK_EQ(rst_subscription_poll(subscription, 8, 0, batch), 1);
    const rst_message_t *message = rst_batch_messages(batch, NULL);
    rst_client_close(client);
    /* The driver is dead, but mappings in use are kept. */
    CHECK_MEM(message->data, "still here", 10);
    CHECK_EQ(rst_publication_offer(publication, "x", 1, 0), RST_CLOSED);
    CHECK_EQ(rst_waiter_wait(waiter, RSTI_NS_PER_S, 0), 1);
    rst_batch_t *other;
    CHECK_EQ(rst_batch_create(&other, 8), 0);
    CHECK_EQ(rst_subscription_poll(subscription, 8, 0, other), -RST_ECLOSED);
    rst_batch_destroy(other);
    rst_subscription_close(subscription);
    CHECK_MEM(message->data, "still here", 10);
    rst_publication_close(publication);
    rst_batch_destroy(batch);
    CHECK_EQ(rsti_load_acquire_i64(fake_value(log->counter_id)), 0); /* no longer our handle */
    rst_waiter_destroy(waiter);
    fake_close();
}

static int child_of_fork(rst_publication_t *publication, rst_subscription_t *subscription,
    rst_batch_t *batch, rst_waiter_t *waiter)
{
    rst_image_event_t event;
    rst_claim_t claim;
    const bool is_dead = rst_client_state(client) == -RST_EFORKED
        && rst_client_add_publication(client, "aeron:ipc", 1, false) == -RST_EFORKED
        && rst_publication_offer(publication, "x", 1, 0) == -RST_EFORKED
        && rst_publication_try_claim(publication, 1, 0, &claim) == -RST_EFORKED
        && rst_publication_is_closed(publication)
        && rst_subscription_poll(subscription, 1, 0, batch) == -RST_EFORKED
        && rst_subscription_next_event(subscription, &event) == -RST_EFORKED
        && rst_subscription_is_closed(subscription) && rst_waiter_wait(waiter, 0, 0) == -RST_EFORKED
        && rst_waiter_fd(waiter) == -RST_EFORKED;
    rst_batch_destroy(batch);
    rst_waiter_destroy(waiter);
    rst_client_close(client); /* first, on purpose */
    rst_publication_close(publication);
    rst_subscription_close(subscription);
    return is_dead ? 0 : 1;
}

TEST(forked)
{
    CHECK(begin("forked"));
    rst_subscription_t *subscription = fake_subscribe(client);
    rst_publication_t *publication = fake_publish(client, "aeron:ipc", false);
    CHECK(subscription != NULL && publication != NULL);
    fake_log_t *log = fake_image(subscription);
    const int64_t end_position = fake_data(log, 0, "x");
    rst_batch_t *batch;
    rst_waiter_t *waiter;
    CHECK_EQ(rst_batch_create(&batch, 8), 0);
    CHECK_EQ(rst_waiter_create(&waiter, client), 0);
    CHECK_EQ(rst_subscription_poll(subscription, 8, 0, batch), 1);
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        _exit(child_of_fork(publication, subscription, batch, waiter));
    }
    int status = -1;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
    /* The parent's handles are alive. */
    CHECK_EQ(rst_client_state(client), RST_CLIENT_OPEN);
    CHECK_EQ(rsti_load_acquire_i64(fake_value(log->counter_id)), 0);
    rst_batch_destroy(batch);
    CHECK_EQ(rsti_load_acquire_i64(fake_value(log->counter_id)), end_position);
    rst_waiter_destroy(waiter);
    rst_publication_close(publication);
    rst_subscription_close(subscription);
    end();
}

static void count_error(void *arg, int32_t observations, int64_t first_ms, int64_t last_ms,
    const char *text)
{
    (void)first_ms;
    (void)last_ms;
    *(int *)arg += strstr(text, "bang") != NULL ? observations : 0;
}

TEST(tools)
{
    rst_tool_t *tool;
    CHECK_EQ(rst_tool_open(&tool, "/dev/shm/rstream-test-no-such-driver"), -RST_ENODRIVER);
    CHECK(fake_open("tools"));
    const int32_t id = fake_counter(1234, 9, 8, 77);
    rsti_error_log_t errors;
    CHECK_EQ(rsti_error_log_init(&errors, fake.cnc.error_log, fake.cnc.error_log_length, NULL), 0);
    rsti_error_log_record(&errors, 0, "bang", fake_now_ms());
    rsti_error_log_record(&errors, 0, "bang", fake_now_ms());
    CHECK_EQ(rst_tool_open(&tool, fake.dir), 0);
    rst_counter_t counters[4];
    CHECK_EQ(rst_tool_counters(tool, counters, 4), 1);
    CHECK_EQ(counters[0].id, id);
    CHECK_EQ(counters[0].type_id, 1234);
    CHECK_EQ(counters[0].value, 77);
    CHECK_EQ(counters[0].registration_id, 9);
    CHECK_EQ(counters[0].reference_id, 8);
    CHECK_STR(counters[0].label, "test");
    CHECK(rst_tool_heartbeat_age_ms(tool) < 10000);
    CHECK(rst_tool_pid(tool) > 0);
    int count = 0;
    CHECK_EQ(rst_tool_errors(tool, count_error, &count), 1);
    CHECK_EQ(count, 2);
    rsti_mpsc_rb_set_heartbeat(&fake.ring, -1);
    CHECK_EQ(rst_tool_heartbeat_age_ms(tool), -1);
    rst_tool_close(tool);
    rst_tool_close(NULL);
    rsti_error_log_fini(&errors);
    fake_close();
}

TEST(directories)
{
    char first[128], second[128];
    (void)unsetenv("RSTREAM_HOST_TOKEN");
    CHECK_EQ(rst_host_token("/dev/shm/not/yet/there", first, sizeof first), 0);
    CHECK_EQ(rst_host_token("/dev/shm", second, sizeof second), 0);
    CHECK_STR(first, second);
    CHECK_EQ(rst_host_token("/proc", second, sizeof second), 0);
    CHECK(strcmp(first, second) != 0);
    CHECK_EQ(rst_host_token("/dev/shm", first, 8), -RST_EINVAL);
    (void)setenv("RSTREAM_HOST_TOKEN", "moon", 1);
    CHECK_EQ(rst_host_token("/dev/shm", first, sizeof first), 0);
    CHECK_STR(first, "moon");
    (void)unsetenv("RSTREAM_HOST_TOKEN");
    CHECK(fake_open("probe"));
    CHECK_EQ(rst_driver_probe(fake.dir), 2);
    CHECK_EQ(rst_driver_clean(fake.dir), -RST_EINUSE);
    fake_close();
    CHECK_EQ(rst_driver_probe(fake.dir), 0);
    CHECK_EQ(rst_driver_probe(""), -RST_EINVAL);
}

CHECK_MAIN(RUN(open_without_driver), RUN(open_beside_dead_driver),
    RUN(open_beside_a_partly_written_file), RUN(open_waits_for_a_starting_driver),
    RUN(open_beside_a_stale_driver), RUN(long_names_are_cut), RUN(hello_and_heartbeat),
    RUN(refused_command), RUN(refused_command_names_its_channel_once),
    RUN(a_forged_correlation_id_is_refused), RUN(answer_takes_time), RUN(cancelled),
    RUN(impossible_answers), RUN(lapped), RUN(driver_dies), RUN(driver_shuts_down),
    RUN(driver_is_replaced), RUN(driver_stands_still), RUN(client_timed_out),
    RUN(heartbeat_counter_taken_away), RUN(handles_outlive_the_client), RUN(forked), RUN(tools),
    RUN(directories))
