/* Lives and deaths: a driver in its own process, two clients, publishers that block, and what each
 * is told when another one is killed. */
#include "tests/system/transport.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define SECOND_NS INT64_C(1000000000)

static char dir[128];
static pid_t driver_pid;

static void name_dir(const char *name)
{
    snprintf(dir, sizeof dir, "/dev/shm/rstream-test-%d-%s", (int)getpid(), name);
}

static _Noreturn void run_driver(int ready)
{
    static const char *const options[] = {"threading=shared", "term-buffer-length=64k",
        "ipc-term-buffer-length=64k", "timer-interval=100ms", "client-liveness-timeout=1s",
        "image-liveness-timeout=1s", "publication-linger-timeout=1s",
        "publication-connection-timeout=1s", "publication-unblock-timeout=2s", NULL};
    rst_driver_params_t *params;
    rst_driver_t *driver = NULL;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int result = rst_driver_params_create(&params);
    result = result < 0 ? result : rst_driver_params_set(params, "dir", dir);
    for (int i = 0; result == 0 && options[i] != NULL; i++) {
        char option[64];
        snprintf(option, sizeof option, "%s", options[i]);
        char *value = strchr(option, '=');
        *value++ = '\0';
        result = rst_driver_params_set(params, option, value);
    }
    result = result < 0 ? result : rst_driver_open(&driver, params);
    result = result < 0 ? result : rst_driver_start(driver);
    if (result < 0) {
        fprintf(stderr, "driver: %s\n", rst_last_error_text());
        _exit(1);
    }
    char byte = 1;
    (void)!write(ready, &byte, 1);
    for (;;) {
        pause();
    }
}

static bool start_driver(void)
{
    int ends[2];
    char byte = 0;
    if (pipe(ends) != 0) {
        return false;
    }
    fflush(NULL);
    driver_pid = fork();
    if (driver_pid == 0) {
        run_driver(ends[1]);
    }
    close(ends[1]);
    const bool is_ready = read(ends[0], &byte, 1) == 1;
    close(ends[0]);
    return is_ready;
}

static void kill_driver(void)
{
    kill(driver_pid, SIGKILL);
    waitpid(driver_pid, NULL, 0);
}

static void clean(void)
{
    kill_driver();
    CHECK(rst_driver_clean(dir) >= 0);
    CHECK_EQ(access(dir, F_OK), -1);
}

static rst_client_t *connect_client(void)
{
    rst_client_params_t params;
    rst_client_t *client = NULL;
    rst_client_params_init(&params);
    params.dir = dir;
    params.driver_timeout_ms = 5000;
    params.keepalive_interval_ns = 100000000;
    if (rst_client_open(&client, &params) < 0) {
        fprintf(stderr, "client: %s\n", rst_last_error_text());
    }
    return client;
}

typedef struct ends_t {
    rst_client_t *writer, *reader;
    rst_publication_t *publication;
    rst_subscription_t *subscription;
    rst_waiter_t *write_waiter, *read_waiter;
    rst_batch_t *batch;
} ends_t;

static bool open_ends(ends_t *ends, const char *channel)
{
    memset(ends, 0, sizeof *ends);
    ends->writer = connect_client();
    ends->reader = connect_client();
    if (ends->writer == NULL || ends->reader == NULL) {
        return false;
    }
    const int64_t sub = await(ends->reader, rst_client_add_subscription(ends->reader, channel, 5));
    const int64_t pub = await(ends->writer,
        rst_client_add_publication(ends->writer, channel, 5, false));
    ends->subscription = rst_client_take_subscription(ends->reader, sub);
    ends->publication = rst_client_take_publication(ends->writer, pub);
    if (ends->subscription == NULL || ends->publication == NULL
        || rst_waiter_create(&ends->write_waiter, ends->writer) < 0
        || rst_waiter_create(&ends->read_waiter, ends->reader) < 0
        || rst_waiter_attach_publication(ends->write_waiter, ends->publication) < 0
        || rst_waiter_attach_subscription(ends->read_waiter, ends->subscription) < 0
        || rst_batch_create(&ends->batch, 256) < 0) {
        return false;
    }
    /* The sender first marks the publication as connected, and then wakes the conductor, which
     * makes room. */
    for (int i = 0; i < 500
        && !(rst_publication_available_window(ends->publication) > 0
            && rst_subscription_is_connected(ends->subscription));
        i++) {
        usleep(10000);
    }
    rst_image_event_t event;
    while (rst_subscription_next_event(ends->subscription, &event) == 1) {
    }
    return rst_publication_available_window(ends->publication) > 0;
}

