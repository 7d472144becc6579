/* agent.h: a loop body and the thread that runs it.
 *
 * do_work(arg, now_ns, &next_deadline_ns) does what can be done now, never blocks, returns the work
 * count (bytes, frames, commands: 0 = nothing done; a timer that was only looked at is no work) and
 * stores when it must run again even if no thread wakes it (RSTI_NO_DEADLINE: only when woken). The
 * same function is run by a thread, by several agents in one thread, by the caller, or in virtual
 * time. */
#ifndef RSTI_CONCURRENT_AGENT_H
#define RSTI_CONCURRENT_AGENT_H

#include "concurrent/idle.h"
#include "util/clock.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef int64_t (*rsti_do_work_t)(void *arg, int64_t now_ns, int64_t *next_deadline_ns);

/* How the blocking strategy sleeps. arm() announces in shared memory that the agent sleeps; false:
 * sleeping makes no sense. wait() sleeps at most timeout_ns (RSTI_NO_DEADLINE: until woken; it may
 * return early for any reason) and disarms. spin_ns: how long to spin before arming (0: not at
 * all). */
typedef struct rsti_sleeper_t {
    bool (*arm)(void *arg);
    void (*wait)(void *arg, int64_t timeout_ns);
    void (*disarm)(void *arg);
    void *arg;
    /* How long to look for work, yielding, before arming (0: arm at once). Done only while sleeps
     * are shorter than twice that, so that an idle agent does not spin. */
    int64_t spin_ns;
} rsti_sleeper_t;

typedef struct rsti_agent_runner_t {
    char name[16];
    rsti_do_work_t do_work;
    void *work_arg;
    rsti_clock_t clock;
    rsti_idle_params_t idle;
    bool is_pinned; /* the thread runs on that cpu only */
    int32_t cpu;
    rsti_sleeper_t sleeper;
    int64_t last_sleep_ns; /* written by: the thread; how long the last blocking wait lasted */
    /* the longest sleep; RSTI_NO_DEADLINE: no limit. May change while running (atomic): bounded
     * polling beside peers that never wake this agent */
    int64_t sleep_ns_max;
    /* Beside such peers: the first sleep after work. Each further one without work lasts twice as
     * long, up to sleep_ns_max, because a peer at work goes on within microseconds. 0: no such
     * peer. Atomic as well. */
    int64_t sleep_ns_first;
    int32_t is_running; /* atomic */
    pthread_t thread;
    bool is_started;
} rsti_agent_runner_t;

/* The thread blocks all signals and carries the name. 0 or -RST_ESYS (also when it cannot run on
 * its cpu). */
int rsti_agent_start(rsti_agent_runner_t *runner);
/* Asks the loop to end, wakes it and joins the thread. sleeper->disarm is not enough to wake it, so
 * pass wake: it is called after the flag is set and fenced, and rsti_wake_take_word() plus one byte
 * is enough. A second call does nothing. */
void rsti_agent_stop(rsti_agent_runner_t *runner, void (*wake)(void *arg), void *arg);

#endif
