/* image_gaps.c: see image_gaps.h. */
#include "client/image_gaps.h"

#include "util/alloc.h"
#include "util/error.h"

#include <stdio.h>

void rsti_image_gaps_init(rst_image_t *image)
{
    const rsti_log_metadata_t *metadata = image->log->file.log.metadata;
    image->gaps = (rsti_image_gaps_t){
        .is_watched = metadata->type == RSTI_LOG_IMAGE && metadata->reliable == 0,
        .looked = image->scan_position,
        .begin = -1,
        .message_begin = -1,
    };
}

void rsti_image_gaps_keep(rst_image_t *image, const rst_image_event_t *event)
{
    rst_subscription_t *subscription = image->subscription;
    if (subscription->gaps == NULL) {
        subscription->gaps = rsti_alloc(RSTI_GAPS_MAX * sizeof *subscription->gaps);
        if (subscription->gaps == NULL) {
            rsti_error_clear();
            subscription->events_lost++;
            return;
        }
    }
    const uint32_t tail = subscription->gaps_tail;
    if (tail - subscription->gaps_head == RSTI_GAPS_MAX) {
        rst_image_event_t *last = &subscription->gaps[(tail - 1) % RSTI_GAPS_MAX].event;
        if (event->kind == RST_IMAGE_GAP && last->kind == RST_IMAGE_GAP
            && last->correlation_id == image->correlation_id) {
            last->end_position = event->end_position;
            last->received_position += event->received_position;
            return;
        }
        subscription->gaps_head++;
        subscription->events_lost++;
    }
    rsti_kept_event_t *kept = &subscription->gaps[subscription->gaps_tail++ % RSTI_GAPS_MAX];
    kept->number = subscription->event_number++;
    kept->event = *event;
    kept->event.session_id = image->session_id;
    kept->event.correlation_id = image->correlation_id;
    (void)snprintf(kept->event.source, sizeof kept->event.source, "%s", image->source);
}

static void push(rst_image_t *image, int64_t begin, int64_t end)
{
    const rst_image_event_t event = {
        .kind = RST_IMAGE_GAP,
        .position = begin,
        .end_position = end,
        .received_position = end - begin,
    };
    rsti_image_gaps_keep(image, &event);
}

static void on_frame(rst_image_t *image, const rsti_data_header_t *header, int64_t position)
{
    rsti_image_gaps_t *gaps = &image->gaps;
    const uint8_t flags = header->frame.flags;
    if (header->frame.type == RSTI_FRAME_PAD) {
        if ((flags & RSTI_FLAG_LOST) != 0) {
            const int64_t begin = gaps->message_begin >= 0 ? gaps->message_begin : position;
            gaps->begin = gaps->begin >= 0 ? gaps->begin : begin;
            gaps->message_begin = -1;
        }
        return;
    }
    if ((flags & RSTI_FLAG_BEGIN) != 0) {
        gaps->message_begin = position;
    }
    if ((flags & RSTI_FLAG_END) != 0 && gaps->message_begin >= 0) {
        if (gaps->begin >= 0) {
            push(image, gaps->begin, gaps->message_begin);
        }
        gaps->begin = -1;
        gaps->message_begin = -1;
    }
}

void rsti_image_gaps_look(rst_image_t *image)
{
    rsti_image_gaps_t *gaps = &image->gaps;
    const rsti_log_t *log = &image->log->file.log;
    while (gaps->is_watched && gaps->looked < image->scan_position) {
        const int32_t offset = rsti_position_offset(gaps->looked, log->term_length);
        uint8_t *term = rsti_image_term_at(image, gaps->looked);
        const int32_t length = rsti_load_acquire_i32(rsti_frame_length_address(term, offset));
        if (length <= 0 || !rsti_frame_fits(length, log->term_length - offset)) {
            gaps->looked = image->scan_position; /* the user has moved the position */
            return;
        }
        on_frame(image, (const rsti_data_header_t *)(const void *)(term + offset), gaps->looked);
        gaps->looked += rsti_frame_span(length);
    }
}

void rsti_image_gaps_end(rst_image_t *image)
{
    rsti_image_gaps_look(image);
    if (image->gaps.begin >= 0) {
        push(image, image->gaps.begin, image->gaps.looked);
        image->gaps.begin = -1;
    }
}
