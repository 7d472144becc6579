#include "concurrent/wake.h"

#include "tests/check.h"
#include "util/rng.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

static rsti_log_ext_t ext;

typedef struct woken_t {
    int count;
    int64_t client_ids[RSTI_WAKE_SLOTS];
    int32_t waiter_ids[RSTI_WAKE_SLOTS];
} woken_t;

static void on_wake(void *arg, int64_t client_id, int32_t waiter_id)
{
    woken_t *woken = arg;
    woken->client_ids[woken->count] = client_id;
    woken->waiter_ids[woken->count] = waiter_id;
    woken->count++;
}

TEST(slots_are_found_again_and_limited)
{
    ext = (rsti_log_ext_t){0};
    CHECK_EQ(rsti_wake_slot_take(&ext, 7, 0), 0);
    CHECK_EQ(rsti_wake_slot_take(&ext, 7, 1), 1);
    CHECK_EQ(rsti_wake_slot_take(&ext, 7, 0), 0);
    CHECK_EQ(rsti_wake_slot_take(&ext, 8, 0), 2);
    for (int32_t i = 3; i < RSTI_WAKE_SLOTS; i++) {
        CHECK_EQ(rsti_wake_slot_take(&ext, 9, i), i);
    }
    CHECK_EQ(rsti_wake_slot_take(&ext, 10, 0), -1);
    rsti_wake_slot_release(&ext, 1);
    rsti_wake_slot_release(&ext, -1);
    rsti_wake_slot_release(&ext, RSTI_WAKE_SLOTS);
    CHECK_EQ(rsti_wake_slot_take(&ext, 10, 5), 1);
    rsti_wake_slots_clear_client(&ext, 9);
    CHECK_EQ(rsti_wake_slot_take(&ext, 11, 0), 3);
    CHECK_EQ(rsti_wake_slot_take(&ext, 8, 0), 2);
    CHECK_EQ(rsti_wake_slot_take(&ext, 0, 0), -1);
    CHECK_EQ(rsti_wake_slot_take(&ext, -1, 0), -1);
    CHECK_EQ(rsti_wake_slot_take(&ext, INT64_C(1) << 47, 0), -1);
    CHECK_EQ(rsti_wake_slot_take(&ext, 1, 65536), -1);
    CHECK_EQ(rsti_wake_slot_take(&ext, 1, -1), -1);
}

TEST(only_armed_sleepers_of_the_kind_are_woken)
{
    ext = (rsti_log_ext_t){0};
    int data = rsti_wake_slot_take(&ext, 1, 10);
    int limit = rsti_wake_slot_take(&ext, 2, 20);
    int both = rsti_wake_slot_take(&ext, 3, 30);
    woken_t woken = {0};
    rsti_wake_log(&ext, RSTI_WAIT_DATA, on_wake, &woken);
    CHECK_EQ(woken.count, 0);

    rsti_wake_arm(&ext, data, RSTI_WAIT_DATA);
    rsti_wake_arm(&ext, limit, RSTI_WAIT_LIMIT);
    rsti_wake_arm(&ext, both, RSTI_WAIT_DATA | RSTI_WAIT_LIMIT);
    CHECK(rsti_wake_is_log_armed(&ext, RSTI_WAIT_DATA));
    rsti_wake_log(&ext, RSTI_WAIT_DATA, on_wake, &woken);
    CHECK_EQ(woken.count, 2);
    CHECK_EQ(woken.client_ids[0], 1);
    CHECK_EQ(woken.waiter_ids[0], 10);
    CHECK_EQ(woken.client_ids[1], 3);
    CHECK(!rsti_wake_is_log_armed(&ext, RSTI_WAIT_DATA));
    rsti_wake_log(&ext, RSTI_WAIT_DATA, on_wake, &woken);
    CHECK_EQ(woken.count, 2);

    woken = (woken_t){0};
    rsti_wake_log(&ext, RSTI_WAIT_LIMIT, on_wake, &woken);
    CHECK_EQ(woken.count, 1); /* the thread that waited for both is awake already */
    CHECK_EQ(woken.client_ids[0], 2);
}

