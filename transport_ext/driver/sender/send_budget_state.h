/* send_budget_state.h: the budgets that a unicast receiver has granted: one for the connection,
 * kept at the send endpoint, and one for each stream, kept at the publication. Written by
 * send_budget.c alone. */
#ifndef RSTI_DRIVER_SENDER_SEND_BUDGET_STATE_H
#define RSTI_DRIVER_SENDER_SEND_BUDGET_STATE_H

#include <stdint.h>

typedef struct rsti_connection_budget_t {
    int64_t number; /* of the connection, from 1 on; 0: no receiver has granted a budget yet */
    int64_t receiver_id;
    int64_t granted_bytes;
    int64_t unacknowledged_bytes; /* of all counted publications */
    int32_t stream_count; /* number of counted publications */
} rsti_connection_budget_t;

typedef struct rsti_stream_budget_t {
    int64_t number; /* of its connection; 0, or the number of a former one: not counted */
    int64_t granted_bytes;
    int64_t acknowledged; /* position */
    int64_t told_ns;      /* when its receiver granted it last */
} rsti_stream_budget_t;

#endif
