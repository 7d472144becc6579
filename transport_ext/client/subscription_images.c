/* subscription_images.c: see subscription_images.h. */
#include "client/subscription_images.h"

#include "client/demand.h"
#include "client/image_events.h"
#include "client/image_gaps.h"
#include "client/parts.h"
#include "client/send.h"
#include "concurrent/eviction.h"
#include "util/alloc.h"
#include "util/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

/* ---- heirs ---- */

static bool has_closing(const rst_subscription_t *subscription, int32_t session_id)
{
    for (size_t i = 0; i < subscription->images.count; i++) {
        const rst_image_t *image = subscription->images.items[i];
        if (image->session_id == session_id && image->state == RSTI_IMAGE_CLOSING) {
            return true;
        }
    }
    return false;
}

static int show_image(rst_subscription_t *subscription, rst_image_t *image)
{
    const int result = rsti_ptr_array_add(&subscription->images, image);
    if (result == 0) {
        rsti_image_events_push(subscription, RST_IMAGE_AVAILABLE, image);
        (void)rsti_fetch_add_i32(&subscription->version, 1);
        subscription->told_requested = -1;
        rsti_demand_cross(subscription); /* before the first poll: publishers wait for it */
    }
    return result;
}

/* Ids grow, so the smallest came first. The caller has just taken an image from the array, so
 * adding finds room. */
static void show_heir(rst_subscription_t *subscription, int32_t session_id)
{
    rst_image_t *heir = NULL;
    for (size_t i = 0; i < subscription->heirs.count; i++) {
        rst_image_t *image = subscription->heirs.items[i];
        if (image->session_id == session_id
            && (heir == NULL || image->correlation_id < heir->correlation_id)) {
            heir = image;
        }
    }
    if (heir != NULL && show_image(subscription, heir) == 0) {
        (void)rsti_ptr_array_remove(&subscription->heirs, heir);
    }
}

/* ---- the end of an image ---- */

static void note_error(rst_subscription_t *subscription, int code, const char *text)
{
    subscription->pending_error = code;
    (void)snprintf(subscription->pending_error_text, sizeof subscription->pending_error_text,
        "channel %.100s, stream %" PRId32 ": %s", subscription->channel, subscription->stream_id,
        text);
}

static void finish_image(rst_subscription_t *subscription, rst_image_t *image)
{
    rsti_image_gaps_end(image);
    rsti_parts_end(image);
    rsti_image_events_push(subscription, RST_IMAGE_UNAVAILABLE, image);
    if (image->is_corrupt) {
        char text[128];
        (void)snprintf(text, sizeof text,
            "session %" PRId32 ": the log holds an impossible frame at position %" PRId64,
            image->session_id, image->scan_position);
        note_error(subscription, RST_ECORRUPT, text);
    }
    image->state = RSTI_IMAGE_GONE;
    (void)rsti_ptr_array_remove(&subscription->images, image);
    (void)rsti_fetch_add_i32(&subscription->version, 1);
    show_heir(subscription, image->session_id);
    rsti_image_unref(image);
}

void rsti_subscription_end_let_go(rst_subscription_t *subscription)
{
    for (size_t i = subscription->images.count; i > 0; i--) {
        rst_image_t *image = subscription->images.items[i - 1];
        if (image->is_let_go) {
            finish_image(subscription, image);
        }
    }
}

void rsti_subscription_settle(rst_subscription_t *subscription)
{
    rsti_subscription_end_let_go(subscription);
    for (size_t i = subscription->images.count; i > 0; i--) {
        rst_image_t *image = subscription->images.items[i - 1];
        /* The driver does not tell an evicted reader again of an image that had ended before. Its
         * rest is not read, so it would never end. */
        const bool is_closing = image->state == RSTI_IMAGE_CLOSING;
        if (is_closing && rsti_image_is_evicted(image)) {
            image->evicted_ms = rsti_load_acquire_i64(&rsti_reader_ext(image->counter)->let_go_ms);
        }
        if (image->is_corrupt
            || (is_closing && (image->evicted_ms != 0 || !rsti_image_is_readable(image)))) {
            finish_image(subscription, image);
        }
    }
}

/* Ends an image before its messages are read. An heir that was never shown ends without an event.
 * An image whose messages a callback receives just now ends after that callback. */
static void let_go(rst_subscription_t *subscription, rst_image_t *image)
{
    image->is_let_go = true;
    if (rsti_ptr_array_remove(&subscription->heirs, image) == 1) {
        image->state = RSTI_IMAGE_GONE;
        rsti_image_unref(image);
    } else if (rsti_load_relaxed_i32(&subscription->is_polling) != 0) {
        (void)rsti_fetch_add_i32(&subscription->version, 1);
    } else {
        finish_image(subscription, image);
    }
}

