/* subscribers.h: the local readers of one log: IPC subscribers, spies, or those of an image. Owner:
 * conductor. Positions lie in shared memory: they are checked, never believed. */
#ifndef RSTI_DRIVER_BASE_SUBSCRIBERS_H
#define RSTI_DRIVER_BASE_SUBSCRIBERS_H

#include "driver/base/tether.h"

typedef struct rsti_subscription_t rsti_subscription_t;

/* One reader of a log: the counter that holds its position. */
typedef struct rsti_subscriber_t {
    rsti_subscription_t *subscription;
    int32_t counter_id;
    int64_t *position;
    int64_t accepted; /* last position that made sense */
    bool is_refused; /* the last look found an impossible one */
    bool is_told; /* which stands in the error log */
    bool is_told_gone; /* UNAVAILABLE_IMAGE was sent */
    rsti_tether_t tether;
} rsti_subscriber_t;

typedef struct rsti_subscribers_t {
    rsti_subscriber_t *items;
    int32_t count;
    int32_t capacity;
} rsti_subscribers_t;

int rsti_subscribers_add(rsti_subscribers_t *subscribers, const rsti_subscriber_t *subscriber);
void rsti_subscribers_remove_at(rsti_subscribers_t *subscribers, int32_t index);
void rsti_subscribers_fini(rsti_subscribers_t *subscribers);
/* Some subscriber holds the window: not all of them rest. */
bool rsti_subscribers_are_working(const rsti_subscribers_t *subscribers);
/* Least and highest position of the working subscribers; false when there is none. A position
 * counts when it lies in the memory that the log has, from clean_position on; else the last one
 * that did. */
bool rsti_subscribers_range(const rsti_subscribers_t *subscribers, int64_t clean_position,
    int32_t term_length, int64_t *least, int64_t *highest);
/* A log holds three terms, so nobody can have read more than that beyond what was cleaned. */
bool rsti_position_is_in_log(int64_t position, int64_t clean_position, int32_t term_length);

#endif
