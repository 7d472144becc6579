/* fill.c: see the header for the law. */
#include "flow/fill.h"

#include "util/clock.h"

#include <math.h>

#define DRAIN_SAMPLE_NS (5 * RSTI_NS_PER_MS)
#define DRAIN_SAMPLES 8.0
#define STALL_LEAST_NS (10 * RSTI_NS_PER_MS)
#define STALL_GAPS 4.0
#define LATE_STILLS 2.0
#define TARGET_SHARE 0.8
#define TAU_LEAST_NS (8 * RSTI_NS_PER_MS)
#define TAU_ROUND_TRIPS 3
#define MTUS_LEAST 2
#define RELEASE_NS (250 * RSTI_NS_PER_MS)
#define PASSING_NS (2 * RSTI_NS_PER_MS)
#define NEVER INT64_MIN

void rsti_fill_init(rsti_fill_t *fill, int64_t target_delay_ns)
{
    *fill = (rsti_fill_t){.period_ns = RSTI_FILL_PERIOD_NS,
        .repaired_ns = NEVER,
        .above_ns = NEVER,
        .sent_ns = NEVER};
    rsti_fill_set_target(fill, target_delay_ns);
}

void rsti_fill_set_target(rsti_fill_t *fill, int64_t target_delay_ns)
{
    fill->target_delay_ns = target_delay_ns > 0
        ? rsti_min_i64(target_delay_ns, RSTI_REPORT_RTT_MAX_NS)
        : RSTI_TARGET_DELAY_NS;
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

static void note_standing(rsti_fill_t *fill, int64_t now_ns, int64_t queue, bool has_taken)
{
    const bool is_late = (double)(now_ns - fill->moved_ns) >= LATE_STILLS * fill->still_ns;
    if (has_taken || is_late || queue < fill->standing) {
        fill->standing = queue;
    }
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
    fill->latest = sample;
    fill->taking += (sample - fill->taking) / DRAIN_SAMPLES;
    if (!(fill->drain > 0) || (!fill->is_sample_busy && sample > fill->drain)) {
        fill->drain = sample;
    } else if (fill->is_sample_busy) {
        fill->drain += (sample - fill->drain) / DRAIN_SAMPLES;
    }
    start_sample(fill, now_ns, consumed, is_busy);
}

int64_t rsti_fill_set_point(const rsti_fill_t *fill, double drain, int64_t buffer_bytes)
{
    const double steered_ns = fmax(TARGET_SHARE * (double)fill->target_delay_ns,
        (double)fill->rtt_ns);
    const int64_t wanted = (int64_t)rsti_clamp_double(drain * steered_ns / 1e9, 0.0,
        (double)RSTI_BUFFER_MAX);
    const int64_t least = rsti_max_i64(MTUS_LEAST * (int64_t)rsti_max_i32(fill->mtu, 0),
        fill->largest);
    const int64_t most = fill->window_bytes > 0 ? buffer_bytes / 4 * 3 : buffer_bytes / 4;
    return drain > 0 ? rsti_min_i64(rsti_max_i64(wanted, least), most) : most;
}

/* 1 while the consumer takes as usual; falls to 0 at a stall. */
static double going_on(const rsti_fill_t *fill)
{
    const double waited_ns = (double)(fill->now_ns - fill->moved_ns) - fill->gap_ns;
    return 1.0 - rsti_clamp_double(waited_ns / (stall_ns(fill) - fill->gap_ns), 0.0, 1.0);
}

/* Nothing was taken for the time after which a stopped reader's window may be filled. */
static bool has_stopped(const rsti_fill_t *fill)
{
    return fill->is_stalled && fill->now_ns - fill->moved_ns >= RELEASE_NS;
}

static double allowed_at(const rsti_fill_t *fill, double drain)
{
    const int64_t set_point = rsti_fill_set_point(fill, drain, fill->buffer_bytes);
    const double tau_ns = (double)rsti_max_i64(TAU_LEAST_NS, TAU_ROUND_TRIPS * fill->rtt_ns);
    const double correction = (double)(set_point - fill->standing) / tau_ns * 1e9;
    const double least = has_stopped(fill) ? (double)fill->window_bytes / (double)RELEASE_NS * 1e9
                                           : 0.0;
    return rsti_clamp_double(drain * going_on(fill) + correction, least, RSTI_RATE_MAX);
}

static void judge(rsti_fill_t *fill)
{
    const int64_t queue = fill->received - fill->consumed;
    fill->fill = fill->buffer_bytes > 0
        ? rsti_clamp_double((double)queue / (double)fill->buffer_bytes, 0.0, 2.0)
        : 0.0;
    fill->set_point = rsti_fill_set_point(fill, fill->drain, fill->buffer_bytes);
    fill->period_ns = rsti_max_i64(RSTI_FILL_PERIOD_NS, fill->rtt_ns);
    fill->is_stalled = queue > fill->set_point / 2 && is_stall(fill, fill->now_ns - fill->moved_ns);
    fill->allowed = allowed_at(fill, fill->drain);
}

/* A window shorter than the target delay keeps the queue short by itself. Of a consumer that has
 * taken nothing yet, nothing is known: the window is there to be filled. */
static bool is_window_enough(const rsti_fill_t *fill)
{
    return fill->window_bytes > 0
        && (!(fill->drain > 0)
            || (double)fill->window_bytes <= fill->drain * (double)fill->target_delay_ns / 1e9);
}

static bool waits_for_repaired(const rsti_fill_t *fill)
{
    return !fill->is_stalled && fill->repaired_ns != NEVER
        && fill->now_ns - fill->repaired_ns < 2 * PASSING_NS;
}

static void begin_reporting(rsti_fill_t *fill)
{
    const bool is_above = fill->buffer_bytes > 0 && fill->standing > fill->set_point / 2
        && !is_window_enough(fill);
    if (!is_above) {
        fill->above_ns = NEVER;
    } else if (fill->above_ns == NEVER) {
        fill->above_ns = fill->now_ns;
    }
    const int64_t waits_ns = waits_for_repaired(fill) ? PASSING_NS : 0;
    fill->is_reporting = is_above && fill->now_ns - fill->above_ns >= waits_ns;
    if (fill->is_reporting) {
        fill->above_ns = NEVER;
        fill->was_told = false;
        fill->sent_ns = NEVER;
    }
}

static rsti_fill_due_t what_is_due(rsti_fill_t *fill)
{
    if (!fill->is_reporting) {
        begin_reporting(fill);
    } else if (fill->standing < fill->set_point / 4 || is_window_enough(fill)) {
        fill->is_reporting = false;
        return fill->sent_ns != NEVER
                && fill->now_ns - fill->sent_ns <= rsti_fill_fresh_ns(fill->rtt_ns)
            ? RSTI_FILL_CLEAR
            : RSTI_FILL_QUIET;
    }
    if (!fill->is_reporting) {
        return RSTI_FILL_QUIET;
    }
    const bool is_late = !fill->was_told || fill->now_ns - fill->told_ns >= fill->period_ns;
    return is_late || (fill->is_stalled && !fill->was_stall_told) ? RSTI_FILL_REPORT
                                                                  : RSTI_FILL_QUIET;
}

rsti_fill_due_t rsti_fill_update(rsti_fill_t *fill, const rsti_fill_facts_t *facts)
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
        fill->received = received;
        fill->consumed = consumed;
        fill->standing = received - consumed;
    }
    const bool has_taken = consumed > fill->consumed;
    note_gap(fill, now_ns, consumed);
    note_standing(fill, now_ns, received - consumed, has_taken);
    note_drain(fill, now_ns, consumed, received > consumed);
    if (received > fill->received && fill->highest > fill->received) {
        fill->repaired_ns = now_ns;
    }
    fill->now_ns = now_ns;
    fill->received = received;
    fill->highest = rsti_max_i64(received, rsti_min_i64(facts->highest, RSTI_COUNT_MAX));
    fill->consumed = consumed;
    fill->buffer_bytes = rsti_clamp_i64(facts->buffer_bytes, 0, RSTI_BUFFER_MAX);
    fill->rtt_ns = rsti_clamp_i64(facts->rtt_ns, 0, RSTI_REPORT_RTT_MAX_NS);
    fill->largest = rsti_clamp_i64(facts->largest, 0, RSTI_BUFFER_MAX);
    fill->window_bytes = rsti_clamp_i64(facts->window_bytes, 0, RSTI_BUFFER_MAX);
    fill->mtu = facts->mtu;
    judge(fill);
    fill->was_stall_told = fill->was_stall_told && fill->is_stalled;
    return what_is_due(fill);
}