TEST(largest_ids_arrive_whole)
{
    ext = (rsti_log_ext_t){0};
    woken_t woken = {0};
    int slot = rsti_wake_slot_take(&ext, (INT64_C(1) << 47) - 1, 65535);
    rsti_wake_arm(&ext, slot, RSTI_WAIT_LIMIT);
    rsti_wake_arm(&ext, slot, RSTI_WAIT_DATA); /* adds */
    rsti_wake_log(&ext, RSTI_WAIT_LIMIT, on_wake, &woken);
    CHECK_EQ(woken.count, 1);
    CHECK_EQ(woken.client_ids[0], (INT64_C(1) << 47) - 1);
    CHECK_EQ(woken.waiter_ids[0], 65535);
}

TEST(disarmed_and_absent_sleepers_are_left_alone)
{
    ext = (rsti_log_ext_t){0};
    woken_t woken = {0};
    int slot = rsti_wake_slot_take(&ext, 1, 10);
    rsti_wake_arm(&ext, slot, RSTI_WAIT_DATA);
    rsti_wake_disarm(&ext, slot);
    rsti_wake_log(&ext, RSTI_WAIT_DATA, on_wake, &woken);
    CHECK_EQ(woken.count, 0);
    rsti_wake_arm(&ext, -1, RSTI_WAIT_DATA);
    rsti_wake_disarm(&ext, -1);
    CHECK(!rsti_wake_is_log_armed(&ext, RSTI_WAIT_DATA));
    rsti_wake_arm(&ext, slot, RSTI_WAIT_DATA);
    rsti_wake_slot_release(&ext, slot);
    rsti_wake_log(&ext, RSTI_WAIT_DATA, on_wake, &woken);
    CHECK_EQ(woken.count, 0);
}

TEST(a_word_is_taken_once)
{
    int32_t armed = 0;
    CHECK(!rsti_wake_take_word(&armed));
    rsti_wake_arm_word(&armed);
    CHECK(rsti_wake_take_word(&armed));
    CHECK(!rsti_wake_take_word(&armed));
}

/* --- no wake-up is lost --------------------------------------------------------------------------
 * Publishers raise a number and wake; sleepers follow it and sleep on a pipe for as long as it
 * stands still. A sleep that runs into its timeout although the number moved is a lost wake-up. */

#define SLEEPERS 4
#define PUBLISHERS 2
#define ROUNDS 8000
#define LOST_AFTER_MS 20000

typedef struct sleeper_t {
    int pipe_fds[2];
    int64_t client_id;
    int32_t kind;
    int64_t sleeps;
    int lost;
} sleeper_t;

static sleeper_t sleepers[SLEEPERS];
static int64_t published[3]; /* by kind */
static int32_t word;
static int32_t use_word;

static void wake_pipe(void *arg, int64_t client_id, int32_t waiter_id)
{
    (void)arg;
    (void)waiter_id;
    if (write(sleepers[client_id - 1].pipe_fds[1], "w", 1) < 0) {
        abort(); /* pipes are read empty at each wake-up: never full */
    }
}

static int64_t total_of(int32_t kind)
{
    return kind == RSTI_WAIT_DATA ? PUBLISHERS * ROUNDS : PUBLISHERS * ROUNDS / 2;
}

static void publish(int32_t kind)
{
    (void)rsti_fetch_add_i64(&published[kind], 1);
    if (use_word) {
        if (rsti_wake_take_word(&word)) {
            wake_pipe(NULL, 1, 0);
        }
    } else {
        rsti_wake_log(&ext, kind, wake_pipe, NULL);
    }
}

static void *publish_all(void *arg)
{
    rsti_rng_t rng;
    rsti_rng_init(&rng, (uint64_t)(uintptr_t)arg + 1);
    for (int i = 0; i < ROUNDS; i++) {
        publish(RSTI_WAIT_DATA);
        if (i % 2 == 0 && !use_word) {
            publish(RSTI_WAIT_LIMIT);
        }
        /* Sometimes long enough for the sleepers to fall asleep, at any step of their protocol. */
        for (uint64_t spins = rsti_rng_below(&rng, 400); spins > 0; spins--) {
            rsti_cpu_pause();
        }
        if (rsti_rng_below(&rng, 4) == 0) {
            (void)sched_yield();
        }
    }
    return NULL;
}

