/* send_rate.h: the rate of one network publication, as its sender keeps it: the law (flow/rate.h),
 * its tokens (flow/tokens.h), whether the fill NAKs of its receivers can be true
 * (flow/fill_truth.h), and, under the adaptive law, the receivers that stand still and are limited
 * by their own windows (flow/standstill.h). Owner: the sender; the counters are the conductor's. In
 * shared memory there is no sender: flow/allowance.h.
 *
 * Law, beside the window:
 *
 *     sent                  <= what the rate made since it began + burst
 *     ahead of the sender   <= max(AHEAD_NS of the rate, AHEAD_DATAGRAMS of the mtu)
 *
 * Retransmissions count as sent, and may go into debt. The second line limits the publisher.
 * Without it the publisher would fill the log at once, and a message would wait behind half a term.
 *
 * Three states (flow/tokens.h). Free: each datagram leaves at once. Near the limit: a datagram
 * leaves when it is full or when its oldest byte is RSTI_SEND_BATCH_NS old, because a part of a
 * datagram costs as much as a whole one. Refused: nothing leaves. */
#ifndef RSTI_DRIVER_SENDER_SEND_RATE_H
#define RSTI_DRIVER_SENDER_SEND_RATE_H

#include "driver/base/rate_counters.h"
#include "flow/fill_echo.h"
#include "flow/fill_truth.h"
#include "flow/rate_text.h"
#include "flow/standstill.h"
#include "flow/tokens.h"
#include "util/clock.h"

#define RSTI_SEND_BATCH_NS INT64_C(1000000)

typedef struct rsti_send_rate_t {
    bool is_limited; /* another law than unlimited; else nothing below counts */
    rsti_rate_t rate;
    rsti_tokens_t tokens;
    rsti_fill_truth_t truth;
    rsti_standstill_t standstill;
    rsti_fill_echo_t echo;
    int32_t mtu;
    int64_t detect_ns;
    int64_t sent_bytes;   /* ever, with what was sent again */
    int64_t buffer_bytes; /* least window of the receivers, 0: unknown */
    int64_t rtt_ns;       /* longest of the receivers', 0: unknown */
    int64_t part_ns; /* since when a part of a datagram waits to be whole; RSTI_NO_DEADLINE: none
                        does */
    bool is_news; /* the newest status message is no older than what its receiver said before */
    int64_t stale_count; /* fill NAKs that came with an older one */
    int64_t liar_told_ns; /* of the last entry in the error log */
    int64_t target_told_ns; /* when its receivers were told of what delay; INT64_MIN / 2: never */
    int64_t target_told;
    int64_t ahead_bytes; /* atomic: see above; INT64_MAX: no limit */
    rsti_rate_counters_t told; /* NULL until a law has come with them */
    /* Conductor. Some may be there and others not, when there was no room for all: so the sender
     * looks at its own. */
    int32_t rate_id, fill_naks_id, margin_id; /* -1: not there */
    rsti_rate_counters_t made;
} rsti_send_rate_t;

/* Not limited; no counters. detect_ns: D of flow/reaction.h, for X. */
void rsti_send_rate_init(rsti_send_rate_t *send_rate, int32_t mtu, int64_t detect_ns);

/* How far the publisher may be ahead of what was sent, at most window. Any agent. */
int64_t rsti_send_rate_ahead(const rsti_send_rate_t *send_rate, int64_t window);

/* Owner, from here on. A law from now on, which says in counters what it does (all NULL: in those
 * of the last law that had some). A fixed rate in the place of a fixed one keeps the tokens. */
void rsti_send_rate_set(rsti_send_rate_t *send_rate, const rsti_rate_choice_t *choice,
    const rsti_rate_counters_t *counters, int64_t now_ns);
/* Each pass. Returns when the next one is wanted. */
int64_t rsti_send_rate_on_cycle(rsti_send_rate_t *send_rate, int64_t now_ns);
/* How far it may be sent: position itself, or a whole number of mtus beyond it, at most limit. When
 * that is position, *due_ns is when there is room for the least of pending and a quarter of a
 * burst, or when what waits for a full datagram has waited long enough. */
int64_t rsti_send_rate_limit(rsti_send_rate_t *send_rate, int64_t position, int64_t limit,
    int64_t pending, int64_t now_ns, int64_t *due_ns);
/* Datagrams that may go now; INT32_MAX: no limit. */
int32_t rsti_send_rate_datagrams(const rsti_send_rate_t *send_rate);
void rsti_send_rate_on_sent(rsti_send_rate_t *send_rate, int64_t bytes, int64_t datagrams,
    int64_t now_ns);
/* A status message of a receiver. */
void rsti_send_rate_on_status(rsti_send_rate_t *send_rate, int64_t receiver_id, int64_t consumed,
    int64_t window, int64_t now_ns);
typedef enum rsti_report_result_t {
    RSTI_REPORT_IGNORED =
        0, /* nothing follows it, or it is old: replayed, overtaken, of a known liar */
    RSTI_REPORT_TAKEN,
    RSTI_REPORT_ECHO, /* taken, and its group is to hear of it */
    RSTI_REPORT_LIE /* its receiver is a liar, and it is time to say so in the error log */
} rsti_report_result_t;
/* A fill NAK, right after the status message that it came in. */
rsti_report_result_t rsti_send_rate_on_report(rsti_send_rate_t *send_rate,
    const rsti_fill_report_t *report, int64_t sent_position, int64_t now_ns);
/* A receiver that is rstream's has said something: the delay that the law aims at (L, ns) is to be
 * told now; 0: not now, or the law has none. Again after RSTI_TELL_REPORTER_NS to who sent a fill
 * NAK, else after RSTI_TELL_NS: what is lost, and who joins later, costs the reports of that long
 * with another L. */
#define RSTI_TELL_REPORTER_NS (100 * RSTI_NS_PER_MS)
#define RSTI_TELL_NS RSTI_NS_PER_S
int64_t rsti_send_rate_target_due(rsti_send_rate_t *send_rate, bool is_report, int64_t now_ns);

#endif
