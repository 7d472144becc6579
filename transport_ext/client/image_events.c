/* image_events.c: see image_events.h. */
#include "client/image_events.h"

#include <stdio.h>

void rsti_image_events_push(rst_subscription_t *subscription, int kind, const rst_image_t *image)
{
    if (subscription->events_tail - subscription->events_head == RSTI_EVENTS_MAX) {
        subscription->events_head++;
        subscription->events_lost++;
    }
    rsti_kept_event_t *kept = &subscription->events[subscription->events_tail++ % RSTI_EVENTS_MAX];
    kept->number = subscription->event_number++;
    rst_image_event_t *event = &kept->event;
    *event = (rst_image_event_t){
        .kind = kind,
        .session_id = image->session_id,
        .correlation_id = image->correlation_id,
        .position = image->delivered_position,
        .end_position = INT64_MAX,
        .received_position = image->delivered_position,
        .initial_term_id = image->log->file.log.initial_term_id,
    };
    (void)snprintf(event->source, sizeof event->source, "%s", image->source);
    if (kind == RST_IMAGE_UNAVAILABLE) {
        event->end_position = rsti_load_acquire_i64(&image->log->file.log.metadata
                ->end_of_stream_position);
        event->evicted_ms = image->evicted_ms;
        event->goes_on_at = image->goes_on_at;
        if (image->evicted_ms != 0) {
            return; /* an evicted reader has no claim on the rest of the log */
        }
        event->received_position = image->is_corrupt ? image->scan_position
                                                     : rsti_image_contiguous_end(image);
    }
}

bool rsti_image_events_pop(rst_subscription_t *subscription, rst_image_event_t *event)
{
    const bool has_event = subscription->events_head != subscription->events_tail;
    const bool has_gap = subscription->gaps_head != subscription->gaps_tail;
    const rsti_kept_event_t *events = subscription->events;
    const rsti_kept_event_t *gaps = subscription->gaps;
    if (has_gap
        && (!has_event
            || gaps[subscription->gaps_head % RSTI_GAPS_MAX].number
                < events[subscription->events_head % RSTI_EVENTS_MAX].number)) {
        *event = gaps[subscription->gaps_head++ % RSTI_GAPS_MAX].event;
        return true;
    }
    if (has_event) {
        *event = events[subscription->events_head++ % RSTI_EVENTS_MAX].event;
    }
    return has_event;
}
