#include "concurrent/agent.h"

#include "concurrent/atomics.h"
#include "concurrent/wake.h"
#include "tests/check.h"
#include "util/error.h"
#include "util/int_math.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Instead of the C library's: counts the calls of all threads. */
static int64_t yields;

int sched_yield(void)
{
    (void)rsti_fetch_add_i64(&yields, 1);
    return (int)syscall(SYS_sched_yield);
}

/* An agent whose work is a number that other threads raise, asleep on a pipe. */
typedef struct worker_t {
    int64_t wanted;   /* written by: the test */
    int64_t done;     /* written by: the agent */
    int64_t runs;
    int64_t sleeps;
    int64_t timeouts[8]; /* of the first sleeps since the last work */
    int64_t timeout_count;
    int64_t sleep_ns; /* deadline asked for: now + this; RSTI_NO_DEADLINE = none */
    int32_t armed;
    int32_t refuse_arm;
    int32_t are_signals_blocked;
    char name[16];
    int pipe_fds[2];
    rsti_agent_runner_t runner;
} worker_t;

static int64_t do_work(void *arg, int64_t now_ns, int64_t *next_deadline_ns)
{
    worker_t *worker = arg;
    if (rsti_fetch_add_i64(&worker->runs, 1) == 0) {
        sigset_t mask;
        (void)pthread_sigmask(SIG_SETMASK, NULL, &mask);
        rsti_store_release_i32(&worker->are_signals_blocked,
            sigismember(&mask, SIGINT) == 1 && sigismember(&mask, SIGTERM) == 1
                && sigismember(&mask, SIGPIPE) == 1 && sigismember(&mask, SIGBUS) == 0);
    }
    int64_t sleep_ns = rsti_load_relaxed_i64(&worker->sleep_ns);
    *next_deadline_ns = rsti_saturating_add_i64(now_ns, sleep_ns);
    int64_t todo = rsti_load_acquire_i64(&worker->wanted) - rsti_load_relaxed_i64(&worker->done);
    if (todo > 0) {
        rsti_store_release_i64(&worker->timeout_count, 0);
        (void)rsti_fetch_add_i64(&worker->done, 1);
        return 1;
    }
    return 0;
}

static bool arm(void *arg)
{
    worker_t *worker = arg;
    if (rsti_load_relaxed_i32(&worker->refuse_arm)) {
        (void)sched_yield();
        return false;
    }
    rsti_wake_arm_word(&worker->armed);
    return true;
}

static void disarm(void *arg)
{
    worker_t *worker = arg;
    rsti_store_relaxed_i32(&worker->armed, 0);
}

static void wait_on_pipe(void *arg, int64_t timeout_ns)
{
    worker_t *worker = arg;
    struct pollfd pollfd = {.fd = worker->pipe_fds[0], .events = POLLIN};
    struct timespec timeout = {
        .tv_sec = timeout_ns / RSTI_NS_PER_S, .tv_nsec = timeout_ns % RSTI_NS_PER_S};
    (void)rsti_fetch_add_i64(&worker->sleeps, 1);
    const int64_t count = rsti_load_relaxed_i64(&worker->timeout_count);
    if (count < 8) {
        worker->timeouts[count] = timeout_ns;
        rsti_store_release_i64(&worker->timeout_count, count + 1);
    }
    (void)ppoll(&pollfd, 1, timeout_ns == RSTI_NO_DEADLINE ? NULL : &timeout, NULL);
    disarm(arg);
    char bytes[64];
    while (read(worker->pipe_fds[0], bytes, sizeof bytes) > 0) {
    }
}

static void wake(void *arg)
{
    worker_t *worker = arg;
    if (rsti_wake_take_word(&worker->armed) && write(worker->pipe_fds[1], "w", 1) < 0) {
        abort();
    }
}

static worker_t worker;
static bool must_yield;

