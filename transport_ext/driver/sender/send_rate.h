/* send_rate.h: the sender's state of the rate of one network publication: the law (flow/rate.h),
 * its tokens (flow/tokens.h), and the check of fill NAKs against status messages
 * (flow/fill_truth.h). Under the adaptive law it also holds the receivers that stand still, whose
 * own windows limit the sender (flow/standstill.h). Owner: the sender; the counters are the
 * conductor's. IPC publications have no sender and use flow/allowance.h.
 *
 * Law, beside the window:
 *
 *     sent                  <= what the rate made since it began + burst
 *     ahead of the sender   <= max(AHEAD_NS of the rate, AHEAD_DATAGRAMS of the mtu);
 *                              under the adaptive law at most half of the target delay of it
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
    bool is_limited; /* false: the law is "unlimited", and the fields below are unused */
    rsti_rate_t rate;
    rsti_tokens_t tokens;
    rsti_fill_truth_t truth;
    rsti_standstill_t standstill;
    rsti_fill_echo_t echo;
    int32_t mtu;
    bool is_group; /* conductor, before use */
    int64_t detect_ns;
    int64_t sent_bytes;   /* total since the law began, with retransmissions */
    int64_t buffer_bytes; /* least window of the receivers, 0: unknown */
    int64_t rtt_ns;       /* longest of the receivers', 0: unknown */
    int64_t part_ns; /* start of the wait for a full datagram; RSTI_NO_DEADLINE: no wait */
    bool is_news; /* the last status message is not older than an earlier one of its receiver */
    int64_t stale_count; /* fill NAKs that came with an outdated status message */
    int64_t liar_told_ns; /* time of the last entry in the error log */
    int64_t target_told_ns; /* when receivers were last told the target delay; INT64_MIN / 2: never
                             */
    int64_t target_told; /* that delay */
    int64_t ahead_bytes; /* atomic: see above; INT64_MAX: no limit */
    rsti_rate_counters_t told; /* NULL until the first law that brings counters */
    int64_t governor_told; /* slowest_receiver.c: receiver id; 0: none yet */
    int64_t governor_since_ms, governor_due_ns;
    rsti_rate_counters_made_t made; /* conductor; the sender reads `told` */
} rsti_send_rate_t;

/* Starts without a limit and without counters. detect_ns: the detection time D of
 * flow/rate_adaptive.c, which the headroom X depends on. Conductor, before use. */
void rsti_send_rate_init(rsti_send_rate_t *send_rate, int32_t mtu, int64_t detect_ns);

/* How many bytes the publisher may be ahead of the sent position, at most window. Any agent. */
int64_t rsti_send_rate_ahead(const rsti_send_rate_t *send_rate, int64_t window);

/* Sender, from here on. Sets the law and the counters that it updates (all NULL: the counters of
 * the law before stay). A change from one fixed rate to another keeps the tokens. */
void rsti_send_rate_set(rsti_send_rate_t *send_rate, const rsti_rate_choice_t *choice,
    const rsti_rate_counters_t *counters, int64_t now_ns);
/* Lets the law take its steps, in each pass. Returns the deadline of the next step. */
int64_t rsti_send_rate_on_cycle(rsti_send_rate_t *send_rate, int64_t now_ns);
/* Returns the position up to which the rate allows sending: position itself, or a whole number of
 * mtus beyond it, at most limit. When it returns position, *due_ns is the time of the next attempt:
 * there is room for the smaller of pending and a quarter of a burst then, or the wait for a full
 * datagram ends. */
int64_t rsti_send_rate_limit(rsti_send_rate_t *send_rate, int64_t position, int64_t limit,
    int64_t pending, int64_t now_ns, int64_t *due_ns);
/* Number of datagrams that may be sent now; INT32_MAX: no limit. */
int32_t rsti_send_rate_datagrams(const rsti_send_rate_t *send_rate);
/* Takes the tokens of data or retransmissions that were sent. */
void rsti_send_rate_on_sent(rsti_send_rate_t *send_rate, int64_t bytes, int64_t datagrams,
    int64_t now_ns);
/* A status message of a receiver. */
void rsti_send_rate_on_status(rsti_send_rate_t *send_rate, int64_t receiver_id, int64_t consumed,
    int64_t window, int64_t now_ns);
typedef enum rsti_report_result_t {
    RSTI_REPORT_IGNORED =
        0, /* the law ignores fill NAKs, or this one is outdated or from a known liar */
    RSTI_REPORT_TAKEN,
    RSTI_REPORT_ECHO, /* taken, and to be echoed to the group */
    RSTI_REPORT_LIE /* its receiver reports false fills: to be written to the error log now */
} rsti_report_result_t;
/* A fill NAK, right after the status message that it came in. */
rsti_report_result_t rsti_send_rate_on_report(rsti_send_rate_t *send_rate,
    const rsti_fill_report_t *report, int64_t sent_position, int64_t now_ns);
/* Called when an rstream receiver sent a status message. Returns the target delay of the law (L,
 * ns) when the receivers are to be told it now; 0: not now, or the law has none. The delay is told
 * again after RSTI_TELL_REPORTER_NS when the message was a fill NAK, else after RSTI_TELL_NS. Until
 * then a receiver that lost the frame, or that joined later, reports with another L. */
#define RSTI_TELL_REPORTER_NS (100 * RSTI_NS_PER_MS)
#define RSTI_TELL_NS RSTI_NS_PER_S
int64_t rsti_send_rate_target_due(rsti_send_rate_t *send_rate, bool is_report, int64_t now_ns);

#endif
