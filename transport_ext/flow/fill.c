/* fill.c: see the header for the law. */
#include "flow/fill.h"

#include "util/clock.h"

#include <math.h>

#define SLOPE_NS (2 * RSTI_NS_PER_MS)
#define DRAIN_SAMPLE_NS (10 * RSTI_NS_PER_MS)
#define DRAIN_SAMPLES 16.0
#define STALL_LEAST_NS (10 * RSTI_NS_PER_MS)
#define STALL_GAPS 4.0
#define LATE_STILLS 2.0
#define LEAD 2.0
#define FILL_NOTHING 0.05

void rsti_fill_init(rsti_fill_t *fill, int64_t target_delay_ns)
{
    *fill = (rsti_fill_t){
        .reaction = rsti_reaction(RSTI_TARGET_DELAY_NS, RSTI_DETECT_NS, 0, 0, 0, 0, 0),
        .detect_ns = RSTI_DETECT_NS,
    };
    rsti_fill_set_target(fill, target_delay_ns);
}

void rsti_fill_set_target(rsti_fill_t *fill, int64_t target_delay_ns)
{
    fill->target_delay_ns = target_delay_ns > 0
        ? rsti_min_i64(target_delay_ns, RSTI_REPORT_RTT_MAX_NS)
        : RSTI_TARGET_DELAY_NS;
}

void rsti_fill_set_detect(rsti_fill_t *fill, int64_t detect_ns)
{
    fill->detect_ns = rsti_clamp_i64(detect_ns, 0, RSTI_REPORT_RTT_MAX_NS);
}

static double stall_ns(const rsti_fill_t *fill)
{
    return rsti_clamp_double(STALL_GAPS * fill->gap_ns, (double)STALL_LEAST_NS,
        (double)RSTI_TIME_MAX_NS);
}

static bool is_stall(const rsti_fill_t *fill, int64_t waited_ns)
{
    return (double)waited_ns > stall_ns(fill);
}

static void note_gap(rsti_fill_t *fill, int64_t now_ns, int64_t consumed)
{
    const bool had_data = fill->received > fill->consumed;
    const bool has_taken = consumed > fill->consumed;
    if (has_taken && had_data) {
        const int64_t waited_ns = now_ns - fill->moved_ns;
        /* A stall counts only up to the time that makes it a stall. So a single pause changes the
         * usual gap little; a consumer that always takes so rarely changes it in a few samples. */
        const double counted = rsti_clamp_double((double)waited_ns, 0.0, stall_ns(fill));
        if (is_stall(fill, waited_ns)) {
            fill->has_sample = false;
        }
        fill->gap_ns += (counted - fill->gap_ns) / 8.0;
        /* The time without a taking, as far as updates saw it. For a consumer that takes between
         * every two updates it is 0. */
        const double still_ns = (double)(fill->now_ns - fill->moved_ns);
        fill->still_ns += (rsti_clamp_double(still_ns, 0.0, stall_ns(fill)) - fill->still_ns) / 8.0;
    }
    if (has_taken || !had_data) {
        fill->moved_ns = now_ns;
    }
}

/* The queue of a consumer that takes batches rises and falls by a batch. The rest that a taking
 * leaves is the overload. Between takings only lateness counts. */
static void note_level(rsti_fill_t *fill, int64_t now_ns, int64_t queue, bool has_taken)
{
    const bool is_late = (double)(now_ns - fill->moved_ns) >= LATE_STILLS * fill->still_ns;
    if (!has_taken && !is_late && queue >= fill->level) {
        return;
    }
    fill->level = queue;
    const int64_t passed_ns = now_ns - fill->level_ns;
    if (passed_ns <= 0) {
        return; /* updates at the same time count once */
    }
    const double grown = (double)(queue - fill->level_before);
    const double within = (double)(passed_ns + SLOPE_NS);
    fill->slope += grown / within * 1e9 - fill->slope * ((double)passed_ns / within);
    fill->level_before = queue;
    fill->level_ns = now_ns;
}