static void close_ends(ends_t *ends)
{
    rst_batch_destroy(ends->batch);
    rst_waiter_destroy(ends->write_waiter);
    rst_waiter_destroy(ends->read_waiter);
    rst_client_close(ends->writer);
    rst_client_close(ends->reader);
    rst_publication_close(ends->publication);
    rst_subscription_close(ends->subscription);
}

static void *write_all(void *arg)
{
    ends_t *ends = arg;
    static uint8_t bytes[1000];
    for (int64_t i = 0; i < 20000;) {
        memcpy(bytes, &i, sizeof i);
        const int64_t result = rst_publication_offer(ends->publication, bytes, sizeof bytes, i);
        if (result > 0) {
            i++;
        } else if (result != RST_ADMIN_ACTION
            && rst_waiter_wait(ends->write_waiter, 5 * SECOND_NS, 0) != 1) {
            fprintf(stderr, "writer: no wake-up after %" PRId64 "\n", i);
            return NULL;
        }
    }
    return ends;
}

/* 20 MB through windows of 32 KiB: writer and reader each sleep hundreds of times; a lost wake-up
 * would cost the whole timeout. */
static void block_and_wake(const char *name, const char *channel)
{
    ends_t ends;
    name_dir(name);
    CHECK(start_driver());
    CHECK(open_ends(&ends, channel));
    pthread_t writer;
    CHECK_EQ(pthread_create(&writer, NULL, write_all, &ends), 0);
    int64_t received = 0;
    const int64_t begin = now_ns();
    while (received < 20000) {
        CHECK_EQ(rst_waiter_wait(ends.read_waiter, 5 * SECOND_NS, 0), 1);
        const int count = rst_subscription_poll(ends.subscription, 256, 0, ends.batch);
        CHECK(count >= 0);
        const rst_message_t *messages = rst_batch_messages(ends.batch, NULL);
        for (int i = 0; i < count; i++, received++) {
            int64_t number;
            memcpy(&number, messages[i].data, sizeof number);
            CHECK_EQ(number, received);
            CHECK_EQ(messages[i].length, 1000);
        }
        rst_batch_release(ends.batch);
    }
    void *result;
    pthread_join(writer, &result);
    CHECK(result != NULL);
    fprintf(stderr, "%s: %" PRId64 " ms\n", channel, (now_ns() - begin) / 1000000);
    const int64_t end = rst_publication_position(ends.publication);
    for (int i = 0; i < 300 && rst_publication_consumed_position(ends.publication) != end; i++) {
        usleep(10000);
    }
    CHECK_EQ(rst_publication_consumed_position(ends.publication), end);
    close_ends(&ends);
    clean();
}

/* N2 */
TEST(blocked_writer_ipc)
{
    block_and_wake("block-ipc", "aeron:ipc");
}
/* N2 */
TEST(blocked_writer_udp)
{
    block_and_wake("block-udp", udp_channel(""));
}