static void start(rsti_idle_kind_t kind, int64_t spin_ns, int64_t sleep_ns_max)
{
    worker = (worker_t){.sleep_ns = RSTI_NO_DEADLINE,
        .runner = {.name = "test-agent",
            .do_work = do_work,
            .work_arg = &worker,
            .clock = rsti_clock_system(),
            .sleeper = {.arm = arm,
                .wait = wait_on_pipe,
                .disarm = disarm,
                .arg = &worker,
                .spin_ns = spin_ns},
            .sleep_ns_max = sleep_ns_max}};
    rsti_idle_params_init(&worker.runner.idle, kind);
    worker.runner.idle.yields = must_yield;
    if (pipe2(worker.pipe_fds, O_NONBLOCK) != 0 || rsti_agent_start(&worker.runner) != 0) {
        abort();
    }
}

static void stop(void)
{
    rsti_agent_stop(&worker.runner, wake, &worker);
    rsti_agent_stop(&worker.runner, wake, &worker);
    (void)close(worker.pipe_fds[0]);
    (void)close(worker.pipe_fds[1]);
}

static void sleep_ms(int ms)
{
    (void)poll(NULL, 0, ms);
}

/* Waits at most ten seconds for the number to reach the bound. */
static bool reaches(const int64_t *number, int64_t bound)
{
    for (int i = 0; i < 10000 && rsti_load_acquire_i64(number) < bound; i++) {
        sleep_ms(1);
    }
    return rsti_load_acquire_i64(number) >= bound;
}

TEST(every_idle_kind_works_and_stops)
{
    for (int kind = RSTI_IDLE_BLOCK; kind <= RSTI_IDLE_CONTROLLABLE; kind++) {
        start((rsti_idle_kind_t)kind, 0, RSTI_NO_DEADLINE);
        for (int i = 0; i < 50; i++) {
            (void)rsti_fetch_add_i64(&worker.wanted, 3);
            wake(&worker);
            if (i % 10 == 0) {
                sleep_ms(1);
            }
        }
        CHECK(reaches(&worker.done, 150));
        stop();
    }
}

TEST(the_thread_blocks_signals_and_has_its_name)
{
    start(RSTI_IDLE_BLOCK, 0, RSTI_NO_DEADLINE);
    CHECK(reaches(&worker.runs, 1));
    char name[16];
    CHECK_EQ(pthread_getname_np(worker.runner.thread, name, sizeof name), 0);
    CHECK_STR(name, "test-agent");
    stop();
    CHECK_EQ(worker.are_signals_blocked, 1);
    sigset_t mask;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &mask);
    CHECK_EQ(sigismember(&mask, SIGINT), 0); /* the starting thread's mask is unchanged */
}

TEST(without_deadline_it_sleeps_until_woken)
{
    start(RSTI_IDLE_BLOCK, 0, RSTI_NO_DEADLINE);
    CHECK(reaches(&worker.sleeps, 1));
    int64_t runs = rsti_load_acquire_i64(&worker.runs);
    sleep_ms(60);
    CHECK_EQ(rsti_load_acquire_i64(&worker.runs), runs);
    (void)rsti_fetch_add_i64(&worker.wanted, 1);
    wake(&worker);
    CHECK(reaches(&worker.done, 1));
    stop();
}

TEST(the_deadline_wakes_it)
{
    start(RSTI_IDLE_BLOCK, 0, RSTI_NO_DEADLINE);
    CHECK(reaches(&worker.sleeps, 1));
    rsti_store_release_i64(&worker.sleep_ns, 5 * RSTI_NS_PER_MS);
    const int64_t begin_ns = rsti_clock_nano_time(&worker.runner.clock);
    (void)rsti_fetch_add_i64(&worker.wanted, 1);
    wake(&worker);
    int64_t runs = rsti_load_acquire_i64(&worker.runs);
    sleep_ms(100);
    /* Two runs per sleep (before and after arming), and a sleep lasts at least 5 ms. */
    int64_t more = rsti_load_acquire_i64(&worker.runs) - runs;
    const int64_t sleeps_most = (rsti_clock_nano_time(&worker.runner.clock) - begin_ns)
            / (5 * RSTI_NS_PER_MS)
        + 1;
    CHECK(more <= 2 * sleeps_most + 4);
    CHECK(reaches(&worker.runs, runs + 10));
    stop();
}

