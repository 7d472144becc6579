/* eviction.h: evicts a subscription that holds a stream back and has not moved for rs-evict. The
 * eviction is final and covers all logs of the subscription, because one consumer thread reads
 * them all.
 *
 * Law: the other readers go on at most rs-evict plus two checks after the last move of the evicted
 * position at the end of the window. The driver evicts the subscription after three quarters of
 * rs-evict. During the last quarter the unread memory stays unchanged. A live consumer comes back
 * only by subscribing again. A subscription that came back by itself would hold the stream again
 * and again. docs/how-to/slow-consumers.md. */
#ifndef RSTI_DRIVER_CONDUCTOR_EVICTION_H
#define RSTI_DRIVER_CONDUCTOR_EVICTION_H

#include "driver/conductor/conductor_state.h"
#include "driver/conductor/subscription.h"

/* Starts the checks for a new subscription. evict_ns 0: no eviction. */
void rsti_eviction_watch(rst_driver_t *driver, rsti_subscription_t *subscription, int64_t evict_ns);
/* Sets the times of the tether if the subscription uses rs-evict. */
void rsti_eviction_times(const rsti_subscription_t *subscription, rsti_tether_t *tether);
/* Evicts the subscription: its logs go on without it, its client is told, and the error log gets
 * an entry. */
void rsti_evict(rst_driver_t *driver, rsti_subscription_t *subscription);
/* Each pass. Plans the next check of the tethers. The caller runs rsti_tethers_check (tethers.h)
 * first when one is due. */
void rsti_evictions_poll(rst_driver_t *driver, int64_t now_ns, int64_t *next_deadline_ns);

#endif
