/* ipc_rate.h: the rate of an IPC publication. The driver sees the queues of its readers itself, so
 * the laws that follow fill NAKs (flow/rate.h) work without any message: the conductor is receiver
 * and sender of flow/fill.h in one.
 *
 *     queue = position of the producer - position of the slowest reader that is tethered
 *     limit = what the law allows beyond the producer (flow/allowance.h)
 *
 * The slowest reader asks for the least rate, so one queue is enough. The round trip is zero. The
 * window holds too, so nothing can be overrun: such a law begins without a limit, and has no floor
 * but its least rate, because there is nobody who could forge a report.
 *
 * A law that follows fill NAKs costs passes of the conductor: one for each quarter of the set point
 * that the slowest reader takes, at most one a millisecond, while its queue is at least that long.
 * With a shorter queue there are none beyond those of the window. Owner: conductor. */
#ifndef RSTI_DRIVER_CONDUCTOR_IPC_RATE_H
#define RSTI_DRIVER_CONDUCTOR_IPC_RATE_H

#include "driver/base/rate_counters.h"
#include "driver/base/subscribers.h"
#include "flow/allowance.h"
#include "flow/rate_text.h"
#include "flow/reader_window.h"
#include "flow/slowest.h"

typedef struct rsti_ipc_rate_t {
    rsti_allowance_t allowance;
    bool is_listening; /* the law follows fill NAKs; the fields below are used */
    rsti_fill_t fill;
    rsti_rate_t rate;
    bool is_reader_followed; /* by the window; the next field is used */
    rsti_reader_window_t reader;
    int32_t mtu;
    int64_t began_at; /* position of the producer */
    bool has_moved;   /* producer or reader, since the last look */
    rsti_rate_counters_made_t made;
    rsti_slowest_t followed; /* the reader whose queue the rate follows; slowest_reader.c */
    int64_t followed_since_ms;
} rsti_ipc_rate_t;

typedef struct rsti_ipc_rate_facts_t {
    int64_t now_ns;
    int64_t produced; /* position */
    int64_t consumed; /* by the slowest reader that counts; produced: there is none */
    int64_t window; /* of the publication */
    const rsti_subscribers_t *subscribers;
    bool follows_reader; /* reader_window.h */
    bool may_fill, is_blocked; /* likewise */
} rsti_ipc_rate_facts_t;

/* Begins with a law, at the producer's position. The counters that the law needs exist by now. */
void rsti_ipc_rate_init(rsti_ipc_rate_t *state, const rsti_rate_choice_t *choice, int32_t mtu,
    int64_t position, int64_t now_ns);
/* Takes another law. The time until now is counted at the old rate. */
void rsti_ipc_rate_set(rsti_ipc_rate_t *state, const rsti_rate_choice_t *choice, int64_t position,
    int64_t now_ns);
/* Each pass with readers, after the window. Returns the position up to which the producer may
 * write; INT64_MAX: the rate sets no limit. It may be lower than the last one. */
int64_t rsti_ipc_rate_limit(rsti_ipc_rate_t *state, const rsti_ipc_rate_facts_t *facts);
/* Each pass with readers. Returns the window, which may be smaller than the last one if it follows
 * the reader. */
int64_t rsti_ipc_rate_window(rsti_ipc_rate_t *state, const rsti_ipc_rate_facts_t *facts);
/* Before: whether is_blocked counts. */
bool rsti_ipc_rate_may_open(const rsti_ipc_rate_t *state, int64_t now_ns);
/* Then, with the window of the publication: nothing but a publisher that is refused, or a taking,
 * makes the conductor look at a reader that has stopped. */
bool rsti_ipc_rate_wants_refusal(const rsti_ipc_rate_t *state, int64_t window);
/* The last reader has left. */
void rsti_ipc_rate_on_alone(rsti_ipc_rate_t *state);
/* The position of a reader from which on the next look is wanted; INT64_MAX: none is. */
int64_t rsti_ipc_rate_wake_position(const rsti_ipc_rate_t *state);
/* When the next look is wanted although no reader takes anything. is_held: the limit is that of the
 * rate. */
int64_t rsti_ipc_rate_due_ns(const rsti_ipc_rate_t *state, bool is_held);

#endif
