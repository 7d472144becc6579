/* subscription_info.c: the facts of a subscription that the API gives, and its image events. */
#include "client/channel_status.h"
#include "client/image.h"
#include "client/image_events.h"
#include "client/segments.h"
#include "client/subscription.h"
#include "client/subscription_images.h"
#include "util/error.h"

/* ---- facts ---- */

RST_API void rst_subscription_info(const rst_subscription_t *subscription,
    rst_subscription_info_t *info)
{
    if (info == NULL) {
        return;
    }
    *info = (rst_subscription_info_t){.channel = ""};
    if (subscription != NULL) {
        info->registration_id = subscription->registration_id;
        info->stream_id = subscription->stream_id;
        info->channel = subscription->channel;
        info->channel_status_id = subscription->channel_status_id;
    }
}

static int count_images(const rst_subscription_t *subscription, bool only_active)
{
    if (!rsti_subscription_is_usable(subscription)) {
        return 0;
    }
    int count = 0;
    pthread_mutex_t *lock = (pthread_mutex_t *)&subscription->lock;
    pthread_mutex_lock(lock);
    for (size_t i = 0; i < subscription->images.count; i++) {
        const rst_image_t *image = subscription->images.items[i];
        count += !only_active || image->state == RSTI_IMAGE_ACTIVE ? 1 : 0;
    }
    pthread_mutex_unlock(lock);
    return count;
}

RST_API bool rst_subscription_is_connected(const rst_subscription_t *subscription)
{
    return count_images(subscription, true) > 0;
}

RST_API int rst_subscription_image_count(const rst_subscription_t *subscription)
{
    return count_images(subscription, false);
}

RST_API bool rst_subscription_is_closed(const rst_subscription_t *subscription)
{
    return !rsti_subscription_is_usable(subscription);
}

RST_API int rst_subscription_local_address_at(const rst_subscription_t *subscription, int index,
    char *text, size_t size)
{
    if (text == NULL || size == 0) {
        return RST_SET_ERR(RST_EINVAL, "no room for the address");
    }
    text[0] = '\0';
    if (!rsti_subscription_is_usable(subscription)) {
        return 0;
    }
    return rsti_client_local_address(subscription->client, subscription->channel_status_id, index,
        text, size);
}

RST_API int rst_subscription_local_address(const rst_subscription_t *subscription, char *text,
    size_t size)
{
    return rst_subscription_local_address_at(subscription, 0, text, size);
}

RST_API int64_t rst_subscription_channel_status(const rst_subscription_t *subscription)
{
    return !rsti_subscription_is_usable(subscription)
        ? RST_CLOSED
        : rsti_client_channel_status(subscription->client, subscription->channel_status_id);
}

/* ---- fill ---- */

/* How far the driver has received, from its counter instead of from each frame. */
static int64_t received_position(rst_image_t *image)
{
    const rsti_log_t *log = &image->log->file.log;
    const rsti_counters_t *counters = &image->subscription->client->counters;
    if (log->metadata->type != RSTI_LOG_IMAGE) {
        return rsti_log_producer_position(log);
    }
    int32_t id = image->receiver_counter_id;
    if (id < 0) {
        id = rsti_counters_find(counters, RSTI_COUNTER_RECEIVER_POSITION, image->correlation_id);
        image->receiver_counter_id = id;
    }
    if (id < 0
        || rsti_load_acquire_i64(&counters->values[id].registration_id) != image->correlation_id) {
        return rsti_image_contiguous_end(image);
    }
    return rsti_load_acquire_i64(&counters->values[id].value);
}

static int64_t window_of(const rst_image_t *image)
{
    const rsti_log_metadata_t *metadata = image->log->file.log.metadata;
    const int32_t half = image->log->file.log.term_length / 2;
    const int32_t window = metadata->type == RSTI_LOG_IMAGE ? metadata->receiver_window_length
                                                            : metadata->publication_window_length;
    return window > 0 && window < half ? window : half;
}

