/* conductor_links.c: what links subscriptions to logs: position counters, the news of images, and
 * untethered subscribers (driver reference 6, wire reference 15 and 16). */
#include "driver/internal.h"

#include "util/error.h"

#include <inttypes.h>

/* A log that a subscription is linked to. */
typedef struct target_t {
    rsti_subscribers_t *subscribers;
    int64_t image_id;
    int32_t session_id;
    const char *path;
    const char *source;
    int64_t join_position;
    const rsti_tether_times_t *times; /* NULL: the subscription's own */
} target_t;

static target_t ipc_target(rsti_ipc_publication_t *publication)
{
    rsti_publication_t *base = &publication->base;
    return (target_t){&base->subscribers, base->registration_id, base->session_id, base->file.path,
        "aeron:ipc", rsti_ipc_publication_join_position(publication), &base->tether_times};
}

static target_t spy_target(rsti_network_publication_t *publication)
{
    rsti_publication_t *base = &publication->base;
    return (target_t){&base->subscribers, base->registration_id, base->session_id, base->file.path,
        "aeron:ipc", rsti_load_acquire_i64(&publication->position), &base->tether_times};
}

static target_t image_target(rsti_image_t *image)
{
    return (target_t){&image->subscribers, image->correlation_id, image->session_id,
        image->file.path, image->source, rsti_image_join_position(image), NULL};
}

static int64_t or_default(int64_t value, int64_t value_default)
{
    return value == RSTI_CHANNEL_UNSET ? value_default : value;
}

rsti_tether_times_t rsti_tether_times_of(const rst_driver_params_t *params,
    const rsti_channel_t *channel)
{
    rsti_tether_times_t times = {
        .window_limit_ns = or_default(channel->untethered_window_limit_ns,
            params->untethered_window_limit_ns),
        .linger_ns = or_default(channel->untethered_linger_ns, params->untethered_linger_ns),
        .resting_ns = or_default(channel->untethered_resting_ns, params->untethered_resting_ns),
    };
    /* 0 as the driver's default: the same as the window limit. A channel may really say 0. */
    if (channel->untethered_linger_ns == RSTI_CHANNEL_UNSET && times.linger_ns == 0) {
        times.linger_ns = times.window_limit_ns;
    }
    return times;
}

/* Position counter of a new subscriber; *subscriber is filled. */
static int allocate_position(rst_driver_t *driver, const target_t *target,
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
                .is_rejoin = subscription->is_rejoin,
                .since_ns = driver->conductor.now_ns,
                .times = target->times == NULL ? subscription->tether_times : *target->times,
            },
    };
    rsti_eviction_times(subscription, &subscriber->tether);
    subscriber->counter_id = rsti_stream_counter_allocate(driver, &counter, &subscriber->position);
    return subscriber->counter_id < 0 ? -rst_last_error_code() : 0;
}

/* Several destinations of a subscription may bring one log. It has one image of it and reads that
 * once: a second position would stand still and hold up the publisher for ever. */
static bool is_read_already(const target_t *target, const rsti_subscription_t *subscription)
{
    for (int32_t i = 0; i < target->subscribers->count; i++) {
        if (target->subscribers->items[i].subscription->registration_id
            == subscription->registration_id) {
            return true;
        }
    }
    return false;
}

static int link_log(rst_driver_t *driver, const target_t *target, rsti_subscription_t *subscription)
{
    rsti_subscriber_t subscriber;
    if (is_read_already(target, subscription) || rsti_is_evicted(subscription)) {
        return 0;
    }
    if (allocate_position(driver, target, subscription, &subscriber) < 0) {
        return -rst_last_error_code();
    }
    if (rsti_subscribers_add(target->subscribers, &subscriber) < 0) {
        rsti_counter_release(driver, &subscriber.counter_id);
        return -RST_ENOMEM;
    }
    rsti_respond_available(driver, target->image_id, target->session_id, subscription->stream_id,
        &subscriber, target->path, target->source);
    return 0;
}

int rsti_link_ipc(rst_driver_t *driver, rsti_ipc_publication_t *publication,
    rsti_subscription_t *subscription)
{
    const target_t target = ipc_target(publication);
    const int result = link_log(driver, &target, subscription);
    rsti_ipc_publication_on_subscribers_changed(driver, publication);
    return result;
}

int rsti_link_spy(rst_driver_t *driver, rsti_network_publication_t *publication,
    rsti_subscription_t *subscription)
{
    const target_t target = spy_target(publication);
    const int result = link_log(driver, &target, subscription);
    rsti_network_publication_on_spies_changed(driver, publication);
    return result;
}

