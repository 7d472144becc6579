/* demand.c: request(n) as one atomic number: requested and not yet delivered. INT64_MAX means
 * unbounded and stays so (Reactive Streams 3.17). */
#include "client/internal.h"

#include "util/error.h"

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
