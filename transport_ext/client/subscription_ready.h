/* subscription_ready.h: whether a waiter for a subscription should return. */
#ifndef RSTI_CLIENT_SUBSCRIPTION_READY_H
#define RSTI_CLIENT_SUBSCRIPTION_READY_H

#include "client/image.h"
#include "client/subscription.h"

/* Whether a poll may find something. *events_told is the tail of the event ring when this waiter
 * was last ended by an event; the call moves it on. So an event ends one wait of each waiter and
 * not every wait: a user that never reads events can still sleep. Takes subscription->lock. */
bool rsti_subscription_is_ready(rst_subscription_t *subscription, uint32_t *events_told);
/* Whether a new frame in the image would make the subscription ready. The caller holds
 * subscription->lock. */
bool rsti_subscription_awaits_frame(const rst_subscription_t *subscription,
    const rst_image_t *image);

#endif
