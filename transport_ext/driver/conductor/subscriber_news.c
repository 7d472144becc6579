/* subscriber_news.c: see subscriber_news.h. */
#include "driver/conductor/subscriber_news.h"

#include "driver/base/counters.h"
#include "driver/base/driver_state.h"
#include "driver/base/subscribers.h"
#include "driver/conductor/clients.h"
#include "driver/conductor/responses.h"
#include "util/error.h"

#include <inttypes.h>

bool rsti_subscribers_unlink(rst_driver_t *driver, rsti_subscribers_t *subscribers,
    const rsti_subscription_t *subscription)
{
    bool has_changed = false;
    for (int32_t i = subscribers->count; i > 0; i--) {
        if (subscribers->items[i - 1].subscription == subscription) {
            rsti_counter_release_written(driver, &subscribers->items[i - 1].counter_id);
            rsti_subscribers_remove_at(subscribers, i - 1);
            has_changed = true;
        }
    }
    return has_changed;
}

/* False: the reader has got the message already, or is no longer active. */
static bool tell_unavailable(rst_driver_t *driver, rsti_subscriber_t *subscriber, int64_t image_id)
{
    if (subscriber->is_told_gone || subscriber->tether.state != RSTI_TETHER_ACTIVE) {
        return false;
    }
    subscriber->is_told_gone = true;
    rsti_respond_unavailable(driver, image_id, subscriber->subscription);
    return true;
}

void rsti_subscribers_tell_unavailable(rst_driver_t *driver, rsti_subscribers_t *subscribers,
    int64_t image_id)
{
    for (int32_t i = 0; i < subscribers->count; i++) {
        (void)tell_unavailable(driver, &subscribers->items[i], image_id);
    }
}

void rsti_subscribers_tell_overrun(rst_driver_t *driver, rsti_subscribers_t *subscribers,
    int64_t image_id, int64_t position)
{
    for (int32_t i = 0; i < subscribers->count; i++) {
        rsti_subscriber_t *subscriber = &subscribers->items[i];
        if (!subscriber->is_told_gone && subscriber->tether.state == RSTI_TETHER_ACTIVE) {
            subscriber->is_told_gone = true;
            rsti_respond_overrun(driver, image_id, subscriber->subscription, position);
        }
    }
}

void rsti_subscribers_tell_one_unavailable(rst_driver_t *driver, rsti_subscribers_t *subscribers,
    const rsti_subscription_t *subscription, int64_t image_id)
{
    for (int32_t i = 0; i < subscribers->count; i++) {
        if (subscribers->items[i].subscription == subscription) {
            (void)tell_unavailable(driver, &subscribers->items[i], image_id);
        }
    }
}

bool rsti_subscribers_tell_ours_unavailable(rst_driver_t *driver, rsti_subscribers_t *subscribers,
    int64_t image_id)
{
    bool has_told = false;
    for (int32_t i = 0; i < subscribers->count; i++) {
        rsti_subscriber_t *subscriber = &subscribers->items[i];
        if (rsti_client_is_rstream(driver, subscriber->subscription->client_id)
            && tell_unavailable(driver, subscriber, image_id)) {
            has_told = true;
        }
    }
    return has_told;
}

bool rsti_subscribers_know_unavailable(const rsti_subscribers_t *subscribers)
{
    for (int32_t i = 0; i < subscribers->count; i++) {
        const rsti_subscriber_t *subscriber = &subscribers->items[i];
        if (!subscriber->is_told_gone && subscriber->tether.state == RSTI_TETHER_ACTIVE) {
            return false;
        }
    }
    return true;
}

void rsti_subscribers_clear(rst_driver_t *driver, rsti_subscribers_t *subscribers)
{
    for (int32_t i = 0; i < subscribers->count; i++) {
        rsti_counter_release_written(driver, &subscribers->items[i].counter_id);
    }
    rsti_subscribers_fini(subscribers);
}

void rsti_subscribers_tell_refused(rst_driver_t *driver, const rsti_subscribers_t *subscribers)
{
    for (int32_t i = 0; i < subscribers->count; i++) {
        rsti_subscriber_t *subscriber = &subscribers->items[i];
        if (subscriber->is_refused && !subscriber->is_told) {
            const rsti_subscription_t *subscription = subscriber->subscription;
            (void)RST_SET_ERR(RST_ECORRUPT,
                "%s stream %" PRId32 ": counter %" PRId32 " holds an impossible position: %" PRId64
                " is used instead",
                subscription->uri, subscription->stream_id, subscriber->counter_id,
                subscriber->accepted);
            rsti_driver_log_trail(driver, "conductor");
            subscriber->is_told = true;
        }
    }
}
