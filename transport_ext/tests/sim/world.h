/* world.h: one simulated world: its seed, its time, its chronicle.
 *
 * A simulator process runs one world, so the world is global. Everything in it follows from the
 * seed. Separate questions have separate random generators, so that a new network fault does not
 * change which fiber is scheduled when. */
#ifndef RSTI_SIM_WORLD_H
#define RSTI_SIM_WORLD_H

#include "util/clock.h"
#include "util/rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_US INT64_C(1000)
#define SIM_MS INT64_C(1000000)
#define SIM_S INT64_C(1000000000)
#define SIM_EPOCH_MS INT64_C(1700000000000)

typedef enum sim_rng_id_t {
    RNG_SCENARIO, /* which actors exist and which faults happen */
    RNG_SCHEDULE, /* which fiber runs next, and for how long */
    RNG_NETWORK,  /* the fate of a datagram */
    RNG_ACTOR,    /* the choices of applications */
    RNG_PRODUCT,  /* seeds of the drivers, getrandom() */
    RNG_FIRST_COUNT,
    /* Generators that were added later have seeds of their own, so the first ones give the same
     * numbers as before. */
    RNG_FAULTS = RNG_FIRST_COUNT, /* deaths in a ring, failing system calls */
    RNG_API_USAGE,  /* optional API calls of applications */
    RNG_OPTIONS,  /* how a driver receives its options */
    RNG_RATES,    /* laws of rate, and when they change */
    RNG_BUDGETS,
    RNG_HOSTILE,  /* what the hostile host does */
    RNG_KEYS,     /* which worlds have keys */
    RNG_ON_PATH,  /* what the hostile host does on the path */
    RNG_COUNT
} sim_rng_id_t;

typedef struct sim_world_t {
    uint64_t seed;
    int64_t now_ns;
    uint64_t hash;      /* of every event: two runs of one seed end with the same hash */
    uint64_t event_count;
    bool is_traced;     /* events are printed */
    bool is_calm;       /* no more faults: everything that was sent must arrive now */
    rsti_rng_t rngs[RNG_COUNT];
    char home[128];     /* no event names it: it contains the process id */
} sim_world_t;

extern sim_world_t world;

void sim_world_init(uint64_t seed, bool is_traced);

/* ---- random numbers ---- */

static inline uint64_t sim_below(sim_rng_id_t rng, uint64_t limit)
{
    return rsti_rng_below(&world.rngs[rng], limit);
}

static inline int64_t sim_between(sim_rng_id_t rng, int64_t least, int64_t most)
{
    return least + (int64_t)sim_below(rng, (uint64_t)(most - least) + 1);
}

static inline bool sim_chance(sim_rng_id_t rng, double probability)
{
    return probability > 0 && rsti_rng_unit(&world.rngs[rng]) < probability;
}

/* ---- the chronicle ---- */

/* An event: always hashed, printed when traced. Its format has no pointers and no process ids. */
void sim_event(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Bytes that belong to the last event. */
void sim_hash_bytes(const void *bytes, size_t length);
/* Counts what a scenario exercised; runner.c adds it up over all seeds. */
void sim_count(const char *name);
void sim_count_many(const char *name, int64_t amount);
void sim_counts_write(int fd);
/* The run failed: prints the reason and how to replay it, and ends this process. */
_Noreturn void sim_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The context that sim_fail prints before the reason (the running fiber); set by fibers.c. */
extern const char *(*sim_context)(void);

#define SIM_FAILED 1 /* exit status of a failed run */

#endif
