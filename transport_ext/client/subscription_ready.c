/* subscription_ready.c: see subscription_ready.h. */
#include "client/subscription_ready.h"

#include "client/demand.h"

static bool wants_data(const rst_subscription_t *subscription)
{
    return rsti_load_relaxed_i32(&subscription->is_demanded) == 0
        || rsti_demand_now(subscription) > 0;
}

bool rsti_subscription_awaits_frame(const rst_subscription_t *subscription,
    const rst_image_t *image)
{
    return wants_data(subscription) || !rsti_image_is_readable(image);
}

static bool is_image_ready(const rst_image_t *image, bool is_data_wanted)
{
    if (!rsti_image_is_readable(image)) {
        return image->state != RSTI_IMAGE_ACTIVE || image->is_corrupt;
    }
    return is_data_wanted || rsti_image_next_is_free(image);
}

bool rsti_subscription_is_ready(rst_subscription_t *subscription, uint32_t *events_told)
{
    if (rsti_load_acquire_i32(&subscription->is_closed) != 0) {
        return true;
    }
    const bool is_data_wanted = wants_data(subscription);
    pthread_mutex_lock(&subscription->lock);
    const bool has_events = subscription->events_head != subscription->events_tail;
    bool is_ready = (has_events && *events_told != subscription->events_tail)
        || subscription->pending_error != 0;
    *events_told = subscription->events_tail;
    for (size_t i = 0; !is_ready && i < subscription->images.count; i++) {
        is_ready = is_image_ready(subscription->images.items[i], is_data_wanted);
    }
    pthread_mutex_unlock(&subscription->lock);
    return is_ready;
}
