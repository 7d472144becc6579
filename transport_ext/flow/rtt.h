/* rtt.h: the measured round trip to a peer, from RTTM answers (wire reference 3.6).
 *
 * Law (Jacobson, in integers): the first sample s gives smoothed = s, deviation = s/2; each further
 * one  deviation += (|s - smoothed| - deviation) / 4,  smoothed += (s - smoothed) / 8.  So smoothed
 * stays between the least and the greatest sample, and deviation between 0 and their distance (or
 * half the first sample, while that is larger).
 *
 * When to ask: at once, again while the first few answers are missing, then every RSTI_RTT_ASK_NS
 * and never more often than once per round trip; the caller asks only while data moves, so an idle
 * stream measures nothing. Pure. */
#ifndef RSTI_FLOW_RTT_H
#define RSTI_FLOW_RTT_H

#include <stdbool.h>
#include <stdint.h>

#define RSTI_RTT_MAX_NS INT64_C(10000000000)
#define RSTI_RTT_ASK_NS INT64_C(250000000)
/* The first answers come quickly, or a single slow one would stand for long. */
#define RSTI_RTT_ASK_FIRST_NS INT64_C(10000000)
#define RSTI_RTT_FIRST_SAMPLES 8

typedef struct rsti_rtt_t {
    int64_t smoothed_ns;  /* 0 = unknown */
    int64_t deviation_ns;
    int64_t least_ns;     /* of all samples; 0 = none yet */
    int64_t ask_due_ns;
    int32_t sample_count; /* stops counting at RSTI_RTT_FIRST_SAMPLES */
} rsti_rtt_t;

void rsti_rtt_init(rsti_rtt_t *rtt);
/* Samples outside of 0 … RSTI_RTT_MAX_NS are no round trips: false, and nothing changes. */
bool rsti_rtt_on_sample(rsti_rtt_t *rtt, int64_t sample_ns);
bool rsti_rtt_is_ask_due(const rsti_rtt_t *rtt, int64_t now_ns);
void rsti_rtt_on_asked(rsti_rtt_t *rtt, int64_t now_ns);

#endif