static void driver_is_killed(const char *name, const char *channel)
{
    ends_t ends;
    name_dir(name);
    CHECK(start_driver());
    CHECK(open_ends(&ends, channel));
    int64_t position = -1;
    for (int i = 0; i < 3; i++) {
        position = rst_publication_offer(ends.publication, "x", 1, i);
        CHECK(position > 0);
    }
    usleep(100000); /* UDP: let it cross */
    kill_driver();
    const int64_t killed_ns = now_ns();
    int seen = 0;
    for (;;) {
        const int result = rst_waiter_wait(ends.read_waiter, 3 * SECOND_NS, 0);
        if (result < 0) {
            CHECK_EQ(result, -RST_EDRIVERLOST);
            break;
        }
        CHECK_EQ(result, 1);
        const int count = rst_subscription_poll(ends.subscription, 256, 0, ends.batch);
        seen += count > 0 ? count : 0;
        rst_batch_release(ends.batch);
        rst_image_event_t event;
        while (rst_subscription_next_event(ends.subscription, &event) == 1) {
            CHECK_EQ(event.kind, RST_IMAGE_UNAVAILABLE);
            CHECK_EQ(event.position, position);
            CHECK_EQ(event.end_position, INT64_MAX);
        }
    }
    CHECK(now_ns() - killed_ns < 2 * SECOND_NS);
    CHECK_EQ(seen, 3);
    /* The client marks what it owns one after the other: the writer's waiter may already say that
     * the driver is lost while the publication still takes messages. */
    while ((position = rst_publication_offer(ends.publication, "x", 1, 0)) != RST_CLOSED
        && now_ns() - killed_ns < 5 * SECOND_NS) {
        if (rst_waiter_wait(ends.write_waiter, SECOND_NS / 10, 0) < 0) {
            usleep(1000);
        }
    }
    CHECK_EQ(position, RST_CLOSED);
    /* The next driver takes over the directory; new clients work, the old ones stay closed. */
    CHECK(start_driver());
    ends_t again;
    CHECK(open_ends(&again, channel));
    CHECK(rst_publication_offer(again.publication, "x", 1, 0) > 0);
    CHECK_EQ(rst_client_state(ends.reader), RST_CLIENT_DRIVER_LOST);
    close_ends(&ends);
    CHECK(rst_publication_offer(again.publication, "x", 1, 0) > 0);
    CHECK_EQ(rst_waiter_wait(again.read_waiter, 3 * SECOND_NS, 0), 1);
    close_ends(&again);
    clean();
}

TEST(driver_is_killed_ipc)
{
    driver_is_killed("kill-ipc", "aeron:ipc");
}
TEST(driver_is_killed_udp)
{
    driver_is_killed("kill-udp", udp_channel(""));
}

/* Killed and replaced at once, so that the lock is held again when the clients check it. */
TEST(driver_is_replaced)
{
    ends_t ends;
    name_dir("replace");
    CHECK(start_driver());
    CHECK(open_ends(&ends, "aeron:ipc"));
    kill_driver();
    CHECK(start_driver());
    const int64_t begin = now_ns();
    while (rst_client_state(ends.reader) == RST_CLIENT_OPEN && now_ns() - begin < 5 * SECOND_NS) {
        usleep(10000);
    }
    CHECK_EQ(rst_client_state(ends.reader), RST_CLIENT_DRIVER_LOST);
    CHECK(now_ns() - begin < 2 * SECOND_NS);
    close_ends(&ends);
    clean();
}

static _Noreturn void write_and_be_killed(const char *channel)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    rst_client_t *client = connect_client();
    const int64_t id = client != NULL
        ? await(client, rst_client_add_publication(client, channel, 5, false))
        : -1;
    rst_publication_t *publication = id > 0 ? rst_client_take_publication(client, id) : NULL;
    if (publication == NULL) {
        _exit(1);
    }
    for (int64_t i = 0;; i++) {
        while (rst_publication_offer(publication, &i, sizeof i, i) < 0) {
            usleep(1000);
        }
        usleep(1000);
    }
}

