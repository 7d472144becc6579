#include "tests/sim/fibers.h"

#include "concurrent/atomics.h"
#include "tests/sim/agenda.h"
#include "tests/sim/hooks.h"
#include "tests/sim/switch.h"
#include "tests/sim/world.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define NEVER INT64_MAX
#define TURNS_MAX 20000000
#define CLOCK_READS_MAX 8

/* A turn costs virtual time, so busy fibers do not stop the clock. */
#define TURN_COST_NS_MIN 100
#define TURN_COST_NS_MAX 1500

int64_t rsti_sim_countdown = INT64_MAX;

static sim_fiber_t fibers[SIM_FIBERS_MAX];
static int32_t fiber_count;
static sim_fiber_t *alive[SIM_FIBERS_MAX]; /* in order of their start; some may have ended */
static int32_t alive_count;
/* The fibers that were ready at the last check, in the same order. Before quiet_until_ns only they
 * and newly started ones are checked again, unless an event happened that others wait for. */
static sim_fiber_t *awake[SIM_FIBERS_MAX];
static int32_t awake_count;
static int64_t quiet_until_ns;
static bool has_happened;
static sim_fiber_t *current;
static void *scheduler_stack_pointer;
static int64_t preemption_mean;
static double absence_chance;
static int64_t absence_ns_max;
static int64_t turns;
static void (*after_turn)(const sim_fiber_t *fiber);
static bool fds_are_touched;
/* Thread-local memory by fiber, kept apart from the fibers so that the scheduler reads few cache
 * lines. The last entry belongs to code outside of all fibers. */
static uint8_t locals[SIM_FIBERS_MAX + 1][SIM_FIBER_LOCAL_SIZE] __attribute__((aligned(64)));

static const char *running_fiber(void)
{
    return current == NULL ? "the scheduler" : current->name;
}

void sim_fibers_init(void)
{
    memset(fibers, 0, sizeof fibers);
    memset(locals, 0, sizeof locals);
    fiber_count = 0;
    alive_count = 0;
    awake_count = 0;
    quiet_until_ns = NEVER;
    has_happened = false;
    current = NULL;
    preemption_mean = 0;
    sim_context = running_fiber;
}

void sim_fibers_set_preemption(int64_t mean_accesses)
{
    preemption_mean = mean_accesses;
}

void sim_fibers_set_absence(double chance, int64_t ns_max)
{
    absence_chance = chance;
    absence_ns_max = ns_max;
}

void *rsti_sim_fiber_local(size_t size)
{
    if (size > SIM_FIBER_LOCAL_SIZE) {
        sim_fail("a fiber's local memory is too small for %zu bytes", size);
    }
    return locals[current == NULL ? SIM_FIBERS_MAX : current->id];
}

sim_fiber_t *sim_fiber_current(void)
{
    return current;
}

sim_fiber_t *sim_fiber_by_id(int32_t id)
{
    return id >= 0 && id < fiber_count ? &fibers[id] : NULL;
}

/* ---- switching ---- */

static void to_scheduler(void)
{
    sim_fiber_t *self = current;
    self->errno_value = errno;
    sim_switch(&self->stack_pointer, scheduler_stack_pointer, &self->fake_stack, NULL, 0);
    errno = self->errno_value;
}

static void arm_countdown(void)
{
    const bool is_nervous = current->activity != ACTIVITY_NONE
        && current->activity == current->nervous_in;
    const int64_t mean = is_nervous ? 1 : preemption_mean;
    rsti_sim_countdown = mean == 0 ? INT64_MAX
                                   : (int64_t)sim_below(RNG_SCHEDULE, (uint64_t)(2 * mean));
}

static void to_fiber(sim_fiber_t *fiber)
{
    void *fake_stack = NULL;
    current = fiber;
    fiber->state = FIBER_READY;
    fiber->clock_reads = 0;
    fiber->absent_until_ns = 0;
    arm_countdown();
    sim_switch(&scheduler_stack_pointer, fiber->stack_pointer, &fake_stack, fiber->stack,
        SIM_STACK_SIZE);
    rsti_sim_countdown = INT64_MAX;
    current = NULL;
    world.now_ns += sim_between(RNG_SCHEDULE, TURN_COST_NS_MIN, TURN_COST_NS_MAX);
}

