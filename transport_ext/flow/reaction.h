/* reaction.h: what sender and receiver of the adaptive law work out alike. With B the buffer, R the
 * rate, RTT the round trip, L the delay aimed at, d the drain:
 *
 *     f_lo = clamp(L * d / B, 0.1, 0.5)                     the fill where reports begin
 *     W    = clamp(B (1 - f_lo) / (1.75 R) - RTT, max(RTT, 1 ms), max(RTT, 50 ms))
 *     X    = B (1 - f_lo) / (R (W + RTT + D))               D: the receiver's delay of detection
 *
 * W is the time in which one cut is found; W + RTT is T, the time until a cut is felt. What is
 * free above f_lo lasts for 1.75 T at the rate R, unless W meets a limit; a buffer with X >= 1
 * takes what comes until the cuts are felt. Pure. */
#ifndef RSTI_FLOW_REACTION_H
#define RSTI_FLOW_REACTION_H

#include <stdint.h>

#define RSTI_FILL_HIGH 0.9
#define RSTI_TARGET_DELAY_NS INT64_C(10000000)

typedef struct rsti_reaction_t {
    double fill_low;
    int64_t window_ns; /* W */
    int64_t reach_ns;  /* T */
} rsti_reaction_t;

/* buffer_bytes 0 or rate 0: not known; then fill_low is 0.5 and W at its longest. All arguments
 * lie within the limits of saturate.h. */
rsti_reaction_t rsti_reaction(int64_t target_delay_ns, int64_t buffer_bytes, int64_t rtt_ns,
    double drain, double rate);

/* X; 0: not known. */
double rsti_reaction_margin(const rsti_reaction_t *reaction, int64_t buffer_bytes, double rate,
    int64_t detect_ns);

#endif
