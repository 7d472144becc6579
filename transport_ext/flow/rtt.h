/* rtt.h: the measured round trip to a peer, from RTTM answers (docs/reference/aeron/wire.md 3.6).
 *
 * Law (Jacobson, in integers): the first sample s gives smoothed = s, deviation = s/2; each further
 * one  deviation += (|s - smoothed| - deviation) / 4,  smoothed += (s - smoothed) / 8.  So smoothed
 * stays between the least and the greatest sample, and deviation between 0 and their distance (or
 * half the first sample, while that is larger).
 *
 * When to ask: at once, again while the first few answers are missing, then every RSTI_RTT_ASK_NS
 * but at most once per round trip. The caller asks only while data moves, so an idle stream
 * measures nothing.
 *
 * An answer counts if it is the first to echo one of the last RSTI_RTT_PENDING questions. So only a
 * host that saw a question can forge an answer. The least round trip is forgotten after one to two
 * times RSTI_RTT_MEMORY_NS, so that a path which became longer is measured again. Pure. */
#ifndef RSTI_FLOW_RTT_H
#define RSTI_FLOW_RTT_H

#include <stdbool.h>
#include <stdint.h>

#define RSTI_RTT_MAX_NS INT64_C(10000000000)
#define RSTI_RTT_ASK_NS INT64_C(250000000)
/* The first questions follow quickly; otherwise one slow first answer would count for long. */
#define RSTI_RTT_ASK_FIRST_NS INT64_C(10000000)
#define RSTI_RTT_FIRST_SAMPLES 8
#define RSTI_RTT_PENDING 8
#define RSTI_RTT_MEMORY_NS INT64_C(10000000000)

typedef struct rsti_rtt_t {
    int64_t smoothed_ns;  /* 0 = unknown */
    int64_t deviation_ns;
    int64_t least_ns;     /* of the samples remembered; 0 = none yet */
    int64_t ask_due_ns;
    int64_t pending[RSTI_RTT_PENDING]; /* times of unanswered questions; INT64_MIN = none */
    int32_t pending_next;
    int64_t younger_least_ns; /* of the running period of memory; INT64_MAX = no sample in it */
    int64_t memory_ends_ns;
    int32_t sample_count; /* stops counting at RSTI_RTT_FIRST_SAMPLES */
} rsti_rtt_t;

void rsti_rtt_init(rsti_rtt_t *rtt);
/* False: the sample lies outside of 0 … RSTI_RTT_MAX_NS, and nothing changes. */
bool rsti_rtt_on_sample(rsti_rtt_t *rtt, int64_t sample_ns);
bool rsti_rtt_is_ask_due(const rsti_rtt_t *rtt, int64_t now_ns);
/* A question with echo_timestamp now_ns was sent. */
void rsti_rtt_on_asked(rsti_rtt_t *rtt, int64_t now_ns);
/* held_ns: how long the peer says it kept the frame. False: the answer does not count. */
bool rsti_rtt_on_answer(rsti_rtt_t *rtt, int64_t echo_ns, int64_t held_ns, int64_t now_ns);

#endif
