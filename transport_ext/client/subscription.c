/* subscription.c: the life of a subscription, its images coming and going, its facts. */
#include "client/internal.h"

#include "channel/channel.h"
#include "util/alloc.h"
#include "util/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

/* ---- life ---- */

/* An untethered reader, or one that is evicted when it stands still, is judged at the window's end,
 * where it would never come if publishers made no more than it asks for. */
static bool may_hold_publishers(const char *text)
{
    rsti_channel_t channel;
    if (rsti_channel_parse(&channel, text, strlen(text)) < 0) {
        rsti_error_clear(); /* an Aeron driver's, which knows more than we do */
        return true;
    }
    return channel.evict_ns <= 0 && (!channel.is_tether_set || channel.tether);
}

rst_subscription_t *rsti_subscription_create(rst_client_t *client, const rsti_pending_t *pending,
    int32_t channel_status_id)
{
    rst_subscription_t *subscription = rsti_alloc(sizeof *subscription);
    if (subscription == NULL) {
        return NULL;
    }
    subscription->refs = 1;
    subscription->generation = client->generation;
    subscription->client = client;
    subscription->registration_id = pending->correlation_id;
    subscription->stream_id = pending->stream_id;
    subscription->is_demanded = pending->is_on_demand;
    subscription->may_hold = may_hold_publishers(pending->channel);
    subscription->channel_status_id = channel_status_id;
    (void)pthread_mutex_init(&subscription->lock, NULL);
    rsti_client_ref(client);
    subscription->channel = rsti_strndup(pending->channel, strlen(pending->channel));
    subscription->events = rsti_alloc(RSTI_EVENTS_MAX * sizeof *subscription->events);
    if (subscription->channel == NULL || subscription->events == NULL
        || rsti_hash_map_put(&client->subscriptions, subscription->registration_id, subscription)
            < 0) {
        rsti_subscription_unref(subscription);
        return NULL;
    }
    return subscription;
}

void rsti_subscription_ref(rst_subscription_t *subscription)
{
    (void)rsti_fetch_add_i32(&subscription->refs, 1);
}

void rsti_subscription_unref(rst_subscription_t *subscription)
{
    if (rsti_fetch_add_i32(&subscription->refs, -1) != 1) {
        return;
    }
    /* Every image counts its subscription: there is none left. */
    RST_ASSERT(subscription->images.count == 0);
    RST_ASSERT(subscription->heirs.count == 0);
    rst_client_t *client = subscription->client;
    rsti_ptr_array_fini(&subscription->images);
    rsti_ptr_array_fini(&subscription->heirs);
    (void)pthread_mutex_destroy(&subscription->lock);
    rsti_free(subscription->events);
    rsti_free(subscription->channel);
    rsti_free(subscription);
    rsti_client_unref(client);
}

static void drop_images(rsti_ptr_array_t *images)
{
    for (size_t i = 0; i < images->count; i++) {
        rsti_image_unref(images->items[i]);
    }
    rsti_ptr_array_fini(images);
}

void rsti_subscription_kill(rst_subscription_t *subscription)
{
    rsti_store_release_i32(&subscription->is_closed, 1);
    pthread_mutex_lock(&subscription->lock);
    rsti_ptr_array_t images = subscription->images;
    rsti_ptr_array_t heirs = subscription->heirs;
    subscription->images = (rsti_ptr_array_t){0};
    subscription->heirs = (rsti_ptr_array_t){0};
    for (size_t i = 0; i < images.count; i++) {
        ((rst_image_t *)images.items[i])->state = RSTI_IMAGE_GONE;
    }
    (void)rsti_fetch_add_i32(&subscription->version, 1);
    pthread_mutex_unlock(&subscription->lock);
    drop_images(&images);
    drop_images(&heirs);
}

RST_API void rst_subscription_close(rst_subscription_t *subscription)
{
    if (subscription == NULL) {
        return;
    }
    if (rsti_is_forked(subscription->generation)) {
        rsti_free(subscription->events);
        rsti_free(subscription->channel);
        rsti_free(subscription);
        return;
    }
    rst_client_t *client = subscription->client;
    pthread_mutex_lock(&client->lock);
    (void)rsti_hash_map_remove(&client->subscriptions, subscription->registration_id);
    rsti_subscription_kill(subscription);
    rsti_client_send_remove(client, RSTI_CMD_REMOVE_SUBSCRIPTION, subscription->registration_id, 0);
    rsti_client_kick_waiters(client);
    pthread_mutex_unlock(&client->lock);
    rsti_subscription_unref(subscription);
}

/* ---- readiness ---- */

bool rsti_subscription_wants_data(const rst_subscription_t *subscription)
{
    return rsti_load_relaxed_i32(&subscription->is_demanded) == 0
        || rsti_demand_now(subscription) > 0;
}

bool rsti_subscription_awaits_frame(const rst_subscription_t *subscription,
    const rst_image_t *image)
{
    return rsti_subscription_wants_data(subscription) || !rsti_image_is_readable(image);
}

static bool is_image_ready(const rst_image_t *image, bool wants_data)
{
    if (!rsti_image_is_readable(image)) {
        return image->state != RSTI_IMAGE_ACTIVE || image->is_corrupt;
    }
    return wants_data || rsti_image_next_is_free(image);
}

bool rsti_subscription_is_ready(rst_subscription_t *subscription, uint32_t *events_told)
{
    if (rsti_load_acquire_i32(&subscription->is_closed) != 0) {
        return true;
    }
    const bool wants_data = rsti_subscription_wants_data(subscription);
    pthread_mutex_lock(&subscription->lock);
    const bool has_events = subscription->events_head != subscription->events_tail;
    bool is_ready = (has_events && *events_told != subscription->events_tail)
        || subscription->pending_error != 0;
    *events_told = subscription->events_tail;
    for (size_t i = 0; !is_ready && i < subscription->images.count; i++) {
        is_ready = is_image_ready(subscription->images.items[i], wants_data);
    }
    pthread_mutex_unlock(&subscription->lock);
    return is_ready;
}

/* ---- facts ---- */

static bool is_usable(const rst_subscription_t *subscription)
{
    return subscription != NULL && !rsti_is_forked(subscription->generation)
        && rsti_load_acquire_i32(&subscription->is_closed) == 0;
}

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
    if (!is_usable(subscription)) {
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
    return !is_usable(subscription);
}

RST_API int rst_subscription_local_address_at(const rst_subscription_t *subscription, int index,
    char *text, size_t size)
{
    if (text == NULL || size == 0) {
        return RST_SET_ERR(RST_EINVAL, "no room for the address");
    }
    text[0] = '\0';
    if (!is_usable(subscription)) {
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
    return !is_usable(subscription)
        ? RST_CLOSED
        : rsti_client_channel_status(subscription->client, subscription->channel_status_id);
}

/* How far the driver has received, without looking at each frame. */
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
    if (is_usable(subscription)) {
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
