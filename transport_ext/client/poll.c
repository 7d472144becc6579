/* poll.c: fills a batch from the images of a subscription, in turn. One round takes the rest of one
 * term from each image; more rounds follow while there is room. A poll never waits for data. */
#include "client/batch.h"
#include "client/demand.h"
#include "client/image_scan.h"
#include "client/noop.h"
#include "client/subscription_images.h"
#include "util/error.h"

#include <inttypes.h>

/* ---- one pass over the images ---- */

/* An active image without its counter: the driver gave up this client or this image, and the
 * announcement is on its way. The driver may already change the log. */
static bool may_read(const rst_image_t *image, bool is_open)
{
    return !image->is_let_go && !rsti_image_is_evicted(image)
        && (image->state != RSTI_IMAGE_ACTIVE || !is_open || rsti_image_has_counter(image));
}

static bool poll_images_once(rst_subscription_t *subscription, rsti_poll_t *poll, size_t first,
    bool is_open)
{
    bool goes_on = false;
    const size_t count = subscription->images.count;
    for (size_t i = 0; i < count; i++) {
        rst_image_t *image = subscription->images.items[(first + i) % count];
        if (image->is_corrupt || !may_read(image, is_open)
            || (poll->only_image >= 0 && image->correlation_id != poll->only_image)) {
            continue;
        }
        switch (poll->block_length_max > 0 ? rsti_image_poll_block(image, poll)
                                           : rsti_image_poll_term(image, poll)) {
        case RSTI_STOP_EMPTY:
            break;
        case RSTI_STOP_TERM_END:
            goes_on = true;
            break;
        case RSTI_STOP_CORRUPT:
            /* an evicted reader only lost a race */
            image->is_corrupt = !rsti_image_is_evicted(image);
            break;
        case RSTI_STOP_FULL:
        case RSTI_STOP_ERROR:
        default:
            return false;
        }
    }
    return goes_on && poll->room > 0;
}

static void poll_images(rst_subscription_t *subscription, rsti_poll_t *poll, bool is_open)
{
    if (subscription->images.count == 0) {
        return;
    }
    const size_t first = subscription->round_robin++ % subscription->images.count;
    /* Bounded: each further round begins behind the end of a term, and a log has three terms. */
    for (int round = 0; round <= RSTI_PARTITIONS; round++) {
        if (!poll_images_once(subscription, poll, first, is_open)) {
            break;
        }
    }
    for (int32_t i = 0; i < poll->batch->lease_count; i++) {
        rst_image_t *image = poll->batch->leases[i].image;
        image->lease_index = -1;
        rsti_demand_tell_reading(image);
    }
}

/* ---- the whole poll ---- */

static int take_pending_error(rst_subscription_t *subscription)
{
    const int code = subscription->pending_error;
    if (code == 0) {
        return 0;
    }
    subscription->pending_error = 0;
    return RST_SET_ERR(code, "%s", subscription->pending_error_text);
}

/* An empty poll reports an error if there is one. */
static int empty_result(rst_subscription_t *subscription, const rsti_poll_t *poll, int32_t state)
{
    if (poll->error < 0) {
        return poll->error;
    }
    const int code = take_pending_error(subscription);
    if (code < 0) {
        return code;
    }
    if (state != RST_CLIENT_OPEN && subscription->images.count == 0) {
        return rsti_client_state_error(subscription->client, state);
    }
    return 0;
}

static int poll_locked(rst_subscription_t *subscription, rsti_poll_t *poll, bool *must_wake)
{
    rst_batch_t *batch = poll->batch;
    if (rsti_load_relaxed_i32(&subscription->is_closed) != 0) {
        return RST_SET_ERR(RST_ECLOSED, "subscription to channel %s, stream %" PRId32 " is closed",
            subscription->channel, subscription->stream_id);
    }
    const int prepared = rsti_batch_prepare(batch, subscription->images.count);
    if (prepared < 0) {
        return prepared;
    }
    const int32_t state = rsti_client_state_now(subscription->client);
    /* Read and spent under the lock, so two pollers never hand out the same demand. */
    poll->demand = poll->is_demanded ? rsti_demand_now(subscription) : INT64_MAX;
    const int64_t bytes_before = poll->bytes_left;
    rsti_noop_answer(subscription);
    poll_images(subscription, poll, state == RST_CLIENT_OPEN);
    if (poll->charged > 0) {
        rsti_demand_spend(subscription, poll->charged);
    }
    batch->lent = !poll->is_demanded ? rsti_demand_spend_told(subscription, batch->count)
        : poll->demand == INT64_MAX  ? 0
                                     : poll->charged;
    subscription->lent += batch->lent;
    if (poll->is_demanded) {
        rsti_demand_tell(subscription, poll->demand, bytes_before - poll->bytes_left, batch->count);
    }
    rsti_demand_cross(subscription);
    rsti_subscription_settle(subscription);
    if (batch->count > 0) {
        return batch->count;
    }
    /* Padding and fragments of an unfinished message: no release follows, so release them here. */
    *must_wake = rsti_batch_unlease(batch);
    return empty_result(subscription, poll, state);
}

