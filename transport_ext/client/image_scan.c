/* image_scan.c: see image_scan.h. */
#include "client/image_scan.h"

#include "client/image_poll.h"
#include "client/parts.h"
#include "client/segments.h"
#include "protocol/part.h"

#define FRAGMENTS_MAX 64

typedef enum take_t {
    TAKE_DONE,
    TAKE_FULL,
    TAKE_ERROR
} take_t;

static int32_t aligned_length(const rsti_fragment_t *fragment)
{
    return rsti_align_i32(fragment->payload_length + RSTI_DATA_HEADER_LENGTH, RSTI_FRAME_ALIGNMENT);
}

/* Whether one more message of this length may be handed out; spends its demand. */
static inline bool admit(const rst_image_t *image, rsti_poll_t *poll, int32_t length,
    int64_t reserved_value)
{
    if (poll->room == 0 || (length > poll->bytes_left && poll->batch->count > 0)) {
        return false;
    }
    if (poll->is_demanded && !rsti_image_is_free_of_demand(image, reserved_value)) {
        if (poll->charged >= poll->demand) {
            return false;
        }
        poll->charged++;
    }
    return true;
}

static inline void hand_out(rst_image_t *image, rsti_poll_t *poll, const uint8_t *data,
    int32_t length, int64_t reserved_value, uint8_t flags, int64_t end_position)
{
    rst_batch_t *batch = poll->batch;
    batch->messages[batch->count++] = (rst_message_t){
        .data = data,
        .length = length,
        .session_id = image->session_id,
        .position = end_position,
        .reserved_value = reserved_value,
        .image_index = image->lease_index >= 0 ? image->lease_index : batch->lease_count,
        .flags = flags,
    };
    poll->room--;
    poll->bytes_left -= length;
    image->delivered_position = end_position;
}

static take_t take_fragment(rst_image_t *image, rsti_poll_t *poll, const rsti_fragment_t *fragment,
    int64_t position, int64_t end_position)
{
    rsti_assembler_t *assembler = &image->assembler;
    const int32_t total = rsti_assembler_would_be(assembler, fragment->flags,
        fragment->payload_length, position);
    if (total < 0) {
        rsti_assembler_reset(assembler);
        return TAKE_DONE; /* drop it: this reader never saw its beginning */
    }
    const bool is_end = (fragment->flags & RSTI_FLAG_END) != 0;
    const bool is_begin = (fragment->flags & RSTI_FLAG_BEGIN) != 0;
    /* The header of the first frame describes the whole message (docs/reference/aeron/memory.md
     * 8). */
    const int64_t reserved_value = is_begin ? fragment->header->reserved_value
                                            : assembler->reserved_value;
    const int64_t charged_before = poll->charged;
    if (is_end && !admit(image, poll, total, reserved_value)) {
        return TAKE_FULL;
    }
    if (is_begin && poll->is_demanded && poll->charged >= poll->demand
        && !rsti_image_is_free_of_demand(image, reserved_value)) {
        return TAKE_FULL; /* without demand the message stays in the log and counts as received */
    }
    poll->error = rsti_assembler_append(assembler, fragment->flags, fragment->payload,
        fragment->payload_length, position, end_position);
    if (poll->error == 0 && is_begin) {
        rsti_assembler_begin(assembler, fragment->header);
    }
    if (poll->error == 0 && is_end) {
        const uint8_t *data = NULL;
        poll->error = rsti_batch_own(poll->batch, assembler, &data);
        if (poll->error == 0) {
            hand_out(image, poll, data, total, reserved_value,
                (uint8_t)(fragment->flags | RSTI_FLAG_BEGIN), end_position);
            poll->batch->messages[poll->batch->count - 1].flags |= RST_MESSAGE_OWNED;
        } else {
            /* Undo this fragment: the next poll tries again. */
            assembler->length = total - fragment->payload_length;
            assembler->next_position = position;
        }
    }
    if (poll->error != 0) {
        poll->charged = charged_before;
        return TAKE_ERROR;
    }
    return TAKE_DONE;
}

