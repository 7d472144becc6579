/* fill_truth.c: see the header for the law. */
#include "flow/fill_truth.h"

#include <stddef.h>

#define TAU_S 0.008 /* the least tau of fill.h */
#define SLOWER 4.0
#define SLACK_SHARE 64.0
#define NEVER INT64_MIN

void rsti_fill_truth_init(rsti_fill_truth_t *truth)
{
    *truth = (rsti_fill_truth_t){.now_ns = -RSTI_TIME_MAX_NS};
}

/* -1: not known. */
static int32_t find(const rsti_fill_truth_t *truth, int64_t receiver_id)
{
    for (int32_t i = 0; i < truth->source_count; i++) {
        if (truth->sources[i].receiver_id == receiver_id) {
            return i;
        }
    }
    return -1;
}

static bool is_ignored(const rsti_fill_truth_t *truth, const rsti_truth_source_t *source)
{
    return source->ignored_until_ns != NEVER && truth->now_ns < source->ignored_until_ns;
}

/* The entry for a new source. */
static rsti_truth_source_t *make_room(rsti_fill_truth_t *truth)
{
    if (truth->source_count < RSTI_TRUTH_SOURCES) {
        return &truth->sources[truth->source_count++];
    }
    rsti_truth_source_t *oldest = &truth->sources[0];
    for (int32_t i = 1; i < truth->source_count; i++) {
        rsti_truth_source_t *source = &truth->sources[i];
        const bool is_liar = is_ignored(truth, source);
        const bool was_liar = is_ignored(truth, oldest);
        if (is_liar == was_liar ? source->heard_ns < oldest->heard_ns : was_liar) {
            oldest = source;
        }
    }
    return oldest;
}

static rsti_truth_source_t *source_of(rsti_fill_truth_t *truth, int64_t receiver_id,
    int64_t consumed)
{
    const int32_t at = find(truth, receiver_id);
    rsti_truth_source_t *source = at >= 0 ? &truth->sources[at] : make_room(truth);
    if (at < 0) {
        *source = (rsti_truth_source_t){
            .receiver_id = receiver_id,
            .consumed = consumed,
            .moved_ns = NEVER,
            .marked = consumed,
            .marked_ns = truth->now_ns,
            .progress = -1,
            .lying_since_ns = NEVER,
            .ignored_until_ns = NEVER,
        };
    }
    source->heard_ns = truth->now_ns;
    return source;
}

bool rsti_fill_truth_on_status(rsti_fill_truth_t *truth, int64_t receiver_id, int64_t consumed,
    int64_t window, int64_t now_ns)
{
    truth->now_ns = rsti_later_ns(truth->now_ns, now_ns);
    const int64_t position = rsti_clamp_i64(consumed, 0, RSTI_COUNT_MAX);
    rsti_truth_source_t *source = source_of(truth, receiver_id, position);
    const bool is_news = position >= source->consumed;
    if (position > source->consumed) {
        source->moved_ns = truth->now_ns;
    }
    if (is_news) {
        source->window = rsti_clamp_i64(window, 0, RSTI_BUFFER_MAX);
    }
    source->consumed = rsti_max_i64(source->consumed, position);
    const int64_t passed_ns = truth->now_ns - source->marked_ns;
    if (passed_ns >= RSTI_TRUTH_PROGRESS_NS) {
        source->progress = (double)(source->consumed - source->marked) / (double)passed_ns * 1e9;
        source->marked = source->consumed;
        source->marked_ns = truth->now_ns;
    }
    return is_news;
}

static bool is_lie(const rsti_truth_source_t *source, const rsti_fill_report_t *report,
    int64_t sent_position, int32_t slack)
{
    const int64_t sent = rsti_clamp_i64(sent_position, 0, RSTI_COUNT_MAX);
    const double buffer = (double)report->buffer_bytes;
    const double most = (double)rsti_max_i64(sent - source->consumed, 0);
    const double rounded = buffer / SLACK_SHARE + (double)rsti_max_i32(slack, 0);
    if (report->fill * buffer > most + rounded) {
        return true;
    }
    if (report->is_clear || source->progress <= 0) {
        return false;
    }
    const double least = source->progress / SLOWER;
    return (report->drain > 0 && report->drain < least)
        || report->allowed < least - report->fill * buffer / TAU_S;
}

bool rsti_fill_truth_is_believed(rsti_fill_truth_t *truth, const rsti_fill_report_t *report,
    int64_t sent_position, int32_t slack, int64_t now_ns)
{
    rsti_fill_report_t cleaned = *report;
    rsti_fill_report_clean(&cleaned);
    truth->now_ns = rsti_later_ns(truth->now_ns, now_ns);
    rsti_truth_source_t *source = source_of(truth, cleaned.receiver_id, 0);
    if (!is_lie(source, &cleaned, sent_position, slack)) {
        source->lying_since_ns = NEVER;
        source->lie_count = 0;
    } else {
        if (source->lie_count == 0) {
            source->lying_since_ns = truth->now_ns;
        }
        source->lie_count += source->lie_count < RSTI_TRUTH_LIES;
        if (source->lie_count == RSTI_TRUTH_LIES
            && truth->now_ns - source->lying_since_ns >= RSTI_TRUTH_PATIENCE_NS) {
            source->ignored_until_ns = truth->now_ns + RSTI_TRUTH_IGNORED_NS;
        }
    }
    const bool is_believed = !is_ignored(truth, source);
    truth->ignored_count += !is_believed;
    return is_believed;
}

bool rsti_fill_truth_is_liar(const rsti_fill_truth_t *truth, int64_t receiver_id)
{
    const int32_t at = find(truth, receiver_id);
    return at >= 0 && is_ignored(truth, &truth->sources[at]);
}

const rsti_truth_source_t *rsti_fill_truth_find(const rsti_fill_truth_t *truth, int64_t receiver_id)
{
    const int32_t at = find(truth, receiver_id);
    return at >= 0 ? &truth->sources[at] : NULL;
}
