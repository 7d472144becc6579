/* image_info.c: the handles of images that the API gives, and the facts of an image. */
#include "client/image.h"
#include "client/segments.h"
#include "util/error.h"

#include <inttypes.h>
#include <stdio.h>

/* The caller holds subscription->lock. */
static void fill(const rst_image_t *image, rst_image_info_t *info)
{
    const rsti_log_t *log = &image->log->file.log;
    const rsti_log_metadata_t *metadata = log->metadata;
    const int64_t end = rsti_load_acquire_i64(&metadata->end_of_stream_position);
    *info = (rst_image_info_t){
        .correlation_id = image->correlation_id,
        .session_id = image->session_id,
        .initial_term_id = log->initial_term_id,
        .term_length = log->term_length,
        .mtu = log->mtu,
        .active_transport_count = rsti_load_acquire_i32(&metadata->active_transport_count),
        .position_counter_id = (int32_t)(image->counter
            - image->subscription->client->counters.values),
        .join_position = image->join_position,
        .position = image->released_position,
        .segment_bytes = rsti_max_i64(0,
            rsti_segments_below(rsti_shared_log_ext(image->log), image->released_position)
                - image->joined_bytes),
        .end_of_stream_position = end,
        .is_end_of_stream = image->released_position >= end,
        .is_revoked = rsti_load_acquire_u8(&metadata->is_publication_revoked) != 0,
        .is_closed = image->state == RSTI_IMAGE_GONE,
    };
    (void)snprintf(info->source, sizeof info->source, "%s", image->source);
}

RST_API int rst_subscription_images(const rst_subscription_t *subscription,
    rst_image_info_t *images, int capacity)
{
    if (!rsti_subscription_is_usable(subscription) || capacity < 0
        || (images == NULL && capacity > 0)) {
        return 0;
    }
    pthread_mutex_t *lock = (pthread_mutex_t *)&subscription->lock;
    pthread_mutex_lock(lock);
    const size_t count = subscription->images.count;
    for (size_t i = 0; i < count && i < (size_t)capacity; i++) {
        fill(subscription->images.items[i], &images[i]);
    }
    pthread_mutex_unlock(lock);
    return (int)count;
}

static rst_image_t *hand_over(rst_subscription_t *subscription, int index,
    const int32_t *session_id)
{
    rst_image_t *found = NULL;
    if (!rsti_subscription_is_usable(subscription)) {
        return NULL;
    }
    pthread_mutex_lock(&subscription->lock);
    for (size_t i = 0; i < subscription->images.count && found == NULL; i++) {
        rst_image_t *image = subscription->images.items[i];
        if (session_id != NULL ? image->session_id == *session_id : (int)i == index) {
            found = image;
            rsti_image_ref(found);
        }
    }
    pthread_mutex_unlock(&subscription->lock);
    return found;
}

RST_API rst_image_t *rst_subscription_image_at(rst_subscription_t *subscription, int index)
{
    return hand_over(subscription, index, NULL);
}

RST_API rst_image_t *rst_subscription_image_by_session(rst_subscription_t *subscription,
    int32_t session_id)
{
    return hand_over(subscription, -1, &session_id);
}

RST_API void rst_image_release(rst_image_t *image)
{
    /* In a forked child, threads that do not exist there may hold the locks: drop only the
     * pointer. */
    if (image != NULL && !rsti_is_forked(image->subscription->generation)) {
        rsti_image_unref(image);
    }
}

RST_API void rst_image_info(const rst_image_t *image, rst_image_info_t *info)
{
    if (info == NULL) {
        return;
    }
    *info = (rst_image_info_t){.is_closed = true};
    if (image == NULL || rsti_is_forked(image->subscription->generation)) {
        return;
    }
    pthread_mutex_lock(&image->subscription->lock);
    fill(image, info);
    pthread_mutex_unlock(&image->subscription->lock);
}

static int move(rst_image_t *image, int64_t position, bool *must_wake)
{
    const int64_t now = image->scan_position;
    const int64_t end = now - rsti_position_offset(now, image->log->file.log.term_length)
        + image->log->file.log.term_length;
    if (image->state == RSTI_IMAGE_GONE) {
        return RST_SET_ERR(RST_ECLOSED, "image of session %" PRId32 " is gone", image->session_id);
    }
    if (position < now || position > end || position % RSTI_FRAME_ALIGNMENT != 0) {
        return RST_SET_ERR(RST_EINVAL,
            "position %" PRId64 ": must be a multiple of %d, %" PRId64 " to %" PRId64, position,
            RSTI_FRAME_ALIGNMENT, now, end);
    }
    rsti_assembler_reset(&image->assembler);
    image->scan_position = position;
    image->delivered_position = position;
    *must_wake = rsti_image_move_position(image);
    return 0;
}

RST_API int rst_image_set_position(rst_image_t *image, int64_t position)
{
    if (image == NULL) {
        return RST_SET_ERR(RST_EINVAL, "image is NULL");
    }
    rst_subscription_t *subscription = image->subscription;
    if (rsti_is_forked(subscription->generation)) {
        return rsti_set_forked_error("image");
    }
    bool must_wake = false;
    pthread_mutex_lock(&subscription->lock);
    const int result = rsti_load_relaxed_i32(&subscription->is_polling) == 0
        ? move(image, position, &must_wake)
        : RST_SET_ERR(RST_EBUSY, "channel %s, stream %" PRId32 " is being polled",
              subscription->channel, subscription->stream_id);
    pthread_mutex_unlock(&subscription->lock);
    if (must_wake) {
        rsti_client_wake_agent(subscription->client, RSTI_AGENT_CONDUCTOR);
    }
    return result;
}
