/* links.h: links subscriptions to logs: position counters, and messages to clients about images
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
/* The target for each kind of log. Its pointers stay valid as long as the log's owner lives. */
rsti_link_target_t rsti_ipc_target(rsti_ipc_publication_t *publication);
rsti_link_target_t rsti_spy_target(rsti_network_publication_t *publication);
rsti_link_target_t rsti_image_target(rsti_image_t *image);

/* The three functions below add a subscriber to a log: they allocate its position counter and then
 * send AVAILABLE_IMAGE. They do nothing if the subscription reads the log already or is evicted.
 * Return 0, or a negative error code with a trail. */
int rsti_link_ipc(rst_driver_t *driver, rsti_ipc_publication_t *publication,
    rsti_subscription_t *subscription);
int rsti_link_spy(rst_driver_t *driver, rsti_network_publication_t *publication,
    rsti_subscription_t *subscription);
int rsti_link_image(rst_driver_t *driver, rsti_image_t *image, rsti_subscription_t *subscription);
/* Link all matching subscriptions to the publication, in two steps: the first one makes them its
 * readers and returns the index of the first new one, the second one tells the clients of those. A
 * new publication's client hears of it in between, as with Aeron. So a publisher that looks at
 * once, to end for example, finds its readers. Failures go to the error log. */
int32_t rsti_link_ipc_quietly(rst_driver_t *driver, rsti_ipc_publication_t *publication);
void rsti_tell_ipc_subscribers(rst_driver_t *driver, rsti_ipc_publication_t *publication,
    int32_t first);
/* Links all matching spies to the publication. Failures go to the error log. */
void rsti_link_spies(rst_driver_t *driver, rsti_network_publication_t *publication);
/* Links the subscription to all matching logs. Failures go to the error log. */
void rsti_link_existing(rst_driver_t *driver, rsti_subscription_t *subscription);
/* Removes the subscription from all logs, without a message to its client. */
void rsti_unlink_subscription(rst_driver_t *driver, const rsti_subscription_t *subscription);
/* The destination from is about to be removed. The destination to belongs to the same
 * subscription. It takes over the logs that both match, and reading goes on at the same position.
 */
void rsti_subscription_hand_over(rst_driver_t *driver, const rsti_subscription_t *from,
    rsti_subscription_t *to);
/* Sends UNAVAILABLE_IMAGE for all publications that the subscription is linked to. */
void rsti_subscription_tell_unavailable(rst_driver_t *driver,
    const rsti_subscription_t *subscription);
/* True when the subscription is a spy on this publication. */
bool rsti_subscription_spies_on(const rsti_subscription_t *subscription,
    const rsti_network_publication_t *publication);

#endif
