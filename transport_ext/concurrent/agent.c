#include "concurrent/agent.h"

#include "concurrent/atomics.h"
#include "util/bits.h"
#include "util/error.h"
#include "util/int_math.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

#define PARK_DOUBLINGS_MAX 30 /* at least a second, as the least park is 1 ns */
#define SLEEP_DOUBLINGS_MAX 20

static bool is_running(const rsti_agent_runner_t *runner)
{
    return rsti_load_acquire_i32(&runner->is_running) != 0;
}

static int64_t run_work(rsti_agent_runner_t *runner, int64_t now_ns, int64_t *deadline_ns)
{
    *deadline_ns = RSTI_NO_DEADLINE;
    return runner->do_work(runner->work_arg, now_ns, deadline_ns);
}

/* min(deadline - now, sleep_ns_max). RSTI_NO_DEADLINE: neither limits the sleep. <= 0: there is no
 * time to sleep. */
static int64_t sleep_bound_ns(const rsti_agent_runner_t *runner, int64_t deadline_ns)
{
    int64_t bound_ns = rsti_load_relaxed_i64(&runner->sleep_ns_max);
    if (deadline_ns != RSTI_NO_DEADLINE) {
        int64_t now_ns = rsti_clock_nano_time(&runner->clock);
        bound_ns = rsti_min_i64(bound_ns, rsti_saturating_add_i64(deadline_ns, -now_ns));
    }
    return bound_ns;
}

static void sleep_for(const rsti_agent_runner_t *runner, int64_t wanted_ns, int64_t deadline_ns)
{
    int64_t sleep_ns = rsti_min_i64(wanted_ns, sleep_bound_ns(runner, deadline_ns));
    if (sleep_ns > 0) {
        struct timespec duration = {
            .tv_sec = sleep_ns / RSTI_NS_PER_S, .tv_nsec = sleep_ns % RSTI_NS_PER_S};
        (void)nanosleep(&duration, NULL);
    }
}

/* True: work came while spinning. */
static bool spin(rsti_agent_runner_t *runner, int64_t *deadline_ns)
{
    int64_t now_ns = rsti_clock_nano_time(&runner->clock);
    int64_t end_ns = rsti_saturating_add_i64(now_ns, runner->sleeper.spin_ns);
    while (now_ns < end_ns && is_running(runner)) {
        (void)sched_yield();
        if (run_work(runner, now_ns, deadline_ns) > 0) {
            return true;
        }
        now_ns = rsti_clock_nano_time(&runner->clock);
    }
    return false;
}

/* The longest sleep beside peers that never wake this agent, by the sleeps since the last work. */
static int64_t polling_bound_ns(const rsti_agent_runner_t *runner, int64_t idle_count)
{
    const int64_t first_ns = rsti_load_relaxed_i64(&runner->sleep_ns_first);
    return first_ns == 0 || idle_count > SLEEP_DOUBLINGS_MAX ? RSTI_NO_DEADLINE
                                                             : first_ns << idle_count;
}

static bool is_spin_worth_it(const rsti_agent_runner_t *runner, int64_t idle_count)
{
    return runner->last_sleep_ns < 2 * runner->sleeper.spin_ns
        || (idle_count == 0 && runner->sleeper.spin_ns > 0
            && rsti_load_relaxed_i64(&runner->sleep_ns_first) > 0);
}

/* The sleeper's half of the protocol in wake.h. The second look at the work sees everything
 * published before the sleeper was armed. A waker that publishes later writes the wake-up. Returns
 * true when there was work. */
static bool block(rsti_agent_runner_t *runner, int64_t idle_count, int64_t deadline_ns)
{
    const rsti_sleeper_t *sleeper = &runner->sleeper;
    if (is_spin_worth_it(runner, idle_count) && spin(runner, &deadline_ns)) {
        return true;
    }
    if (!sleeper->arm(sleeper->arg)) {
        return false;
    }
    int64_t work = run_work(runner, rsti_clock_nano_time(&runner->clock), &deadline_ns);
    int64_t timeout_ns = rsti_min_i64(sleep_bound_ns(runner, deadline_ns),
        polling_bound_ns(runner, idle_count));
    if (work > 0 || timeout_ns <= 0 || !is_running(runner)) {
        sleeper->disarm(sleeper->arg);
        return work > 0;
    }
    const int64_t begin_ns = rsti_clock_nano_time(&runner->clock);
    sleeper->wait(sleeper->arg, timeout_ns);
    runner->last_sleep_ns = rsti_clock_nano_time(&runner->clock) - begin_ns;
    return false;
}

static void back_off(rsti_agent_runner_t *runner, int64_t idle_count, int64_t deadline_ns)
{
    const rsti_idle_params_t *idle = &runner->idle;
    if (idle_count < idle->spins_max) {
        rsti_cpu_pause();
    } else if (idle_count - idle->spins_max < idle->yields_max) {
        (void)sched_yield();
    } else {
        const int64_t doublings = rsti_min_i64(idle_count - idle->spins_max - idle->yields_max,
            PARK_DOUBLINGS_MAX);
        sleep_for(runner, rsti_min_i64(idle->park_min_ns << doublings, idle->park_max_ns),
            deadline_ns);
    }
}

