/* image.c: one publisher's stream as one subscription sees it: reading frames, and telling the
 * driver how far they are consumed. Frames come from another process's memory: a frame that does
 * not say of itself what must stand at its place ends the image. */
#include "client/internal.h"

#include "concurrent/eviction.h"
#include "protocol/data_header.h"
#include "util/alloc.h"
#include "util/error.h"
#include "util/fault.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#define FRAGMENTS_MAX 64

/* ---- life ---- */

static void copy_source(rst_image_t *image, const rsti_text_t *text)
{
    size_t length = text->length > 0 ? (size_t)text->length : 0;
    if (length >= sizeof image->source) {
        length = sizeof image->source - 1;
    }
    if (length > 0) {
        memcpy(image->source, text->text, length);
    }
    image->source[length] = '\0';
}

/* A counter that was freed goes to somebody else after a while, to another image of the same
 * subscription as well. Reference id 0: a driver that does not say which image it is. */
static bool is_counter_ours(const rst_image_t *image)
{
    const int64_t registration_id = rsti_load_acquire_i64(&image->counter->registration_id);
    const int64_t reference_id = rsti_load_relaxed_i64(&image->counter->reference_id);
    return registration_id == image->subscription->registration_id
        && (reference_id == image->correlation_id || reference_id == 0);
}

rst_image_t *rsti_client_image_create(rst_subscription_t *subscription,
    const rsti_response_t *response)
{
    rst_client_t *client = subscription->client;
    if (response->counter_id < 0 || response->counter_id > client->counters.max_counter_id) {
        (void)RST_SET_ERR(RST_ECORRUPT,
            "the driver names position counter %" PRId32 ", there are 0 to %" PRId32,
            response->counter_id, client->counters.max_counter_id);
        return NULL;
    }
    rst_image_t *image = rsti_alloc(sizeof *image);
    if (image == NULL) {
        return NULL;
    }
    if (rsti_shared_log_open(client, response->log_file.text, (size_t)response->log_file.length,
            &image->log)
        < 0) {
        rsti_free(image);
        return NULL;
    }
    image->refs = 1;
    image->subscription = subscription;
    rsti_subscription_ref(subscription);
    image->counter = &client->counters.values[response->counter_id];
    image->counter_metadata = &client->counters.metadata[response->counter_id];
    image->correlation_id = response->correlation_id;
    image->session_id = response->session_id;
    image->scan_position = rsti_load_acquire_i64(&image->counter->value);
    image->join_position = image->scan_position;
    image->delivered_position = image->scan_position;
    image->released_position = image->scan_position;
    image->lease_index = -1;
    image->receiver_counter_id = RSTI_NULL_COUNTER;
    rsti_assembler_init(&image->assembler,
        rsti_max_message_length(image->log->file.log.term_length));
    copy_source(image, &response->source_identity);
    if (!is_counter_ours(image)) { /* asked after the position: it was ours when that was read */
        (void)rsti_error_set(RST_ECLOSED, ENOENT,
            "image %" PRId64 " is gone, and its position"
            " counter %" PRId32 " given away",
            image->correlation_id, response->counter_id);
        rsti_image_unref(image);
        return NULL;
    }
    if (image->scan_position < 0 || image->scan_position % RSTI_FRAME_ALIGNMENT != 0
        || image->scan_position > rsti_max_position(image->log->file.log.term_length)) {
        (void)RST_SET_ERR(RST_ECORRUPT, "image %" PRId64 " would be joined at position %" PRId64,
            image->correlation_id, image->scan_position);
        rsti_image_unref(image);
        return NULL;
    }
    return image;
}

void rsti_image_ref(rst_image_t *image)
{
    (void)rsti_fetch_add_i32(&image->refs, 1);
}

void rsti_image_unref(rst_image_t *image)
{
    if (rsti_fetch_add_i32(&image->refs, -1) != 1) {
        return;
    }
    rst_subscription_t *subscription = image->subscription;
    rsti_assembler_fini(&image->assembler);
    rsti_shared_log_unref(image->log);
    rsti_free(image);
    rsti_subscription_unref(subscription);
}

