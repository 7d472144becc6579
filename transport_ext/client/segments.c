/* segments.c: see segments.h. */
#include "client/segments.h"

#include "client/image_gaps.h"
#include "protocol/segment.h"
#include "util/alloc.h"
#include "util/error.h"
#include "util/int_math.h"

#include <inttypes.h>

/* ---- choosing: pure ---- */

static bool is_free(const rsti_segment_t *segment, int64_t consumed)
{
    return !segment->is_claimed && !segment->is_cut && segment->end_position <= consumed;
}

/* What a message of this length needs beyond the memory of the segment. */
static int64_t missing(const rsti_segment_t *segment, int64_t length)
{
    return rsti_max_i64(0, rsti_align_i64(length, RSTI_SEGMENT_STEP) - segment->file.reserved);
}

/* Bytes that a segment must keep: those of the message in it. */
static int64_t needed(const rsti_segment_t *segment, int64_t consumed)
{
    return is_free(segment, consumed) ? 0 : rsti_align_i64(segment->length, RSTI_SEGMENT_STEP);
}

static bool is_better(const rsti_segment_t *segment, const rsti_segment_t *other, int64_t length)
{
    const int64_t lacks = missing(segment, length);
    const int64_t other_lacks = missing(other, length);
    return lacks != other_lacks ? lacks < other_lacks : segment->used > other->used;
}

int32_t rsti_segments_choose(const rsti_segments_t *segments, int64_t length, int64_t consumed)
{
    int32_t best = -1;
    int64_t in_use = 0;
    for (int32_t i = 0; i < segments->count; i++) {
        const rsti_segment_t *segment = &segments->items[i];
        in_use += needed(segment, consumed);
        if (is_free(segment, consumed)
            && (best < 0 || is_better(segment, &segments->items[best], length))) {
            best = i;
        }
    }
    if (best >= 0 && missing(&segments->items[best], length) == 0) {
        return best;
    }
    const int64_t wanted = rsti_align_i64(length, RSTI_SEGMENT_STEP);
    if (in_use + wanted > RSTI_SEGMENT_BYTES_MAX) {
        return -1;
    }
    /* A new one costs no memory of another one, as long as there is room for all. */
    const bool may_add = segments->count < RSTI_SEGMENTS_MAX;
    return best < 0 || (may_add && segments->reserved + wanted <= RSTI_SEGMENT_BYTES_MAX)
        ? (may_add ? segments->count : -1)
        : best;
}

/* ---- how many bytes wait: pure ---- */

int64_t rsti_segments_below(const rsti_log_ext_t *ext, int64_t position)
{
    if (ext->magic != RSTI_EXT_MAGIC) {
        return 0;
    }
    /* The sum first: then the entry of each message in it is there, and a message that comes
     * between the loads makes no difference. */
    int64_t bytes = rsti_load_acquire_i64(&ext->segment_bytes_sent);
    for (int32_t i = 0; bytes > 0 && i < RSTI_LOG_SEGMENTS; i++) {
        const rsti_log_segment_t *segment = &ext->segments[i];
        if (rsti_load_acquire_i64(&segment->end_position) > position) {
            bytes = rsti_min_i64(bytes, rsti_load_relaxed_i64(&segment->bytes_before));
        }
    }
    return rsti_max_i64(0, bytes);
}

int32_t rsti_segments_count(const rsti_log_ext_t *ext, int64_t from, int64_t to)
{
    int32_t count = 0;
    for (int32_t i = 0; ext->magic == RSTI_EXT_MAGIC && i < RSTI_LOG_SEGMENTS; i++) {
        const int64_t end = rsti_load_relaxed_i64(&ext->segments[i].end_position);
        count += end > from && end <= to ? 1 : 0;
    }
    return count;
}

/* Tells everyone what lies in the segment from now on. What lay there before is consumed, so for a
 * reader's position the old end with the new bytes counts as nothing. */
