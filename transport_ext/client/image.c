/* image.c: see image.h. */
#include "client/image.h"

#include "client/image_gaps.h"
#include "client/segments.h"
#include "concurrent/eviction.h"
#include "util/alloc.h"
#include "util/error.h"
#include "util/fault.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

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

/* A freed counter is given away again, perhaps to another image of the same subscription. A
 * reference id of 0 means that the driver does not say which image the counter belongs to. */
static bool is_counter_ours(const rst_image_t *image)
{
    const int64_t registration_id = rsti_load_acquire_i64(&image->counter->registration_id);
    const int64_t reference_id = rsti_load_relaxed_i64(&image->counter->reference_id);
    return registration_id == image->subscription->registration_id
        && (reference_id == image->correlation_id || reference_id == 0);
}

rst_image_t *rsti_image_create(rst_subscription_t *subscription, const rsti_response_t *response)
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
    image->joined_bytes = rsti_segments_below(rsti_shared_log_ext(image->log),
        image->join_position);
    image->delivered_position = image->scan_position;
    image->released_position = image->scan_position;
    image->lease_index = -1;
    image->receiver_counter_id = RSTI_NULL_COUNTER;
    rsti_assembler_init(&image->assembler,
        rsti_max_message_length(image->log->file.log.term_length));
    image->parts.next_position = -1;
    copy_source(image, &response->source_identity);
    rsti_image_gaps_init(image);
    if (!is_counter_ours(image)) { /* read after the position: then the position was the image's */
        (void)rsti_error_set(RST_ECLOSED, ENOENT,
            "image %" PRId64 " is gone, and its position"
            " counter %" PRId32 " given away",
            image->correlation_id, response->counter_id);
        rsti_image_unref(image);
        return NULL;
    }
    if (image->scan_position < 0 || image->scan_position % RSTI_FRAME_ALIGNMENT != 0
        || image->scan_position > rsti_max_position(image->log->file.log.term_length)) {
        (void)RST_SET_ERR(RST_ECORRUPT,
            "the driver names position %" PRId64 " for image %" PRId64 ", which is impossible",
            image->scan_position, image->correlation_id);
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
    RST_ASSERT(image->parts.data == NULL);
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
    rsti_image_gaps_look(image); /* while the driver cannot clean it */
    image->released_position = position;
    /* Once the image has gone, the counter may belong to another image. */
    if (image->state != RSTI_IMAGE_ACTIVE || !rsti_image_has_counter(image)) {
        return false;
    }
    rsti_store_release_i64(&image->counter->value, position);
    return rsti_image_is_awaited(image, position);
}

bool rsti_image_is_awaited(const rst_image_t *image, int64_t position)
{
    const rsti_log_ext_t *ext = rsti_shared_log_ext(image->log);
    if (ext->magic != RSTI_EXT_MAGIC) {
        return false;
    }
    rsti_fence(); /* the position before the look at its waiter; the conductor does it in reverse */
    return position >= rsti_load_acquire_i64(&ext->conductor_position);
}

bool rsti_image_is_readable(const rst_image_t *image)
{
    const rsti_log_t *log = &image->log->file.log;
    if (image->is_corrupt || image->scan_position >= rsti_max_position(log->term_length)) {
        return false;
    }
    uint8_t *term = rsti_image_term_at(image, image->scan_position);
    const int32_t offset = rsti_position_offset(image->scan_position, log->term_length);
    return rsti_load_acquire_i32(rsti_frame_length_address(term, offset)) > 0;
}

/* One term of rsti_image_contiguous_end(). True: it reached the end of the term. */
static bool skip_term(const rst_image_t *image, int64_t *position)
{
    const rsti_log_t *log = &image->log->file.log;
    const int32_t term_id = rsti_position_term_id(*position, log->position_bits,
        log->initial_term_id);
    uint8_t *term = rsti_image_term_at(image, *position);
    int32_t offset = rsti_position_offset(*position, log->term_length);
    const int64_t begin = *position - offset;
    for (;;) {
        rsti_fragment_t fragments[FRAGMENTS_MAX];
        int32_t next = offset;
        bool is_corrupt = false;
        const int32_t count = rsti_term_read(term, log->term_length, offset, fragments,
            FRAGMENTS_MAX, &next, &is_corrupt);
        if (count > 0 && !rsti_fragment_is_in_place(&fragments[0], term, term_id)) {
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

bool rsti_image_next_is_free(const rst_image_t *image)
{
    const rsti_log_t *log = &image->log->file.log;
    const int32_t offset = rsti_position_offset(image->scan_position, log->term_length);
    const void *frame = rsti_image_term_at(image, image->scan_position) + offset;
    const rsti_data_header_t *header = frame;
    return rsti_image_is_readable(image) && header->frame.type == RSTI_FRAME_DATA
        && rsti_image_is_free_of_demand(image, header->reserved_value);
}
