/* subscriber_news.h: what the readers of a log are told when it goes, and what goes with them. */
#ifndef RSTI_DRIVER_CONDUCTOR_SUBSCRIBER_NEWS_H
#define RSTI_DRIVER_CONDUCTOR_SUBSCRIBER_NEWS_H

#include "driver/base/subscribers.h"
#include "driver/conductor/conductor_state.h"
#include "driver/conductor/subscription.h"

/* True when it was there. */
bool rsti_subscribers_unlink(rst_driver_t *driver, rsti_subscribers_t *subscribers,
    const rsti_subscription_t *subscription);
/* UNAVAILABLE_IMAGE to each of them that has it. */
void rsti_subscribers_tell_unavailable(rst_driver_t *driver, rsti_subscribers_t *subscribers,
    int64_t image_id);
/* Only to rstream's clients, which read what is left and note the end by themselves. Aeron's forget
 * an image as soon as they are told, so their users would miss its end of stream: they are told
 * later. True when one was told. */
bool rsti_subscribers_tell_ours_unavailable(rst_driver_t *driver, rsti_subscribers_t *subscribers,
    int64_t image_id);
bool rsti_subscribers_know_unavailable(const rsti_subscribers_t *subscribers);
void rsti_subscribers_clear(rst_driver_t *driver, rsti_subscribers_t *subscribers);
/* Into the error log, once per subscriber: its position counter holds something impossible. */
void rsti_subscribers_tell_refused(rst_driver_t *driver, const rsti_subscribers_t *subscribers);
/* The same, to one of them. */
void rsti_subscribers_tell_one_unavailable(rst_driver_t *driver, rsti_subscribers_t *subscribers,
    const rsti_subscription_t *subscription, int64_t image_id);

#endif
