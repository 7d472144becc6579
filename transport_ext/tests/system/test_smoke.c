/* A driver and a client in one process: one message by each medium. */
#include "rstream/driver.h"
#include "rstream/rstream.h"

#include "tests/check.h"

#include <unistd.h>

static char dir[128];

static rst_driver_t *open_driver(const char *threading, const char *name)
{
    rst_driver_params_t *params;
    rst_driver_t *driver = NULL;
    snprintf(dir, sizeof dir, "/dev/shm/rstream-test-%d-%s", (int)getpid(), name);
    if (rst_driver_params_create(&params) < 0) {
        return NULL;
    }
    if (rst_driver_params_set(params, "dir", dir) < 0
        || rst_driver_params_set(params, "threading", threading) < 0
        || rst_driver_params_set(params, "term-buffer-length", "64k") < 0
        || rst_driver_params_set(params, "ipc-term-buffer-length", "64k") < 0
        || rst_driver_open(&driver, params) < 0 || rst_driver_start(driver) < 0) {
        fprintf(stderr, "driver: %s\n", rst_last_error_text());
    }
    rst_driver_params_destroy(params);
    return driver;
}

static int64_t await(rst_client_t *client, int64_t id)
{
    const int result = id < 0 ? (int)id : rst_client_await(client, id, 5000000000);
    if (result != 1) {
        fprintf(stderr, "await %d: %s\n", result, rst_last_error_text());
    }
    return result == 1 ? id : -1;
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

typedef struct pair_t {
    rst_client_t *client;
    rst_publication_t *publication;
    rst_subscription_t *subscription;
    rst_batch_t *batch;
} pair_t;

static bool open_pair(pair_t *pair, const char *channel)
{
    rst_client_params_t params;
    rst_client_params_init(&params);
    params.dir = dir;
    memset(pair, 0, sizeof *pair);
    if (rst_client_open(&pair->client, &params) < 0) {
        fprintf(stderr, "client: %s\n", rst_last_error_text());
        return false;
    }
    const int64_t sub = await(pair->client, rst_client_add_subscription(pair->client, channel, 10));
    const int64_t pub =
        await(pair->client, rst_client_add_publication(pair->client, channel, 10, false));
    if (sub < 0 || pub < 0) {
        return false;
    }
    pair->subscription = rst_client_take_subscription(pair->client, sub);
    pair->publication = rst_client_take_publication(pair->client, pub);
    return pair->subscription != NULL && pair->publication != NULL
        && rst_batch_create(&pair->batch, 256) == 0;
}

static void close_pair(pair_t *pair)
{
    rst_batch_destroy(pair->batch);
    rst_client_close(pair->client);
}

/* Sends count numbered messages and reads them back in order; milliseconds, or -1. */
static int64_t stream(pair_t *pair, int64_t count, size_t size)
{
    uint8_t message[2048];
    int64_t sent = 0, received = 0;
    const int64_t begin = now_ns();
    memset(message, 0x5a, sizeof message);
    while (received < count) {
        if (now_ns() - begin > 30000000000) {
            fprintf(stderr, "sent %" PRId64 " received %" PRId64 "\n", sent, received);
            return -1;
        }
        for (int i = 0; i < 100 && sent < count; i++) {
            memcpy(message, &sent, sizeof sent);
            const int64_t position =
                rst_publication_offer(pair->publication, message, size, 0);
            if (position < 0) {
                break;
            }
            sent++;
        }
        const int taken = rst_subscription_poll(pair->subscription, 256, 0, pair->batch);
        if (taken < 0) {
            fprintf(stderr, "poll %d: %s\n", taken, rst_last_error_text());
            return -1;
        }
        int32_t n;
        const rst_message_t *messages = rst_batch_messages(pair->batch, &n);
        for (int32_t i = 0; i < n; i++) {
            int64_t number;
            memcpy(&number, messages[i].data, sizeof number);
            if (number != received || (size_t)messages[i].length != size) {
                fprintf(stderr, "got %" PRId64 ", expected %" PRId64 "\n", number, received);
                return -1;
            }
            received++;
        }
        rst_batch_release(pair->batch);
        if (taken == 0) {
            usleep(20);
        }
    }
    return (now_ns() - begin) / 1000000;
}

static void run(const char *threading, const char *channel, int64_t count)
{
    pair_t pair;
    rst_driver_t *driver = open_driver(threading, "smoke");
    CHECK(driver != NULL);
    CHECK(open_pair(&pair, channel));
    const int64_t took_ms = stream(&pair, count, 70);
    fprintf(stderr, "%s %s: %" PRId64 " messages in %" PRId64 " ms\n", threading, channel, count,
        took_ms);
    CHECK(took_ms >= 0);
    close_pair(&pair);
    rst_driver_close(driver);
    CHECK_EQ(access(dir, F_OK), -1);
}

TEST(ipc_shared) { run("shared", "aeron:ipc", 100000); }
TEST(ipc_dedicated) { run("dedicated", "aeron:ipc", 100000); }
TEST(udp_shared) { run("shared", "aeron:udp?endpoint=127.0.0.1:24325", 100000); }
TEST(udp_network) { run("shared-network", "aeron:udp?endpoint=127.0.0.1:24325", 100000); }
TEST(udp_dedicated) { run("dedicated", "aeron:udp?endpoint=127.0.0.1:24325", 100000); }

CHECK_MAIN(RUN(ipc_shared), RUN(ipc_dedicated), RUN(udp_shared), RUN(udp_network),
    RUN(udp_dedicated))
