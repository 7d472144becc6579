/* subscriber_news.h: tells the readers of a log that it goes, and removes readers. */
#ifndef RSTI_DRIVER_CONDUCTOR_SUBSCRIBER_NEWS_H
#define RSTI_DRIVER_CONDUCTOR_SUBSCRIBER_NEWS_H

#include "driver/base/subscribers.h"
#include "driver/conductor/conductor_state.h"
#include "driver/conductor/subscription.h"

/* Removes the subscription from the readers and releases its position counter. True when it was
 * one of them. */
bool rsti_subscribers_unlink(rst_driver_t *driver, rsti_subscribers_t *subscribers,
    const rsti_subscription_t *subscription);
/* Sends UNAVAILABLE_IMAGE to each reader that has not got it yet. */
void rsti_subscribers_tell_unavailable(rst_driver_t *driver, rsti_subscribers_t *subscribers,
    int64_t image_id);
/* The same, for rstream clients only. They read the remaining data and detect the end by
 * themselves. An Aeron client forgets an image as soon as it gets the message, so its user would
 * miss the end of the stream; it gets the message later. True when a message was sent. */
bool rsti_subscribers_tell_ours_unavailable(rst_driver_t *driver, rsti_subscribers_t *subscribers,
    int64_t image_id);
/* True when no active reader still waits for UNAVAILABLE_IMAGE. */
bool rsti_subscribers_know_unavailable(const rsti_subscribers_t *subscribers);
/* Removes all readers and releases their position counters. */
void rsti_subscribers_clear(rst_driver_t *driver, rsti_subscribers_t *subscribers);
/* Writes to the error log, once per reader, that its position counter holds an impossible value. */
void rsti_subscribers_tell_refused(rst_driver_t *driver, const rsti_subscribers_t *subscribers);
/* Sends UNAVAILABLE_IMAGE to each reader that has not got it yet: the stream goes on at position in
 * another image. */
void rsti_subscribers_tell_overrun(rst_driver_t *driver, rsti_subscribers_t *subscribers,
    int64_t image_id, int64_t position);
/* Sends UNAVAILABLE_IMAGE to one reader, if it has not got it yet. */
void rsti_subscribers_tell_one_unavailable(rst_driver_t *driver, rsti_subscribers_t *subscribers,
    const rsti_subscription_t *subscription, int64_t image_id);

#endif