static void stay(const rsti_agent_runner_t *runner, bool pauses)
{
    if (runner->idle.yields) {
        (void)sched_yield();
    } else if (pauses) {
        rsti_cpu_pause();
    }
}

static void obey(rsti_agent_runner_t *runner, int64_t deadline_ns)
{
    const int64_t *control = runner->idle.control;
    switch (control != NULL ? rsti_load_relaxed_i64(control) : 0) {
    case RSTI_IDLE_CONTROL_NOOP:
        stay(runner, false);
        break;
    case RSTI_IDLE_CONTROL_SPIN:
        stay(runner, true);
        break;
    case RSTI_IDLE_CONTROL_YIELD:
        (void)sched_yield();
        break;
    default:
        sleep_for(runner, RSTI_IDLE_CONTROL_PARK_NS, deadline_ns);
        break;
    }
}

/* Returns true when there was work in the meantime. */
static bool idle(rsti_agent_runner_t *runner, int64_t idle_count, int64_t deadline_ns)
{
    switch (runner->idle.kind) {
    case RSTI_IDLE_BLOCK:
        return block(runner, idle_count, deadline_ns);
    case RSTI_IDLE_SPIN:
        stay(runner, true);
        break;
    case RSTI_IDLE_NOOP:
        stay(runner, false);
        break;
    case RSTI_IDLE_YIELD:
        (void)sched_yield();
        break;
    case RSTI_IDLE_BACKOFF:
        back_off(runner, idle_count, deadline_ns);
        break;
    case RSTI_IDLE_SLEEP:
        sleep_for(runner, runner->idle.sleep_ns, deadline_ns);
        break;
    case RSTI_IDLE_CONTROLLABLE:
        obey(runner, deadline_ns);
        break;
    }
    return false;
}

static void *run_agent(void *arg)
{
    rsti_agent_runner_t *runner = arg;
    int64_t idle_count = 0;
    while (is_running(runner)) {
        int64_t deadline_ns;
        int64_t now_ns = rsti_clock_nano_time(&runner->clock);
        if (run_work(runner, now_ns, &deadline_ns) > 0) {
            idle_count = 0;
        } else if (idle(runner, idle_count, deadline_ns)) {
            idle_count = 0;
        } else {
            idle_count++;
        }
    }
    return NULL;
}

/* Set by attribute and not by the thread itself, so that a refusal is an error of the start. */
static int create_thread(rsti_agent_runner_t *runner)
{
    pthread_attr_t attributes;
    int result = pthread_attr_init(&attributes);
    if (result != 0) {
        return result;
    }
    if (runner->is_pinned && (runner->cpu < 0 || runner->cpu >= CPU_SETSIZE)) {
        result = EINVAL;
    } else if (runner->is_pinned) {
        cpu_set_t cpus;
        CPU_ZERO(&cpus);
        CPU_SET((size_t)runner->cpu, &cpus);
        result = pthread_attr_setaffinity_np(&attributes, sizeof cpus, &cpus);
    }
    if (result == 0) {
        result = pthread_create(&runner->thread, &attributes, run_agent, runner);
    }
    (void)pthread_attr_destroy(&attributes);
    return result;
}

int rsti_agent_start(rsti_agent_runner_t *runner)
{
    RST_ASSERT(!runner->is_started);
    RST_ASSERT(rsti_load_relaxed_i64(&runner->sleep_ns_max) > 0);
    RST_ASSERT(runner->idle.kind != RSTI_IDLE_BLOCK || runner->sleeper.arm != NULL);
    rsti_store_release_i32(&runner->is_running, 1);
    /* The thread inherits the mask: it must not take a signal even in its first instructions. */
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    /* A blocked SIGBUS ends the process. cnc/map_guard.h handles it. */
    (void)sigdelset(&all, SIGBUS);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const int result = create_thread(runner);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (result != 0) {
        rsti_store_release_i32(&runner->is_running, 0);
        (void)rsti_error_set_errno(result, "cannot start the thread \"%s\"%s%.0d", runner->name,
            runner->is_pinned ? " on cpu " : "", runner->is_pinned ? runner->cpu : 0);
        return RST_SET_ERR(RST_ESYS, "%s", rst_last_error_text());
    }
    runner->name[sizeof runner->name - 1] = '\0';
    (void)pthread_setname_np(runner->thread, runner->name);
    runner->is_started = true;
    return 0;
}

void rsti_agent_stop(rsti_agent_runner_t *runner, void (*wake)(void *arg), void *arg)
{
    if (!runner->is_started) {
        return;
    }
    rsti_store_release_i32(&runner->is_running, 0);
    rsti_fence();
    if (wake != NULL) {
        wake(arg);
    }
    (void)pthread_join(runner->thread, NULL);
    runner->is_started = false;
}