/* ---- positions ---- */

bool rsti_image_has_counter(const rst_image_t *image)
{
    return rsti_load_acquire_i32(&image->counter_metadata->state) == RSTI_COUNTER_ALLOCATED
        && is_counter_ours(image);
}

bool rsti_image_is_evicted(const rst_image_t *image)
{
    return rsti_load_acquire_i64(&rsti_reader_ext(image->counter)->let_go_ms) != 0
        && is_counter_ours(image);
}

bool rsti_image_is_kept(const rst_image_t *image)
{
    return image->evicted_ms == 0 && !rsti_image_is_evicted(image)
        && (image->state != RSTI_IMAGE_ACTIVE || rsti_image_has_counter(image));
}

bool rsti_image_move_position(rst_image_t *image)
{
#if RSTI_FAULT == RSTI_FAULT_LEASE
    const int64_t position = image->scan_position;
#else
    const int64_t position = image->oldest_lease != NULL ? image->oldest_lease->begin
                                                         : image->scan_position;
#endif
    if (position <= image->released_position) {
        return false;
    }
    image->released_position = position;
    /* After the image went the counter may already be somebody else's. */
    if (image->state != RSTI_IMAGE_ACTIVE || !rsti_image_has_counter(image)) {
        return false;
    }
    rsti_store_release_i64(&image->counter->value, position);
    const rsti_log_ext_t *ext = rsti_shared_log_ext(image->log);
    if (ext->magic != RSTI_EXT_MAGIC) {
        return false;
    }
    rsti_fence(); /* position first, then the look at who waits for it; the conductor vice versa */
    return position >= rsti_load_acquire_i64(&ext->conductor_position);
}

static uint8_t *term_at(const rst_image_t *image, int64_t position)
{
    const rsti_log_t *log = &image->log->file.log;
    return log->terms[rsti_position_index(position, log->position_bits)];
}

bool rsti_image_is_readable(const rst_image_t *image)
{
    const rsti_log_t *log = &image->log->file.log;
    if (image->is_corrupt || image->scan_position >= rsti_max_position(log->term_length)) {
        return false;
    }
    return rsti_load_acquire_i32(rsti_frame_length_address(term_at(image, image->scan_position),
               rsti_position_offset(image->scan_position, log->term_length)))
        > 0;
}

static bool is_in_place(const rsti_fragment_t *fragment, const uint8_t *term, int32_t term_id)
{
    return fragment->header->term_id == term_id
        && fragment->header->term_offset == (int32_t)((const uint8_t *)fragment->header - term);
}

static int32_t aligned_length(const rsti_fragment_t *fragment)
{
    return rsti_align_i32(fragment->payload_length + RSTI_DATA_HEADER_LENGTH, RSTI_FRAME_ALIGNMENT);
}

/* One term of contiguous_end(); true when it went to the end of the term. */
static bool skip_term(const rst_image_t *image, int64_t *position)
{
    const rsti_log_t *log = &image->log->file.log;
    const int32_t term_id = rsti_position_term_id(*position, log->position_bits,
        log->initial_term_id);
    uint8_t *term = term_at(image, *position);
    int32_t offset = rsti_position_offset(*position, log->term_length);
    const int64_t begin = *position - offset;
    for (;;) {
        rsti_fragment_t fragments[FRAGMENTS_MAX];
        int32_t next = offset;
        bool is_corrupt = false;
        const int32_t count = rsti_term_read(term, log->term_length, offset, fragments,
            FRAGMENTS_MAX, &next, &is_corrupt);
        if (count > 0 && !is_in_place(&fragments[0], term, term_id)) {
            return false;
        }
        const bool has_moved = next != offset;
        offset = next;
        *position = begin + offset;
        if (is_corrupt || !has_moved) {
            return false;
        }
        if (offset >= log->term_length) {
            return true;
        }
    }
}

int64_t rsti_image_contiguous_end(const rst_image_t *image)
{
    const int64_t end = rsti_max_position(image->log->file.log.term_length);
    int64_t position = image->scan_position;
    for (int term = 0; term < RSTI_PARTITIONS && position < end; term++) {
        if (!skip_term(image, &position)) {
            break;
        }
    }
    return position;
}