static void tell(rsti_log_ext_t *ext, int64_t number, const rsti_segment_t *segment)
{
    const int64_t before = rsti_load_relaxed_i64(&ext->segment_bytes_sent);
    rsti_store_relaxed_i64(&ext->segments[number].bytes_before, before);
    rsti_store_release_i64(&ext->segments[number].end_position, segment->end_position);
    rsti_store_release_i64(&ext->segment_bytes_sent, before + segment->length);
}

/* ---- publisher ---- */

/* What frame and metadata call the message that lies there; they have 32 bits for it. */
static int32_t use_of(const rsti_segment_t *segment)
{
    return (int32_t)(1 + segment->used % INT32_MAX);
}

void rsti_segments_free(rsti_segments_t *segments)
{
    for (int32_t i = 0; segments != NULL && i < segments->count; i++) {
        rsti_segment_close(&segments->items[i].file);
    }
    rsti_free(segments);
}

static int64_t consumed_now(const rst_publication_t *publication)
{
    return rsti_max_i64(0, rst_publication_consumed_position(publication));
}

/* Ends the use of a free segment: from then on no reader begins to read there. A reader that has
 * just joined may stand before the message, which all others had consumed. It stores its position
 * before it looks at the use, and this stores the use before it looks at the positions: so at least
 * one of the two sees the other. False: there is such a reader, and the message stays. */
static bool end_use(rst_publication_t *publication, int32_t number)
{
    const rsti_segment_t *segment = &publication->segments->items[number];
    int32_t *use = &rsti_shared_log_ext(publication->log)->segments[number].use;
    const int32_t before = rsti_load_relaxed_i32(use);
    rsti_store_relaxed_i32(use, 0);
    rsti_fence();
    if (segment->end_position <= consumed_now(publication)) {
        return true;
    }
    rsti_store_release_i32(use, before);
    return false;
}

/* Takes memory that no message needs from the other segments, until the chosen one can grow. */
static void make_room(rst_publication_t *publication, int32_t chosen, int64_t more,
    int64_t consumed)
{
    rsti_segments_t *segments = publication->segments;
    const rsti_log_file_t *log = &publication->log->file;
    for (int32_t i = 0; i < segments->count && segments->reserved + more > RSTI_SEGMENT_BYTES_MAX;
        i++) {
        rsti_segment_t *segment = &segments->items[i];
        const int64_t held = segment->file.reserved;
        const int64_t keep = needed(segment, consumed);
        if (i == chosen || held <= keep || (keep == 0 && !end_use(publication, i))) {
            continue;
        }
        if (rsti_segment_trim(&segment->file, log, i, keep) == 0) {
            segments->reserved -= held - keep;
        }
    }
}

static int reserve(rst_publication_t *publication, int32_t chosen, int64_t length, int64_t consumed)
{
    rsti_segments_t *segments = publication->segments;
    const rsti_log_file_t *log = &publication->log->file;
    rsti_segment_t *segment = &segments->items[chosen];
    if (chosen == segments->count) {
        *segment = (rsti_segment_t){0};
        const int created = rsti_segment_create(&segment->file, log, chosen);
        if (created < 0) {
            return created;
        }
        segments->count++;
    }
    const int64_t before = segment->file.reserved;
    make_room(publication, chosen, missing(segment, length), consumed);
    const int result = rsti_segment_reserve(&segment->file, log, chosen, length);
    segments->reserved += segment->file.reserved - before;
    return result;
}

/* Leaves a segment alone whose file was cut short. Its readers find that out by themselves. */
static void give_up(rst_publication_t *publication, int32_t number)
{
    rsti_segments_t *segments = publication->segments;
    rsti_segment_t *segment = &segments->items[number];
    segments->reserved -= segment->file.reserved;
    segment->file.reserved = 0;
    segment->length = 0;
    segment->is_claimed = false;
    segment->is_cut = true;
}

