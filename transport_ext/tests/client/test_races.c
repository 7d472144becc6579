/* Threads and deaths between two steps: demand shared by two pollers, and a waker that is killed
 * after it cleared a sleeper's flag and before it wrote to its FIFO. */
#include "tests/client/fake_driver.h"

#include <pthread.h>

#define LONG_NS (10 * RSTI_NS_PER_S)
#define POLLERS 4
#define REQUESTED 2

static rst_client_t *client;
static rst_subscription_t *subscription;

static bool begin(const char *name)
{
    client = fake_open(name) ? fake_client(50) : NULL;
    subscription = client != NULL ? fake_subscribe(client) : NULL;
    return subscription != NULL;
}

static void end(void)
{
    rst_subscription_close(subscription);
    rst_client_close(client);
    fake_close();
}

typedef struct poller_t {
    pthread_t thread;
    int64_t received;
} poller_t;

static int64_t received_total;
static int32_t is_done;

static void *poll_all(void *arg)
{
    poller_t *poller = arg;
    rst_batch_t *batch = NULL;
    if (rst_batch_create(&batch, 64) < 0) {
        return NULL;
    }
    while (rsti_load_acquire_i32(&is_done) == 0) {
        const int count = rst_subscription_poll_demanded(subscription, 64, 0, batch);
        if (count > 0) {
            poller->received += count;
            (void)rsti_fetch_add_i64(&received_total, count);
        }
        rst_batch_release(batch);
    }
    rst_batch_destroy(batch);
    return NULL;
}

TEST(demand_is_spent_once)
{
    CHECK(begin("demand-race"));
    fake_log_t *log = fake_image(subscription);
    int64_t at = 0;
    poller_t pollers[POLLERS] = {{0}};
    received_total = 0;
    rsti_store_release_i32(&is_done, 0);
    for (int i = 0; i < 1000; i++) {
        at = fake_data(log, at, "x");
    }
    for (int i = 0; i < POLLERS; i++) {
        CHECK_EQ(pthread_create(&pollers[i].thread, NULL, poll_all, &pollers[i]), 0);
    }
    /* Never more than was requested, whichever thread polls. */
    int64_t requested = 0;
    for (int round = 0; round < 1000 / REQUESTED - 1; round++) {
        requested += REQUESTED;
        rst_subscription_request(subscription, REQUESTED);
        for (int i = 0; i < 5000 && rsti_load_acquire_i64(&received_total) < requested; i++) {
            usleep(20);
        }
        usleep(20);
        if (rsti_load_acquire_i64(&received_total) != requested) {
            break;
        }
    }
    rsti_store_release_i32(&is_done, 1);
    for (int i = 0; i < POLLERS; i++) {
        (void)pthread_join(pollers[i].thread, NULL);
    }
    CHECK_EQ(received_total, requested);
    CHECK_EQ(rst_subscription_demand(subscription), 0);
    end();
}

static rst_waiter_t *waiter;

static void *sleep_long(void *arg)
{
    int *result = arg;
    *result = rst_waiter_wait(waiter, LONG_NS, 0);
    return NULL;
}

TEST(waker_dies_between_flag_and_fifo)
{
    CHECK(begin("dead-waker"));
    fake_log_t *log = fake_image(subscription);
    rst_image_event_t event;
    CHECK_EQ(rst_waiter_create(&waiter, client), 0);
    CHECK_EQ(rst_waiter_attach_subscription(waiter, subscription), 0);
    while (rst_subscription_next_event(subscription, &event) == 1) {
    }
    pthread_t thread;
    int result = -1;
    CHECK_EQ(pthread_create(&thread, NULL, sleep_long, &result), 0);
    FAKE_UNTIL(rsti_load_acquire_i32(&waiter->target.armed) != 0);
    usleep(5000);
    /* A publisher cleared the flags and was killed. The next one finds no sleeper. */
    rsti_log_ext_t *ext = &log->file.log.metadata->ext;
    CHECK_EQ(rsti_exchange_i32(&ext->data_armed, 0), 1);
    for (int i = 0; i < RSTI_WAKE_SLOTS; i++) {
        (void)rsti_exchange_i32(&ext->slots[i].armed, 0);
    }
    const int64_t begin_ns = rsti_client_now_ns();
    (void)fake_data(log, 0, "x");
    CHECK(!rsti_wake_is_log_armed(ext, RSTI_WAIT_DATA));
    (void)pthread_join(thread, NULL);
    CHECK_EQ(result, 1);
    CHECK(rsti_client_now_ns() - begin_ns < 2 * RSTI_NS_PER_S);
    rst_waiter_destroy(waiter);
    end();
}

CHECK_MAIN(RUN(demand_is_spent_once), RUN(waker_dies_between_flag_and_fifo))