static void start_sample(rsti_fill_t *fill, int64_t now_ns, int64_t consumed, bool is_busy)
{
    fill->has_sample = true;
    fill->sample_ns = now_ns;
    fill->sample_at = consumed;
    fill->is_sample_busy = is_busy;
}

static void note_drain(rsti_fill_t *fill, int64_t now_ns, int64_t consumed, bool is_busy)
{
    if (!fill->has_sample) {
        start_sample(fill, now_ns, consumed, is_busy);
        return;
    }
    fill->is_sample_busy = fill->is_sample_busy && is_busy;
    const int64_t passed_ns = now_ns - fill->sample_ns;
    /* A busy sample ends with a taking, because a slow consumer takes rarely. */
    if (passed_ns < DRAIN_SAMPLE_NS || (is_busy && consumed == fill->consumed)) {
        return;
    }
    const double sample = rsti_clamp_double((double)(consumed - fill->sample_at) / (double)passed_ns
            * 1e9,
        0.0, RSTI_RATE_MAX);
    if (!(fill->drain > 0) || (!fill->is_sample_busy && sample > fill->drain)) {
        fill->drain = sample;
    } else if (fill->is_sample_busy) {
        fill->deviation += (fabs(sample - fill->drain) - fill->deviation) / 8.0;
        fill->drain += (sample - fill->drain) / DRAIN_SAMPLES;
    }
    fill->variation = fill->drain > 0 ? rsti_clamp_double(fill->deviation / fill->drain, 0.0, 1.0)
                                      : 0.0;
    start_sample(fill, now_ns, consumed, is_busy);
}

/* Data behind a gap counts as arrived too. The law keeps the highest recent value, because the
 * sender may return to that rate. */
static void note_arrivals(rsti_fill_t *fill, int64_t now_ns, int64_t highest)
{
    if (!fill->has_arrival_sample) {
        fill->has_arrival_sample = true;
        fill->arrival_ns = now_ns;
        fill->arrived_at = highest;
    }
    const int64_t passed_ns = now_ns - fill->arrival_ns;
    if (passed_ns < DRAIN_SAMPLE_NS) {
        return;
    }
    const double sample = rsti_clamp_double((double)(highest - fill->arrived_at) / (double)passed_ns
            * 1e9,
        0.0, RSTI_RATE_MAX);
    fill->arriving += sample > fill->arriving ? sample - fill->arriving
                                              : (sample - fill->arriving) / DRAIN_SAMPLES;
    fill->arrival_ns = now_ns;
    fill->arrived_at = highest;
}

static void judge(rsti_fill_t *fill)
{
    const double buffer = (double)fill->buffer_bytes;
    const double share = buffer > 0 ? 1.0 / buffer : 0.0;
    const double coming = fill->arriving > 0 ? fill->arriving : fill->drain;
    fill->reaction = rsti_reaction(fill->target_delay_ns, fill->detect_ns, fill->buffer_bytes,
        fill->rtt_ns, fill->drain, coming, fill->drain);
    const double low = fill->reaction.fill_low;
    const double ahead_s = LEAD * (double)fill->reaction.reach_ns / 1e9;
    fill->fill = rsti_clamp_double((double)(fill->received - fill->consumed) * share, 0.0, 2.0);
    const double level = rsti_clamp_double((double)fill->level * share, 0.0, 2.0);
    fill->predicted = rsti_clamp_double(level + ahead_s * fill->slope * share, 0.0, 4.0);
    fill->is_stalled = fill->fill > low / 2.0 && is_stall(fill, fill->now_ns - fill->moved_ns);
    if (fill->is_stalled) {
        fill->strength = 1.0;
    } else if (level < FILL_NOTHING) {
        fill->strength = 0.0;
    } else {
        fill->strength = rsti_clamp_double((fill->predicted - low) / (RSTI_FILL_HIGH - low), 0.0,
            1.0);
    }
}

