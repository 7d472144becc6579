/* threads.c: see threads.h. */
#include "driver/threads.h"

#include "driver/base/context_checks.h"
#include "driver/base/proxies.h"
#include "driver/conductor/conductor.h"
#include "driver/receiver/receiver.h"
#include "driver/sender/sender.h"
#include "util/int_math.h"

#include <stdio.h>

#define POLL_TAGS 16

/* An empty recvmmsg costs as much as a poll of all sockets, so a blocking thread reads only the
 * sockets that the poller named. It polls before each sleep and in every third pass. */
#define PASSES_PER_HINT 3

static void refresh_hints(rsti_driver_thread_t *thread, int64_t timeout_ns)
{
    void *tags[POLL_TAGS];
    const int count = rsti_poller_wait(&thread->poller, timeout_ns, tags, POLL_TAGS);
    for (int i = 0; i < count; i++) {
        *(bool *)tags[i] = true;
    }
    thread->passes_since_hint = 0;
}

/* ---- cycle times: from pass to pass, as Aeron counts them, without sleeps ---- */

static void restart_cycles(rst_driver_t *driver, const int32_t *agents, int32_t count,
    int64_t now_ns)
{
    for (int32_t i = 0; i < count; i++) {
        driver->cycles[agents[i]].begin_ns = now_ns;
    }
}

static void measure_cycles(rst_driver_t *driver, const int32_t *agents, int32_t count,
    int64_t now_ns)
{
    for (int32_t i = 0; i < count; i++) {
        rsti_cycle_t *cycle = &driver->cycles[agents[i]];
        const int64_t cycle_ns = now_ns - cycle->begin_ns;
        cycle->begin_ns = now_ns;
        if (cycle_ns > cycle->max_ns) {
            cycle->max_ns = cycle_ns;
            rsti_store_release_i64(cycle->max, cycle_ns);
        }
        if (cycle_ns > cycle->threshold_ns) {
            rsti_add_single_writer_i64(cycle->exceeded, 1);
        }
    }
}

void rsti_cycles_init(rst_driver_t *driver)
{
    const rst_driver_params_t *params = &driver->params;
    const struct {
        int32_t agent_id;
        rsti_system_counter_t max;
        rsti_system_counter_t exceeded;
        int64_t threshold_ns;
    } rows[] = {
        {RSTI_AGENT_CONDUCTOR, RSTI_SYSTEM_CONDUCTOR_MAX_CYCLE_TIME,
            RSTI_SYSTEM_CONDUCTOR_CYCLE_TIME_EXCEEDED, params->conductor_cycle_threshold_ns},
        {RSTI_AGENT_SENDER, RSTI_SYSTEM_SENDER_MAX_CYCLE_TIME,
            RSTI_SYSTEM_SENDER_CYCLE_TIME_EXCEEDED, params->sender_cycle_threshold_ns},
        {RSTI_AGENT_RECEIVER, RSTI_SYSTEM_RECEIVER_MAX_CYCLE_TIME,
            RSTI_SYSTEM_RECEIVER_CYCLE_TIME_EXCEEDED, params->receiver_cycle_threshold_ns},
    };
    const rsti_counters_t *counters = &driver->counters.counters;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        driver->cycles[rows[i].agent_id] = (rsti_cycle_t){
            .max = rsti_counter_address(counters, (int32_t)rows[i].max),
            .exceeded = rsti_counter_address(counters, (int32_t)rows[i].exceeded),
            .threshold_ns = rows[i].threshold_ns,
        };
    }
    driver->promised_ns = RSTI_NO_DEADLINE;
}

/* ---- running ---- */

static int64_t run_agent(rst_driver_t *driver, int32_t agent_id, int64_t now_ns,
    int64_t *next_deadline_ns)
{
    switch (agent_id) {
    case RSTI_AGENT_SENDER:
        return rsti_sender_do_work(driver->sender, now_ns, next_deadline_ns);
    case RSTI_AGENT_RECEIVER:
        return rsti_receiver_do_work(driver->receiver, now_ns, next_deadline_ns);
    default:
        return rsti_conductor_do_work(driver, now_ns, next_deadline_ns);
    }
}

