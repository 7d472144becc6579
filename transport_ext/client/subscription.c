/* subscription.c: see subscription.h. */
#include "client/subscription.h"

#include "channel/channel.h"
#include "util/alloc.h"
#include "util/bits.h"
#include "util/error.h"

#include <string.h>

/* Whether its demand may hold publishers back. The driver judges an untethered or evictable reader
 * at the end of its window. If publishers made no more than it asks for, it would never get
 * there. */
static bool may_hold_publishers(const char *text)
{
    rsti_channel_t channel;
    if (rsti_channel_parse(&channel, text, strlen(text)) < 0) {
        rsti_error_clear(); /* an Aeron driver may know parameters that we do not */
        return true;
    }
    return channel.evict_ns <= 0 && (!channel.is_tether_set || channel.tether);
}

rst_subscription_t *rsti_subscription_create(rst_client_t *client,
    const rsti_subscription_params_t *params)
{
    rst_subscription_t *subscription = rsti_alloc(sizeof *subscription);
    if (subscription == NULL) {
        return NULL;
    }
    subscription->refs = 1;
    subscription->generation = client->generation;
    subscription->client = client;
    subscription->registration_id = params->registration_id;
    subscription->stream_id = params->stream_id;
    subscription->is_demanded = params->is_on_demand;
    subscription->may_hold = may_hold_publishers(params->channel);
    subscription->channel_status_id = params->channel_status_id;
    (void)pthread_mutex_init(&subscription->lock, NULL);
    rsti_client_ref(client);
    subscription->channel = rsti_strndup(params->channel, strlen(params->channel));
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
    /* Every image holds a reference, so none is left. */
    RST_ASSERT(subscription->images.count == 0);
    RST_ASSERT(subscription->heirs.count == 0);
    rst_client_t *client = subscription->client;
    rsti_ptr_array_fini(&subscription->images);
    rsti_ptr_array_fini(&subscription->heirs);
    (void)pthread_mutex_destroy(&subscription->lock);
    rsti_free(subscription->events);
    rsti_free(subscription->gaps);
    rsti_free(subscription->channel);
    rsti_free(subscription);
    rsti_client_unref(client);
}
