/* wake_target.h: the part of a waiter that its wakers need.
 *
 * A sleeper first sets `armed`, then looks for work once more, then sleeps on `fd`. A waker first
 * makes the work visible, then kicks. One of the two always sees the other. */
#ifndef RSTI_CLIENT_WAKE_TARGET_H
#define RSTI_CLIENT_WAKE_TARGET_H

#include <stdint.h>

typedef struct rsti_wake_target_t {
    int32_t armed;          /* atomic: a thread or an event loop sleeps on fd */
    int32_t is_loop_polled; /* atomic: the conductor looks for work on behalf of an event loop */
    int32_t waiter_id;      /* 1 to 65535, unique among the client's open waiters */
    int fd;                 /* a FIFO or an event descriptor; -1: none yet */
} rsti_wake_target_t;

/* Writes to the descriptor, so that its sleeper wakes. Any thread; does not block. */
void rsti_fd_kick(int fd);

/* Wakes the sleeper if it is armed, and disarms it. Any thread; does not block. */
void rsti_wake_target_kick(rsti_wake_target_t *target);

#endif
