/* demand.c: see demand.h. */
#include "client/demand.h"

#include "util/bits.h"
#include "util/error.h"
#include "util/int_math.h"

#include <string.h>

#define MESSAGE_OVERHEAD 48 /* a header, and half of what alignment adds on average */
#define MEAN_WEIGHT 8

_Static_assert(sizeof(rsti_position_ext_t) <= sizeof(((rsti_counter_value_t *)0)->spare),
    "what a reader tells fits behind its position");

void rsti_demand_spend(rst_subscription_t *subscription, int64_t count)
{
    int64_t before;
    do {
        before = rsti_load_acquire_i64(&subscription->demand);
        if (before == INT64_MAX) {
            return;
        }
        RST_ASSERT(before >= count);
    } while (!rsti_cas_i64(&subscription->demand, before, before - count));
}

int64_t rsti_demand_spend_told(rst_subscription_t *subscription, int64_t count)
{
    if (count == 0 || rsti_load_relaxed_i32(&subscription->is_telling) == 0) {
        return 0;
    }
    const int64_t demand = rsti_demand_now(subscription); /* others only add to it */
    if (demand == INT64_MAX) {
        return 0;
    }
    const int64_t covered = rsti_min_i64(count, demand);
    rsti_demand_spend(subscription, covered);
    return covered;
}

/* What a reader without a demand tells is valid too. */
static void begin_telling(rsti_position_ext_t *ext)
{
    if (rsti_load_relaxed_i32(&ext->magic) != RSTI_EXT_MAGIC) {
        rsti_store_relaxed_i64(&ext->demand, INT64_MAX);
        rsti_store_release_i32(&ext->magic, RSTI_EXT_MAGIC);
    }
}

void rsti_demand_tell_reading(rst_image_t *image)
{
    if (image->is_reading_told || image->state != RSTI_IMAGE_ACTIVE
        || !rsti_image_has_counter(image)) {
        return;
    }
    image->is_reading_told = true;
    rsti_position_ext_t *ext = (rsti_position_ext_t *)(void *)image->counter->spare;
    rsti_store_relaxed_i32(&ext->has_read, 1);
    begin_telling(ext);
}

/* The conductor looks at once: the publisher may wait for the window of a slow reader. */
static void tell_aside(rst_subscription_t *subscription, const rst_image_t *image)
{
    rsti_position_ext_t *ext = (rsti_position_ext_t *)(void *)image->counter->spare;
    if (subscription->sets_aside && rsti_load_relaxed_i32(&ext->sets_aside) == 0) {
        rsti_store_release_i32(&ext->sets_aside, 1);
        begin_telling(ext);
        rsti_client_wake_agent(subscription->client, RSTI_AGENT_CONDUCTOR);
    }
}

/* The law of rate follows what is read, so the conductor may wait for it as for what is consumed.
 */
static void tell_read(const rst_image_t *image)
{
    rsti_position_ext_t *ext = (rsti_position_ext_t *)(void *)image->counter->spare;
    if (rsti_load_relaxed_i64(&ext->read_position) == image->delivered_position) {
        return;
    }
    rsti_store_release_i64(&ext->read_position, image->delivered_position);
    if (rsti_image_is_awaited(image, image->delivered_position)) {
        rsti_client_wake_agent(image->subscription->client, RSTI_AGENT_CONDUCTOR);
    }
}

void rsti_demand_set_aside(rst_subscription_t *subscription)
{
    subscription->sets_aside = true;
    for (size_t i = 0; i < subscription->images.count; i++) {
        const rst_image_t *image = subscription->images.items[i];
        if (image->state == RSTI_IMAGE_ACTIVE && rsti_image_has_counter(image)) {
            tell_aside(subscription, image);
            tell_read(image);
        }
    }
}

void rsti_demand_tell(rst_subscription_t *subscription, int64_t demand, int64_t bytes,
    int64_t count)
{
    if (count > 0) {
        const int64_t mean = bytes / count + MESSAGE_OVERHEAD;
        subscription->mean_bytes += subscription->mean_bytes == 0
            ? mean
            : (mean - subscription->mean_bytes) / MEAN_WEIGHT;
    }
    for (size_t i = 0; i < subscription->images.count; i++) {
        const rst_image_t *image = subscription->images.items[i];
        if (image->state != RSTI_IMAGE_ACTIVE || !rsti_image_has_counter(image)) {
            continue;
        }
        rsti_position_ext_t *ext = (rsti_position_ext_t *)(void *)image->counter->spare;
        if (rsti_load_relaxed_i64(&ext->demand) != demand) {
            rsti_store_relaxed_i64(&ext->demand, demand);
        }
        if (rsti_load_relaxed_i64(&ext->mean_bytes) != subscription->mean_bytes) {
            rsti_store_relaxed_i64(&ext->mean_bytes, subscription->mean_bytes);
        }
        if (rsti_load_relaxed_i32(&ext->magic) != RSTI_EXT_MAGIC) {
            rsti_store_release_i32(&ext->magic, RSTI_EXT_MAGIC);
        }
        tell_aside(subscription, image);
    }
}