void rsti_fill_on_heard(rsti_fill_t *fill)
{
    fill->was_told = true;
    fill->was_stall_told = fill->is_stalled;
    fill->told_ns = fill->now_ns;
}

void rsti_fill_on_sent(rsti_fill_t *fill)
{
    rsti_fill_on_heard(fill);
    fill->sent_ns = fill->now_ns;
}

int64_t rsti_fill_due_ns(const rsti_fill_t *fill)
{
    if (fill->received <= fill->consumed) {
        return RSTI_NO_DEADLINE;
    }
    const int64_t stalled_ns = fill->moved_ns + rsti_to_ns(stall_ns(fill)) + 1;
    if (!fill->is_reporting) {
        const int64_t begins_ns = fill->above_ns == NEVER ? RSTI_NO_DEADLINE
                                                          : fill->above_ns + PASSING_NS;
        return stalled_ns > fill->now_ns ? rsti_min_i64(stalled_ns, begins_ns) : begins_ns;
    }
    return fill->was_told ? rsti_max_i64(fill->told_ns + fill->period_ns, fill->now_ns)
                          : fill->now_ns;
}

void rsti_fill_report(const rsti_fill_t *fill, double drain, bool is_clear,
    rsti_fill_report_t *report)
{
    *report = (rsti_fill_report_t){
        .is_clear = is_clear,
        .fill = fill->fill,
        .drain = is_clear && fill->latest > drain ? fill->latest : drain,
        .allowed = allowed_at(fill, drain),
        .buffer_bytes = fill->buffer_bytes,
        .rtt_ns = fill->rtt_ns,
    };
}
