/* send_budget.h: the budgets of a unicast receiver as its sender keeps them (flow/budget.h): one of
 * the connection, kept at the send endpoint, one of each stream. Owner: the sender.
 *
 * Law: of the publications that are counted, the sent and not acknowledged bytes add up to the
 * connection's. A publication is counted from the first word of the endpoint's receiver until its
 * receivers change or it goes; another receiver id is another connection, to which nothing is under
 * way yet. */
#ifndef RSTI_DRIVER_SENDER_SEND_BUDGET_H
#define RSTI_DRIVER_SENDER_SEND_BUDGET_H

#include "protocol/sm_budget.h"

#include <stdint.h>

typedef struct rsti_network_publication_t rsti_network_publication_t;

typedef struct rsti_connection_budget_t {
    int64_t number; /* of the connection, from 1 on; 0: nobody has granted anything yet */
    int64_t receiver_id;
    int64_t granted_bytes;
    int64_t unacknowledged_bytes; /* of all that are counted */
    int32_t stream_count; /* so many are */
} rsti_connection_budget_t;

typedef struct rsti_stream_budget_t {
    int64_t number; /* of the connection that it is counted in; 0, or a former one's: it is not */
    int64_t granted_bytes;
    int64_t acknowledged; /* position */
} rsti_stream_budget_t;

/* What its one receiver told. Words that cannot be true, and late ones, change nothing. */
void rsti_send_budget_on_told(rsti_network_publication_t *publication, int64_t receiver_id,
    const rsti_sm_budget_t *told);
/* A status message of its one receiver says how far it has consumed: that is acknowledged too,
 * should no more words come (its destination went and came, and has not heard a SETUP of ours yet).
 */
void rsti_send_budget_on_consumed(rsti_network_publication_t *publication, int64_t position);
void rsti_send_budget_forget(rsti_network_publication_t *publication);
/* How far it may be sent, of limit: to the end of the message that uses up the budget. most: bytes
 * that one pass sends, a bound on the work. */
int64_t rsti_send_budget_limit(const rsti_network_publication_t *publication, int64_t snd_pos,
    int64_t limit, int64_t most);
/* The position moved by so many bytes. */
void rsti_send_budget_on_sent(rsti_network_publication_t *publication, int64_t bytes);

#endif