/* Publishers of an IPC log sleep on the log. For a network log the driver's conductor tells the
 * sender. No publisher needs both wake-ups. */
static void wake_publisher(rst_subscription_t *subscription, const rst_image_t *image)
{
    rst_client_t *client = subscription->client;
    rsti_log_ext_t *log_ext = rsti_shared_log_ext(image->log);
    if (!client->is_rstream || log_ext->magic != RSTI_EXT_MAGIC) {
        return;
    }
    if (rsti_wake_is_log_armed(log_ext, RSTI_WAIT_LIMIT)) {
        rsti_wake_log(log_ext, RSTI_WAIT_LIMIT, rsti_client_on_wake, client);
    }
    if (strcmp(image->source, "aeron:ipc") != 0) {
        rsti_client_wake_agent(client, RSTI_AGENT_CONDUCTOR);
    }
}

void rsti_demand_cross(rst_subscription_t *subscription)
{
    const bool is_demanded = subscription->may_hold
        && (rsti_load_acquire_i32(&subscription->is_demanded) != 0
            || rsti_load_acquire_i32(&subscription->is_telling) != 0);
    const int64_t requested = is_demanded ? rsti_load_acquire_i64(&subscription->requested)
                                          : INT64_MAX;
    /* Loaded after `requested`, so it is never less than the demand that belongs to it. */
    const int64_t remaining = is_demanded
        ? rsti_saturating_add_i64(rsti_demand_now(subscription), subscription->lent)
        : INT64_MAX;
    if (requested == subscription->told_requested && remaining == subscription->told_remaining) {
        return;
    }
    subscription->told_requested = requested;
    subscription->told_remaining = remaining;
    for (size_t i = 0; i < subscription->images.count; i++) {
        const rst_image_t *image = subscription->images.items[i];
        if (image->state != RSTI_IMAGE_ACTIVE || !rsti_image_has_counter(image)) {
            continue;
        }
        rsti_position_ext_t *ext = (rsti_position_ext_t *)(void *)image->counter->spare;
        const bool is_first = rsti_load_relaxed_i32(&ext->version) == 0;
        const bool is_more = is_first || rsti_load_relaxed_i64(&ext->requested) != requested;
        if (rsti_load_relaxed_i64(&ext->remaining) != remaining || is_first) {
            rsti_store_relaxed_i64(&ext->remaining, remaining);
        }
        if (is_more) {
            rsti_store_release_i64(&ext->requested, requested);
            rsti_store_release_i32(&ext->version, RSTI_POSITION_EXT_VERSION);
            wake_publisher(subscription, image);
        }
    }
}

/* Returns the demand before. */
static int64_t add(rst_subscription_t *subscription, int64_t n)
{
    int64_t before;
    do {
        before = rsti_load_acquire_i64(&subscription->demand);
    } while (!rsti_cas_i64(&subscription->demand, before, rsti_saturating_add_i64(before, n)));
    int64_t sum;
    do {
        sum = rsti_load_acquire_i64(&subscription->requested);
    } while (!rsti_cas_i64(&subscription->requested, sum, rsti_saturating_add_i64(sum, n)));
    pthread_mutex_lock(&subscription->lock);
    rsti_demand_cross(subscription);
    pthread_mutex_unlock(&subscription->lock);
    return before;
}

/* While nothing was wanted, a waiter on this subscription was not armed for data. */
static void kick_waiters(const rst_subscription_t *subscription)
{
    rst_client_t *client = subscription->client;
    pthread_mutex_lock(&client->lock);
    rsti_client_kick_waiters(client);
    pthread_mutex_unlock(&client->lock);
}

RST_API void rst_subscription_request(rst_subscription_t *subscription, int64_t n)
{
    if (subscription == NULL || rsti_is_forked(subscription->generation)) {
        return;
    }
    rsti_store_release_i32(&subscription->is_demanded, 1);
    /* The callers report n < 1 as an error (Reactive Streams 3.9); here it adds nothing. */
    if (n >= 1 && add(subscription, n) == 0) {
        kick_waiters(subscription);
    }
}

RST_API void rst_subscription_tell_demand(rst_subscription_t *subscription, int64_t n)
{
    if (subscription == NULL || rsti_is_forked(subscription->generation) || n < 1) {
        return;
    }
    rsti_store_release_i32(&subscription->is_telling, 1);
    (void)add(subscription, n);
    if (rsti_load_relaxed_i32(&subscription->is_demanded) != 0) {
        rsti_store_release_i32(&subscription->is_demanded, 0);
        kick_waiters(subscription);
    }
}

RST_API int64_t rst_subscription_demand(const rst_subscription_t *subscription)
{
    if (subscription == NULL || rsti_is_forked(subscription->generation)) {
        return 0;
    }
    return rsti_demand_now(subscription);
}
