/* noop.h: a probe of the whole path (Couchbase DCP, "NOOP"). The sender sends numbered NOOPs, the
 * receiver's driver hears them, and the readers there answer when they poll again. Pure; owner:
 * sender.
 *
 *     send    a NOOP every interval while the peer is connected; numbers rise by one, from 1
 *     dead    the peer heard a NOOP before, and the newest one is not answered after an interval
 *     alive   again when the newest NOOP is answered
 *
 * So a broken path is found after one to two intervals. A path whose answers take less than an
 * interval is never called dead. A peer that never heard a NOOP (an older release, or Aeron's) has
 * only the time-out of its status messages. Answers come from the network: a number that was never
 * sent changes nothing. */
#ifndef RSTI_FLOW_NOOP_H
#define RSTI_FLOW_NOOP_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rsti_noop_t {
    int64_t interval_ns; /* 0: none are sent */
    int64_t number;      /* of the newest NOOP; 0: none was sent */
    int64_t heard;       /* newest number that the peer's driver heard */
    int64_t answered;    /* newest number that its readers answered */
    int64_t due_ns;
    bool is_dead;
} rsti_noop_t;

void rsti_noop_init(rsti_noop_t *noop, int64_t interval_ns);
/* There is a new peer: answers of the previous one no longer count. */
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
