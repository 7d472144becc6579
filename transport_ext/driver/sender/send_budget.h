/* send_budget.h: the sender keeps the budgets that a unicast receiver grants (flow/budget.h).
 * Called by the sender alone.
 *
 * Law: the unacknowledged bytes of a connection are the sum of the unacknowledged bytes of its
 * counted publications. A publication is counted from the first grant of the endpoint's receiver
 * until its receivers change or it is closed. A new receiver id begins a new connection with
 * nothing in flight. */
#ifndef RSTI_DRIVER_SENDER_SEND_BUDGET_H
#define RSTI_DRIVER_SENDER_SEND_BUDGET_H

#include "driver/sender/send_budget_state.h"
#include "protocol/sm_budget.h"

#include <stdint.h>

typedef struct rsti_network_publication_t rsti_network_publication_t;

/* The only receiver sent budget words. Impossible and outdated words change nothing. */
void rsti_send_budget_on_told(rsti_network_publication_t *publication, int64_t receiver_id,
    const rsti_sm_budget_t *told, int64_t now_ns);
/* A status message of the only receiver names a consumed position. That position is acknowledged
 * too, because budget words may be missing: a destination that was removed and added again sends
 * none until it gets our SETUP. */
void rsti_send_budget_on_consumed(rsti_network_publication_t *publication, int64_t position);
/* The budget holds the publication. A receiver repeats the words of a budget that holds a stream at
 * least once a second. When status messages come for RSTI_ITEM_NS without them, the budget is
 * forgotten and the receiver gets a SETUP, after which it tells its budget again, if it has one. */
void rsti_send_budget_check(rsti_network_publication_t *publication);
/* Stops counting the publication: its receivers changed, or it is closed. */
void rsti_send_budget_forget(rsti_network_publication_t *publication);
/* Returns the position up to which the budgets allow sending, at most limit. The message that uses
 * up the budget is sent whole. most: bytes that one pass sends, a bound on the work. */
int64_t rsti_send_budget_limit(const rsti_network_publication_t *publication, int64_t snd_pos,
    int64_t limit, int64_t most);
/* So many bytes were sent for the first time. */
void rsti_send_budget_on_sent(rsti_network_publication_t *publication, int64_t bytes);

#endif