/* ---- polling ---- */

typedef enum take_t {
    TAKE_DONE,
    TAKE_FULL,
    TAKE_ERROR
} take_t;

/* Completion, failure and schema of an rstream stream are no elements: they cost no demand. */
static bool is_free_of_demand(const rst_image_t *image, int64_t reserved_value)
{
    const rsti_log_ext_t *ext = rsti_shared_log_ext(image->log);
    rsti_stream_header_t header;
    return ext->magic == RSTI_EXT_MAGIC && ext->name_hash != 0
        && rsti_stream_header_decode(reserved_value, &header)
        && (int32_t)header.name_hash == ext->name_hash
        && (header.kind == RSTI_KIND_COMPLETE || header.kind == RSTI_KIND_ERROR
            || header.kind == RSTI_KIND_SCHEMA);
}

bool rsti_image_next_is_free(const rst_image_t *image)
{
    const rsti_log_t *log = &image->log->file.log;
    const int32_t offset = rsti_position_offset(image->scan_position, log->term_length);
    const rsti_data_header_t *header =
        (const rsti_data_header_t *)(const void *)(term_at(image, image->scan_position) + offset);
    return rsti_image_is_readable(image) && header->frame.type == RSTI_FRAME_DATA
        && is_free_of_demand(image, header->reserved_value);
}

/* Whether one more message of this length may be handed out; spends its demand. */
static inline bool admit(const rst_image_t *image, rsti_poll_t *poll, int32_t length,
    int64_t reserved_value)
{
    if (poll->room == 0 || (length > poll->bytes_left && poll->batch->count > 0)) {
        return false;
    }
    if (poll->is_demanded && !is_free_of_demand(image, reserved_value)) {
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
        return TAKE_DONE; /* dropped: its beginning was never here */
    }
    const bool is_end = (fragment->flags & RSTI_FLAG_END) != 0;
    const bool is_begin = (fragment->flags & RSTI_FLAG_BEGIN) != 0;
    /* The header of the frame that began the message speaks for all of it (memory reference 8). */
    const int64_t reserved_value = is_begin ? fragment->header->reserved_value
                                            : assembler->reserved_value;
    const int64_t charged_before = poll->charged;
    if (is_end && !admit(image, poll, total, reserved_value)) {
        return TAKE_FULL;
    }
    if (is_begin && poll->is_demanded && poll->charged >= poll->demand
        && !is_free_of_demand(image, reserved_value)) {
        return TAKE_FULL; /* without demand it stays in the image and fills it */
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
        } else {
            /* As if this fragment had not been read: the next poll tries again. */
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

static inline take_t take(rst_image_t *image, rsti_poll_t *poll, const rsti_fragment_t *fragment,
    int64_t position, int64_t end_position)
{
    if ((fragment->flags & RSTI_FLAG_UNFRAGMENTED) != RSTI_FLAG_UNFRAGMENTED) {
        return take_fragment(image, poll, fragment, position, end_position);
    }
    if (!admit(image, poll, fragment->payload_length, fragment->header->reserved_value)) {
        return TAKE_FULL;
    }
    if (image->assembler.next_position >= 0) {
        rsti_assembler_reset(&image->assembler); /* the rest of that message will not come */
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

/* Takes what was read, in order; *stop is set when it must end before the last. */
static bool take_all(rst_image_t *image, rsti_poll_t *poll, const rsti_fragment_t *fragments,
    int32_t count, scan_t *scan, rsti_stop_t *stop)
{
    for (int32_t i = 0; i < count; i++) {
        const rsti_fragment_t *fragment = &fragments[i];
        const int32_t at = (int32_t)((const uint8_t *)fragment->header - scan->term);
        if (!is_in_place(fragment, scan->term, scan->term_id)) {
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
        const int32_t capacity = image->assembler.next_position >= 0
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
            return RSTI_STOP_FULL; /* padding that begins at the bound stays as well */
        }
        if (next > scan->offset && image->assembler.next_position < 0) {
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
        .term = term_at(image, begin),
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
