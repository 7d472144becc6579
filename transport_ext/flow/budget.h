/* budget.h: how many bytes a consumer lets be under way to it, by connection (all streams between
 * two endpoints) and by stream. Source: Couchbase DCP, "Flow Control". Pure.
 *
 * Sender. With G granted and U sent and not acknowledged, for connection and stream alike:
 *
 *     a message begins only while U < G, and goes out whole once it has begun:  U < G + its length
 *
 * (on a connection: plus the rest of those that its streams have begun). G = 0 is no limit. When a
 * connection has several streams, one of them with U_s of U begins a message only while
 *
 *     U_s < G - U
 *
 * so the room left is shared evenly whatever the order in which they ask, and one whose reader
 * stands still holds at most 1/2 of the budget, 1/3 beside another such one, and so on: never all
 * of it.
 *
 * Both count positions, so headers and padding too; set-up, heartbeats and what is sent
 * again do not. Acknowledgements are positions, never differences: one that is lost, late or
 * doubled does no harm.
 *
 * Receiver. An acknowledgement of what was consumed is due
 *
 *     when  consumed - acknowledged >= min(RSTI_BUDGET_ACK_BYTES, G / 5),  G the least of the two
 * that is a limit or RSTI_BUDGET_ACK_NS after the last one, when anything was consumed since: what
 * many slow streams of a connection keep to themselves must not add up to all of it.
 *
 * Policies for a new connection, M the memory for budgets and S what the others were granted:
 *
 *     none        0
 *     static      bytes
 *     dynamic     least when S > threshold M, else clamp(new_share M, least, most); once, at the
 * connect aggressive  clamp(all_share M / connections, least, most), of all of them at each connect
 * and disconnect */
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
    int64_t bytes;        /* static */
    int64_t memory_bytes; /* M */
    int64_t least, most;  /* where they cross, least wins */
    double new_share;     /* dynamic: of M, for one connection */
    double threshold;     /* dynamic: of M */
    double all_share;     /* aggressive: of M, for all connections */
} rsti_budget_policy_t;

/* What a new connection is granted; connection_count: with it, granted: to the others. */
int64_t rsti_budget_grant(const rsti_budget_policy_t *policy, int64_t connection_count,
    int64_t granted);
/* Whether what the others were granted changes whenever a connection comes or goes. */
bool rsti_budget_is_shared(const rsti_budget_policy_t *policy);

/* Bytes within which a message may begin; INT64_MAX: no limit. */
int64_t rsti_budget_room(int64_t granted, int64_t unacknowledged);
/* Of that room of a connection, what one of its streams may take: all that keeps U_s < G - U. */
int64_t rsti_budget_room_of_stream(int64_t room, int64_t unacknowledged, int64_t stream_count);

/* How many consumed bytes make an acknowledgement due; INT64_MAX: none of the two is a limit. */
int64_t rsti_budget_ack_step(int64_t connection_bytes, int64_t stream_bytes);

#endif
