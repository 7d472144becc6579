/* image_demand.h: the demand of the readers of an image, sent to an rstream sender
 * (docs/reference/wire.md, "Demand"). Only unicast images send it: in a group the sender keeps no
 * state per receiver.
 *
 * The readers write their demand behind their positions (concurrent/wake.h) and wake the conductor.
 * The conductor writes position and demand to a sequence lock. The receiver reads them there and
 * sends them in an additional status message. It repeats them in every later one.
 *
 * A lost datagram must not leave a publisher waiting for a demand that was already raised. So it is
 * sent again by the rules of flow/retell.h; a demand without a limit seven times. */
#ifndef RSTI_DRIVER_RECEIVER_IMAGE_DEMAND_H
#define RSTI_DRIVER_RECEIVER_IMAGE_DEMAND_H

#include "concurrent/sequence.h"
#include "flow/retell.h"
#include "protocol/sm_demand.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct rsti_image_demand_t {
    /* written by: conductor */
    int64_t requested; /* demand of all readers that was last passed on; 0: none yet */
    rsti_retell_t retell;
    /* written by: conductor, atomic */
    RSTI_MAILBOX(rsti_sm_demand_t) mailbox;
    /* written by: receiver */
    int64_t seen;
    rsti_sm_demand_t told; /* valid when seen > 0 */
} rsti_image_demand_t;

/* True when a new demand has to be sent. Receiver. */
bool rsti_image_demand_pending(rsti_image_demand_t *state);

#endif
