/* pace.c: see the header for the laws. */
#include "flow/pace.h"

#include "util/clock.h"
#include "util/int_math.h"

void rsti_arrival_init(rsti_arrival_t *arrival)
{
    *arrival = (rsti_arrival_t){.window_begin_ns = INT64_MIN, .period_ends_ns = INT64_MIN};
}

static void end_window(rsti_arrival_t *arrival, int64_t rtt_ns, int64_t now_ns)
{
    const int64_t passed_ns = arrival->last_ns - arrival->window_begin_ns;
    if (now_ns >= arrival->period_ends_ns) {
        arrival->older = arrival->younger;
        arrival->younger = 0;
        arrival->period_ends_ns = now_ns
            + RSTI_ARRIVAL_PERIODS * rsti_max_i64(rtt_ns, RSTI_ARRIVAL_WINDOW_NS);
    }
    if (passed_ns >= RSTI_ARRIVAL_WINDOW_NS / 2) {
        const double rate = (double)arrival->bytes / (double)passed_ns * 1e9;
        arrival->younger = rsti_max_i64(arrival->younger,
            rate < (double)RSTI_PACE_RATE_MAX ? (int64_t)rate : RSTI_PACE_RATE_MAX);
    }
}

void rsti_arrival_on_data(rsti_arrival_t *arrival, int64_t bytes, int64_t rtt_ns, int64_t now_ns)
{
    if (arrival->window_begin_ns == INT64_MIN
        || now_ns - arrival->window_begin_ns >= RSTI_ARRIVAL_WINDOW_NS) {
        if (arrival->window_begin_ns != INT64_MIN) {
            end_window(arrival, rtt_ns, now_ns);
        }
        arrival->window_begin_ns = now_ns;
        arrival->last_ns = now_ns;
        arrival->bytes = 0;
        return;
    }
    arrival->bytes += bytes;
    arrival->last_ns = now_ns;
}

int64_t rsti_arrival_rate(const rsti_arrival_t *arrival)
{
    return rsti_max_i64(arrival->younger, arrival->older);
}

int64_t rsti_arrival_wanted(rsti_arrival_t *arrival, int64_t smoothed_rtt_ns, int64_t least_rtt_ns)
{
    const int64_t rate = rsti_arrival_rate(arrival);
    const int64_t queue_ns = smoothed_rtt_ns - least_rtt_ns;
    arrival->has_queued = arrival->has_queued || queue_ns > least_rtt_ns / 8;
    if (!arrival->has_queued) {
        return 0;
    }
    if (queue_ns > least_rtt_ns / 4) {
        return rate - rate / 8;
    }
    return queue_ns > least_rtt_ns / 8 ? rate : rate + rate / 8;
}

void rsti_pacer_init(rsti_pacer_t *pacer)
{
    *pacer = (rsti_pacer_t){.bytes.filled_ns = INT64_MIN, .last_loss_ns = INT64_MIN};
}

static void set_bucket(rsti_pacer_t *pacer)
{
    const double burst = (double)rsti_max_i64(pacer->rate / (RSTI_NS_PER_S / RSTI_PACE_BURST_NS),
        RSTI_PACE_BURST_MIN);
    rsti_bucket_set(&pacer->bytes, (double)pacer->rate, burst, burst);
}

void rsti_pacer_set(rsti_pacer_t *pacer, int64_t rate, int64_t rtt_ns)
{
    pacer->rate = rsti_min_i64(rsti_max_i64(rate, 0), RSTI_PACE_RATE_MAX);
    pacer->rtt_ns = rtt_ns;
    set_bucket(pacer);
}

void rsti_pacer_on_loss(rsti_pacer_t *pacer, int64_t now_ns)
{
    pacer->last_loss_ns = now_ns;
}

static bool is_pacing(const rsti_pacer_t *pacer, int64_t now_ns)
{
    return pacer->rate > 0 && pacer->rtt_ns >= RSTI_PACE_RTT_MIN_NS
        && pacer->last_loss_ns != INT64_MIN
        && now_ns - pacer->last_loss_ns <= RSTI_PACE_LOSS_ROUND_TRIPS * pacer->rtt_ns;
}

int64_t rsti_pacer_room(rsti_pacer_t *pacer, int64_t now_ns)
{
    if (!is_pacing(pacer, now_ns)) {
        pacer->bytes.filled_ns = INT64_MIN;
        return INT64_MAX;
    }
    if (pacer->bytes.filled_ns == INT64_MIN) {
        rsti_bucket_init(&pacer->bytes, now_ns);
        set_bucket(pacer);
    }
    rsti_bucket_fill(&pacer->bytes, now_ns);
    return rsti_bucket_room(&pacer->bytes);
}

int64_t rsti_pacer_due_ns(const rsti_pacer_t *pacer, int64_t bytes, int64_t now_ns)
{
    return now_ns + 1 + (int64_t)rsti_bucket_wait_ns(&pacer->bytes, (double)bytes);
}

void rsti_pacer_on_sent(rsti_pacer_t *pacer, int64_t bytes)
{
    if (pacer->bytes.filled_ns != INT64_MIN) {
        rsti_bucket_spend(&pacer->bytes, (double)bytes);
    }
}