/* 1 when an agent asked for another pass of its own thread. */
static int64_t take_wish(rst_driver_t *driver)
{
    if (!driver->is_direct || !driver->wants_pass) {
        return 0;
    }
    driver->wants_pass = false;
    return 1;
}

/* The time from the last pass to the promised deadline is not part of a cycle. A later call counts
 * as a longer cycle. */
int64_t rsti_driver_pass(rst_driver_t *driver, int64_t *next_deadline_ns)
{
    static const int32_t order[] = {RSTI_AGENT_SENDER, RSTI_AGENT_RECEIVER, RSTI_AGENT_CONDUCTOR};
    const int64_t now_ns = rsti_clock_nano_time(&driver->clock);
    int64_t work = 0;
    restart_cycles(driver, order, RSTI_DRIVER_AGENTS, rsti_min_i64(now_ns, driver->promised_ns));
    for (size_t i = 0; i < RSTI_DRIVER_AGENTS; i++) {
        work += run_agent(driver, order[i], now_ns, next_deadline_ns);
    }
    measure_cycles(driver, order, RSTI_DRIVER_AGENTS, rsti_clock_nano_time(&driver->clock));
    work += take_wish(driver);
    driver->promised_ns = work > 0 ? RSTI_NO_DEADLINE : *next_deadline_ns;
    return work;
}

static int64_t thread_do_work(void *arg, int64_t now_ns, int64_t *next_deadline_ns)
{
    rsti_driver_thread_t *thread = arg;
    int64_t work = 0;
    measure_cycles(thread->driver, thread->agents, thread->agent_count, now_ns);
    if (thread->is_hinted && thread->passes_since_hint++ >= PASSES_PER_HINT) {
        refresh_hints(thread, 0);
    }
    for (int32_t i = 0; i < thread->agent_count; i++) {
        work += run_agent(thread->driver, thread->agents[i], now_ns, next_deadline_ns);
    }
    return work + take_wish(thread->driver);
}

static bool thread_arm(void *arg)
{
    const rsti_driver_thread_t *thread = arg;
    int32_t *words = thread->driver->cnc.ext->agent_armed;
    for (int32_t i = 0; i < thread->agent_count; i++) {
        rsti_wake_arm_word(&words[thread->agents[i]]);
    }
    return true;
}

static void thread_disarm(void *arg)
{
    const rsti_driver_thread_t *thread = arg;
    int32_t *words = thread->driver->cnc.ext->agent_armed;
    for (int32_t i = 0; i < thread->agent_count; i++) {
        rsti_store_relaxed_i32(&words[thread->agents[i]], 0);
    }
}

/* True when an agent was woken since its word was armed. The last pass may have emptied the FIFO
 * and reported no work, for instance because only a status message was due. The word is cleared
 * then, and no further wake-up would come. */
static bool was_woken(const rsti_driver_thread_t *thread)
{
    const int32_t *words = thread->driver->cnc.ext->agent_armed;
    for (int32_t i = 0; i < thread->agent_count; i++) {
        if (rsti_load_relaxed_i32(&words[thread->agents[i]]) == 0) {
            return true;
        }
    }
    return false;
}

static void thread_wait(void *arg, int64_t timeout_ns)
{
    rsti_driver_thread_t *thread = arg;
    rst_driver_t *driver = thread->driver;
    /* A cycle ends before the sleep. */
    measure_cycles(driver, thread->agents, thread->agent_count,
        rsti_clock_nano_time(&driver->clock));
    refresh_hints(thread, was_woken(thread) ? 0 : timeout_ns);
    thread_disarm(thread);
    restart_cycles(driver, thread->agents, thread->agent_count,
        rsti_clock_nano_time(&driver->clock));
}

static void thread_wake(void *arg)
{
    rsti_driver_thread_t *thread = arg;
    rsti_waker_wake(thread->driver->waker, 0, thread->fifo_id);
}

/* ---- agents and their threads ---- */

typedef struct thread_plan_t {
    int32_t agent_count;
    int32_t agents[RSTI_DRIVER_AGENTS];
    const char *names[3]; /* by rsti_naming_t; the system keeps 15 characters */
} thread_plan_t;

