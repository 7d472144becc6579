/* eviction.c: see eviction.h. */
#include "driver/conductor/eviction.h"

#include "concurrent/eviction.h"
#include "driver/base/driver_state.h"
#include "driver/base/proxies.h"
#include "driver/base/tether.h"
#include "driver/conductor/ipc_publication.h"
#include "driver/conductor/responses.h"
#include "driver/conductor/subscription.h"
#include "driver/receiver/image.h"
#include "driver/sender/network_publication.h"
#include "util/error.h"

#include <inttypes.h>

/* Number of checks in one rs-evict. */
#define LOOKS 8

void rsti_eviction_watch(rst_driver_t *driver, rsti_subscription_t *subscription, int64_t evict_ns)
{
    subscription->evict_ns = evict_ns;
    subscription->evicted_ns = INT64_MAX;
    if (evict_ns > 0) {
        driver->conductor->evictions_due_ns = driver->conductor->now_ns;
    }
}

void rsti_eviction_times(const rsti_subscription_t *subscription, rsti_tether_t *tether)
{
    if (subscription->evict_ns == 0) {
        return;
    }
    tether->is_tethered = false;
    tether->is_evicting = true;
    tether->times.window_limit_ns = subscription->evict_ns - subscription->evict_ns / 4;
    tether->times.linger_ns = subscription->evict_ns / 4;
}

/* The word let_go_ms comes before the message: a consumer that still reads finds the word. */
static void let_go(rst_driver_t *driver, rsti_subscribers_t *subscribers, int64_t image_id,
    const rsti_subscription_t *subscription)
{
    for (int32_t i = 0; i < subscribers->count; i++) {
        rsti_subscriber_t *subscriber = &subscribers->items[i];
        if (subscriber->subscription->registration_id != subscription->registration_id) {
            continue;
        }
        const int64_t now_ms = rsti_max_i64(driver->epoch.now_ms, 1);
        rsti_tether_let_go(&subscriber->tether, driver->conductor->now_ns);
        rsti_counter_value_t *value = (rsti_counter_value_t *)(void *)subscriber->position;
        RST_ASSERT(rsti_reader_ext(value)->let_go_ms == 0);
        rsti_store_release_i64(&rsti_reader_ext(value)->let_go_ms, now_ms);
        if (!subscriber->is_told_gone) {
            rsti_respond_evicted(driver, image_id, subscriber->subscription, now_ms);
        }
    }
}

static void tell(rst_driver_t *driver, const rsti_subscription_t *subscription)
{
    (void)RST_SET_ERR(RST_EFULL,
        "%s stream %" PRId32 ": subscription %" PRId64 " of client %" PRId64
        " held the stream and stood still for %" PRId64
        " ms (rs-evict): it was evicted, and the other readers go on without it",
        subscription->uri, subscription->stream_id, subscription->registration_id,
        subscription->client_id, subscription->evict_ns / RSTI_NS_PER_MS);
    rsti_driver_log_trail(driver, "conductor");
}

void rsti_evict(rst_driver_t *driver, rsti_subscription_t *subscription)
{
    rsti_conductor_t *conductor = driver->conductor;
    for (size_t i = 0; i < conductor->subscriptions.count; i++) { /* also the local destinations */
        rsti_subscription_t *other = conductor->subscriptions.items[i];
        if (other->registration_id == subscription->registration_id) {
            other->evicted_ns = conductor->now_ns;
        }
    }
    for (size_t i = 0; i < conductor->ipc_publications.count; i++) {
        rsti_ipc_publication_t *publication = conductor->ipc_publications.items[i];
        let_go(driver, &publication->base.subscribers, publication->base.registration_id,
            subscription);
    }
    for (size_t i = 0; i < conductor->publications.count; i++) {
        rsti_network_publication_t *publication = conductor->publications.items[i];
        let_go(driver, &publication->base.subscribers, publication->base.registration_id,
            subscription);
    }
    for (size_t i = 0; i < conductor->images.count; i++) {
        rsti_image_t *image = conductor->images.items[i];
        let_go(driver, &image->subscribers, image->correlation_id, subscription);
    }
    tell(driver, subscription);
}

/* The receiver drops the interest when the subscription no longer holds any window. Sessions that
 * no other subscription matches then end. */
static void end_interest(rst_driver_t *driver, rsti_subscription_t *subscription, int64_t now_ns)
{
    if (subscription->is_interest_over || subscription->endpoint == NULL
        || now_ns <= subscription->evicted_ns + subscription->evict_ns / 4) {
        return;
    }
    subscription->is_interest_over = true;
    const rsti_agent_command_t command = {
        .endpoint = subscription->endpoint,
        .registration_id = subscription->registration_id,
    };
    rsti_tell_receiver(driver, RSTI_AGENT_REMOVE_INTEREST, &command);
}

void rsti_evictions_poll(rst_driver_t *driver, int64_t now_ns, int64_t *next_deadline_ns)
{
    rsti_conductor_t *conductor = driver->conductor;
    if (now_ns >= conductor->evictions_due_ns) {
        int64_t shortest_ns = INT64_MAX;
        for (size_t i = 0; i < conductor->subscriptions.count; i++) {
            rsti_subscription_t *subscription = conductor->subscriptions.items[i];
            if (subscription->evict_ns > 0) {
                shortest_ns = rsti_min_i64(shortest_ns, subscription->evict_ns);
            }
            if (rsti_is_evicted(subscription)) {
                end_interest(driver, subscription, now_ns);
            }
        }
        conductor->evictions_due_ns = shortest_ns == INT64_MAX ? INT64_MAX
                                                               : now_ns + shortest_ns / LOOKS;
    }
    rsti_lower_deadline(next_deadline_ns, conductor->evictions_due_ns);
}