static bool is_due(const rsti_fill_t *fill)
{
    if (!(fill->strength > 0)) {
        return false;
    }
    return !fill->was_told || fill->now_ns - fill->told_ns >= fill->reaction.window_ns / 2
        || fill->strength >= fill->told_strength + RSTI_FILL_RISE;
}

/* Bytes that lay behind a gap at the last update, and can be consumed now. */
static int64_t freed_by_repair(const rsti_fill_t *fill, int64_t received)
{
    return rsti_max_i64(0, rsti_min_i64(received, fill->highest) - fill->received);
}

bool rsti_fill_update(rsti_fill_t *fill, const rsti_fill_facts_t *facts)
{
    const int64_t now_ns = rsti_later_ns(fill->has_begun ? fill->now_ns : -RSTI_TIME_MAX_NS,
        facts->now_ns);
    const int64_t received = rsti_max_i64(fill->received,
        rsti_min_i64(facts->received, RSTI_COUNT_MAX));
    const int64_t consumed = rsti_max_i64(fill->consumed, rsti_min_i64(facts->consumed, received));
    if (!fill->has_begun) {
        fill->has_begun = true;
        fill->now_ns = now_ns;
        fill->moved_ns = now_ns;
        fill->level_ns = now_ns;
        fill->received = received;
        fill->consumed = consumed;
        fill->highest = received;
        fill->level = received - consumed;
        fill->level_before = fill->level;
    }
    fill->level_before += freed_by_repair(fill, received);
    const bool has_taken = consumed > fill->consumed;
    note_gap(fill, now_ns, consumed);
    note_level(fill, now_ns, received - consumed, has_taken);
    note_drain(fill, now_ns, consumed, received > consumed);
    fill->now_ns = now_ns;
    fill->received = received;
    fill->highest = rsti_max_i64(fill->highest,
        rsti_clamp_i64(facts->highest, received, RSTI_COUNT_MAX));
    note_arrivals(fill, now_ns, fill->highest);
    fill->consumed = consumed;
    fill->buffer_bytes = rsti_clamp_i64(facts->buffer_bytes, 0, RSTI_BUFFER_MAX);
    fill->rtt_ns = rsti_clamp_i64(facts->rtt_ns, 0, RSTI_REPORT_RTT_MAX_NS);
    judge(fill);
    return is_due(fill);
}

void rsti_fill_on_told(rsti_fill_t *fill, double strength)
{
    const double told = rsti_clamp_double(strength, 0.0, 1.0);
    const bool is_recent = fill->was_told
        && fill->now_ns - fill->told_ns < fill->reaction.window_ns / 2;
    if (!is_recent || told > fill->told_strength) {
        fill->told_strength = told;
    }
    fill->was_told = true;
    fill->told_ns = fill->now_ns;
}

int64_t rsti_fill_due_ns(const rsti_fill_t *fill)
{
    if (fill->received <= fill->consumed) {
        return RSTI_NO_DEADLINE;
    }
    const int64_t stalled_ns = fill->moved_ns + rsti_to_ns(stall_ns(fill)) + 1;
    const int64_t again_ns = fill->told_ns + fill->reaction.window_ns / 2;
    if (!(fill->strength > 0)) {
        return stalled_ns > fill->now_ns ? stalled_ns : RSTI_NO_DEADLINE;
    }
    return fill->was_told ? rsti_max_i64(again_ns, fill->now_ns) : fill->now_ns;
}

void rsti_fill_report(const rsti_fill_t *fill, rsti_fill_report_t *report)
{
    *report = (rsti_fill_report_t){
        .strength = fill->strength,
        .fill = fill->fill,
        .drain = fill->drain,
        .drain_all = fill->drain,
        .variation = fill->variation,
        .sender_count = 1,
        .buffer_bytes = fill->buffer_bytes,
        .rtt_ns = fill->rtt_ns,
    };
}