#define CONDUCTOR_NAMES {"rst-conductor", "conductor", "aeron-md-cnd"}

/* Which agents share which thread, in the order of a pass. The conductor's thread comes first. */
static const thread_plan_t plans[][RSTI_DRIVER_AGENTS] = {
    [RSTI_THREADING_AUTO] = {{0, {0}, {""}}},
    [RSTI_THREADING_SHARED] = {{3, {RSTI_AGENT_SENDER, RSTI_AGENT_RECEIVER, RSTI_AGENT_CONDUCTOR},
        {"rst-shared", "[conductor, sender, receiver]", "aeron-md-shd"}}},
    [RSTI_THREADING_SHARED_NETWORK] = {{1, {RSTI_AGENT_CONDUCTOR}, CONDUCTOR_NAMES},
        {2, {RSTI_AGENT_SENDER, RSTI_AGENT_RECEIVER},
            {"rst-network", "[sender, receiver]", "aeron-md-net"}}},
    [RSTI_THREADING_DEDICATED] = {{1, {RSTI_AGENT_CONDUCTOR}, CONDUCTOR_NAMES},
        {1, {RSTI_AGENT_SENDER}, {"rst-sender", "sender", "aeron-md-snd"}},
        {1, {RSTI_AGENT_RECEIVER}, {"rst-receiver", "receiver", "aeron-md-rcv"}}},
    [RSTI_THREADING_INVOKER] = {{0, {0}, {""}}},
};

static void plan_threads(rst_driver_t *driver)
{
    for (int32_t t = 0; t < RSTI_DRIVER_AGENTS; t++) {
        const thread_plan_t *plan = &plans[driver->threading][t];
        if (plan->agent_count == 0) {
            break;
        }
        rsti_driver_thread_t *thread = &driver->threads[t];
        thread->driver = driver;
        thread->fifo_id = t;
        thread->fifo_fd = -1;
        thread->agent_count = plan->agent_count;
        snprintf(thread->runner.name, sizeof thread->runner.name, "%s",
            plan->names[driver->params.thread_naming]);
        for (int32_t i = 0; i < thread->agent_count; i++) {
            const int32_t agent_id = plan->agents[i];
            thread->agents[i] = agent_id;
            driver->thread_of[agent_id] = thread;
            driver->cnc.ext->agent_fifo[agent_id] = t;
        }
        driver->thread_count = t + 1;
    }
    driver->is_direct = driver->thread_count <= 1;
}

/* Chooses the idle option by the agents that the thread runs. */
static int choose_idle(const rst_driver_t *driver, const rsti_driver_thread_t *thread,
    rsti_idle_params_t *idle)
{
    const rst_driver_params_t *params = &driver->params;
    const rsti_idle_option_t option = thread->agent_count == RSTI_DRIVER_AGENTS
        ? RSTI_IDLE_OF_SHARED
        : thread->agent_count == 2                  ? RSTI_IDLE_OF_NETWORK
        : thread->agents[0] == RSTI_AGENT_CONDUCTOR ? RSTI_IDLE_OF_CONDUCTOR
        : thread->agents[0] == RSTI_AGENT_SENDER    ? RSTI_IDLE_OF_SENDER
                                                    : RSTI_IDLE_OF_RECEIVER;
    const int result = rsti_driver_params_idle(params, option, idle);
    idle->control = rsti_counter_address(&driver->counters.counters,
        RSTI_SYSTEM_CONTROLLABLE_IDLE_STRATEGY);
    return result;
}

static void choose_cpu(const rst_driver_params_t *params, rsti_driver_thread_t *thread)
{
    const int64_t cpus[RSTI_DRIVER_AGENTS] = {
        [RSTI_AGENT_CONDUCTOR] = params->conductor_cpu,
        [RSTI_AGENT_SENDER] = params->sender_cpu,
        [RSTI_AGENT_RECEIVER] = params->receiver_cpu,
    };
    for (int32_t i = thread->agent_count; i > 0 && !thread->runner.is_pinned; i--) {
        thread->runner.cpu = (int32_t)cpus[thread->agents[i - 1]];
        thread->runner.is_pinned = thread->runner.cpu >= 0;
    }
}

