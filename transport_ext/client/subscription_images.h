/* subscription_images.h: images of a subscription come and go.
 *
 * A new image of a session whose last image is unavailable and not read to its end waits as its
 * heir, unseen by the user. So the messages and the events of a session keep their order. */
#ifndef RSTI_CLIENT_SUBSCRIPTION_IMAGES_H
#define RSTI_CLIENT_SUBSCRIPTION_IMAGES_H

#include "client/image.h"
#include "client/subscription.h"

/* ---- called by the conductor, under client->lock; each takes subscription->lock ---- */

void rsti_subscription_add_image(rst_subscription_t *subscription, const rsti_response_t *response);
/* Why the driver ends an image. */
typedef struct rsti_image_end_t {
    bool is_let_go;     /* the stream goes on without this reader */
    int64_t evicted_ms; /* since when; 0: no eviction */
    int64_t goes_on_at; /* position of the image that follows an overrun; 0: it was not overrun */
} rsti_image_end_t;
void rsti_subscription_image_unavailable(rst_subscription_t *subscription,
    int64_t image_correlation_id, const rsti_image_end_t *end);
/* The connection to the driver is lost. can_drain: the messages still in memory may be read. */
void rsti_subscription_lose_images(rst_subscription_t *subscription, bool can_drain);
/* Marks the subscription as closed and drops its images. */
void rsti_subscription_kill(rst_subscription_t *subscription);

/* ---- the caller holds subscription->lock ---- */

/* Ends images that are let go, corrupt, or closing and drained; each end makes an event. Not while
 * a callback runs: what the callback receives counts as handed out, and the event tells how far. */
void rsti_subscription_settle(rst_subscription_t *subscription);
/* Ends only the images that are let go. */
void rsti_subscription_end_let_go(rst_subscription_t *subscription);

#endif
