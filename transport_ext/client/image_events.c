/* image_events.c: see image_events.h. */
#include "client/image_events.h"

#include <stdio.h>

void rsti_image_events_push(rst_subscription_t *subscription, int kind, const rst_image_t *image)
{
    if (subscription->events_tail - subscription->events_head == RSTI_EVENTS_MAX) {
        subscription->events_head++;
        subscription->events_lost++;
    }
    rst_image_event_t *event = &subscription->events[subscription->events_tail++ % RSTI_EVENTS_MAX];
    *event = (rst_image_event_t){
        .kind = kind,
        .session_id = image->session_id,
        .correlation_id = image->correlation_id,
        .position = image->delivered_position,
        .end_position = INT64_MAX,
        .received_position = image->delivered_position,
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
    if (subscription->events_head == subscription->events_tail) {
        return false;
    }
    *event = subscription->events[subscription->events_head++ % RSTI_EVENTS_MAX];
    return true;
}