/* Puts the last fragment of a message in parts into the batch. */
static take_t end_message(rst_image_t *image, rsti_poll_t *poll, const rsti_fragment_t *fragment,
    const rsti_parts_t *before, int64_t end_position)
{
    rst_batch_t *batch = poll->batch;
    rsti_parts_t *parts = &image->parts;
    poll->error = rsti_batch_own_large(batch, parts->owner);
    if (poll->error != 0) {
        parts->at = before->at; /* the next poll copies this fragment again */
        parts->next_position = before->next_position;
        return TAKE_ERROR;
    }
    hand_out(image, poll, parts->data, (int32_t)parts->total,
        rsti_stream_header_of_whole(fragment->header->reserved_value), RSTI_FLAG_UNFRAGMENTED,
        end_position);
    batch->messages[batch->count - 1].owner = parts->owner;
    rsti_parts_hand_over(image);
    return TAKE_DONE;
}

static take_t take_part(rst_image_t *image, rsti_poll_t *poll, const rsti_fragment_t *fragment,
    int64_t position, int64_t end_position)
{
    rsti_parts_t *parts = &image->parts;
    const uint8_t *bytes = fragment->payload;
    int32_t length = fragment->payload_length;
    const bool is_end = (fragment->flags & RSTI_FLAG_END) != 0;
    rsti_assembler_reset(&image->assembler);
    if ((fragment->flags & RSTI_FLAG_BEGIN) != 0) {
        if (poll->is_demanded && poll->charged >= poll->demand) {
            return TAKE_FULL;
        }
        rsti_parts_begin(image, bytes, length, position);
        bytes += RSTI_PART_PREFIX_LENGTH;
        length -= RSTI_PART_PREFIX_LENGTH;
    }
    const int64_t total = rsti_parts_would_be(image, length, position);
    if (total >= 0) {
        const rsti_parts_t before = *parts;
        const bool is_last = is_end && total == parts->total;
        const int64_t charged_before = poll->charged;
        if (is_last && !admit(image, poll, (int32_t)total, 0)) {
            return TAKE_FULL;
        }
        rsti_parts_copy(image, bytes, length, is_end ? -1 : end_position);
        if (is_last && end_message(image, poll, fragment, &before, end_position) != TAKE_DONE) {
            poll->charged = charged_before;
            return TAKE_ERROR;
        }
    }
    if (is_end) {
        image->delivered_position = end_position;
    }
    return TAKE_DONE;
}

/* A message that lies in a shared segment: it costs demand and bytes like any other one. */
static take_t take_segment(rst_image_t *image, rsti_poll_t *poll, const rsti_fragment_t *fragment,
    int64_t end_position)
{
    const int64_t charged_before = poll->charged;
    rsti_segment_ref_t ref;
    rst_skip_reason_t reason = RST_SKIP_INVALID;
    const uint8_t *data = rsti_segments_find(image, fragment->payload, fragment->payload_length,
        &ref, &reason);
    if (data == NULL) {
        rsti_segments_skip(image, end_position, ref.length, ref.number, reason);
        image->delivered_position = end_position;
        return TAKE_DONE;
    }
    const int32_t length = (int32_t)ref.length;
    if (!admit(image, poll, length, 0)) {
        poll->charged = charged_before;
        return TAKE_FULL;
    }
    hand_out(image, poll, data, length,
        rsti_stream_header_of_whole(fragment->header->reserved_value), fragment->flags,
        end_position);
    return TAKE_DONE;
}

static inline take_t take(rst_image_t *image, rsti_poll_t *poll, const rsti_fragment_t *fragment,
    int64_t position, int64_t end_position)
{
    if (rsti_parts_take(image, fragment->header->reserved_value)) {
        return take_part(image, poll, fragment, position, end_position);
    }
    if (rsti_segments_take(image, fragment->header->reserved_value)) {
        rsti_assembler_reset(&image->assembler);
        return take_segment(image, poll, fragment, end_position);
    }
    if ((fragment->flags & RSTI_FLAG_UNFRAGMENTED) != RSTI_FLAG_UNFRAGMENTED) {
        return take_fragment(image, poll, fragment, position, end_position);
    }
    if (!admit(image, poll, fragment->payload_length, fragment->header->reserved_value)) {
        return TAKE_FULL;
    }
    if (image->assembler.next_position >= 0) {
        /* the rest of the message that had begun does not come */
        rsti_assembler_reset(&image->assembler);
    }
    hand_out(image, poll, fragment->payload, fragment->payload_length,
        fragment->header->reserved_value, fragment->flags, end_position);
    return TAKE_DONE;
}

