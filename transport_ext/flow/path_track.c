/* path_track.c: see the header for the laws. */
#include "flow/path_track.h"

#include "flow/saturate.h"
#include "util/alloc.h"
#include "util/assert.h"
#include "util/clock.h"
#include "util/error.h"

#define MARKS_UNDER_WAY 4 /* RSTI_PATH_MARKS over it: the most that may be under way */
#define PAUSES_IN_ROUND_TRIP 8
#define SILENT_ROUND_TRIPS 3
#define UNKNOWN INT64_C(-1) /* received of a mark before the first item */

int rsti_path_track_init(rsti_path_track_t *track, int64_t position, int64_t now_ns)
{
    const int64_t begins_ns = rsti_later_ns(-RSTI_TIME_MAX_NS, now_ns);
    *track = (rsti_path_track_t){
        .marks = rsti_alloc(RSTI_PATH_MARKS * sizeof(rsti_path_mark_t)),
        .position = position,
        .now_ns = begins_ns,
        .sent_ns = begins_ns,
        .heard_ns = begins_ns,
        .item.highest = position,
        .item.contiguous = position,
        .resent_to = position,
        .tail = 1,
    };
    if (track->marks == NULL) {
        return RST_SET_ERR(RST_ENOMEM, "%d marks of a path", RSTI_PATH_MARKS);
    }
    track->marks[0] = (rsti_path_mark_t){
        .position = position, .sent_ns = begins_ns, .received = UNKNOWN};
    return 0;
}

void rsti_path_track_fini(rsti_path_track_t *track)
{
    rsti_free(track->marks);
    track->marks = NULL;
}

static rsti_path_mark_t *mark_at(const rsti_path_track_t *track, int64_t number)
{
    return &track->marks[number & (RSTI_PATH_MARKS - 1)];
}

static void set_mark(rsti_path_track_t *track, int64_t sent_ns)
{
    const bool is_full = track->tail - track->head >= RSTI_PATH_MARKS;
    track->tail -= is_full;
    *mark_at(track, track->tail++) = (rsti_path_mark_t){.position = track->position,
        .sent_ns = sent_ns,
        .sent_bytes = track->sent_bytes,
        .received = track->item_count > 0 ? track->item.received : UNKNOWN,
        .clock_ns = track->item.clock_ns,
        .has_moved = is_full};
}

void rsti_path_track_on_sent(rsti_path_track_t *track, const rsti_path_sent_t *sent, int64_t now_ns)
{
    const int64_t pause_ns = rsti_clamp_i64(sent->least_ns / PAUSES_IN_ROUND_TRIP,
        RSTI_PATH_PAUSE_LEAST_NS, RSTI_PATH_PAUSE_MOST_NS);
    track->now_ns = rsti_later_ns(track->now_ns, now_ns);
    if (rsti_path_under_way(track) == 0) {
        track->heard_ns = track->now_ns;
    }
    const bool is_resend = sent->position <= track->position;
    const bool is_after_pause = track->now_ns - track->sent_ns >= pause_ns;
    if ((is_after_pause || is_resend != track->was_resend)
        && mark_at(track, track->tail - 1)->sent_bytes < track->sent_bytes) {
        set_mark(track, track->sent_ns);
    }
    if (is_after_pause) {
        set_mark(track, track->now_ns);
    }
    track->was_resend = is_resend;
    track->sent_bytes = rsti_min_i64(rsti_saturating_add_i64(track->sent_bytes,
                                         rsti_max_i64(sent->bytes, 0)),
        RSTI_COUNT_MAX);
    track->position = rsti_max_i64(track->position, sent->position);
    track->resent_to = is_resend ? rsti_max_i64(track->resent_to, sent->position)
                                 : track->resent_to;
    track->sent_ns = track->now_ns;
    const int64_t step = sent->most / (RSTI_PATH_MARKS / MARKS_UNDER_WAY);
    if (track->sent_bytes - mark_at(track, track->tail - 1)->sent_bytes >= step) {
        set_mark(track, track->now_ns);
    }
    rsti_path_track_check(track);
}

static bool is_possible(const rsti_path_track_t *track, const rsti_path_item_t *item)
{
    return item->highest <= track->position && item->contiguous <= item->highest
        && item->received >= 0 && item->since >= 0 && item->missing >= 0
        && item->since <= item->received && item->hold_ns >= 0
        && item->hold_ns <= RSTI_PATH_HOLD_MAX_NS && item->fresh_ns >= 0
        && item->fresh_ns <= item->hold_ns && item->clock_ns <= RSTI_TIME_MAX_NS
        && item->clock_ns >= -RSTI_TIME_MAX_NS;
}

