/* eviction.h: a subscription that stands still for rs-evict while it holds a stream back is let go,
 * as a whole and for good: its consumer is one thread, and hangs for all of its logs. Law: from the
 * last move of its position at the window's end to the moment when the others may go on lie
 * rs-evict and two looks at most; three quarters of it pass before it is told, in the rest what it
 * holds stays as it is. It comes back only by subscribing again, when its consumer lives: one that
 * came back by itself would hold the stream again and again. docs/how-to/slow-consumers.md. */
#ifndef RSTI_DRIVER_CONDUCTOR_EVICTION_H
#define RSTI_DRIVER_CONDUCTOR_EVICTION_H

#include "driver/conductor/conductor_state.h"
#include "driver/conductor/subscription.h"

/* A new subscription asks for it, or not (evict_ns 0). */
void rsti_eviction_watch(rst_driver_t *driver, rsti_subscription_t *subscription, int64_t evict_ns);
/* Its tether, when it asks for it. */
void rsti_eviction_times(const rsti_subscription_t *subscription, rsti_tether_t *tether);
/* All its logs go on without it. */
void rsti_evict(rst_driver_t *driver, rsti_subscription_t *subscription);
/* Each pass; when it is time the caller has checked the tethers (tethers.h). */
void rsti_evictions_poll(rst_driver_t *driver, int64_t now_ns, int64_t *next_deadline_ns);

#endif