static void writer_is_killed(const char *name, const char *channel)
{
    name_dir(name);
    CHECK(start_driver());
    fflush(NULL);
    rst_client_t *reader = connect_client();
    CHECK(reader != NULL);
    const int64_t id = await(reader, rst_client_add_subscription(reader, channel, 5));
    rst_subscription_t *subscription = rst_client_take_subscription(reader, id);
    CHECK(subscription != NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        write_and_be_killed(channel);
    }
    rst_waiter_t *waiter;
    rst_batch_t *batch;
    CHECK_EQ(rst_waiter_create(&waiter, reader), 0);
    CHECK_EQ(rst_waiter_attach_subscription(waiter, subscription), 0);
    CHECK_EQ(rst_batch_create(&batch, 64), 0);
    int64_t next = 0, position = 0, killed_ns = 0;
    rst_image_event_t event = {.kind = 0};
    while (event.kind != RST_IMAGE_UNAVAILABLE) {
        CHECK_EQ(rst_waiter_wait(waiter, 8 * SECOND_NS, 0), 1);
        const int count = rst_subscription_poll(subscription, 64, 0, batch);
        CHECK(count >= 0);
        const rst_message_t *messages = rst_batch_messages(batch, NULL);
        for (int i = 0; i < count; i++) {
            CHECK_EQ(messages[i].reserved_value, next++);
            position = messages[i].position;
        }
        rst_batch_release(batch);
        if (next > 20 && killed_ns == 0) {
            kill(pid, SIGKILL);
            waitpid(pid, NULL, 0);
            killed_ns = now_ns();
        }
        (void)rst_subscription_next_event(subscription, &event);
    }
    fprintf(stderr, "%s: heard of the writer's death after %" PRId64 " ms\n", channel,
        (now_ns() - killed_ns) / 1000000);
    CHECK_EQ(event.position, position);
    CHECK(!rst_subscription_is_connected(subscription));
    rst_batch_destroy(batch);
    rst_waiter_destroy(waiter);
    rst_subscription_close(subscription);
    rst_client_close(reader);
    clean();
}

TEST(writer_is_killed_ipc)
{
    writer_is_killed("writer-ipc", "aeron:ipc");
}
TEST(writer_is_killed_udp)
{
    writer_is_killed("writer-udp", udp_channel(""));
}

/* N16 */
TEST(bound_address_is_reported)
{
    name_dir("address");
    CHECK(start_driver());
    rst_client_t *client = connect_client();
    CHECK(client != NULL);
    const int64_t id = await(client,
        rst_client_add_subscription(client, "aeron:udp?endpoint=127.0.0.1:0", 5));
    rst_subscription_t *subscription = rst_client_take_subscription(client, id);
    CHECK(subscription != NULL);
    char text[64];
    CHECK_EQ(rst_subscription_local_address(subscription, text, sizeof text), 1);
    CHECK(strncmp(text, "127.0.0.1:", 10) == 0);
    CHECK(atoi(text + 10) > 0);
    rst_subscription_close(subscription);
    rst_client_close(client);
    clean();
}

TEST(idle_client_uses_no_cpu)
{
    ends_t ends;
    name_dir("idle");
    CHECK(start_driver());
    CHECK(open_ends(&ends, "aeron:ipc"));
    usleep(300000);
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    CHECK_EQ(rst_waiter_wait(ends.read_waiter, 2 * SECOND_NS, 0), 0);
    getrusage(RUSAGE_SELF, &after);
    const int64_t used_us = (after.ru_utime.tv_sec - before.ru_utime.tv_sec) * INT64_C(1000000)
        + after.ru_utime.tv_usec - before.ru_utime.tv_usec
        + (after.ru_stime.tv_sec - before.ru_stime.tv_sec) * INT64_C(1000000)
        + after.ru_stime.tv_usec - before.ru_stime.tv_usec;
    fprintf(stderr, "two idle clients: %" PRId64 " us of 2 s\n", used_us);
    CHECK(used_us < 20000);
    close_ends(&ends);
    clean();
}

CHECK_MAIN(RUN(blocked_writer_ipc), RUN(blocked_writer_udp), RUN(driver_is_killed_ipc),
    RUN(driver_is_killed_udp), RUN(driver_is_replaced), RUN(writer_is_killed_ipc),
    RUN(writer_is_killed_udp), RUN(bound_address_is_reported), RUN(idle_client_uses_no_cpu))
