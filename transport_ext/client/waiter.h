/* waiter.h: a thread or an event loop that sleeps until something attached may be ready. */
#ifndef RSTI_CLIENT_WAITER_H
#define RSTI_CLIENT_WAITER_H

#include "client/wait_set.h"
#include "client/wake_target.h"

struct rst_waiter_t {
    rsti_wake_target_t target; /* first: client->waiters points at it */
    int32_t generation;
    int32_t is_woken;      /* atomic: rst_waiter_wake was called */
    int64_t last_sleep_ns; /* written by: the thread that waits */
    rst_client_t *client;
    pthread_mutex_t lock;
    rsti_wait_set_t set; /* under lock */
};

/* Looks for work on behalf of a sleeper that no other process wakes, and kicks it. Called by the
 * conductor under client->lock; does not block. The target is that of a waiter. */
void rsti_waiter_poll_for_loop(rsti_wake_target_t *target);

#endif
