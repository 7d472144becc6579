/* tethers.c: see tethers.h. */
#include "driver/conductor/tethers.h"

#include "driver/base/counters.h"
#include "driver/base/subscribers.h"
#include "driver/base/tether.h"
#include "driver/conductor/eviction.h"
#include "driver/conductor/ipc_publication.h"
#include "driver/conductor/links.h"
#include "driver/conductor/network_publication.h"
#include "driver/conductor/responses.h"

static void on_tether_event(rst_driver_t *driver, const rsti_link_target_t *target, int32_t index,
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
        rsti_counter_release_written(driver, &subscriber->counter_id);
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

/* A reader below its limit is too far behind. The limit of Aeron's untethered readers counts from
 * the furthest reader. The limit of readers with rs-evict counts from the head of the stream,
 * because there may be no other reader here. */
typedef struct limits_t {
    int64_t untethered;
    int64_t evicting;
} limits_t;

static limits_t limits(int64_t base, int64_t head, int64_t window)
{
    return (limits_t){rsti_tether_limit(base, window), rsti_tether_limit(head, window)};
}

/* True when a reader has stopped holding the window or begins to hold it. */
static bool check_tethers(rst_driver_t *driver, const rsti_link_target_t *target, limits_t limit,
    rsti_life_t life)
{
    bool has_changed = false;
    for (int32_t i = target->subscribers->count; i > 0; i--) {
        rsti_subscriber_t *subscriber = &target->subscribers->items[i - 1];
        if (life != RSTI_LIFE_ACTIVE && !subscriber->tether.is_evicting) {
            continue; /* as in Aeron, a stream that ends waits for all readers */
        }
        const rsti_tether_event_t event = rsti_tether_check(&subscriber->tether,
            subscriber->accepted,
            subscriber->tether.is_evicting ? limit.evicting : limit.untethered,
            driver->conductor->now_ns);
        on_tether_event(driver, target, i - 1, event);
        has_changed = has_changed || event > RSTI_TETHER_LET_GO;
    }
    return has_changed;
}

static void check_ipc(rst_driver_t *driver, rsti_ipc_publication_t *publication)
{
    const rsti_publication_t *base = &publication->base;
    const rsti_link_target_t target = rsti_ipc_target(publication);
    if (check_tethers(driver, &target,
            limits(publication->consumer_position, rsti_load_relaxed_i64(base->pub_pos),
                base->options.publication_window),
            base->life)) {
        rsti_ipc_publication_on_subscribers_changed(driver, publication);
    }
}

static void check_spies(rst_driver_t *driver, rsti_network_publication_t *publication)
{
    const rsti_link_target_t target = rsti_spy_target(publication);
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
        const rsti_link_target_t target = rsti_image_target(image);
        (void)check_tethers(driver, &target,
            limits(highest, image->received, image->next_sm_window), image->life);
    }
}

void rsti_tethers_check(rst_driver_t *driver)
{
    const rsti_conductor_t *conductor = driver->conductor;
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