/* ---- conductor ---- */

static rst_image_t *find_in(const rsti_ptr_array_t *images, int64_t correlation_id)
{
    for (size_t i = 0; i < images->count; i++) {
        rst_image_t *image = images->items[i];
        if (image->correlation_id == correlation_id) {
            return image;
        }
    }
    return NULL;
}

/* An image that came back may wait as its own heir. */
static rst_image_t *find_image(const rst_subscription_t *subscription, int64_t correlation_id)
{
    rst_image_t *image = find_in(&subscription->heirs, correlation_id);
    return image != NULL ? image : find_in(&subscription->images, correlation_id);
}

static int take_in(rst_subscription_t *subscription, rst_image_t *image)
{
    return has_closing(subscription, image->session_id)
        ? rsti_ptr_array_add(&subscription->heirs, image)
        : show_image(subscription, image);
}

void rsti_subscription_add_image(rst_subscription_t *subscription, const rsti_response_t *response)
{
    pthread_mutex_lock(&subscription->lock);
    rst_image_t *known = find_image(subscription, response->correlation_id);
    if (known != NULL && known->state == RSTI_IMAGE_CLOSING) {
        /* It left and came back before its first part was read to the end. The driver cleans what
         * lies between. */
        let_go(subscription, known);
        known = NULL;
    }
    if (known == NULL) {
        rst_image_t *image = rsti_image_create(subscription, response);
        const int taken = image != NULL ? take_in(subscription, image) : -1;
        if (taken < 0 && image == NULL && rst_last_error_detail() == ENOENT) {
            /* It came and went before this client looked. The driver keeps the log and the counter
             * of a stream that this reader has not consumed, so no message is lost that the driver
             * still owed. */
            rsti_error_clear();
        } else if (taken < 0) {
            /* The driver waits for a reader that cannot read: report it to the user. */
            note_error(subscription, rst_last_error_code(), rst_last_error_text());
            if (image != NULL) {
                rsti_image_unref(image);
            }
        }
    }
    pthread_mutex_unlock(&subscription->lock);
}

/* A local stream that has not ended: this reader was removed from it, and the publisher writes on.
 * The driver keeps what an untethered or rejected reader holds for the linger or the cool-down
 * only, and may clean it at any moment; so it must not be read. The image of a network stream may
 * also be lost, and then its rest must be read. There the driver says which one it is. */
static bool is_log_going_on(const rst_image_t *image)
{
    const rsti_log_metadata_t *metadata = image->log->file.log.metadata;
    return metadata->type != RSTI_LOG_IMAGE
        && rsti_load_acquire_i64(&metadata->end_of_stream_position) == INT64_MAX;
}

void rsti_subscription_image_unavailable(rst_subscription_t *subscription,
    int64_t image_correlation_id, const rsti_image_end_t *end)
{
    pthread_mutex_lock(&subscription->lock);
    rst_image_t *image = find_image(subscription, image_correlation_id);
    if (image != NULL && image->state == RSTI_IMAGE_ACTIVE) {
        image->state = RSTI_IMAGE_CLOSING;
        image->evicted_ms = end->evicted_ms;
        image->goes_on_at = end->goes_on_at;
        if (end->is_let_go || end->evicted_ms != 0 || is_log_going_on(image)) {
            let_go(subscription, image);
        }
    }
    pthread_mutex_unlock(&subscription->lock);
}

static void close_all(const rsti_ptr_array_t *images, bool can_drain)
{
    for (size_t i = 0; i < images->count; i++) {
        rst_image_t *image = images->items[i];
        image->is_let_go = image->is_let_go || !can_drain;
        if (image->state == RSTI_IMAGE_ACTIVE) {
            image->state = RSTI_IMAGE_CLOSING;
        }
    }
}

void rsti_subscription_lose_images(rst_subscription_t *subscription, bool can_drain)
{
    pthread_mutex_lock(&subscription->lock);
    close_all(&subscription->images, can_drain);
    close_all(&subscription->heirs, can_drain);
    (void)rsti_fetch_add_i32(&subscription->version, 1);
    /* Bounded: each turn removes all images, also heirs that have just taken their places. */
    while (!can_drain && subscription->images.count > 0
        && rsti_load_relaxed_i32(&subscription->is_polling) == 0) {
        rsti_subscription_end_let_go(subscription);
    }
    pthread_mutex_unlock(&subscription->lock);
}

/* ---- closing ---- */

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
        rsti_parts_drop(images.items[i]);
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
        rsti_free(subscription->gaps);
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
