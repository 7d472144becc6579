/* image_budget.h: the budget of an image, sent to an rstream sender (flow/budget.h;
 * docs/reference/wire.md, "Budget"). It says how many bytes may be in flight to the readers, and
 * which position they have consumed. Only unicast images have budgets.
 *
 * A connection is a pair of a receive endpoint and the source address of a sender. The conductor
 * keeps the connections, and writes the three budget words to a sequence lock. The receiver reads
 * them there and sends them in an additional status message. It repeats them in every later one. A
 * lost message must not leave a sender waiting: flow/retell.h. */
#ifndef RSTI_DRIVER_RECEIVER_IMAGE_BUDGET_H
#define RSTI_DRIVER_RECEIVER_IMAGE_BUDGET_H

#include "concurrent/sequence.h"
#include "flow/retell.h"
#include "protocol/sm_budget.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct rsti_receive_endpoint_t rsti_receive_endpoint_t;

/* Written by: conductor. */
typedef struct rsti_budget_connection_t {
    const rsti_receive_endpoint_t *endpoint;
    struct sockaddr_storage source;
    int64_t granted_bytes;
    int32_t image_count;
    int32_t counter_id;
} rsti_budget_connection_t;

typedef struct rsti_image_budget_t {
    /* written by: conductor */
    rsti_budget_connection_t *connection; /* NULL: the policy is none */
    int64_t stream_bytes; /* granted; 0: no limit */
    rsti_sm_budget_t last; /* the last one that was passed to the receiver */
    int64_t last_ns;
    rsti_retell_t retell;
    int64_t wake_position; /* a reader that reaches it makes an acknowledgement due; INT64_MAX: none
                            */
    /* written by: conductor, atomic */
    RSTI_MAILBOX(rsti_sm_budget_t) mailbox;
    /* written by: receiver */
    int64_t seen;
    rsti_sm_budget_t told; /* valid when seen > 0 */
} rsti_image_budget_t;

/* True when a new budget has to be sent. Receiver. */
bool rsti_image_budget_pending(rsti_image_budget_t *state);

#endif
