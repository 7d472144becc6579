/* links.h: what links subscriptions to logs: position counters, and the news of images
 * (docs/reference/aeron/driver.md 6, docs/reference/aeron/wire.md 15). */
#ifndef RSTI_DRIVER_CONDUCTOR_LINKS_H
#define RSTI_DRIVER_CONDUCTOR_LINKS_H

#include "driver/conductor/conductor_state.h"
#include "driver/conductor/ipc_publication.h"
#include "driver/conductor/subscription.h"
#include "driver/receiver/image.h"
#include "driver/sender/network_publication.h"

/* A log that a subscription is linked to. */
typedef struct rsti_link_target_t {
    rsti_subscribers_t *subscribers;
    int64_t image_id;
    int32_t session_id;
    const char *path;
    const char *source;
    int64_t join_position;
    const rsti_tether_times_t *times; /* NULL: the subscription's own */
} rsti_link_target_t;
rsti_link_target_t rsti_ipc_target(rsti_ipc_publication_t *publication);
rsti_link_target_t rsti_spy_target(rsti_network_publication_t *publication);
rsti_link_target_t rsti_image_target(rsti_image_t *image);

/* One subscriber of a log: counter, then AVAILABLE_IMAGE. */
int rsti_link_ipc(rst_driver_t *driver, rsti_ipc_publication_t *publication,
    rsti_subscription_t *subscription);
int rsti_link_spy(rst_driver_t *driver, rsti_network_publication_t *publication,
    rsti_subscription_t *subscription);
int rsti_link_image(rst_driver_t *driver, rsti_image_t *image, rsti_subscription_t *subscription);
void rsti_link_ipc_subscribers(rst_driver_t *driver, rsti_ipc_publication_t *publication);
void rsti_link_spies(rst_driver_t *driver, rsti_network_publication_t *publication);
/* Links it to every log that it wants. */
void rsti_link_existing(rst_driver_t *driver, rsti_subscription_t *subscription);
void rsti_unlink_subscription(rst_driver_t *driver, const rsti_subscription_t *subscription);
/* from goes. A log that to, of the same registration, brings as well is read for to from now on, at
 * the position where from stood. */
void rsti_subscription_hand_over(rst_driver_t *driver, const rsti_subscription_t *from,
    rsti_subscription_t *to);
/* UNAVAILABLE_IMAGE of all publications that it is linked to. */
void rsti_subscription_tell_unavailable(rst_driver_t *driver,
    const rsti_subscription_t *subscription);
bool rsti_subscription_spies_on(const rsti_subscription_t *subscription,
    const rsti_network_publication_t *publication);

#endif
