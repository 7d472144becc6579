/* A driver and a client in one process: streams by each medium and threading mode, and an idle
 * system that stays idle. */
#include "tests/system/transport.h"

#include <dirent.h>

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
    const int64_t took_ms = stream(publication, subscription, count, length_max,
        INT64_C(60000000000));
    fprintf(stderr, "%s %s: %" PRId64 " messages in %" PRId64 " ms\n", threading, channel, count,
        took_ms);
    CHECK(took_ms >= 0);
    rst_publication_close(publication);
    rst_subscription_close(subscription);
    rst_client_close(client);
    rst_driver_close(driver);
    CHECK_EQ(access(dir, F_OK), -1);
}

/* Thousands of hand-overs between threads: under the thread sanitizer and beside another test each
 * takes a scheduler slice, 0.8 ms. */
#if defined(__SANITIZE_THREAD__)
#define MESSAGES 10000
#else
#define MESSAGES 50000
#endif

/* N1 */
TEST(ipc_shared)
{
    run("shared", "aeron:ipc", MESSAGES, 100);
}
TEST(ipc_dedicated)
{
    run("dedicated", "aeron:ipc", MESSAGES, 4000);
}
/* N1 */
TEST(udp_shared)
{
    run("shared", udp_channel(""), MESSAGES, 100);
}
TEST(udp_network)
{
    run("shared-network", udp_channel(""), MESSAGES, 3000);
}
/* N1 */
TEST(udp_dedicated)
{
    run("dedicated", udp_channel(""), MESSAGES, 3000);
}

/* The thread sanitizer makes each pass about ten times as expensive, and has a thread of its own.
 */
#if defined(__SANITIZE_THREAD__)
#define IDLE_US_MOST 100000
#else
#define IDLE_US_MOST 40000
#endif

/* A driver with an idle stream must use almost no processor time: under 2 % here, noise included.
 */
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
    const int64_t used_us = (after.ru_utime.tv_sec - before.ru_utime.tv_sec + after.ru_stime.tv_sec
                                - before.ru_stime.tv_sec)
            * 1000000
        + after.ru_utime.tv_usec - before.ru_utime.tv_usec + after.ru_stime.tv_usec
        - before.ru_stime.tv_usec;
    fprintf(stderr, "idle: %" PRId64 " us of 2 s\n", used_us);
    rst_publication_close(publication);
    rst_subscription_close(subscription);
    rst_client_close(client);
    rst_driver_close(driver);
    CHECK(used_us < IDLE_US_MOST);
}

/* The total time in which threads of this process were ready to run and had no processor: second
 * number of schedstat. 0 where the system does not report it. */
static int64_t delayed_ns(void)
{
    int64_t sum_ns = 0;
    DIR *tasks = opendir("/proc/self/task");
    const struct dirent *entry;
    while (tasks != NULL && (entry = readdir(tasks)) != NULL) {
        char path[300];
        int64_t ran_ns = 0, waited_ns = 0;
        snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (file != NULL) {
            if (fscanf(file, "%" SCNd64 " %" SCNd64, &ran_ns, &waited_ns) == 2) {
                sum_ns += waited_ns;
            }
            fclose(file);
        }
    }
    if (tasks != NULL) {
        closedir(tasks);
    }
    return sum_ns;
}

/* After a lost wake-up all threads sleep until a timer: the sender's timer is HEARTBEAT_NS after
 * its last frame, the others are later. On a busy machine a woken thread is ready meanwhile. So a
 * try is late when it takes a quarter of that time, beside the time in which a thread was ready. */
#define HEARTBEAT_NS INT64_C(100000000)
#define IDLE_US 20000
#define TRIES 10 /* alternately one message, and more than fit at once */
#define ROUNDS 5

