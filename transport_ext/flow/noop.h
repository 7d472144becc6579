/* noop.h: a question that only the whole path can answer (Couchbase DCP, "NOOP"): the sender
 * numbers them, the receiver's driver hears them, and whoever reads there answers when it polls
 * again. Pure; owner: sender.
 *
 * Law, with the interval I:
 *
 *     one leaves every I while the peer is there                   numbers rise by one, from 1
 *     the peer is dead when I has passed and the newest one is not answered, and it ever heard one
 *     it is alive again when the newest one is answered
 *
 * So a path that breaks is found between I and 2 I later, and one whose answers take less than I is
 * never taken for broken. A peer that never heard one (a release without them, or one of Aeron's)
 * is left to the time-out of its status messages. Answers come from the network: a number that was
 * never sent changes nothing. */
#ifndef RSTI_FLOW_NOOP_H
#define RSTI_FLOW_NOOP_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rsti_noop_t {
    int64_t interval_ns; /* 0: none are sent */
    int64_t number;      /* of the newest; 0: none was sent */
    int64_t heard;       /* as the peer's driver says */
    int64_t answered;    /* as its readers say */
    int64_t due_ns;
    bool is_dead;
} rsti_noop_t;

void rsti_noop_init(rsti_noop_t *noop, int64_t interval_ns);
/* It is another peer: what the one before heard does not count. */
void rsti_noop_forget(rsti_noop_t *noop, int64_t now_ns);
typedef enum rsti_noop_action_t {
    RSTI_NOOP_WAIT = 0,
    RSTI_NOOP_SEND, /* the number has risen: send it */
    RSTI_NOOP_DIED  /* the same, and the peer is dead from now on */
} rsti_noop_action_t;
/* At due_ns or later. */
rsti_noop_action_t rsti_noop_on_cycle(rsti_noop_t *noop, int64_t now_ns);
void rsti_noop_on_answer(rsti_noop_t *noop, int64_t heard, int64_t answered);

#endif
