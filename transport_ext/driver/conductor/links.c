/* links.c: see links.h. */
#include "driver/conductor/links.h"

#include "driver/base/counters.h"
#include "driver/base/driver_state.h"
#include "driver/base/subscribers.h"
#include "driver/conductor/eviction.h"
#include "driver/conductor/image.h"
#include "driver/conductor/ipc_publication.h"
#include "driver/conductor/network_publication.h"
#include "driver/conductor/responses.h"
#include "driver/conductor/subscriber_news.h"
#include "driver/conductor/subscription.h"
#include "util/alloc.h"

rsti_link_target_t rsti_ipc_target(rsti_ipc_publication_t *publication)
{
    rsti_publication_t *base = &publication->base;
    return (rsti_link_target_t){&base->subscribers, base->registration_id, base->session_id,
        base->file.path, "aeron:ipc", rsti_ipc_publication_join_position(publication),
        &base->tether_times};
}

rsti_link_target_t rsti_spy_target(rsti_network_publication_t *publication)
{
    rsti_publication_t *base = &publication->base;
    return (rsti_link_target_t){&base->subscribers, base->registration_id, base->session_id,
        base->file.path, "aeron:ipc", rsti_load_acquire_i64(&publication->position),
        &base->tether_times};
}

rsti_link_target_t rsti_image_target(rsti_image_t *image)
{
    return (rsti_link_target_t){&image->subscribers, image->correlation_id, image->session_id,
        image->file.path, image->source, rsti_image_join_position(image), NULL};
}

/* Allocates the position counter of a new subscriber and fills *subscriber. */
static int allocate_position(rst_driver_t *driver, const rsti_link_target_t *target,
    rsti_subscription_t *subscription, rsti_subscriber_t *subscriber)
{
    const rsti_stream_counter_t counter = {
        .type_id = RSTI_COUNTER_SUBSCRIBER_POSITION,
        .name = "sub-pos",
        .registration_id = subscription->registration_id,
        .client_id = subscription->client_id,
        .reference_id = target->image_id,
        .session_id = target->session_id,
        .stream_id = subscription->stream_id,
        .uri = subscription->uri,
        .has_join_position = true,
        .value = target->join_position,
    };
    *subscriber = (rsti_subscriber_t){
        .subscription = subscription,
        .accepted = target->join_position,
        .tether =
            {
                .is_tethered = subscription->is_tethered,
                .is_followed = subscription->is_tethered,
                .is_rejoin = subscription->is_rejoin,
                .since_ns = driver->conductor->now_ns,
                .times = target->times == NULL ? subscription->tether_times : *target->times,
            },
    };
    rsti_eviction_times(subscription, &subscriber->tether);
    subscriber->counter_id = rsti_stream_counter_allocate(driver, &counter, &subscriber->position);
    return subscriber->counter_id < 0 ? -rst_last_error_code() : 0;
}

/* Several destinations of a subscription may match one log. The subscription then has one image
 * and reads it once. A second position would never move and would block the publisher forever. */
static bool is_read_already(const rsti_link_target_t *target,
    const rsti_subscription_t *subscription)
{
    for (int32_t i = 0; i < target->subscribers->count; i++) {
        if (target->subscribers->items[i].subscription->registration_id
            == subscription->registration_id) {
            return true;
        }
    }
    return false;
}

/* Returns 1: added, 0: there is nothing to do, or a negative error code with a trail. */
static int add_subscriber(rst_driver_t *driver, const rsti_link_target_t *target,
    rsti_subscription_t *subscription)
{
    rsti_subscriber_t subscriber;
    if (is_read_already(target, subscription) || rsti_is_evicted(subscription)) {
        return 0;
    }
    if (allocate_position(driver, target, subscription, &subscriber) < 0) {
        return -rst_last_error_code();
    }
    if (rsti_subscribers_add(target->subscribers, &subscriber) < 0) {
        rsti_counter_release_written(driver, &subscriber.counter_id);
        return -RST_ENOMEM;
    }
    return 1;
}

static void tell_available(rst_driver_t *driver, const rsti_link_target_t *target,
    const rsti_subscriber_t *subscriber)
{
    rsti_respond_available(driver, target->image_id, target->session_id,
        subscriber->subscription->stream_id, subscriber, target->path, target->source);
}