/* The lower count of the two kinds of tries, of TRIES / 2 each. */
static int count_woken(rst_publication_t *publication, rst_subscription_t *subscription)
{
    int woken[2] = {0, 0};
    for (int i = 0; i < TRIES; i++) {
        usleep(IDLE_US);
        const int64_t before_ns = delayed_ns();
        const int64_t begin = now_ns();
        if (stream(publication, subscription, i % 2 == 0 ? 1 : 100, 1300, INT64_C(5000000000))
            < 0) {
            return -1;
        }
        const int64_t took_ns = now_ns() - begin, ready_ns = delayed_ns() - before_ns;
        const bool is_woken = took_ns < HEARTBEAT_NS / 4 + ready_ns;
        if (!is_woken) {
            fprintf(stderr, "%d: %.1f ms, ready %.1f\n", i, (double)took_ns / 1e6,
                (double)ready_ns / 1e6);
        }
        woken[i % 2] += is_woken;
    }
    return woken[0] < woken[1] ? woken[0] : woken[1];
}

/* All threads sleep; then one message must arrive at once, and a full publication must learn of
 * room at once: by wake-ups, not by timers. Most tries of a round must pass, since other programs
 * run too. A host that stops the whole machine for a while makes one round late, and this process
 * cannot see it; a lost wake-up makes every round late. */
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
    int woken = 0;
    for (int round = 0; round < ROUNDS && woken >= 0 && woken <= TRIES / 4; round++) {
        woken = count_woken(publication, subscription);
        fprintf(stderr, "%s %s: woken %d of %d times\n", threading, channel, woken, TRIES / 2);
    }
    rst_publication_close(publication);
    rst_subscription_close(subscription);
    rst_client_close(client);
    rst_driver_close(driver);
    CHECK(woken > TRIES / 4);
}

TEST(wake_ipc_shared)
{
    wake("shared", "aeron:ipc");
}
TEST(wake_ipc_dedicated)
{
    wake("dedicated", "aeron:ipc");
}
TEST(wake_udp_shared)
{
    wake("shared", udp_channel(""));
}
TEST(wake_udp_network)
{
    wake("shared-network", udp_channel(""));
}
TEST(wake_udp_dedicated)
{
    wake("dedicated", udp_channel(""));
}

typedef struct named_t {
    int64_t client_id;
    int count;
} named_t;

static void count_named(void *arg, const rst_client_facts_t *client)
{
    named_t *named = arg;
    if (client->client_id == named->client_id && client->pid == getpid()
        && client->name[0] != '\0') {
        named->count++;
    }
}

/* The driver tells the peers of a client's ends at once, and these ask whose they are. A driver
 * that gets no processor for some time may still be late. */
TEST(client_is_named_when_it_is_open)
{
    const char *options[] = {NULL};
    rst_driver_t *driver = open_driver("named", options);
    rst_tool_t *tool = NULL;
    named_t named = {0};
    CHECK(driver != NULL);
    CHECK_EQ(rst_tool_open(&tool, rst_driver_dir(driver)), 0);
    for (int i = 0; i < 40; i++) {
        rst_client_params_t params;
        rst_client_t *client = NULL;
        rst_client_params_init(&params);
        params.dir = rst_driver_dir(driver);
        params.name = "prices";
        CHECK_EQ(rst_client_open(&client, &params), 0);
        named.client_id = rst_client_id(client);
        CHECK(rst_tool_clients(tool, count_named, &named) >= 0);
        rst_client_close(client);
    }
    CHECK(named.count > 20);
    rst_tool_close(tool);
    rst_driver_close(driver);
}

CHECK_MAIN(RUN(wake_ipc_shared), RUN(wake_ipc_dedicated), RUN(wake_udp_shared),
    RUN(wake_udp_network), RUN(wake_udp_dedicated), RUN(ipc_shared), RUN(ipc_dedicated),
    RUN(udp_shared), RUN(udp_network), RUN(udp_dedicated), RUN(idle_uses_no_cpu),
    RUN(client_is_named_when_it_is_open))