static bool may_spin(const rsti_idle_params_t *idle)
{
    return idle->kind == RSTI_IDLE_SPIN || idle->kind == RSTI_IDLE_NOOP
        || idle->kind == RSTI_IDLE_CONTROLLABLE;
}

static void choose_yields(rst_driver_t *driver)
{
    int32_t spinners = 0;
    for (int32_t t = 0; t < driver->thread_count; t++) {
        spinners += may_spin(&driver->threads[t].runner.idle) ? 1 : 0;
    }
    const bool yields = rsti_spin_yields(rsti_usable_cores(), spinners);
    for (int32_t t = 0; t < driver->thread_count; t++) {
        driver->threads[t].runner.idle.yields = yields;
    }
}

int rsti_threads_prepare(rst_driver_t *driver)
{
    plan_threads(driver);
    for (int32_t t = 0; t < driver->thread_count; t++) {
        rsti_driver_thread_t *thread = &driver->threads[t];
        rsti_agent_runner_t *runner = &thread->runner;
        thread->fifo_fd = rsti_wake_fifo_create(driver->dir, 0, thread->fifo_id);
        if (thread->fifo_fd < 0 || rsti_poller_open(&thread->poller, thread->fifo_fd) < 0
            || choose_idle(driver, thread, &runner->idle) < 0) {
            return -rst_last_error_code();
        }
        rsti_waker_keep(driver->waker, thread->fifo_id, thread->fifo_fd);
        choose_cpu(&driver->params, thread);
        thread->has_poller = true;
        thread->is_blocking = runner->idle.kind == RSTI_IDLE_BLOCK;
        thread->is_hinted = thread->is_blocking;
        runner->do_work = thread_do_work;
        runner->work_arg = thread;
        runner->clock = driver->clock;
        runner->sleep_ns_max = t == 0 ? RSTI_CONDUCTOR_SLEEP_MAX_NS : RSTI_NO_DEADLINE;
        runner->sleeper = (rsti_sleeper_t){
            .arm = thread_arm,
            .wait = thread_wait,
            .disarm = thread_disarm,
            .arg = thread,
            .spin_ns = driver->params.idle_spin_ns,
        };
    }
    choose_yields(driver);
    rsti_driver_thread_t *conducting = driver->thread_of[RSTI_AGENT_CONDUCTOR];
    return conducting == NULL ? 0 : rsti_conductor_watch_deaths(driver, &conducting->poller);
}

int rsti_threads_start(rst_driver_t *driver)
{
    /* The conductor's thread is the first in the list and starts last, so that all agents run
     * before it serves clients. */
    for (int32_t t = driver->thread_count; t > 0; t--) {
        rsti_driver_thread_t *thread = &driver->threads[t - 1];
        restart_cycles(driver, thread->agents, thread->agent_count,
            rsti_clock_nano_time(&driver->clock));
        if (rsti_agent_start(&thread->runner) < 0) {
            return -rst_last_error_code();
        }
    }
    return 0;
}

void rsti_threads_close(rst_driver_t *driver)
{
    for (int32_t t = 0; t < driver->thread_count; t++) {
        rsti_driver_thread_t *thread = &driver->threads[t];
        rsti_agent_stop(&thread->runner, thread_wake, thread);
    }
    driver->is_direct = true;
    if (driver->is_started) {
        /* Waiting commands hand over objects. Without an owner these would never be freed. */
        (void)rsti_agent_inbox_drain(driver, RSTI_AGENT_SENDER, SIZE_MAX);
        (void)rsti_agent_inbox_drain(driver, RSTI_AGENT_RECEIVER, SIZE_MAX);
    }
    for (int32_t t = 0; t < driver->thread_count; t++) {
        rsti_driver_thread_t *thread = &driver->threads[t];
        if (thread->has_poller) {
            rsti_poller_close(&thread->poller);
            thread->has_poller = false;
        }
        if (thread->fifo_fd >= 0) {
            rsti_waker_keep(driver->waker, thread->fifo_id, -1);
            rsti_wake_fifo_remove(driver->dir, 0, thread->fifo_id);
            rsti_fd_close(thread->fifo_fd);
            thread->fifo_fd = -1;
        }
    }
}
