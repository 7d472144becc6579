/* clock.h: time as an injected value. Agents get a clock, laws get now_ns. Only clock.c asks the
 * operating system. */
#ifndef RSTI_UTIL_CLOCK_H
#define RSTI_UTIL_CLOCK_H

#include <stdint.h>

#define RSTI_NS_PER_MS INT64_C(1000000)
#define RSTI_NS_PER_S INT64_C(1000000000)
#define RSTI_NO_DEADLINE INT64_MAX

typedef struct rsti_clock_t {
    int64_t (*nano_time)(void *arg); /* monotonic, ns; any origin */
    int64_t (*epoch_ns)(void *arg);  /* wall clock, ns since 1970 */
    void *arg;
} rsti_clock_t;

static inline int64_t rsti_clock_nano_time(const rsti_clock_t *clock)
{
    return clock->nano_time(clock->arg);
}

static inline int64_t rsti_clock_epoch_ns(const rsti_clock_t *clock)
{
    return clock->epoch_ns(clock->arg);
}

static inline int64_t rsti_clock_epoch_ms(const rsti_clock_t *clock)
{
    return rsti_clock_epoch_ns(clock) / RSTI_NS_PER_MS;
}

rsti_clock_t rsti_clock_system(void);

/* The wall clock of an agent's duty cycles. It is read at most once per millisecond of the agent's
 * own time, so now_ms lags by less than a millisecond plus the time between two cycles. */
typedef struct rsti_cached_epoch_t {
    int64_t now_ms;
    int64_t due_ns; /* when it is read again */
} rsti_cached_epoch_t;

void rsti_cached_epoch_init(rsti_cached_epoch_t *cached, const rsti_clock_t *clock, int64_t now_ns);
void rsti_cached_epoch_update(rsti_cached_epoch_t *cached, const rsti_clock_t *clock,
    int64_t now_ns);

/* Set by hand: epoch_ns() is epoch_ms_at_zero * 1e6 + now_ns. */
typedef struct rsti_manual_clock_t {
    int64_t now_ns;
    int64_t epoch_ms_at_zero;
} rsti_manual_clock_t;

rsti_clock_t rsti_clock_manual(rsti_manual_clock_t *manual);

#endif
