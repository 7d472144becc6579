/* subscribers.h: the local readers of one log: IPC subscribers, spies, or the subscribers of an
 * image. Positions are in shared memory, where a client can write anything, so they are checked.
 * Called by the conductor alone. */
#ifndef RSTI_DRIVER_BASE_SUBSCRIBERS_H
#define RSTI_DRIVER_BASE_SUBSCRIBERS_H

#include "driver/base/tether.h"

typedef struct rsti_subscription_t rsti_subscription_t;

/* One reader of a log: the counter that holds its position. */
typedef struct rsti_subscriber_t {
    rsti_subscription_t *subscription;
    int32_t counter_id;
    int64_t *position;
    int64_t accepted; /* last valid position */
    bool is_refused; /* the last check found an invalid position */
    bool is_told; /* that is written to the error log */
    bool is_told_gone; /* UNAVAILABLE_IMAGE was sent */
    rsti_tether_t tether;
} rsti_subscriber_t;

typedef struct rsti_subscribers_t {
    rsti_subscriber_t *items;
    int32_t count;
    int32_t capacity;
} rsti_subscribers_t;

/* Adds a copy of the subscriber. 0 or -RST_ENOMEM. */
int rsti_subscribers_add(rsti_subscribers_t *subscribers, const rsti_subscriber_t *subscriber);
void rsti_subscribers_remove_at(rsti_subscribers_t *subscribers, int32_t index);
void rsti_subscribers_fini(rsti_subscribers_t *subscribers);
/* True when at least one subscriber holds the window (tether.h). */
bool rsti_subscribers_are_working(const rsti_subscribers_t *subscribers);
/* Finds the least and the highest position of the subscribers that hold the window; false when
 * there are none. An invalid position is replaced by the last valid one of its subscriber. */
bool rsti_subscribers_range(const rsti_subscribers_t *subscribers, int64_t clean_position,
    int32_t term_length, int64_t *least, int64_t *highest);
/* Whether a position is valid: aligned, and within the three terms of the log that begin at
 * clean_position. */
bool rsti_position_is_in_log(int64_t position, int64_t clean_position, int32_t term_length);

#endif
