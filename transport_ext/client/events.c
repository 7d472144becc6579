/* events.c: images that came and went, in order, in a bounded ring per subscription. A user who
 * never looks loses the oldest and can see how many. */
#include "client/internal.h"

#include "util/error.h"

#include <stdio.h>

void rsti_events_push(rst_subscription_t *subscription, int kind, const rst_image_t *image)
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
        if (image->evicted_ms != 0) {
            return; /* what lies behind is not this reader's any more */
        }
        event->received_position = image->is_corrupt ? image->scan_position
                                                     : rsti_image_contiguous_end(image);
    }
}

bool rsti_events_pop(rst_subscription_t *subscription, rst_image_event_t *event)
{
    if (subscription->events_head == subscription->events_tail) {
        return false;
    }
    *event = subscription->events[subscription->events_head++ % RSTI_EVENTS_MAX];
    return true;
}

RST_API int rst_subscription_next_event(rst_subscription_t *subscription, rst_image_event_t *event)
{
    if (subscription == NULL || event == NULL) {
        return RST_SET_ERR(RST_EINVAL, "subscription or event is NULL");
    }
    if (rsti_is_forked(subscription->generation)) {
        return rsti_set_forked_error("subscription");
    }
    pthread_mutex_lock(&subscription->lock);
    if (rsti_load_relaxed_i32(&subscription->is_polling) == 0) {
        rsti_subscription_settle(subscription);
    }
    const bool found = rsti_events_pop(subscription, event);
    pthread_mutex_unlock(&subscription->lock);
    return found ? 1 : 0;
}

RST_API int64_t rst_subscription_events_lost(const rst_subscription_t *subscription)
{
    if (subscription == NULL || rsti_is_forked(subscription->generation)) {
        return 0;
    }
    pthread_mutex_t *lock = (pthread_mutex_t *)&subscription->lock;
    pthread_mutex_lock(lock);
    const int64_t lost = subscription->events_lost;
    pthread_mutex_unlock(lock);
    return lost;
}