static bool all_are_cut(const rsti_segments_t *segments)
{
    int32_t i = 0;
    while (i < segments->count && segments->items[i].is_cut) {
        i++;
    }
    return i == RSTI_SEGMENTS_MAX;
}

/* The number of a segment with memory for the message, RST_BACK_PRESSURED or RST_ERROR. */
static int64_t choose(rst_publication_t *publication, int64_t length)
{
    rsti_segments_t *segments = publication->segments;
    const int64_t consumed = consumed_now(publication);
    for (;;) { /* at most once for each segment */
        const int32_t chosen = rsti_segments_choose(segments, length, consumed);
        if (chosen < 0 && all_are_cut(segments)) {
            (void)RST_SET_ERR(RST_ECORRUPT, "another program has cut all segments of %s short",
                publication->log->file.path);
            return RST_ERROR;
        }
        if (chosen < 0 || (chosen < segments->count && !end_use(publication, chosen))) {
            return RST_BACK_PRESSURED;
        }
        int result = reserve(publication, chosen, length, consumed);
        rsti_segment_file_t *file = &segments->items[chosen].file;
        if (result == 0) {
            result = rsti_segment_check(file, &publication->log->file, chosen,
                rsti_max_i64(length, file->reserved - RSTI_SEGMENT_STEP + 1));
        }
        if (result != -RST_ECORRUPT) {
            return result == 0 ? chosen : RST_ERROR;
        }
        rsti_error_clear();
        give_up(publication, chosen);
    }
}

static int check_claim(rst_publication_t *publication, int64_t length)
{
    if (!publication->is_ipc || !publication->is_rstream) {
        return RST_SET_ERR(RST_EINVAL,
            "channel %s: only streams in shared memory of an rstream driver have segments",
            publication->channel);
    }
    if (length < 1 || length > RSTI_SEGMENT_LENGTH) {
        return RST_SET_ERR(RST_ETOOLARGE, "a message of %" PRId64 " bytes: a segment has %" PRId64,
            length, RSTI_SEGMENT_LENGTH);
    }
    if (publication->segments == NULL) {
        publication->segments = rsti_alloc(sizeof *publication->segments);
        if (publication->segments == NULL) {
            return -RST_ENOMEM;
        }
    }
    return 0;
}

RST_API int64_t rst_publication_claim_segment(rst_publication_t *publication, int64_t length,
    uint8_t **data)
{
    if (!rsti_publication_is_usable(publication)) {
        return rsti_publication_refuse(publication);
    }
    if (check_claim(publication, length) < 0) {
        return RST_ERROR;
    }
    rsti_segments_t *segments = publication->segments;
    const int64_t chosen = choose(publication, length);
    if (chosen < 0) {
        return chosen;
    }
    rsti_segment_t *segment = &segments->items[chosen];
    segment->is_claimed = true;
    segment->length = length;
    segment->used = ++segments->uses;
    *data = segment->file.base;
    return chosen;
}

static rsti_segment_t *claimed(rst_publication_t *publication, int64_t number)
{
    rsti_segments_t *segments = publication->segments;
    const bool is_one = segments != NULL && number >= 0 && number < segments->count
        && segments->items[number].is_claimed;
    return is_one ? &segments->items[number] : NULL;
}

RST_API int64_t rst_publication_offer_segment(rst_publication_t *publication, int64_t number,
    int64_t reserved_value)
{
    if (!rsti_publication_is_usable(publication)) {
        return rsti_publication_refuse(publication);
    }
    rsti_segment_t *segment = claimed(publication, number);
    if (segment == NULL) {
        (void)RST_SET_ERR(RST_EINVAL, "segment %" PRId64 " is not claimed", number);
        return RST_ERROR;
    }
    if (rsti_segment_check(&segment->file, &publication->log->file, (int32_t)number,
            segment->length)
        < 0) {
        give_up(publication, (int32_t)number);
        return RST_ERROR;
    }
    const rsti_segment_ref_t ref = {
        .length = segment->length, .number = (int32_t)number, .use = use_of(segment)};
    rsti_log_ext_t *ext = rsti_shared_log_ext(publication->log);
    uint8_t payload[RSTI_SEGMENT_REF_LENGTH];
    rsti_segment_ref_encode(&ref, payload);
    rsti_store_release_i32(&ext->segments[number].use, ref.use);
    const int64_t position = rst_publication_offer(publication, payload, sizeof payload,
        rsti_stream_header_with_kind(reserved_value, RSTI_KIND_SEGMENT));
    if (position > 0) {
        segment->end_position = position;
        segment->is_claimed = false;
        tell(ext, number, segment);
    }
    return position;
}