static int refuse_busy(const rst_subscription_t *subscription)
{
    return RST_SET_ERR(RST_EBUSY, "another thread is polling channel %s, stream %" PRId32,
        subscription->channel, subscription->stream_id);
}

static int enter(rst_subscription_t *subscription)
{
    if (pthread_mutex_trylock(&subscription->lock) != 0) {
        if (rsti_load_relaxed_i32(&subscription->is_polling) != 0) {
            return refuse_busy(subscription);
        }
        /* a release or the conductor holds it for a short time */
        pthread_mutex_lock(&subscription->lock);
    }
    if (rsti_load_relaxed_i32(&subscription->is_polling) != 0) {
        /* A poll with callbacks sets is_polling but holds no lock. */
        pthread_mutex_unlock(&subscription->lock);
        return refuse_busy(subscription);
    }
    rsti_store_relaxed_i32(&subscription->is_polling, 1);
    return 0;
}

static void leave(rst_subscription_t *subscription)
{
    rsti_store_relaxed_i32(&subscription->is_polling, 0);
    pthread_mutex_unlock(&subscription->lock);
}

static int run_poll(rst_subscription_t *subscription, rsti_poll_t *poll)
{
    bool must_wake = false;
    int result = enter(subscription);
    if (result < 0) {
        return result;
    }
    result = poll_locked(subscription, poll, &must_wake);
    leave(subscription);
    if (must_wake) {
        rsti_client_wake_agent(subscription->client, RSTI_AGENT_CONDUCTOR);
    }
    if (result > 0) {
        rsti_subscription_ref(subscription);
        poll->batch->subscription = subscription;
    } else {
        rsti_batch_drop_images(poll->batch);
    }
    return result;
}

static int check(const rst_subscription_t *subscription, const rst_batch_t *batch, int32_t limit)
{
    if (subscription == NULL || batch == NULL) {
        return RST_SET_ERR(RST_EINVAL, "%s is NULL", batch == NULL ? "batch" : "subscription");
    }
    if (rsti_is_forked(subscription->generation) || rsti_is_forked(batch->generation)) {
        return rsti_set_forked_error("subscription");
    }
    if (limit < 1) {
        return RST_SET_ERR(RST_EINVAL, "limit %" PRId32 ": must be at least 1", limit);
    }
    return 0;
}

static int start_poll(rst_subscription_t *subscription, int32_t limit, rsti_poll_t *poll,
    rst_batch_t *batch)
{
    const int checked = check(subscription, batch, limit);
    if (checked < 0) {
        return checked;
    }
    rst_batch_release(batch);
    poll->batch = batch;
    poll->room = rsti_min_i32(limit, batch->capacity);
    return run_poll(subscription, poll);
}

static int poll(rst_subscription_t *subscription, int32_t limit, int64_t bytes_max,
    bool is_demanded, rst_batch_t *batch)
{
    rsti_poll_t poll = {
        .bytes_left = bytes_max > 0 ? bytes_max : INT64_MAX,
        .limit_position = INT64_MAX,
        .only_image = -1,
        .is_demanded = is_demanded,
    };
    return start_poll(subscription, limit, &poll, batch);
}

RST_API int rst_subscription_poll_bounded(rst_subscription_t *subscription,
    int64_t image_correlation_id, int64_t limit_position, int32_t limit, rst_batch_t *batch)
{
    rsti_poll_t poll = {
        .bytes_left = INT64_MAX,
        .limit_position = limit_position,
        .only_image = image_correlation_id,
    };
    return start_poll(subscription, limit, &poll, batch);
}

RST_API int rst_subscription_poll_block(rst_subscription_t *subscription, int32_t bytes_max,
    rst_batch_t *batch)
{
    rsti_poll_t poll = {
        .bytes_left = INT64_MAX,
        .limit_position = INT64_MAX,
        .only_image = -1,
        .block_length_max = bytes_max,
    };
    if (bytes_max < RSTI_FRAME_ALIGNMENT) {
        return RST_SET_ERR(RST_EINVAL, "block of %" PRId32 " bytes: must be at least %d", bytes_max,
            RSTI_FRAME_ALIGNMENT);
    }
    return start_poll(subscription, 1, &poll, batch);
}

RST_API int rst_subscription_poll(rst_subscription_t *subscription, int32_t limit,
    int64_t bytes_max, rst_batch_t *batch)
{
    return poll(subscription, limit, bytes_max, false, batch);
}

RST_API int rst_subscription_poll_demanded(rst_subscription_t *subscription, int32_t limit,
    int64_t bytes_max, rst_batch_t *batch)
{
    if (subscription != NULL && rsti_load_relaxed_i32(&subscription->is_demanded) == 0) {
        rsti_store_release_i32(&subscription->is_demanded, 1); /* waiters read it too */
    }
    return poll(subscription, limit, bytes_max, true, batch);
}
