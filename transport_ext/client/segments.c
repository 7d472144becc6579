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
    return !segment->is_claimed && segment->end_position <= consumed;
}

/* What a message of this length needs beyond the memory of the segment. */
static int64_t missing(const rsti_segment_t *segment, int64_t length)
{
    return rsti_max_i64(0, rsti_align_i64(length, RSTI_SEGMENT_STEP) - segment->file.reserved);
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
    int64_t trimmable = 0;
    for (int32_t i = 0; i < segments->count; i++) {
        const rsti_segment_t *segment = &segments->items[i];
        if (is_free(segment, consumed)) {
            trimmable += segment->file.reserved;
            if (best < 0 || is_better(segment, &segments->items[best], length)) {
                best = i;
            }
        }
    }
    if (best >= 0 && missing(&segments->items[best], length) == 0) {
        return best;
    }
    const int64_t wanted = rsti_align_i64(length, RSTI_SEGMENT_STEP);
    if (segments->count < RSTI_SEGMENTS_MAX
        && segments->reserved + wanted <= RSTI_SEGMENT_BYTES_MAX) {
        return segments->count;
    }
    /* Its own memory counts among what can be given back. */
    return best >= 0 && segments->reserved - trimmable + wanted <= RSTI_SEGMENT_BYTES_MAX ? best
                                                                                          : -1;
}

/* ---- publisher ---- */

void rsti_segments_free(rsti_segments_t *segments)
{
    for (int32_t i = 0; segments != NULL && i < segments->count; i++) {
        rsti_segment_close(&segments->items[i].file);
    }
    rsti_free(segments);
}

/* Takes memory from other free segments until the chosen one can grow. */
static void make_room(rsti_segments_t *segments, const rsti_log_file_t *log, int32_t chosen,
    int64_t more, int64_t consumed)
{
    for (int32_t i = 0; i < segments->count && segments->reserved + more > RSTI_SEGMENT_BYTES_MAX;
        i++) {
        rsti_segment_t *segment = &segments->items[i];
        const int64_t held = segment->file.reserved;
        if (i != chosen && held > 0 && is_free(segment, consumed)
            && rsti_segment_trim(&segment->file, log, i) == 0) {
            segments->reserved -= held;
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
    make_room(segments, log, chosen, missing(segment, length), consumed);
    const int result = rsti_segment_reserve(&segment->file, log, chosen, length);
    segments->reserved += segment->file.reserved - before;
    return result;
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
    const int64_t consumed = rsti_max_i64(0, rst_publication_consumed_position(publication));
    const int32_t chosen = rsti_segments_choose(segments, length, consumed);
    if (chosen < 0) {
        return RST_BACK_PRESSURED;
    }
    if (reserve(publication, chosen, length, consumed) < 0) {
        return RST_ERROR;
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
    const rsti_segment_ref_t ref = {.length = segment->length, .number = (int32_t)number};
    uint8_t payload[RSTI_SEGMENT_REF_LENGTH];
    rsti_segment_ref_encode(&ref, payload);
    const int64_t position = rst_publication_offer(publication, payload, sizeof payload,
        rsti_stream_header_with_kind(reserved_value, RSTI_KIND_SEGMENT));
    if (position > 0) {
        segment->end_position = position;
        segment->is_claimed = false;
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

RST_API int64_t rst_publication_segment_bytes(const rst_publication_t *publication)
{
    return publication != NULL && publication->segments != NULL ? publication->segments->reserved
                                                                : 0;
}

/* ---- reader ---- */

void rsti_segments_skip(rst_image_t *image, int64_t position, int64_t length,
    rst_skip_reason_t reason)
{
    const rst_image_event_t event = {
        .kind = RST_IMAGE_SKIPPED,
        .position = position,
        .end_position = position,
        .message_length = length,
        .skip_reason = (int32_t)reason,
    };
    rsti_image_gaps_keep(image, &event);
}

const uint8_t *rsti_segments_find(rst_image_t *image, const uint8_t *payload,
    int32_t payload_length, int32_t *length, rst_skip_reason_t *reason)
{
    rsti_segment_ref_t ref;
    if (!rsti_segment_ref_decode(payload, (size_t)payload_length, RSTI_SEGMENTS_MAX,
            RSTI_SEGMENT_LENGTH, &ref)) {
        *reason = RST_SKIP_INVALID;
        return NULL;
    }
    *length = (int32_t)ref.length;
    if (ref.length > image->subscription->parts.length_max) {
        *reason = RST_SKIP_TOO_LONG;
        return NULL;
    }
    const uint8_t *data = rsti_shared_log_segment(image->log, ref.number);
    if (data == NULL) {
        *reason = RST_SKIP_SEGMENT;
        rsti_error_clear();
    }
    return data;
}
