/* path_arrival.c: see the header for the law. */
#include "flow/path_arrival.h"

#include "flow/saturate.h"
#include "util/clock.h"

#define PERIODS_IN_RTT 4
#define NEVER INT64_MIN

int64_t rsti_path_period_ns(int64_t rtt_ns)
{
    return rsti_clamp_i64(rtt_ns / PERIODS_IN_RTT, RSTI_PATH_PERIOD_LEAST_NS,
        RSTI_PATH_PERIOD_MOST_NS);
}

void rsti_path_arrival_init(rsti_path_arrival_t *arrival, int64_t position, int64_t now_ns)
{
    const int64_t begins_ns = rsti_later_ns(-RSTI_TIME_MAX_NS, now_ns);
    *arrival = (rsti_path_arrival_t){
        .highest = position, .now_ns = begins_ns, .highest_ns = begins_ns, .told_ns = NEVER};
}

static int64_t add(int64_t count, int64_t bytes)
{
    return rsti_min_i64(rsti_saturating_add_i64(count, bytes), RSTI_COUNT_MAX);
}

void rsti_path_arrival_on_data(rsti_path_arrival_t *arrival, int64_t from, int64_t to,
    int64_t bytes, int64_t now_ns)
{
    if (bytes <= 0) {
        return; /* a heartbeat */
    }
    arrival->now_ns = rsti_later_ns(arrival->now_ns, now_ns);
    arrival->has_news = true;
    arrival->received = add(arrival->received, bytes);
    if (to <= arrival->highest) {
        arrival->since = add(arrival->since, bytes);
        return;
    }
    arrival->missing = add(arrival->missing, rsti_max_i64(from - arrival->highest, 0));
    arrival->highest = to;
    arrival->highest_ns = arrival->now_ns;
    arrival->since = 0;
}

void rsti_path_arrival_on_missing(rsti_path_arrival_t *arrival, int64_t bytes)
{
    arrival->missing = add(arrival->missing, bytes);
}

int64_t rsti_path_arrival_due_ns(const rsti_path_arrival_t *arrival, int64_t rtt_ns)
{
    if (!arrival->has_news) {
        return RSTI_NO_DEADLINE;
    }
    return arrival->told_ns == NEVER
        ? arrival->now_ns
        : rsti_max_i64(arrival->told_ns + rsti_path_period_ns(rtt_ns), arrival->now_ns);
}

void rsti_path_arrival_tell(rsti_path_arrival_t *arrival, int64_t contiguous, int64_t now_ns,
    rsti_path_item_t *item)
{
    const int64_t told_ns = rsti_later_ns(arrival->now_ns, now_ns);
    *item = (rsti_path_item_t){
        .contiguous = rsti_min_i64(contiguous, arrival->highest),
        .highest = arrival->highest,
        .received = arrival->received,
        .since = arrival->since,
        .missing = arrival->missing,
        .clock_ns = arrival->now_ns,
        .hold_ns = rsti_min_i64(told_ns - arrival->highest_ns, RSTI_PATH_HOLD_MAX_NS),
        .fresh_ns = rsti_min_i64(told_ns - arrival->now_ns, RSTI_PATH_HOLD_MAX_NS),
    };
    arrival->told_ns = told_ns;
    arrival->has_news = false;
}
