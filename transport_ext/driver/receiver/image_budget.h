/* image_budget.h: what may be under way to the readers of an image, and how far they have taken it,
 * told to a sender of ours (flow/budget.h; docs/reference/wire.md, "Budget"). Of unicast images
 * only, as demand.
 *
 * A connection is a receive endpoint and the address that a sender sends its streams from. The
 * conductor keeps the connections, and hands the three words to the receiver in a sequence lock
 * (conductor writes, receiver reads), which sends them in an additional status message and repeats
 * them in each that it sends anyway. One that is lost must not leave a sender waiting:
 * flow/retell.h. */
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
    rsti_sm_budget_t last; /* what was told last */
    int64_t last_ns;
    rsti_retell_t retell;
    int64_t
        wake_position; /* a reader that comes there makes an acknowledgement due; INT64_MAX: none */
    /* written by: conductor, atomic */
    RSTI_MAILBOX(rsti_sm_budget_t) mailbox;
    /* written by: receiver */
    int64_t seen;
    rsti_sm_budget_t told; /* counts when seen > 0 */
} rsti_image_budget_t;

/* Receiver: true when there is something new to be told. */
bool rsti_image_budget_pending(rsti_image_budget_t *state);

#endif
