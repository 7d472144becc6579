/* reaction.h: what sender and receiver of the adaptive law work out alike. With B the buffer, R the
 * rate, RTT the round trip, L the delay aimed at, d the drain, a the least of d and what comes in:
 *
 *     f_lo = clamp(max(L, RTT) d / B, 0.1, 0.5), and at most max(1 - a (T0 + D) / B, 0.1)     where
 * reports begin W    = clamp(B (1 - f_lo) / (1.75 R) - RTT, max(RTT, 1 ms), max(RTT, 50 ms)) T    =
 * RTT + W                  T0: with the shortest W; D: what a stop costs beyond T X    = B (1 -
 * f_lo) / (R (T + D))
 *
 * W is the time in which one cut is found, T the time until a cut is felt. What is
 * free above f_lo lasts for 1.75 T at the rate R, unless W meets a limit.
 *
 * No queue of less than a round trip can be steered from a round trip away: what is lost twice
 * comes two of them late and frees at once what came meanwhile. Reports of such queues cut a far
 * sender again before it had found its way back: of twenty streams with 100 ms and 1 % loss two
 * stayed at three quarters of what their consumer could take.
 *
 * After a consumer has stopped comes R (T + D): all of R until it is said and felt, then half of it
 * for one W, a quarter for the next, and so on. A buffer with X = 1 takes that. Reports begin early
 * enough for X = 1 wherever a buffer is large enough for it (B > a (T0 + D) / 0.9): with half of a
 * small buffer full before anybody speaks, whether a stop overran was a matter of where the queue
 * was by chance. It is a and not d, since a consumer that could take twice what its link brings
 * will not be sent more while it stands.
 *
 * D belongs to a host: how soon its threads come round (the driver's option fill-detect).
 * RSTI_DETECT_NS is measured with real agents in virtual time, as what came after a stop at X = 1,
 * less R T: four receivers, 15 % of noise, R what each can take. It is less than the 0.5 to 0.8 ms
 * until the first report, because such a group sends 0.8 to 0.9 of R. X is about the mean, so at X
 * = 1 one stop in four to nine overruns, when the rate was just high; from 1.1 on none did (E4 of
 * docs/flow.md). Pure. */
#ifndef RSTI_FLOW_REACTION_H
#define RSTI_FLOW_REACTION_H

#include <stdint.h>

#define RSTI_FILL_HIGH 0.9
#define RSTI_TARGET_DELAY_NS INT64_C(10000000)
#define RSTI_DETECT_NS INT64_C(200000) /* D, where nothing else is said */

typedef struct rsti_reaction_t {
    double fill_low;
    int64_t window_ns; /* W */
    int64_t reach_ns; /* T */
} rsti_reaction_t;

/* L and D; coming: what comes in, at most (a is the least of it and the drain). buffer_bytes 0 or
 * rate 0: not known; then fill_low is 0.5 and W at its longest. All arguments lie within the limits
 * of saturate.h. */
rsti_reaction_t rsti_reaction(int64_t target_delay_ns, int64_t detect_ns, int64_t buffer_bytes,
    int64_t rtt_ns, double drain, double coming, double rate);

/* X; 0: not known. */
double rsti_reaction_margin(const rsti_reaction_t *reaction, int64_t buffer_bytes, double rate,
    int64_t detect_ns);

#endif
