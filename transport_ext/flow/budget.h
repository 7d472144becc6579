/* budget.h: how many unacknowledged bytes a consumer allows, by connection (all streams between two
 * endpoints) and by stream. Source: Couchbase DCP, "Flow Control". Pure.
 *
 * Sender. For connection and stream alike:
 *
 *     a message begins only while unacknowledged < granted, and then goes out whole
 *
 * so unacknowledged < granted + the message's length (on a connection: plus the rest of the
 * messages that its streams have begun). Granted 0 is no limit. If a connection has several
 * streams, one of them begins a message only while
 *
 *     unacknowledged of the stream < granted - unacknowledged of the connection
 *
 * so the streams share the room evenly whatever the order in which they ask. A stream whose reader
 * stands still holds at most 1/2 of the budget, 1/3 beside another such stream, and so on: never
 * all of it.
 *
 * Both sides count positions, so headers and padding too; set-up, heartbeats and retransmissions
 * do not count. Acknowledgements are positions, never differences: an acknowledgement that is lost,
 * late or doubled does no harm.
 *
 * Receiver. An acknowledgement is due
 *
 *     when   consumed - acknowledged >= min(RSTI_BUDGET_ACK_BYTES, granted / 5)
 *     or     RSTI_BUDGET_ACK_NS after the last one, if anything was consumed since
 *
 * granted is the lower of the two grants, without those that are no limit. The time-out is needed
 * because many slow streams, each below the step, could together block their connection.
 *
 * Policies for a new connection, with memory the bytes for all budgets:
 *
 *     none        0
 *     static      bytes
 *     dynamic     least when the others were granted more than threshold * memory,
 *                 else clamp(new_share * memory, least, most); once, at the connect
 *     aggressive  clamp(all_share * memory / connections, least, most), of all connections,
 *                 at each connect and disconnect */
#ifndef RSTI_FLOW_BUDGET_H
#define RSTI_FLOW_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define RSTI_BUDGET_ACK_BYTES (50 * 1024)
#define RSTI_BUDGET_ACK_NS INT64_C(10000000)

typedef enum rsti_budget_kind_t {
    RSTI_BUDGET_NONE = 0,
    RSTI_BUDGET_STATIC,
    RSTI_BUDGET_DYNAMIC,
    RSTI_BUDGET_AGGRESSIVE
} rsti_budget_kind_t;

typedef struct rsti_budget_policy_t {
    rsti_budget_kind_t kind;
    int64_t bytes; /* static */
    int64_t memory_bytes; /* memory: all budgets together */
    int64_t least, most; /* where they cross, least wins */
    double new_share; /* dynamic: share of memory for one connection */
    double threshold; /* dynamic: share of memory */
    double all_share; /* aggressive: share of memory for all connections */
} rsti_budget_policy_t;

/* The grant for a new connection. connection_count includes it; granted: sum of the others. */
int64_t rsti_budget_grant(const rsti_budget_policy_t *policy, int64_t connection_count,
    int64_t granted);
/* Whether the grants of all connections change when one connects or disconnects. */
bool rsti_budget_is_shared(const rsti_budget_policy_t *policy);

/* Bytes within which a message may begin; INT64_MAX: no limit. */
int64_t rsti_budget_room(int64_t granted, int64_t unacknowledged);
/* The part of a connection's room that one of its streams may take. */
int64_t rsti_budget_room_of_stream(int64_t room, int64_t unacknowledged, int64_t stream_count);

/* How many consumed bytes make an acknowledgement due; INT64_MAX: none of the two is a limit. */
int64_t rsti_budget_ack_step(int64_t connection_bytes, int64_t stream_bytes);

#endif
