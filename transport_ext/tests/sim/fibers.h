/* fibers.h: the threads of the simulated processes, all in one real thread.
 *
 * A fiber runs until it waits (posix.c: sleep, poll, lock, join), or until an access to shared
 * memory at which the seed preempts it (rsti_sim_point() in concurrent/atomics.h). Then the
 * scheduler advances the time, delivers what the network holds, and picks the next fiber. Nothing
 * else runs between two such points, so the interleavings are those of a sequentially consistent
 * machine. Other tests check the memory orders. */
#ifndef RSTI_SIM_FIBERS_H
#define RSTI_SIM_FIBERS_H

#include "tests/sim/process.h"

#include <poll.h>
#include <stdbool.h>

#define SIM_FIBERS_MAX 224
#define SIM_STACK_SIZE ((size_t)256 * 1024)
#define SIM_FIBER_LOCAL_SIZE 2304

typedef enum sim_fiber_state_t {
    FIBER_FREE = 0,
    FIBER_READY,
    FIBER_WAITING, /* until wake_ns, a change of *word, or a readable descriptor */
    FIBER_ENDED
} sim_fiber_state_t;

/* The current call of the application; a death may be scheduled for one of these. */
typedef enum sim_activity_t {
    ACTIVITY_NONE,
    ACTIVITY_COMMAND,
    ACTIVITY_PUBLISH,
    ACTIVITY_POLL
} sim_activity_t;

typedef struct sim_fiber_t {
    /* The fields that the scheduler reads of every fiber at every turn share one cache line. */
    _Alignas(64) sim_fiber_state_t state;
    int fd;               /* -1, or waits for it to be readable */
    sim_process_t *process;
    int64_t wake_ns;
    int64_t absent_until_ns; /* ready, but not scheduled */
    const uint64_t *word; /* NULL, or waits for it to differ from word_value */
    uint64_t word_value;
    int32_t id;
    char name[32];
    void *stack;
    void *stack_pointer;
    void *(*entry)(void *arg);
    void *arg;
    uint64_t ended; /* a word to wait for */
    int errno_value;
    int32_t clock_reads; /* in this turn */
    sim_activity_t activity;
    sim_activity_t nervous_in; /* in that activity it may be preempted at every access */
    void *fake_stack; /* of the address sanitizer */
} sim_fiber_t;

void sim_fibers_init(void);
sim_fiber_t *sim_fiber_start(sim_process_t *process, const char *name, void *(*entry)(void *),
    void *arg);
sim_fiber_t *sim_fiber_current(void); /* NULL in the scheduler */
sim_fiber_t *sim_fiber_by_id(int32_t id);
void sim_fibers_drop(const sim_process_t *process);
bool sim_fibers_alive(const sim_process_t *process);
/* The mean number of accesses to shared memory before a fiber may be preempted; 0: never. */
void sim_fibers_set_preemption(int64_t mean_accesses);
/* How often a preempted fiber is not scheduled for up to that long, as on a busy system. */
void sim_fibers_set_absence(double chance, int64_t ns_max);

/* ---- called by fibers ---- */

void sim_fiber_yield(void);
void sim_fiber_set_activity(sim_activity_t activity);
/* A fiber that reads the clock again and again waits for time to advance. */
void sim_fiber_read_clock(void);
void sim_fiber_sleep(int64_t ns);
void sim_fiber_sleep_until(int64_t ns);
/* True when the word changed or the descriptor became readable before wake_ns. A word that others
 * wait for is changed by sim_fibers_count_up. */
bool sim_fiber_wait(const uint64_t *word, int fd, int64_t wake_ns);
void sim_fibers_count_up(uint64_t *word);

/* ---- called by the scheduler's owner ---- */

/* Called after each turn with the fiber that had it. */
void sim_fibers_set_on_turn(void (*on_turn)(const sim_fiber_t *fiber));

/* Descriptors may have become readable: fibers that wait for one check again. */
void sim_fibers_touch_fds(void);
/* A process continues before the end of its pause. */
void sim_fibers_look_again(void);
/* Runs until should_stop() returns true (asked between two turns) or until limit_ns; false then. */
int64_t sim_fibers_turns(void);
bool sim_fibers_run(bool (*should_stop)(void), int64_t limit_ns);

#endif
