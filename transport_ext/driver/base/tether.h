/* tether.h: the states of one local subscriber that may be dropped for slowness
 * (docs/reference/aeron/wire.md 16). Pure: time and positions are arguments. Called by the
 * conductor alone.
 *
 *   ACTIVE   position <= limit for window_limit_ns  ->  LINGER, the client is told "unavailable"
 *   LINGER   for linger_ns                          ->  RESTING; without rejoin: CLOSED
 *   RESTING  for resting_ns                         ->  ACTIVE again, at the join position
 *
 * limit = base - window + window / 4. A subscriber in ACTIVE or LINGER holds the window; in the
 * other states it does not.
 *
 * Eviction (rs-evict, docs/how-to/slow-consumers.md) uses the same states with two differences. The
 * time window_limit_ns begins anew whenever the position moves, so only a reader that stands still
 * is dropped. An evicted reader stays RESTING. */
#ifndef RSTI_DRIVER_BASE_TETHER_H
#define RSTI_DRIVER_BASE_TETHER_H

#include <stdbool.h>
#include <stdint.h>

typedef enum rsti_tether_state_t {
    RSTI_TETHER_ACTIVE = 0,
    RSTI_TETHER_LINGER,
    RSTI_TETHER_RESTING,
    RSTI_TETHER_CLOSED
} rsti_tether_state_t;

/* What the owner has to do now. */
typedef enum rsti_tether_event_t {
    RSTI_TETHER_NOTHING = 0,
    RSTI_TETHER_LET_GO, /* tell the client that the image is unavailable */
    RSTI_TETHER_REST, /* nothing to do; from now on it does not hold the window */
    RSTI_TETHER_CLOSE, /* remove it: it will never hold the window again */
    RSTI_TETHER_REJOIN /* set its position to the join position, tell the client "available" */
} rsti_tether_event_t;

typedef struct rsti_tether_times_t {
    int64_t window_limit_ns;
    int64_t linger_ns;
    int64_t resting_ns;
} rsti_tether_times_t;

typedef struct rsti_tether_t {
    rsti_tether_state_t state;
    bool is_tethered; /* it stays ACTIVE for ever */
    bool is_followed; /* a law of rate follows its queue; tether=false: not */
    bool is_rejoin;
    bool is_evicting;
    int64_t seen_position; /* evicting: position at the last check */
    int64_t since_ns; /* when the state began, or the last time above the limit */
    rsti_tether_times_t times;
} rsti_tether_t;

static inline bool rsti_tether_is_working(const rsti_tether_t *tether)
{
    return tether->state <= RSTI_TETHER_LINGER;
}

static inline int64_t rsti_tether_limit(int64_t base, int64_t window)
{
    return base - window + window / 4;
}

/* Drops the subscriber without a timeout: ACTIVE becomes LINGER. */
void rsti_tether_let_go(rsti_tether_t *tether, int64_t now_ns);

/* Takes the next step if its time has come. */
rsti_tether_event_t rsti_tether_check(rsti_tether_t *tether, int64_t position, int64_t limit,
    int64_t now_ns);

#endif