static int link_log(rst_driver_t *driver, const rsti_link_target_t *target,
    rsti_subscription_t *subscription)
{
    const int added = add_subscriber(driver, target, subscription);
    if (added > 0) {
        tell_available(driver, target, &target->subscribers->items[target->subscribers->count - 1]);
    }
    return added < 0 ? added : 0;
}

int rsti_link_ipc(rst_driver_t *driver, rsti_ipc_publication_t *publication,
    rsti_subscription_t *subscription)
{
    const rsti_link_target_t target = rsti_ipc_target(publication);
    const int result = link_log(driver, &target, subscription);
    rsti_ipc_publication_on_subscribers_changed(driver, publication);
    return result;
}

int rsti_link_spy(rst_driver_t *driver, rsti_network_publication_t *publication,
    rsti_subscription_t *subscription)
{
    const rsti_link_target_t target = rsti_spy_target(publication);
    const int result = link_log(driver, &target, subscription);
    rsti_network_publication_on_spies_changed(driver, publication);
    return result;
}

int rsti_link_image(rst_driver_t *driver, rsti_image_t *image, rsti_subscription_t *subscription)
{
    if (image->life == RSTI_LIFE_ACTIVE) { /* else the receiver may be sending it */
        rsti_free(image->leave_reason); /* it was said by a reader that is not the last one */
        image->leave_reason = NULL;
    }
    const rsti_link_target_t target = rsti_image_target(image);
    return link_log(driver, &target, subscription);
}

bool rsti_subscription_spies_on(const rsti_subscription_t *subscription,
    const rsti_network_publication_t *publication)
{
    const rsti_send_endpoint_t *endpoint = publication->endpoint;
    if (!subscription->is_spy || subscription->stream_id != publication->base.stream_id) {
        return false;
    }
    if (subscription->channel_tag != RSTI_CHANNEL_UNSET
        && subscription->channel_tag == endpoint->udp.channel_tag) {
        return true;
    }
    return strcmp(subscription->canonical, endpoint->udp.canonical) == 0
        && rsti_subscription_wants(subscription, publication->base.stream_id,
            publication->base.session_id);
}

int32_t rsti_link_ipc_quietly(rst_driver_t *driver, rsti_ipc_publication_t *publication)
{
    const rsti_ptr_array_t *subscriptions = &driver->conductor->subscriptions;
    const rsti_link_target_t target = rsti_ipc_target(publication);
    const int32_t first = target.subscribers->count;
    for (size_t i = 0; i < subscriptions->count; i++) {
        rsti_subscription_t *subscription = subscriptions->items[i];
        if (subscription->is_ipc
            && rsti_subscription_wants(subscription, publication->base.stream_id,
                publication->base.session_id)
            && add_subscriber(driver, &target, subscription) < 0) {
            rsti_driver_log_trail(driver, "conductor");
        }
    }
    rsti_ipc_publication_on_subscribers_changed(driver, publication);
    return first;
}

void rsti_tell_ipc_subscribers(rst_driver_t *driver, rsti_ipc_publication_t *publication,
    int32_t first)
{
    const rsti_link_target_t target = rsti_ipc_target(publication);
    for (int32_t i = first; i < target.subscribers->count; i++) {
        tell_available(driver, &target, &target.subscribers->items[i]);
    }
}

void rsti_link_spies(rst_driver_t *driver, rsti_network_publication_t *publication)
{
    const rsti_ptr_array_t *subscriptions = &driver->conductor->subscriptions;
    for (size_t i = 0; i < subscriptions->count; i++) {
        if (rsti_subscription_spies_on(subscriptions->items[i], publication)
            && rsti_link_spy(driver, publication, subscriptions->items[i]) < 0) {
            rsti_driver_log_trail(driver, "conductor");
        }
    }
}

static void link_existing_ipc(rst_driver_t *driver, rsti_subscription_t *subscription)
{
    const rsti_ptr_array_t *publications = &driver->conductor->ipc_publications;
    for (size_t i = 0; i < publications->count; i++) {
        rsti_ipc_publication_t *publication = publications->items[i];
        if (rsti_subscription_wants(subscription, publication->base.stream_id,
                publication->base.session_id)
            && rsti_ipc_publication_accepts(publication)
            && rsti_link_ipc(driver, publication, subscription) < 0) {
            rsti_driver_log_trail(driver, "conductor");
        }
    }
}

