/* A driver and a client in one process: streams by each medium and threading mode, and an idle
 * system that stays idle. */
#include "tests/system/transport.h"

static void run(const char *threading, const char *channel, int64_t count, size_t length_max)
{
    char mode[64];
    snprintf(mode, sizeof mode, "threading=%s", threading);
    const char *options[] = {mode, "term-buffer-length=64k", "ipc-term-buffer-length=64k", NULL};
    rst_driver_t *driver = open_driver("smoke", options);
    CHECK(driver != NULL);
    char dir[128];
    snprintf(dir, sizeof dir, "%s", rst_driver_dir(driver));
    rst_client_t *client = open_client(driver);
    CHECK(client != NULL);
    rst_subscription_t *subscription = add_subscription(client, channel);
    rst_publication_t *publication = add_publication(client, channel, false);
    CHECK(subscription != NULL && publication != NULL);
    const int64_t took_ms =
        stream(publication, subscription, count, length_max, INT64_C(60000000000));
    fprintf(stderr, "%s %s: %" PRId64 " messages in %" PRId64 " ms\n", threading, channel, count,
        took_ms);
    CHECK(took_ms >= 0);
    rst_publication_close(publication);
    rst_subscription_close(subscription);
    rst_client_close(client);
    rst_driver_close(driver);
    CHECK_EQ(access(dir, F_OK), -1);
}

/* N1 */
TEST(ipc_shared) { run("shared", "aeron:ipc", 50000, 100); }
TEST(ipc_dedicated) { run("dedicated", "aeron:ipc", 50000, 4000); }
/* N1 */
TEST(udp_shared) { run("shared", udp_channel(""), 50000, 100); }
TEST(udp_network) { run("shared-network", udp_channel(""), 50000, 3000); }
/* N1 */
TEST(udp_dedicated) { run("dedicated", udp_channel(""), 50000, 3000); }

/* A driver with an idle stream must use next to nothing: under 2 % here, noise included. */
TEST(idle_uses_no_cpu)
{
    const char *options[] = {"threading=shared", NULL};
    struct rusage before, after;
    rst_driver_t *driver = open_driver("idle", options);
    CHECK(driver != NULL);
    rst_client_t *client = open_client(driver);
    CHECK(client != NULL);
    rst_subscription_t *subscription = add_subscription(client, udp_channel("|rcv-wnd=64k"));
    rst_publication_t *publication = add_publication(client, udp_channel(""), false);
    CHECK(subscription != NULL && publication != NULL);
    CHECK(stream(publication, subscription, 100, 100, INT64_C(5000000000)) >= 0);
    usleep(300000);
    getrusage(RUSAGE_SELF, &before);
    usleep(2000000);
    getrusage(RUSAGE_SELF, &after);
    const int64_t used_us = (after.ru_utime.tv_sec - before.ru_utime.tv_sec
            + after.ru_stime.tv_sec - before.ru_stime.tv_sec) * 1000000
        + after.ru_utime.tv_usec - before.ru_utime.tv_usec + after.ru_stime.tv_usec
        - before.ru_stime.tv_usec;
    fprintf(stderr, "idle: %" PRId64 " us of 2 s\n", used_us);
    rst_publication_close(publication);
    rst_subscription_close(subscription);
    rst_client_close(client);
    rst_driver_close(driver);
    CHECK(used_us < 40000);
}

/* Everybody sleeps; then one message must come through at once, and a full publication must be
 * told of room at once: wake-ups, not timers. Of many tries the median counts, other programs run too. */
static void wake(const char *threading, const char *channel)
{
    char mode[64];
    snprintf(mode, sizeof mode, "threading=%s", threading);
    const char *options[] = {mode, "term-buffer-length=64k", "ipc-term-buffer-length=64k", NULL};
    rst_driver_t *driver = open_driver("wake", options);
    CHECK(driver != NULL);
    rst_client_t *client = open_client(driver);
    CHECK(client != NULL);
    rst_subscription_t *subscription = add_subscription(client, channel);
    rst_publication_t *publication = add_publication(client, channel, false);
    CHECK(subscription != NULL && publication != NULL);
    CHECK(stream(publication, subscription, 10, 100, INT64_C(5000000000)) >= 0);
    int fast = 0;
    for (int i = 0; i < 9; i++) {
        usleep(60000);
        const int64_t begin = now_ns();
        CHECK(stream(publication, subscription, i % 2 == 0 ? 1 : 100, 1300,
                  INT64_C(5000000000)) >= 0);
        fast += now_ns() - begin < INT64_C(5000000);
    }
    fprintf(stderr, "%s %s: %d of 9 within 5 ms\n", threading, channel, fast);
    rst_publication_close(publication);
    rst_subscription_close(subscription);
    rst_client_close(client);
    rst_driver_close(driver);
    CHECK(fast >= 5);
}

TEST(wake_ipc_shared) { wake("shared", "aeron:ipc"); }
TEST(wake_ipc_dedicated) { wake("dedicated", "aeron:ipc"); }
TEST(wake_udp_shared) { wake("shared", udp_channel("")); }
TEST(wake_udp_network) { wake("shared-network", udp_channel("")); }
TEST(wake_udp_dedicated) { wake("dedicated", udp_channel("")); }

CHECK_MAIN(RUN(wake_ipc_shared), RUN(wake_ipc_dedicated), RUN(wake_udp_shared),
    RUN(wake_udp_network), RUN(wake_udp_dedicated), RUN(ipc_shared), RUN(ipc_dedicated),
    RUN(udp_shared), RUN(udp_network),
    RUN(udp_dedicated), RUN(idle_uses_no_cpu))
