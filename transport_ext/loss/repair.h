/* repair.h: many gaps repaired at once, between rstream peers (docs/reference/wire.md "Repair").
 * The receiver updates it as it inserts, so it finds gaps without a scan of memory: a datagram
 * that begins behind the end of the known data leaves a gap, a datagram inside a gap closes or
 * splits it. Pure.
 *
 * When to ask:
 *
 *     first NAK   found + max(delay, reorder wait),   reorder wait <= smoothed / 2
 *     retry       smoothed + min(smoothed / 4 + 4 deviation, 2 smoothed) after the NAK before, at
 *                 least RSTI_REPAIR_RETRY_MIN_NS
 *     silence     sooner (same minimum), when nothing at all has come for 2 least since the NAK:
 *                 data that stood in queues would have come, so the answer is not behind it
 *     overtaken   at once, when a NAK that left later by least / 16 and the reorder wait is
 *                 answered: this NAK, or its answer, is lost
 *
 *   least, smoothed, deviation    of the round trip
 *
 * The first RSTI_REPAIR_PATIENT retries wait equally long, each further one twice as long as the
 * one before, at most RSTI_REPAIR_RETRY_MAX_NS. So in any time t without an answer at most
 * RSTI_REPAIR_PATIENT + 2 + log2(1 + t / (2 least)) NAKs leave for one gap, with answers one more
 * per round trip. For all gaps it is at most one per received datagram plus RSTI_REPAIR_GAPS_MAX
 * per round trip: loss does not make a storm of NAKs.
 *
 * Reorder wait: a gap that closes before it was asked for, or sooner than the answer can be here,
 * was not lost but late. The wait rises to its lateness and a quarter, and every true loss lowers
 * it by a sixteenth.
 *
 * When the list is full, gaps from unscanned on are not known. The caller looks for them in the log
 * once the list is half empty: RSTI_REPAIR_GAPS_MAX / 2 repairs pay for one look. */
#ifndef RSTI_LOSS_REPAIR_H
#define RSTI_LOSS_REPAIR_H

#include "logbuffer/rebuilder.h"

#define RSTI_REPAIR_GAPS_MAX 512
#define RSTI_REPAIR_RETRY_MIN_NS INT64_C(100000)
#define RSTI_REPAIR_RETRY_MAX_NS INT64_C(1000000000)
#define RSTI_REPAIR_PATIENT 2
/* Until a round trip is measured. */
#define RSTI_REPAIR_RTT_GUESS_NS INT64_C(10000000)

typedef struct rsti_repair_gap_t {
    int64_t begin, end; /* within one term */
    int64_t found_ns;
    int64_t asked_ns;
    int64_t due_ns;
    int32_t asked_count;
} rsti_repair_gap_t;

typedef struct rsti_repair_t {
    rsti_repair_gap_t gaps[RSTI_REPAIR_GAPS_MAX]; /* in order */
    int32_t gap_count;
    int32_t term_length;
    int64_t known; /* everything below was received or is in a gap */
    int64_t unscanned; /* INT64_MAX: none; gaps from here on are not in the list */
    int64_t delay_ns;
    int64_t reorder_ns;
    int64_t least_rtt_ns; /* 0 = unknown */
    int64_t reorder_max_ns;
    int64_t last_ns; /* when data arrived last */
    int64_t answered_ns; /* when the newest answered NAK was sent */
    int64_t retry_ns;
    int64_t next_due_ns;
} rsti_repair_t;

void rsti_repair_init(rsti_repair_t *repair, int64_t position, int32_t term_length,
    int64_t delay_ns);
/* A new measurement: it counts for NAKs from now on. */
void rsti_repair_on_rtt(rsti_repair_t *repair, int64_t smoothed_ns, int64_t deviation_ns,
    int64_t least_ns);
/* New data lies in [begin, end); for a heartbeat begin = end. Returns whether it closed a gap or
 * part of one. */
bool rsti_repair_on_data(rsti_repair_t *repair, int64_t begin, int64_t end, int64_t now_ns);
/* Calls ask for every gap that is due; is_first: it is the first NAK for this gap. */
typedef void (*rsti_repair_ask_t)(void *arg, int64_t begin, int64_t end, bool is_first);
void rsti_repair_ask(rsti_repair_t *repair, int64_t now_ns, rsti_repair_ask_t ask, void *arg);
/* Finds gaps in the log that did not fit into the list, once half of the list is free. Only the
 * thread that inserts may call it. */
void rsti_repair_scan(rsti_repair_t *repair, const rsti_log_t *log, int64_t now_ns);
/* How long a sender ignores a repeated NAK: seven eighths of the least round trip that its receiver
 * measured. Receivers ask again after at least one whole round trip. */
int64_t rsti_repair_linger_ns(int64_t rtt_ns);

#endif