static bool is_old(const rsti_path_track_t *track, const rsti_path_item_t *item)
{
    const rsti_path_item_t *newest = &track->item;
    return item->highest < newest->highest || item->received <= newest->received
        || item->missing < newest->missing || item->contiguous < newest->contiguous
        || (track->item_count > 0 && item->clock_ns < newest->clock_ns);
}

static rsti_path_item_t with_base(const rsti_path_track_t *track, const rsti_path_item_t *told)
{
    rsti_path_item_t item = *told;
    item.received = rsti_saturating_add_i64(told->received, track->base.received);
    item.missing = rsti_min_i64(rsti_saturating_add_i64(told->missing, track->base.missing),
        RSTI_COUNT_MAX);
    item.clock_ns = rsti_clamp_i64(rsti_saturating_add_i64(told->clock_ns, track->base.clock_ns),
        -RSTI_TIME_MAX_NS, RSTI_TIME_MAX_NS);
    return item;
}

/* Of the first item of a new image, whose clock goes on from now. */
static void set_base(rsti_path_track_t *track, const rsti_path_item_t *told)
{
    track->base.received = track->item.received;
    track->base.missing = track->item.missing;
    track->base.clock_ns = rsti_saturating_add_i64(track->item.clock_ns - told->clock_ns,
        track->now_ns - track->heard_ns);
}

static bool is_anew(const rsti_path_track_t *track, const rsti_path_item_t *item)
{
    const rsti_path_item_t *newest = &track->item;
    return track->item_count > 0 && item->highest > newest->highest
        && (item->received < newest->received || item->missing < newest->missing
            || item->clock_ns < newest->clock_ns);
}

/* Between marks[number] and the mark above it, or the newest sending. share: how far. */
static rsti_path_mark_t between(const rsti_path_track_t *track, int64_t number, double share)
{
    const rsti_path_mark_t *below = mark_at(track, number);
    rsti_path_mark_t mark = {.position = track->position,
        .sent_ns = track->sent_ns,
        .sent_bytes = track->sent_bytes,
        .received = below->received,
        .clock_ns = below->clock_ns};
    if (number + 1 < track->tail) {
        mark = *mark_at(track, number + 1);
        mark.has_moved = mark.has_moved && share < 1.0;
    }
    mark.sent_ns = below->sent_ns + (int64_t)(share * (double)(mark.sent_ns - below->sent_ns));
    mark.sent_bytes = below->sent_bytes
        + (int64_t)(share * (double)(mark.sent_bytes - below->sent_bytes));
    return mark;
}

static double share_of(int64_t value, int64_t below, int64_t above)
{
    return above > below ? (double)(value - below) / (double)(above - below) : 1.0;
}

/* The sending of the byte before position. Marks below it are not needed any more. */
static rsti_path_mark_t mark_of_position(rsti_path_track_t *track, int64_t position)
{
    while (track->tail - track->head > 1 && mark_at(track, track->head + 1)->position < position) {
        track->head++;
    }
    const rsti_path_mark_t above = between(track, track->head, 1.0);
    return between(track, track->head,
        share_of(position, mark_at(track, track->head)->position, above.position));
}

/* The sending of the last of so many bytes. */
static rsti_path_mark_t mark_of_bytes(const rsti_path_track_t *track, int64_t bytes)
{
    int64_t number = track->head;
    while (track->tail - number > 1 && mark_at(track, number + 1)->sent_bytes < bytes) {
        number++;
    }
    const rsti_path_mark_t above = between(track, number, 1.0);
    return between(track, number,
        rsti_clamp_double(share_of(bytes, mark_at(track, number)->sent_bytes, above.sent_bytes),
            0.0, 1.0));
}

static int64_t bandwidth_of(const rsti_path_item_t *item, const rsti_path_mark_t *mark)
{
    const int64_t passed_ns = item->clock_ns - mark->clock_ns;
    if (mark->received == UNKNOWN || passed_ns <= 0) {
        return 0;
    }
    return (int64_t)rsti_clamp_double((double)(item->received - mark->received) / (double)passed_ns
            * 1e9,
        0.0, (double)RSTI_PATH_BANDWIDTH_MAX);
}