typedef struct scan_t {
    uint8_t *term;
    int32_t term_id;
    int32_t offset;
    int64_t term_position;
} scan_t;

/* Takes the fragments in order. False: *stop says why it ended before the last. */
static bool take_all(rst_image_t *image, rsti_poll_t *poll, const rsti_fragment_t *fragments,
    int32_t count, scan_t *scan, rsti_stop_t *stop)
{
    for (int32_t i = 0; i < count; i++) {
        const rsti_fragment_t *fragment = &fragments[i];
        const int32_t at = (int32_t)((const uint8_t *)fragment->header - scan->term);
        if (!rsti_fragment_is_in_place(fragment, scan->term, scan->term_id)) {
            *stop = RSTI_STOP_CORRUPT;
            return false;
        }
        if (scan->term_position + at >= poll->limit_position) {
            *stop = RSTI_STOP_FULL;
            return false;
        }
        const int32_t end = at + aligned_length(fragment);
        const take_t taken = take(image, poll, fragment, scan->term_position + at,
            scan->term_position + end);
        if (taken != TAKE_DONE) {
            *stop = taken == TAKE_FULL ? RSTI_STOP_FULL : RSTI_STOP_ERROR;
            return false;
        }
        scan->offset = end;
    }
    return true;
}

static rsti_stop_t scan_term(rst_image_t *image, rsti_poll_t *poll, scan_t *scan)
{
    const int32_t term_length = image->log->file.log.term_length;
    rsti_stop_t stop = RSTI_STOP_EMPTY;
    while (poll->room > 0) {
        rsti_fragment_t fragments[FRAGMENTS_MAX];
        const int32_t capacity = image->assembler.next_position >= 0 || image->parts.data != NULL
            ? FRAGMENTS_MAX
            : rsti_min_i32(poll->room, FRAGMENTS_MAX);
        int32_t next = scan->offset;
        bool is_corrupt = false;
        const int32_t count = rsti_term_read(scan->term, term_length, scan->offset, fragments,
            capacity, &next, &is_corrupt);
        if (!take_all(image, poll, fragments, count, scan, &stop)) {
            return stop;
        }
        if (scan->term_position + scan->offset >= poll->limit_position) {
            return RSTI_STOP_FULL; /* padding that begins at the limit stays too */
        }
        if (next > scan->offset && image->assembler.next_position < 0
            && image->parts.next_position < 0) {
            /* Padding is consumed with the message before it: a stream may end with it. */
            image->delivered_position = scan->term_position + next;
        }
        scan->offset = next;
        if (is_corrupt) {
            return RSTI_STOP_CORRUPT;
        }
        if (next >= term_length) {
            return RSTI_STOP_TERM_END;
        }
        if (count < capacity) {
            return RSTI_STOP_EMPTY;
        }
    }
    return RSTI_STOP_FULL;
}

rsti_stop_t rsti_image_poll_term(rst_image_t *image, rsti_poll_t *poll)
{
    const rsti_log_t *log = &image->log->file.log;
    const int64_t begin = image->scan_position;
    if (begin >= rsti_max_position(log->term_length)) {
        return RSTI_STOP_EMPTY;
    }
    const int32_t offset = rsti_position_offset(begin, log->term_length);
    scan_t scan = {
        .term = rsti_image_term_at(image, begin),
        .term_id = rsti_position_term_id(begin, log->position_bits, log->initial_term_id),
        .offset = offset,
        .term_position = begin - offset,
    };
    const rsti_stop_t stop = scan_term(image, poll, &scan);
    image->scan_position = scan.term_position + scan.offset;
    if (image->scan_position != begin && image->lease_index < 0) {
        rsti_batch_lease(poll->batch, image, begin);
    }
    return stop;
}

rsti_stop_t rsti_image_poll_block(rst_image_t *image, rsti_poll_t *poll)
{
    const int64_t begin = image->scan_position;
    const uint8_t *frames = NULL;
    bool is_corrupt = false;
    const int32_t length = rsti_image_block(image, poll->block_length_max, &frames, &is_corrupt);
    if (length == 0) {
        return is_corrupt ? RSTI_STOP_CORRUPT : RSTI_STOP_EMPTY;
    }
    hand_out(image, poll, frames, length, 0, 0, begin + length);
    image->scan_position = begin + length;
    rsti_batch_lease(poll->batch, image, begin);
    return RSTI_STOP_FULL;
}