static void link_existing_spied(rst_driver_t *driver, rsti_subscription_t *subscription)
{
    const rsti_ptr_array_t *publications = &driver->conductor->publications;
    for (size_t i = 0; i < publications->count; i++) {
        rsti_network_publication_t *publication = publications->items[i];
        if (publication->base.life <= RSTI_LIFE_DRAINING
            && rsti_subscription_spies_on(subscription, publication)
            && rsti_link_spy(driver, publication, subscription) < 0) {
            rsti_driver_log_trail(driver, "conductor");
        }
    }
}

static void link_existing_images(rst_driver_t *driver, rsti_subscription_t *subscription)
{
    const rsti_ptr_array_t *images = &driver->conductor->images;
    for (size_t i = 0; i < images->count; i++) {
        rsti_image_t *image = images->items[i];
        if (image->endpoint == subscription->endpoint
            && rsti_subscription_wants(subscription, image->stream_id, image->session_id)
            && rsti_image_accepts(image) && rsti_link_image(driver, image, subscription) < 0) {
            rsti_driver_log_trail(driver, "conductor");
        }
    }
}

void rsti_link_existing(rst_driver_t *driver, rsti_subscription_t *subscription)
{
    if (subscription->is_ipc) {
        link_existing_ipc(driver, subscription);
    } else if (subscription->is_spy) {
        link_existing_spied(driver, subscription);
    } else {
        link_existing_images(driver, subscription);
    }
}

void rsti_unlink_subscription(rst_driver_t *driver, const rsti_subscription_t *subscription)
{
    rsti_conductor_t *conductor = driver->conductor;
    for (size_t i = 0; subscription->is_ipc && i < conductor->ipc_publications.count; i++) {
        rsti_ipc_publication_t *publication = conductor->ipc_publications.items[i];
        /* The next reader begins where this one stops, so its position is read first. */
        rsti_ipc_publication_update(driver, publication, conductor->now_ns);
        if (rsti_subscribers_unlink(driver, &publication->base.subscribers, subscription)) {
            rsti_ipc_publication_on_subscribers_changed(driver, publication);
        }
    }
    for (size_t i = 0; subscription->is_spy && i < conductor->publications.count; i++) {
        rsti_network_publication_t *publication = conductor->publications.items[i];
        if (rsti_subscribers_unlink(driver, &publication->base.subscribers, subscription)) {
            rsti_network_publication_on_spies_changed(driver, publication);
        }
    }
    for (size_t i = 0; i < conductor->images.count; i++) {
        rsti_image_t *image = conductor->images.items[i];
        rsti_image_note_consumed(driver, image);
        (void)rsti_subscribers_unlink(driver, &image->subscribers, subscription);
    }
}

static void pass_on(rsti_subscribers_t *subscribers, const rsti_subscription_t *from,
    rsti_subscription_t *to)
{
    for (int32_t i = 0; i < subscribers->count; i++) {
        if (subscribers->items[i].subscription == from) {
            subscribers->items[i].subscription = to;
        }
    }
}

void rsti_subscription_hand_over(rst_driver_t *driver, const rsti_subscription_t *from,
    rsti_subscription_t *to)
{
    const rsti_conductor_t *conductor = driver->conductor;
    for (size_t i = 0; to->is_ipc && i < conductor->ipc_publications.count; i++) {
        rsti_publication_t *base = conductor->ipc_publications.items[i];
        if (rsti_subscription_wants(to, base->stream_id, base->session_id)) {
            pass_on(&base->subscribers, from, to);
        }
    }
    for (size_t i = 0; i < conductor->publications.count; i++) {
        rsti_network_publication_t *publication = conductor->publications.items[i];
        if (rsti_subscription_spies_on(to, publication)) {
            pass_on(&publication->base.subscribers, from, to);
        }
    }
}

void rsti_subscription_tell_unavailable(rst_driver_t *driver,
    const rsti_subscription_t *subscription)
{
    const rsti_conductor_t *conductor = driver->conductor;
    const rsti_ptr_array_t *lists[] = {&conductor->ipc_publications, &conductor->publications};
    for (size_t l = 0; l < 2; l++) {
        for (size_t i = 0; i < lists[l]->count; i++) {
            rsti_publication_t *base = lists[l]->items[i];
            rsti_subscribers_tell_one_unavailable(driver, &base->subscribers, subscription,
                base->registration_id);
        }
    }
}
