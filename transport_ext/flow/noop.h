/* noop.h: a numbered question that only the whole path can answer (Couchbase DCP, "NOOP"). The
 * sender numbers the questions. The receiver's driver hears them, and its readers answer when they
 * poll again. Pure; owner: sender.
 *
 * Law:
 *
 *     a question leaves once per interval while the peer is there; numbers rise by one, from 1
 *     dead   an interval has passed, the newest question is unanswered, and the peer ever heard one
 *     alive  the newest question is answered
 *
 * A path that breaks is found after one to two intervals. A path whose answers take less than an
 * interval never counts as broken. A peer that never heard a question (Aeron's, or an older
 * release) is left to the time-out of its status messages. Answers come from the network: a number
 * that was never sent changes nothing. */
#ifndef RSTI_FLOW_NOOP_H
#define RSTI_FLOW_NOOP_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rsti_noop_t {
    int64_t interval_ns; /* 0: none are sent */
    int64_t number;      /* of the newest question; 0: none was sent */
    int64_t heard;       /* newest number that the peer's driver reported */
    int64_t answered;    /* newest number that its readers answered */
    int64_t due_ns;
    bool is_dead;
} rsti_noop_t;

void rsti_noop_init(rsti_noop_t *noop, int64_t interval_ns);
/* The peer is another one: forgets what the last peer heard. */
void rsti_noop_forget(rsti_noop_t *noop, int64_t now_ns);
typedef enum rsti_noop_action_t {
    RSTI_NOOP_WAIT = 0,
    RSTI_NOOP_SEND, /* the number has risen: send it */
    RSTI_NOOP_DIED  /* send it too; the peer is dead from now on */
} rsti_noop_action_t;
/* Call at due_ns or later. */
rsti_noop_action_t rsti_noop_on_cycle(rsti_noop_t *noop, int64_t now_ns);
void rsti_noop_on_answer(rsti_noop_t *noop, int64_t heard, int64_t answered);

#endif
