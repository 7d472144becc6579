/* demand.h: request(n) of a subscription, and how it reaches the publishers.
 *
 * The demand is one atomic number: requested and not yet delivered. INT64_MAX means unbounded and
 * never decreases (Reactive Streams 3.17).
 *
 * A publisher receives it as a pair: a position, and the number of messages wanted behind it. A
 * message that was handed out counts as wanted until its batch is released, because only then the
 * position moves over it. So the pair does not change while messages are read, and rises with each
 * request.
 *
 * A subscription may tell a demand that limits no poll (tell_demand). Then every message that it
 * hands out lowers the demand, down to 0: also a message that its publisher sent unasked. */
#ifndef RSTI_CLIENT_DEMAND_H
#define RSTI_CLIENT_DEMAND_H

#include "client/image.h"
#include "client/subscription.h"

/* Any thread. */
static inline int64_t rsti_demand_now(const rst_subscription_t *subscription)
{
    return rsti_load_acquire_i64(&subscription->demand);
}

/* Takes `count` delivered messages off the demand. */
void rsti_demand_spend(rst_subscription_t *subscription, int64_t count);
/* Takes `count` messages of a poll that demand does not limit off a demand that is only told.
 * Returns how many of them the demand covered; 0 without such a demand or without a limit. The
 * caller holds subscription->lock. */
int64_t rsti_demand_spend_told(rst_subscription_t *subscription, int64_t count);
/* Tells the driver, once, that this reader was given a message. The caller holds
 * subscription->lock. */
void rsti_demand_tell_reading(rst_image_t *image);
/* Tells the driver that this reader has set messages aside, and how far it has read. The caller
 * holds subscription->lock. */
void rsti_demand_set_aside(rst_subscription_t *subscription);
/* Tells the driver the demand before a poll and the mean length of what the poll handed out. The
 * caller holds subscription->lock. */
void rsti_demand_tell(rst_subscription_t *subscription, int64_t demand, int64_t bytes,
    int64_t count);
/* Writes the demand for the publishers, and wakes them when it has risen. An unchanged demand costs
 * two loads. The caller holds subscription->lock. */
void rsti_demand_cross(rst_subscription_t *subscription);

#endif
