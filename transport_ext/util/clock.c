#include "util/clock.h"

#include "util/bits.h"

#include <time.h>

static int64_t read_clock_ns(clockid_t id)
{
    struct timespec now;
    int result = clock_gettime(id, &now);
    RST_ASSERT(result == 0);
    (void)result;
    return (int64_t)now.tv_sec * RSTI_NS_PER_S + now.tv_nsec;
}

static int64_t system_nano_time(void *arg)
{
    (void)arg;
    return read_clock_ns(CLOCK_MONOTONIC);
}

static int64_t system_epoch_ns(void *arg)
{
    (void)arg;
    return read_clock_ns(CLOCK_REALTIME);
}

rsti_clock_t rsti_clock_system(void)
{
    return (rsti_clock_t){.nano_time = system_nano_time, .epoch_ns = system_epoch_ns, .arg = NULL};
}

void rsti_cached_epoch_init(rsti_cached_epoch_t *cached, const rsti_clock_t *clock, int64_t now_ns)
{
    cached->now_ms = rsti_clock_epoch_ms(clock);
    cached->due_ns = now_ns + RSTI_NS_PER_MS;
}

void rsti_cached_epoch_update(rsti_cached_epoch_t *cached, const rsti_clock_t *clock,
    int64_t now_ns)
{
    if (now_ns >= cached->due_ns) {
        rsti_cached_epoch_init(cached, clock, now_ns);
    }
}

static int64_t manual_nano_time(void *arg)
{
    const rsti_manual_clock_t *manual = arg;
    return manual->now_ns;
}

static int64_t manual_epoch_ns(void *arg)
{
    const rsti_manual_clock_t *manual = arg;
    return manual->epoch_ms_at_zero * RSTI_NS_PER_MS + manual->now_ns;
}

rsti_clock_t rsti_clock_manual(rsti_manual_clock_t *manual)
{
    return (rsti_clock_t){
        .nano_time = manual_nano_time, .epoch_ns = manual_epoch_ns, .arg = manual};
}