static void sleep_on_pipe(sleeper_t *sleeper)
{
    struct pollfd pollfd = {.fd = sleeper->pipe_fds[0], .events = POLLIN};
    sleeper->sleeps++;
    if (poll(&pollfd, 1, LOST_AFTER_MS) == 0) {
        sleeper->lost++;
    }
}

static void drain(const sleeper_t *sleeper)
{
    char bytes[64];
    while (read(sleeper->pipe_fds[0], bytes, sizeof bytes) > 0) {
    }
}

static void *follow(void *arg)
{
    sleeper_t *sleeper = arg;
    int64_t seen = 0;
    int slot = use_word ? -1 : rsti_wake_slot_take(&ext, sleeper->client_id, 3);
    while (seen < total_of(sleeper->kind) && sleeper->lost == 0) {
        int64_t now = rsti_load_acquire_i64(&published[sleeper->kind]);
        if (now > seen) {
            seen = now;
            continue;
        }
        if (use_word) {
            rsti_wake_arm_word(&word);
        } else {
            rsti_wake_arm(&ext, slot, sleeper->kind);
        }
        if (rsti_load_relaxed_i64(&published[sleeper->kind]) == seen) {
            sleep_on_pipe(sleeper);
        }
        if (use_word) {
            rsti_store_relaxed_i32(&word, 0);
        } else {
            rsti_wake_disarm(&ext, slot);
        }
        drain(sleeper);
    }
    rsti_wake_slot_release(&ext, slot);
    return NULL;
}

static void run_threads(int sleeper_count)
{
    pthread_t threads[SLEEPERS + PUBLISHERS];
    ext = (rsti_log_ext_t){0};
    memset(published, 0, sizeof published);
    word = 0;
    for (int i = 0; i < sleeper_count; i++) {
        sleepers[i] = (sleeper_t){
            .client_id = i + 1, .kind = i % 2 == 0 ? RSTI_WAIT_DATA : RSTI_WAIT_LIMIT};
        CHECK_EQ(pipe2(sleepers[i].pipe_fds, O_NONBLOCK), 0);
        CHECK_EQ(pthread_create(&threads[i], NULL, follow, &sleepers[i]), 0);
    }
    for (int i = 0; i < PUBLISHERS; i++) {
        CHECK_EQ(pthread_create(&threads[sleeper_count + i], NULL, publish_all,
                     (void *)(uintptr_t)i),
            0);
    }
    for (int i = 0; i < sleeper_count + PUBLISHERS; i++) {
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    }
    for (int i = 0; i < sleeper_count; i++) {
        CHECK_EQ(sleepers[i].lost, 0);
        CHECK(sleepers[i].sleeps > 0);
        (void)close(sleepers[i].pipe_fds[0]);
        (void)close(sleepers[i].pipe_fds[1]);
    }
}

TEST(no_wake_up_of_a_log_is_lost)
{
    use_word = 0;
    run_threads(SLEEPERS);
}

TEST(no_wake_up_of_a_word_is_lost)
{
    use_word = 1;
    run_threads(1);
}

/* Waiters of one client take their slots at the same time: no two may get the same one. */
static void *take_and_release(void *arg)
{
    int32_t waiter_id = *(int32_t *)arg;
    for (int i = 0; i < 20000; i++) {
        int slot = rsti_wake_slot_take(&ext, 5, waiter_id);
        if (slot < 0 || rsti_load_relaxed_i64(&ext.slots[slot].owner) != (5 << 16 | waiter_id)) {
            *(int32_t *)arg = -1;
            return NULL;
        }
        rsti_wake_slot_release(&ext, slot);
    }
    return NULL;
}

TEST(waiters_of_one_client_do_not_share)
{
    ext = (rsti_log_ext_t){0};
    int32_t ids[3] = {0, 1, 2};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, take_and_release, &ids[i]), 0);
    }
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    }
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(ids[i], i);
    }
}

CHECK_MAIN(RUN(slots_are_found_again_and_limited), RUN(only_armed_sleepers_of_the_kind_are_woken),
    RUN(largest_ids_arrive_whole), RUN(disarmed_and_absent_sleepers_are_left_alone),
    RUN(a_word_is_taken_once), RUN(no_wake_up_of_a_log_is_lost), RUN(no_wake_up_of_a_word_is_lost),
    RUN(waiters_of_one_client_do_not_share))