RST_API void rst_publication_drop_segment(rst_publication_t *publication, int64_t number)
{
    if (publication != NULL && !rsti_is_forked(publication->generation)) {
        rsti_segment_t *segment = claimed(publication, number);
        if (segment != NULL) {
            segment->is_claimed = false;
        }
    }
}

RST_API void rst_publication_note_segment_wait(rst_publication_t *publication, int64_t length)
{
    if (publication != NULL && publication->is_ipc && publication->is_rstream
        && rsti_publication_is_usable(publication)) {
        rsti_store_relaxed_i64(&rsti_shared_log_ext(publication->log)->segment_wait, length);
    }
}

RST_API int64_t rst_publication_segment_bytes(const rst_publication_t *publication)
{
    return publication != NULL && publication->segments != NULL ? publication->segments->reserved
                                                                : 0;
}

RST_API int64_t rst_publication_unread_bytes(const rst_publication_t *publication)
{
    const int64_t consumed = rst_publication_consumed_position(publication);
    if (consumed < 0) {
        return consumed;
    }
    const rsti_log_t *log = &publication->log->file.log;
    const rsti_log_ext_t *ext = &log->metadata->ext;
    const int64_t below = rsti_segments_below(ext, consumed); /* first: the sums grow meanwhile */
    return rsti_max_i64(0, rsti_log_producer_position(log) - consumed)
        + rsti_segments_below(ext, INT64_MAX) - below;
}

/* ---- reader ---- */

void rsti_segments_skip(rst_image_t *image, int64_t position, int64_t length, int32_t number,
    rst_skip_reason_t reason)
{
    if (reason == RSTI_SKIP_OLD) {
        return;
    }
    const rst_image_event_t event = {
        .kind = RST_IMAGE_SKIPPED,
        .position = position,
        .end_position = position,
        .message_length = length,
        .skip_reason = (int32_t)reason,
        .segment = number,
    };
    rsti_image_gaps_keep(image, &event);
}

const uint8_t *rsti_segments_find(rst_image_t *image, const uint8_t *payload,
    int32_t payload_length, rsti_segment_ref_t *ref, rst_skip_reason_t *reason)
{
    *ref = (rsti_segment_ref_t){.number = -1};
    if (!rsti_segment_ref_decode(payload, (size_t)payload_length, RSTI_SEGMENTS_MAX,
            RSTI_SEGMENT_LENGTH, ref)) {
        *reason = RST_SKIP_INVALID;
        return NULL;
    }
    if (ref->length > image->subscription->parts.length_max) {
        *reason = RST_SKIP_TOO_LONG;
        return NULL;
    }
    const uint8_t *data = NULL;
    const int found = rsti_shared_log_segment(image->log, ref->number, ref->length, &data);
    if (found < 0) {
        *reason = found == -RST_ECORRUPT ? RST_SKIP_CUT : RST_SKIP_SEGMENT;
        rsti_error_clear();
        return NULL;
    }
    rsti_fence(); /* the position of this image before the use; end_use() has them in reverse */
    const rsti_log_ext_t *ext = rsti_shared_log_ext(image->log);
    if (rsti_load_acquire_i32(&ext->segments[ref->number].use) != ref->use) {
        *reason = RSTI_SKIP_OLD;
        return NULL;
    }
    return data;
}
