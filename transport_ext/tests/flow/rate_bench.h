/* rate_bench.h: a sender under the adaptive law in virtual time, and the reports that it hears. */
#ifndef RSTI_TESTS_FLOW_RATE_BENCH_H
#define RSTI_TESTS_FLOW_RATE_BENCH_H

#include "flow/rate.h"
#include "tests/check.h"
#include "util/clock.h"

#include <math.h>

#define MS RSTI_NS_PER_MS
#define S RSTI_NS_PER_S
#define MB 1000000
#define BUFFER (4 * 1024 * 1024)
#define P RSTI_FILL_PERIOD_NS
#define F (60 * MS) /* rsti_fill_fresh_ns of a short round trip */

typedef struct bench_t {
    rsti_rate_t rate;
    int64_t now_ns;
    double sent;
} bench_t;

static inline void start_with(bench_t *b, double initial, bool is_group)
{
    rsti_rate_params_t params = rsti_rate_defaults();
    params.initial = initial;
    params.is_group = is_group;
    *b = (bench_t){0};
    rsti_rate_init(&b->rate, &rsti_rate_adaptive, &params);
    (void)rsti_rate_on_cycle(&b->rate, &(rsti_rate_use_t){0, 0, MS, BUFFER});
}

static inline void start(bench_t *b, double initial)
{
    start_with(b, initial, false);
}

/* Sends that share of the rate, a pass each millisecond. */
static inline void pass(bench_t *b, int64_t ms, double share)
{
    for (int64_t i = 0; i < ms; i++) {
        b->now_ns += MS;
        b->sent += b->rate.bytes_per_s * share / 1000;
        (void)rsti_rate_on_cycle(&b->rate,
            &(rsti_rate_use_t){b->now_ns, (int64_t)b->sent, MS, BUFFER});
    }
}

/* The same with so many bytes per second, whatever the rate is. */
static inline void pass_bytes(bench_t *b, int64_t ms, double bytes_per_s)
{
    for (int64_t i = 0; i < ms; i++) {
        pass(b, 1, bytes_per_s / b->rate.bytes_per_s);
    }
}

static inline rsti_fill_report_t report_of(int64_t id, double allowed)
{
    return (rsti_fill_report_t){.receiver_id = id,
        .fill = 0.5,
        .drain = 50 * MB,
        .allowed = allowed,
        .buffer_bytes = BUFFER,
        .rtt_ns = MS};
}

static inline void hear(bench_t *b, int64_t id, double mb_per_s)
{
    const rsti_fill_report_t report = report_of(id, mb_per_s * MB);
    rsti_rate_on_report(&b->rate, &report, b->now_ns);
}

static inline void hear_clear(bench_t *b, int64_t id, double drain_mb, int64_t room)
{
    rsti_fill_report_t clear = report_of(id, 0);
    clear.is_clear = true;
    clear.drain = drain_mb * MB;
    clear.fill = 1.0 - (double)room / BUFFER;
    rsti_rate_on_report(&b->rate, &clear, b->now_ns);
}

static inline int64_t mb_per_s(const bench_t *b)
{
    return (int64_t)(b->rate.bytes_per_s / MB + 0.5);
}

#endif