RST_API void rst_subscription_fill(const rst_subscription_t *subscription, int64_t *fill_bytes,
    int64_t *window_bytes)
{
    int64_t fill = 0;
    int64_t window = 0;
    if (rsti_subscription_is_usable(subscription)) {
        pthread_mutex_t *lock = (pthread_mutex_t *)&subscription->lock;
        pthread_mutex_lock(lock);
        for (size_t i = 0; i < subscription->images.count; i++) {
            rst_image_t *image = subscription->images.items[i];
            const int64_t held = received_position(image) - image->released_position;
            if (held >= fill) {
                fill = held;
                window = window_of(image);
            }
        }
        pthread_mutex_unlock(lock);
    }
    if (fill_bytes != NULL) {
        *fill_bytes = fill;
    }
    if (window_bytes != NULL) {
        *window_bytes = window;
    }
}

RST_API void rst_subscription_held(const rst_subscription_t *subscription, int64_t *held_bytes,
    int64_t *window_bytes, int32_t *mtu_max)
{
    int64_t most = 0;
    int64_t window = 0;
    int32_t mtu = 0;
    if (rsti_subscription_is_usable(subscription)) {
        pthread_mutex_t *lock = (pthread_mutex_t *)&subscription->lock;
        pthread_mutex_lock(lock);
        for (size_t i = 0; i < subscription->images.count; i++) {
            const rst_image_t *image = subscription->images.items[i];
            const int64_t held = image->oldest_lease == NULL
                ? 0
                : image->scan_position - image->oldest_lease->begin;
            if (held >= most) {
                most = held;
                window = window_of(image);
            }
            mtu = rsti_max_i32(mtu, image->log->file.log.metadata->mtu_length);
        }
        pthread_mutex_unlock(lock);
    }
    if (mtu_max != NULL) {
        *mtu_max = mtu;
    }
    if (held_bytes != NULL) {
        *held_bytes = most;
    }
    if (window_bytes != NULL) {
        *window_bytes = window;
    }
}

/* The messages in segments whose frames end in (from, to]. */
static int64_t segment_bytes(const rst_image_t *image, int64_t from, int64_t to, int32_t *count)
{
    const rsti_log_ext_t *ext = rsti_shared_log_ext(image->log);
    const int64_t below = rsti_segments_below(ext, from); /* first: the sum grows meanwhile */
    *count = rsti_segments_count(ext, from, to);
    return rsti_segments_below(ext, to) - below;
}

static void add_use(rst_image_t *image, rst_segment_use_t *use)
{
    int32_t count = 0;
    const int64_t unread = segment_bytes(image, image->released_position, received_position(image),
        &count);
    if (unread > use->unread_bytes) {
        use->unread_bytes = unread;
        use->unread_count = count;
    }
    const int64_t held = image->oldest_lease == NULL
        ? 0
        : segment_bytes(image, image->oldest_lease->begin, image->scan_position, &count);
    if (held > use->held_bytes) {
        use->held_bytes = held;
        use->held_count = count;
    }
}

RST_API void rst_subscription_segments(const rst_subscription_t *subscription,
    rst_segment_use_t *use)
{
    if (use == NULL) {
        return;
    }
    *use = (rst_segment_use_t){0};
    if (rsti_subscription_is_usable(subscription)) {
        pthread_mutex_t *lock = (pthread_mutex_t *)&subscription->lock;
        pthread_mutex_lock(lock);
        for (size_t i = 0; i < subscription->images.count; i++) {
            rst_image_t *image = subscription->images.items[i];
            if (rsti_load_relaxed_i64(&rsti_shared_log_ext(image->log)->segment_bytes_sent) > 0) {
                add_use(image, use);
            }
        }
        pthread_mutex_unlock(lock);
    }
}

/* ---- events ---- */

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
    const bool found = rsti_image_events_pop(subscription, event);
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
