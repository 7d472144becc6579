/* fill_suppress.h: one fill NAK for a group, not one from each receiver.
 *
 *     lambda  = ln(G) + 1
 *     c       = min(4 / G, 1)
 *     longest = min(max(2 lambda * RTT, W / 4) * (1 - strength (1 + c) / 2), 3 W / 2)
 *     wait    = max(longest / 64, (longest / lambda) * ln(1 + u (e^lambda - 1)));  0 when G <= 1
 *     alike   = clamp(lambda / 4, 1, 2) / 4;   1/4 up to 20 receivers
 *
 *   G    receivers that are thought to be there       u   a random number in [0, 1)
 *   W, RTT   of reaction.h
 *
 * A receiver that hears, while it waits, a fill NAK of at least its own strength - alike stays
 * silent, and counts that one as its own (rsti_fill_on_told). A rise by less than alike is not
 * reported within W / 2.
 *
 * The wait is a truncated exponential, so only few of many receivers end it early. The first of
 * them silences the rest after a round trip, because the sender echoes its report (fill_echo.h). In
 * a time t about e^(lambda t / longest) waits end. In a round trip that is 1.7 for weak reports
 * where RTT is at most 3 W / (4 lambda), and e for the strongest. Strong reports wait less, so the
 * report that matters is late by half as much and silences the others.
 *
 * Alike is a quarter. With less, each of many similar receivers could be slightly stronger than the
 * last report. A quarter costs an eighth of the cut. In a large group some receivers are always
 * fuller than the rest: a thousand receivers that filled together sent twelve reports in W with a
 * quarter, and eight with a half.
 *
 * In a small group the strongest do not wait, and a receiver that gets stronger while it waits
 * draws its wait anew with the same u (up to FOLLOWED_MOST receivers). Four of them cannot flood a
 * sender, and a wait would take most of the one buffer that a stop may cost in a reaction time (X
 * of reaction.h). Still at most five reports leave in W. In a large group all get stronger
 * together, and shorter waits brought them together: eleven of 64.
 *
 * Pure: the random number is an argument. Owner: receiver. */
#ifndef RSTI_FLOW_FILL_SUPPRESS_H
#define RSTI_FLOW_FILL_SUPPRESS_H

#include "flow/fill.h"

typedef struct rsti_fill_suppress_t {
    bool is_waiting;
    int64_t began_ns, due_ns; /* of the wait */
    double unit;              /* u of the wait */
    int64_t silenced_count; /* waits that a fill NAK of another receiver ended */
    double alike;           /* at the last update */
} rsti_fill_suppress_t;

int64_t rsti_fill_wait_ns(double group_size, int64_t longest_ns, double unit);

void rsti_fill_suppress_init(rsti_fill_suppress_t *suppress);
/* After each rsti_fill_update, is_due what it returned. True: send one now, and rsti_fill_on_told.
 * unit is read only when a wait begins. */
bool rsti_fill_suppress_is_due(rsti_fill_suppress_t *suppress, const rsti_fill_t *fill, bool is_due,
    double group_size, double unit);
/* Another receiver of the group sent one. */
void rsti_fill_suppress_on_heard(rsti_fill_suppress_t *suppress, rsti_fill_t *fill,
    double strength);
/* When the wait ends; INT64_MAX: there is none. */
int64_t rsti_fill_suppress_due_ns(const rsti_fill_suppress_t *suppress);

#endif