TEST(the_sleep_bound_may_change_while_it_runs)
{
    start(RSTI_IDLE_BLOCK, 0, 2 * RSTI_NS_PER_MS);
    CHECK(reaches(&worker.sleeps, 5));
    rsti_store_relaxed_i64(&worker.runner.sleep_ns_max, RSTI_NO_DEADLINE);
    /* The current sleep may end late on a busy machine; the next one is unlimited. */
    int quiet = 0;
    for (int i = 0; i < 100 && quiet < 2; i++) {
        const int64_t sleeps = rsti_load_acquire_i64(&worker.sleeps);
        sleep_ms(40);
        quiet = rsti_load_acquire_i64(&worker.sleeps) == sleeps ? quiet + 1 : 0;
    }
    CHECK_EQ(quiet, 2);
    stop();
}

/* Beside peers that never wake it, an agent looks again soon after work, then less and less. */
TEST(sleeps_double_after_work)
{
    start(RSTI_IDLE_BLOCK, 0, RSTI_NS_PER_MS);
    rsti_store_relaxed_i64(&worker.runner.sleep_ns_first, 20000);
    CHECK(reaches(&worker.sleeps, 20));
    (void)rsti_fetch_add_i64(&worker.wanted, 1); /* nobody wakes it */
    CHECK(reaches(&worker.done, 1));
    CHECK(reaches(&worker.timeout_count, 8));
    stop();
    for (int i = 0; i < 8; i++) {
        CHECK_EQ(worker.timeouts[i], rsti_min_i64(INT64_C(20000) << i, RSTI_NS_PER_MS));
    }
}

TEST(a_refused_sleep_goes_on_working)
{
    start(RSTI_IDLE_BLOCK, 0, RSTI_NO_DEADLINE);
    rsti_store_relaxed_i32(&worker.refuse_arm, 1);
    (void)rsti_fetch_add_i64(&worker.wanted, 1);
    wake(&worker);
    int64_t runs = rsti_load_acquire_i64(&worker.runs);
    CHECK(reaches(&worker.runs, runs + 100));
    stop();
}

TEST(spinning_finds_work_without_a_wake_up)
{
    start(RSTI_IDLE_BLOCK, 10 * RSTI_NS_PER_S, RSTI_NO_DEADLINE);
    for (int64_t i = 1; i <= 20; i++) {
        (void)rsti_fetch_add_i64(&worker.wanted, 1);
        CHECK(reaches(&worker.done, i));
    }
    CHECK_EQ(rsti_load_acquire_i64(&worker.sleeps), 0);
    stop(); /* spinning ends at once, too */
}

TEST(with_too_few_cores_spinning_yields)
{
    for (int i = 0; i < 4; i++) {
        must_yield = i % 2 == 1;
        rsti_store_release_i64(&yields, 0);
        start(i < 2 ? RSTI_IDLE_SPIN : RSTI_IDLE_NOOP, 0, RSTI_NO_DEADLINE);
        CHECK(reaches(&worker.runs, 100));
        stop();
        CHECK_EQ(rsti_load_acquire_i64(&yields) > 0, must_yield);
    }
    must_yield = false;
}

/* Work that comes at any moment is done with unlimited sleeps: the protocol alone guarantees it. */
TEST(no_work_is_left_lying)
{
    start(RSTI_IDLE_BLOCK, 0, RSTI_NO_DEADLINE);
    for (int64_t i = 1; i <= 5000; i++) {
        (void)rsti_fetch_add_i64(&worker.wanted, 1);
        wake(&worker);
        for (int spins = 0; spins < 100000 && rsti_load_acquire_i64(&worker.done) < i; spins++) {
            rsti_cpu_pause();
        }
        CHECK(reaches(&worker.done, i));
    }
    stop();
}

TEST(stopping_right_after_starting)
{
    for (int i = 0; i < 200; i++) {
        start(RSTI_IDLE_BLOCK, 0, RSTI_NO_DEADLINE);
        stop();
    }
}

CHECK_MAIN(RUN(every_idle_kind_works_and_stops), RUN(the_thread_blocks_signals_and_has_its_name),
    RUN(without_deadline_it_sleeps_until_woken), RUN(the_deadline_wakes_it),
    RUN(the_sleep_bound_may_change_while_it_runs), RUN(sleeps_double_after_work),
    RUN(a_refused_sleep_goes_on_working), RUN(spinning_finds_work_without_a_wake_up),
    RUN(with_too_few_cores_spinning_yields), RUN(no_work_is_left_lying),
    RUN(stopping_right_after_starting))
