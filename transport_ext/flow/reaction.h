/* reaction.h: how early reports of a full buffer begin, how long the adaptive law waits between two
 * cuts, and what headroom a buffer has. Sender and receiver compute it alike.
 *
 *     f_lo = clamp(max(L, RTT) * d / B, 0.1, 0.5), and at most max(1 - a (T0 + D) / B, 0.1)
 *     W    = clamp(B (1 - f_lo) / (1.75 R) - RTT, max(RTT, 1 ms), max(RTT, 50 ms))
 *     T    = RTT + W
 *     X    = B (1 - f_lo) / (R (T + D))
 *
 *   B     buffer, bytes                        f_lo  fill at which reports begin
 *   R     rate of the sender, bytes/s          W     window: the time in which one cut is found
 *   RTT   round trip                           T     reaction time: until a cut is felt
 *   L     target delay                         T0    T with the shortest W
 *   d     drain: what the consumer takes       D     detection time: what a stop costs beyond T
 *   a     the lower of d and what comes in     X     headroom
 *
 * The free part of the buffer above f_lo lasts for 1.75 T at the rate R, unless W meets a limit.
 *
 * f_lo is at least a round trip's worth of data, because a sender that is a round trip away cannot
 * steer a shorter queue: data that is lost twice comes two round trips late, and frees at once all
 * that came meanwhile. Reports about shorter queues cut a far sender again before it had
 * recovered: of twenty streams with 100 ms and 1 % loss two stayed at three quarters of their
 * consumer's rate.
 *
 * After a consumer has stopped R (T + D) bytes arrive: all of R until the report is sent and felt,
 * then half of it for one W, a quarter for the next, and so on. A buffer with X = 1 holds that.
 * Reports begin early enough for X = 1 wherever the buffer is large enough: B > a (T0 + D) / 0.9.
 * With half of a small buffer full before the first report, chance decided whether a stop overran.
 * The bound takes a and not d: a consumer that could take twice what its link brings does not get
 * more while it stands.
 *
 * D is a property of the host: how soon its threads run again (the driver's option fill-detect).
 * RSTI_DETECT_NS was measured with real agents in virtual time: the bytes after a stop at X = 1,
 * less R T, with four receivers, 15 % of noise, and R what each can take. It is less than the 0.5
 * to 0.8 ms until the first report, because such a group sends 0.8 to 0.9 of R. X is about the
 * mean: at X = 1 one stop in four to nine overruns, when the rate was just high; from 1.1 on none
 * did (E4 of docs/results/flow.md). Pure. */
#ifndef RSTI_FLOW_REACTION_H
#define RSTI_FLOW_REACTION_H

#include <stdint.h>

#define RSTI_FILL_HIGH 0.9
#define RSTI_TARGET_DELAY_NS INT64_C(10000000)
#define RSTI_DETECT_NS INT64_C(200000) /* default of D */

typedef struct rsti_reaction_t {
    double fill_low;
    int64_t window_ns; /* W */
    int64_t reach_ns; /* T */
} rsti_reaction_t;

/* target_delay_ns: L. detect_ns: D. coming: the highest rate of arrivals; a is the lower of it and
 * the drain. buffer_bytes 0 or rate 0: not known; then fill_low is 0.5 and W is longest. All
 * arguments lie within the limits of saturate.h. */
rsti_reaction_t rsti_reaction(int64_t target_delay_ns, int64_t detect_ns, int64_t buffer_bytes,
    int64_t rtt_ns, double drain, double coming, double rate);

/* X; 0: not known. */
double rsti_reaction_margin(const rsti_reaction_t *reaction, int64_t buffer_bytes, double rate,
    int64_t detect_ns);

#endif