static void run_entry(void)
{
    sim_switch_arrived(NULL);
    sim_fiber_t *self = current;
    (void)self->entry(self->arg);
    self->state = FIBER_ENDED;
    sim_fibers_count_up(&self->ended);
    sim_switch(&self->stack_pointer, scheduler_stack_pointer, NULL, NULL, 0);
    sim_fail("a fiber that had ended was run");
}

sim_fiber_t *sim_fiber_start(sim_process_t *process, const char *name, void *(*entry)(void *),
    void *arg)
{
    if (fiber_count == SIM_FIBERS_MAX) {
        sim_fail("more than %d fibers", SIM_FIBERS_MAX);
    }
    sim_fiber_t *fiber = &fibers[fiber_count];
    *fiber = (sim_fiber_t){.id = fiber_count,
        .process = process,
        .entry = entry,
        .arg = arg,
        .state = FIBER_READY,
        .fd = -1};
    fiber_count++;
    alive[alive_count++] = fiber;
    awake[awake_count++] = fiber;
    snprintf(fiber->name, sizeof fiber->name, "%.14s/%.14s", process->name, name);
    fiber->stack = mmap(NULL, SIM_STACK_SIZE, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (fiber->stack == MAP_FAILED) {
        sim_fail("no memory for a stack");
    }
    fiber->stack_pointer = sim_switch_prepare((uint8_t *)fiber->stack + SIM_STACK_SIZE, run_entry);
    return fiber;
}

void sim_fibers_drop(const sim_process_t *process)
{
    for (int32_t i = 0; i < fiber_count; i++) {
        if (fibers[i].process == process) {
            fibers[i].state = FIBER_ENDED;
            fibers[i].ended = 1;
        }
    }
    has_happened = true;
}

bool sim_fibers_alive(const sim_process_t *process)
{
    for (int32_t i = 0; i < fiber_count; i++) {
        if (fibers[i].process == process && fibers[i].state != FIBER_ENDED) {
            return true;
        }
    }
    return false;
}

/* ---- waiting ---- */

void rsti_sim_preempt(void)
{
    if (current == NULL) {
        rsti_sim_countdown = INT64_MAX;
        return;
    }
    if (!world.is_calm && sim_chance(RNG_SCHEDULE, absence_chance)) {
        sim_count("fault: not scheduled during an activity");
        current->absent_until_ns = world.now_ns
            + (int64_t)sim_below(RNG_SCHEDULE, (uint64_t)absence_ns_max);
    }
    to_scheduler();
}

void sim_fiber_yield(void)
{
    if (current != NULL) {
        to_scheduler();
    }
}

void sim_fiber_read_clock(void)
{
    if (current != NULL) {
        if (++current->clock_reads >= CLOCK_READS_MAX) {
            to_scheduler();
        }
    }
}

void sim_fiber_set_activity(sim_activity_t activity)
{
    current->activity = activity;
    arm_countdown();
}

void sim_fibers_set_on_turn(void (*on_turn)(const sim_fiber_t *fiber))
{
    after_turn = on_turn;
}

bool sim_fiber_wait(const uint64_t *word, int fd, int64_t wake_ns)
{
    sim_fiber_t *self = current;
    if (self == NULL) {
        sim_fail("the scheduler itself must not wait");
    }
    self->state = FIBER_WAITING;
    self->wake_ns = wake_ns;
    self->word = word;
    self->word_value = word == NULL ? 0 : *word;
    self->fd = fd;
    to_scheduler();
    self->fd = -1;
    self->word = NULL;
    return self->wake_ns == 0; /* what the scheduler stores when something happened */
}

void sim_fiber_sleep_until(int64_t ns)
{
    (void)sim_fiber_wait(NULL, -1, ns);
}

void sim_fiber_sleep(int64_t ns)
{
    sim_fiber_sleep_until(world.now_ns + (ns > 0 ? ns : 0));
}

void sim_fibers_look_again(void)
{
    has_happened = true;
}

void sim_fibers_count_up(uint64_t *word)
{
    (*word)++;
    has_happened = true;
}

void sim_fibers_touch_fds(void)
{
    fds_are_touched = true;
    has_happened = true;
}

/* ---- scheduling ---- */

static void wake(sim_fiber_t *fiber)
{
    fiber->wake_ns = 0;
    fiber->state = FIBER_READY;
}

/* A fiber whose descriptor has become readable stops waiting; one poll() asks for all of them. */
static void wake_by_fds(sim_fiber_t *const *some, int32_t count)
{
    struct pollfd looks[SIM_FIBERS_MAX];
    sim_fiber_t *waiting[SIM_FIBERS_MAX];
    nfds_t waiting_count = 0;
    for (int32_t i = 0; i < count; i++) {
        if (some[i]->state == FIBER_WAITING && some[i]->fd >= 0) {
            looks[waiting_count] = (struct pollfd){.fd = some[i]->fd, .events = POLLIN};
            waiting[waiting_count++] = some[i];
        }
    }
    if (waiting_count == 0 || sim_real_poll(looks, waiting_count, 0) <= 0) {
        return;
    }
    for (nfds_t i = 0; i < waiting_count; i++) {
        if (looks[i].revents != 0) {
            wake(waiting[i]);
        }
    }
}

/* When the fiber is not ready before a later time, quiet_until_ns becomes at most that time. */
static bool is_runnable(sim_fiber_t *fiber)
{
    int64_t from_ns = fiber->process->paused_until_ns;
    if (fiber->state == FIBER_WAITING) {
        if (fiber->word != NULL && *fiber->word != fiber->word_value) {
            wake(fiber);
        } else if (fiber->wake_ns > from_ns) {
            from_ns = fiber->wake_ns;
        }
    } else if (fiber->state != FIBER_READY) {
        return false;
    } else if (fiber->absent_until_ns > from_ns) {
        from_ns = fiber->absent_until_ns;
    }
    if (from_ns > world.now_ns && from_ns < quiet_until_ns) {
        quiet_until_ns = from_ns;
    }
    return from_ns <= world.now_ns;
}

/* Keeps in awake only the fibers that are ready. */
static void look_at(sim_fiber_t *const *some, int32_t count)
{
    awake_count = 0;
    for (int32_t i = 0; i < count; i++) {
        if (is_runnable(some[i])) {
            awake[awake_count++] = some[i];
        }
    }
}

/* A random ready fiber; NULL: none is ready before quiet_until_ns. */
static sim_fiber_t *choose(void)
{
    if (has_happened || world.now_ns >= quiet_until_ns) {
        int32_t kept_count = 0;
        for (int32_t i = 0; i < alive_count; i++) {
            if (alive[i]->state != FIBER_ENDED) {
                alive[kept_count++] = alive[i];
            }
        }
        alive_count = kept_count;
        if (fds_are_touched) {
            wake_by_fds(alive, alive_count);
        }
        quiet_until_ns = NEVER;
        look_at(alive, alive_count);
        has_happened = fds_are_touched = false;
    } else {
        look_at(awake, awake_count);
    }
    return awake_count == 0 ? NULL : awake[sim_below(RNG_SCHEDULE, (uint64_t)awake_count)];
}

int64_t sim_fibers_turns(void)
{
    return turns;
}

bool sim_fibers_run(bool (*should_stop)(void), int64_t limit_ns)
{
    for (; turns < TURNS_MAX; turns++) {
        if (should_stop()) {
            return true;
        }
        if (world.now_ns >= limit_ns) {
            return false;
        }
        const int64_t event_ns = sim_agenda_run_due();
        sim_fiber_t *fiber = choose();
        if (fiber != NULL) {
            to_fiber(fiber);
            if (after_turn != NULL) {
                after_turn(fiber);
            }
            continue;
        }
        const int64_t next_ns = quiet_until_ns < event_ns ? quiet_until_ns : event_ns;
        if (next_ns == NEVER) {
            sim_fail("no fiber can ever run again");
        }
        world.now_ns = next_ns < limit_ns ? next_ns : limit_ns;
    }
    sim_fail("more than %d turns", TURNS_MAX);
}
