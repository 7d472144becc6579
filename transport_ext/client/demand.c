/* demand.c: request(n) as one atomic number: requested and not yet delivered. INT64_MAX means
 * unbounded and stays so (Reactive Streams 3.17). */
#include "client/internal.h"

#include "util/error.h"

#define MESSAGE_OVERHEAD 48 /* a header, and half of what alignment takes */
#define MEAN_WEIGHT 8

_Static_assert(sizeof(rsti_position_ext_t) <= sizeof(((rsti_counter_value_t *)0)->spare),
    "what a reader tells fits behind its position");

int64_t rsti_demand_now(const rst_subscription_t *subscription)
{
    return rsti_load_acquire_i64(&subscription->demand);
}

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
    }
}

RST_API void rst_subscription_request(rst_subscription_t *subscription, int64_t n)
{
    if (subscription == NULL || rsti_is_forked(subscription->generation)) {
        return;
    }
    rsti_store_release_i32(&subscription->is_demanded, 1);
    if (n < 1) {
        return; /* the faces above answer that with an error (3.9); here it adds nothing */
    }
    int64_t before;
    do {
        before = rsti_load_acquire_i64(&subscription->demand);
    } while (!rsti_cas_i64(&subscription->demand, before, rsti_saturating_add_i64(before, n)));
    if (before == 0) {
        /* Whoever waits on this subscription did not listen for data while nothing was wanted. */
        rst_client_t *client = subscription->client;
        pthread_mutex_lock(&client->lock);
        rsti_client_kick_waiters(client);
        pthread_mutex_unlock(&client->lock);
    }
}

RST_API int64_t rst_subscription_demand(const rst_subscription_t *subscription)
{
    if (subscription == NULL || rsti_is_forked(subscription->generation)) {
        return 0;
    }
    return rsti_demand_now(subscription);
}