int rsti_link_image(rst_driver_t *driver, rsti_image_t *image, rsti_subscription_t *subscription)
{
    const target_t target = image_target(image);
    return link_log(driver, &target, subscription);
}

bool rsti_subscription_wants(const rsti_subscription_t *subscription, int32_t stream_id,
    int32_t session_id)
{
    return subscription->stream_id == stream_id
        && (subscription->has_session ? subscription->session_id == session_id
                                      : !subscription->is_response);
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

void rsti_link_ipc_subscribers(rst_driver_t *driver, rsti_ipc_publication_t *publication)
{
    const rsti_ptr_array_t *subscriptions = &driver->conductor.subscriptions;
    for (size_t i = 0; i < subscriptions->count; i++) {
        rsti_subscription_t *subscription = subscriptions->items[i];
        if (subscription->is_ipc
            && rsti_subscription_wants(subscription, publication->base.stream_id,
                publication->base.session_id)
            && rsti_link_ipc(driver, publication, subscription) < 0) {
            rsti_driver_log_trail(driver, "conductor");
        }
    }
}

void rsti_link_spies(rst_driver_t *driver, rsti_network_publication_t *publication)
{
    const rsti_ptr_array_t *subscriptions = &driver->conductor.subscriptions;
    for (size_t i = 0; i < subscriptions->count; i++) {
        if (rsti_subscription_spies_on(subscriptions->items[i], publication)
            && rsti_link_spy(driver, publication, subscriptions->items[i]) < 0) {
            rsti_driver_log_trail(driver, "conductor");
        }
    }
}

static void link_existing_ipc(rst_driver_t *driver, rsti_subscription_t *subscription)
{
    const rsti_ptr_array_t *publications = &driver->conductor.ipc_publications;
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
    const rsti_ptr_array_t *publications = &driver->conductor.publications;
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
    const rsti_ptr_array_t *images = &driver->conductor.images;
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
    rsti_conductor_t *conductor = &driver->conductor;
    for (size_t i = 0; subscription->is_ipc && i < conductor->ipc_publications.count; i++) {
        rsti_ipc_publication_t *publication = conductor->ipc_publications.items[i];
        /* What it has consumed up to now is where the next reader begins. */
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
    const rsti_conductor_t *conductor = &driver->conductor;
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

bool rsti_subscribers_unlink(rst_driver_t *driver, rsti_subscribers_t *subscribers,
    const rsti_subscription_t *subscription)
{
    bool has_changed = false;
    for (int32_t i = subscribers->count; i > 0; i--) {
        if (subscribers->items[i - 1].subscription == subscription) {
            rsti_counter_release(driver, &subscribers->items[i - 1].counter_id);
            rsti_subscribers_remove_at(subscribers, i - 1);
            has_changed = true;
        }
    }
    return has_changed;
}

/* False: it knows already, or it was let go before. */
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

static void tell_one_unavailable(rst_driver_t *driver, rsti_subscribers_t *subscribers,
    const rsti_subscription_t *subscription, int64_t image_id)
{
    for (int32_t i = 0; i < subscribers->count; i++) {
        if (subscribers->items[i].subscription == subscription) {
            (void)tell_unavailable(driver, &subscribers->items[i], image_id);
        }
    }
}

void rsti_subscription_tell_unavailable(rst_driver_t *driver,
    const rsti_subscription_t *subscription)
{
    const rsti_conductor_t *conductor = &driver->conductor;
    const rsti_ptr_array_t *lists[] = {&conductor->ipc_publications, &conductor->publications};
    for (size_t l = 0; l < 2; l++) {
        for (size_t i = 0; i < lists[l]->count; i++) {
            rsti_publication_t *base = lists[l]->items[i];
            tell_one_unavailable(driver, &base->subscribers, subscription, base->registration_id);
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
        rsti_counter_release(driver, &subscribers->items[i].counter_id);
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
                "%s stream %" PRId32 ": counter %" PRId32 " holds an impossible position, %" PRId64
                " is taken instead",
                subscription->uri, subscription->stream_id, subscriber->counter_id,
                subscriber->accepted);
            rsti_driver_log_trail(driver, "conductor");
            subscriber->is_told = true;
        }
    }
}

static void on_tether_event(rst_driver_t *driver, const target_t *target, int32_t index,
    rsti_tether_event_t event)
{
    rsti_subscriber_t *subscriber = &target->subscribers->items[index];
    switch (event) {
    case RSTI_TETHER_LET_GO:
        if (subscriber->tether.is_evicting) {
            rsti_evict(driver, subscriber->subscription);
        } else {
            rsti_respond_let_go(driver, target->image_id, subscriber->subscription);
        }
        break;
    case RSTI_TETHER_CLOSE:
        rsti_counter_release(driver, &subscriber->counter_id);
        rsti_subscribers_remove_at(target->subscribers, index);
        break;
    case RSTI_TETHER_REJOIN:
        subscriber->accepted = target->join_position;
        subscriber->is_refused = false;
        rsti_store_release_i64(subscriber->position, target->join_position);
        rsti_respond_available(driver, target->image_id, target->session_id,
            subscriber->subscription->stream_id, subscriber, target->path, target->source);
        break;
    case RSTI_TETHER_REST:
    case RSTI_TETHER_NOTHING:
        break;
    }
}

/* How far behind is too far: of Aeron's untethered readers, measured from the one that is farthest;
 * of those that are evicted from where the stream is, for there may be no other reader here. */
typedef struct limits_t {
    int64_t untethered;
    int64_t evicting;
} limits_t;

static limits_t limits(int64_t base, int64_t head, int64_t window)
{
    return (limits_t){rsti_tether_limit(base, window), rsti_tether_limit(head, window)};
}

/* True when somebody stopped or began to hold the window. */
static bool check_tethers(rst_driver_t *driver, const target_t *target, limits_t limit,
    rsti_life_t life)
{
    bool has_changed = false;
    for (int32_t i = target->subscribers->count; i > 0; i--) {
        rsti_subscriber_t *subscriber = &target->subscribers->items[i - 1];
        if (life != RSTI_LIFE_ACTIVE && !subscriber->tether.is_evicting) {
            continue; /* Aeron's: a stream that ends waits for all of its readers */
        }
        const rsti_tether_event_t event = rsti_tether_check(&subscriber->tether,
            subscriber->accepted,
            subscriber->tether.is_evicting ? limit.evicting : limit.untethered,
            driver->conductor.now_ns);
        on_tether_event(driver, target, i - 1, event);
        has_changed = has_changed || event > RSTI_TETHER_LET_GO;
    }
    return has_changed;
}

static void check_ipc(rst_driver_t *driver, rsti_ipc_publication_t *publication)
{
    const rsti_publication_t *base = &publication->base;
    const target_t target = ipc_target(publication);
    if (check_tethers(driver, &target,
            limits(publication->consumer_position, rsti_load_relaxed_i64(base->pub_pos),
                base->options.publication_window),
            base->life)) {
        rsti_ipc_publication_on_subscribers_changed(driver, publication);
    }
}

static void check_spies(rst_driver_t *driver, rsti_network_publication_t *publication)
{
    const target_t target = spy_target(publication);
    if (check_tethers(driver, &target,
            limits(target.join_position, target.join_position,
                publication->base.options.publication_window),
            publication->base.life)) {
        rsti_network_publication_on_spies_changed(driver, publication);
    }
}

static void check_image(rst_driver_t *driver, rsti_image_t *image)
{
    int64_t least, highest;
    if (rsti_subscribers_range(&image->subscribers, image->clean_position,
            image->file.log.term_length, &least, &highest)) {
        const target_t target = image_target(image);
        (void)check_tethers(driver, &target,
            limits(highest, image->received, image->next_sm_window), image->life);
    }
}

void rsti_tethers_check(rst_driver_t *driver)
{
    const rsti_conductor_t *conductor = &driver->conductor;
    for (size_t i = 0; i < conductor->ipc_publications.count; i++) {
        rsti_ipc_publication_t *publication = conductor->ipc_publications.items[i];
        if (publication->base.life <= RSTI_LIFE_DRAINING
            && publication->base.subscribers.count > 0) {
            check_ipc(driver, publication);
        }
    }
    for (size_t i = 0; i < conductor->publications.count; i++) {
        rsti_network_publication_t *publication = conductor->publications.items[i];
        if (publication->base.life <= RSTI_LIFE_DRAINING
            && publication->base.subscribers.count > 0) {
            check_spies(driver, publication);
        }
    }
    for (size_t i = 0; i < conductor->images.count; i++) {
        rsti_image_t *image = conductor->images.items[i];
        if (image->life <= RSTI_LIFE_DRAINING && image->subscribers.count > 0) {
            check_image(driver, image);
        }
    }
}
