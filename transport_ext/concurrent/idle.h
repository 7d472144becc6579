/* idle.h: how a thread without work waits, with names and arguments in the form for users. */
#ifndef RSTI_CONCURRENT_IDLE_H
#define RSTI_CONCURRENT_IDLE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum rsti_idle_kind_t {
    RSTI_IDLE_BLOCK = 0, /* sleep until woken or the deadline: needs a sleeper */
    RSTI_IDLE_SPIN,      /* pause instructions, or yields */
    RSTI_IDLE_NOOP,      /* nothing at all, or yields */
    RSTI_IDLE_YIELD,
    RSTI_IDLE_BACKOFF,   /* spins, then yields, then sleeps that double; work resets it */
    RSTI_IDLE_SLEEP,     /* a fixed sleep */
    RSTI_IDLE_CONTROLLABLE /* chosen by a number in shared memory, see below */
} rsti_idle_kind_t;

/* Values of the number that a controllable strategy reads each time; any other value parks. */
#define RSTI_IDLE_CONTROL_NOOP 1
#define RSTI_IDLE_CONTROL_SPIN 2
#define RSTI_IDLE_CONTROL_YIELD 3
#define RSTI_IDLE_CONTROL_PARK_NS INT64_C(1000)

typedef struct rsti_idle_params_t {
    rsti_idle_kind_t kind;
    int64_t spins_max; /* backoff */
    int64_t yields_max;
    int64_t park_min_ns;
    int64_t park_max_ns;
    int64_t sleep_ns;       /* sleep */
    const int64_t *control; /* controllable */
    /* Spin and noop yield: see rsti_spin_yields. Otherwise a thread that spins keeps its core from
     * the thread that it waits for until the scheduler takes it away, for milliseconds. */
    bool yields;
} rsti_idle_params_t;

/* Cores that this process may use; at least 1. */
int32_t rsti_usable_cores(void);
/* Whether `spinners` threads that spin must yield: cores < spinners + RSTI_PEER_THREADS. They serve
 * a publisher and a reader, which need a core each. */
#define RSTI_PEER_THREADS 2
bool rsti_spin_yields(int32_t cores, int32_t spinners);

/* Backoff: 10 spins, 20 yields, parking from 1 us doubling to 1 ms; sleep: 1 ms. */
void rsti_idle_params_init(rsti_idle_params_t *params, rsti_idle_kind_t kind);
/* Names: block | spin | noop | yield | backoff | sleep | controllable; those of Aeron's C driver
 * (spinning, yielding, sleeping, sleep-ns, busy_spin, sleep-ms); classes of Aeron's Java driver
 * with or without their package (BackoffIdleStrategy). */
bool rsti_idle_parse_kind(const char *name, rsti_idle_kind_t *kind);
/* Arguments: backoff "spins-yields-min-max" (10-20-1us-1ms), sleep one duration; empty: as they
 * are; the others take none. False, and nothing is stored, when they are malformed. */
bool rsti_idle_parse_args(rsti_idle_params_t *params, const char *args);

#endif
