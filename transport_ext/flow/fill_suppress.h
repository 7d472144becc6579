/* fill_suppress.h: one fill NAK for a group, not one from each receiver.
 *
 *     lambda  = ln(G) + 1
 *     c       = min(4 / G, 1)
 *     haste   = standing / (2 set point), at most 1;   1 on a stall
 *     longest = min(max(2 lambda * RTT, P / 2) * (1 - haste (1 + c) / 2), 3 P)
 *     wait    = max(longest / 64, (longest / lambda) * ln(1 + u (e^lambda - 1)));  0 when G <= 1
 *     alike   = 1 - 0.1 clamp(lambda / 2, 1, 5)      0.88 for four receivers, 0.6 for a thousand
 *
 *   G    receivers that are thought to be there       u   a random number in [0, 1)
 *   P, allowed, standing, set point   of fill.h       RTT round trip
 *
 * A receiver that hears a fill NAK, and that would itself allow at least `alike` times as much,
 * stays silent for P, and counts that one as its own (rsti_fill_on_heard). It takes over when the
 * echoes stop: its own report is due P after the last one that it heard.
 *
 * The wait is a truncated exponential, so only few of many receivers end it early. The first of
 * them silences the rest after a round trip, because the sender echoes its report (fill_echo.h). In
 * a time t about e^(lambda t / longest) waits end. In a round trip that is 1.7 for reports without
 * haste where RTT is at most 3 P / (2 lambda), and e for the most urgent. Urgent reports wait less,
 * so the report that matters is late by half as much and silences the others.
 *
 * In a small group the most urgent do not wait, and a receiver whose report becomes more urgent
 * while it waits draws its wait anew with the same u (up to FOLLOWED_MOST receivers). Four of them
 * cannot flood a sender, and a wait would take a part of the buffer that a stop may cost. In a
 * large group all become urgent together, and shorter waits would bring them together.
 *
 * Pure: the random number is an argument. Owner: conductor. */
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
/* After each rsti_fill_update, is_due: it returned RSTI_FILL_REPORT. True: send one now, and
 * rsti_fill_on_sent. unit is read only when a wait begins. */
bool rsti_fill_suppress_is_due(rsti_fill_suppress_t *suppress, const rsti_fill_t *fill, bool is_due,
    double group_size, double unit);
/* Another receiver of the group sent one that asks for this rate. */
void rsti_fill_suppress_on_heard(rsti_fill_suppress_t *suppress, rsti_fill_t *fill, double allowed);
/* When the wait ends; INT64_MAX: there is none. */
int64_t rsti_fill_suppress_due_ns(const rsti_fill_suppress_t *suppress);

#endif