bool rsti_path_track_on_item(rsti_path_track_t *track, const rsti_path_item_t *told, int64_t now_ns,
    rsti_path_sample_t *sample)
{
    *sample = (rsti_path_sample_t){0};
    track->now_ns = rsti_later_ns(track->now_ns, now_ns);
    if (!is_possible(track, told)) {
        track->refused_count++;
        return false;
    }
    rsti_path_item_t item = with_base(track, told);
    if (is_anew(track, &item)) {
        set_base(track, told);
        item = with_base(track, told);
    }
    if (is_old(track, &item)) {
        track->old_count++;
        return false;
    }
    const int64_t moved = item.highest - track->item.highest;
    const bool is_resend = item.highest <= track->resent_to;
    /* More can arrive than was sent if the network doubles datagrams. */
    item.received = rsti_max_i64(rsti_min_i64(item.received, track->sent_bytes),
        track->item.received);
    sample->received = item.received - track->item.received;
    rsti_path_mark_t mark;
    if (moved > 0 && is_resend) {
        track->left_bytes = rsti_min_i64(track->sent_bytes,
            rsti_path_reached(track) + rsti_max_i64(sample->received - item.since, 0));
    } else if (moved > 0) {
        mark = mark_of_position(track, item.highest);
        const int64_t passed = rsti_max_i64(mark.sent_bytes - track->left_bytes, 0);
        track->left_bytes += passed;
        track->forgiven_bytes = rsti_max_i64(track->forgiven_bytes - passed, 0);
    }
    /* What was sent up to highest has arrived or is missing. Of padding only a header is sent, and
     * position moves over all of it. */
    item.missing = rsti_max_i64(rsti_min_i64(item.missing,
                                    track->left_bytes - item.received + item.since),
        track->item.missing);
    sample->missing = item.missing - track->item.missing;
    track->item = item;
    sample->is_resend = moved == 0 || is_resend;
    if (sample->is_resend) {
        mark = mark_of_bytes(track, track->sent_bytes - rsti_path_under_way(track));
    }
    if (!mark.has_moved) {
        const int64_t held_ns = sample->is_resend ? item.fresh_ns : item.hold_ns;
        sample->rtt_ns = rsti_clamp_i64(track->now_ns - mark.sent_ns - held_ns, 0,
            RSTI_PATH_RTT_MAX_NS);
        sample->bandwidth = bandwidth_of(&track->item, &mark);
    }
    track->heard_ns = track->now_ns;
    track->item_count++;
    track->silence_count = 0;
    rsti_path_track_check(track);
    return true;
}

int64_t rsti_path_reached(const rsti_path_track_t *track)
{
    return rsti_min_i64(rsti_saturating_add_i64(track->left_bytes, track->item.since),
        track->sent_bytes);
}

int64_t rsti_path_under_way(const rsti_path_track_t *track)
{
    return rsti_max_i64(track->sent_bytes - rsti_path_reached(track) - track->forgiven_bytes, 0);
}

int64_t rsti_path_silence_ns(const rsti_path_track_t *track, int64_t rtt_ns)
{
    if (rsti_path_under_way(track) == 0) {
        return RSTI_NO_DEADLINE;
    }
    return track->heard_ns
        + rsti_max_i64(SILENT_ROUND_TRIPS * rsti_min_i64(rtt_ns, RSTI_PATH_RTT_MAX_NS),
            RSTI_PATH_SILENCE_NS);
}

void rsti_path_track_on_silence(rsti_path_track_t *track, int64_t now_ns)
{
    track->now_ns = rsti_later_ns(track->now_ns, now_ns);
    track->forgiven_bytes = track->sent_bytes - rsti_path_reached(track);
    track->heard_ns = track->now_ns;
    track->silence_count++;
    rsti_path_track_check(track);
}

void rsti_path_track_check(const rsti_path_track_t *track)
{
    RST_ASSERT(track->tail > track->head);
    RST_ASSERT(track->tail - track->head <= RSTI_PATH_MARKS);
    RST_ASSERT(mark_at(track, track->head)->position <= track->item.highest);
    RST_ASSERT(mark_at(track, track->tail - 1)->position <= track->position);
    RST_ASSERT(track->item.highest <= track->position);
    RST_ASSERT(track->item.received <= track->sent_bytes);
    RST_ASSERT(rsti_path_under_way(track) <= track->sent_bytes);
    RST_ASSERT(track->left_bytes <= track->sent_bytes);
    RST_ASSERT(track->forgiven_bytes >= 0);
    (void)track;
}
