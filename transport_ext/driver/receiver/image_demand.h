/* image_demand.h: what the readers of an image ask for, told to a sender of ours
 * (docs/reference/wire.md, "Demand"). Of unicast images only: in a group the sender keeps no state
 * per receiver.
 *
 * The readers tell it behind their positions (concurrent/wake.h) and wake the conductor. It hands
 * the pair to the receiver in a sequence lock (conductor writes, receiver reads), which sends it in
 * an additional status message and repeats it in each that it sends anyway.
 *
 * A datagram that is lost must not leave a publisher waiting for what it was told: flow/retell.h,
 * while the demand is bounded. */
#ifndef RSTI_DRIVER_RECEIVER_IMAGE_DEMAND_H
#define RSTI_DRIVER_RECEIVER_IMAGE_DEMAND_H

#include "concurrent/sequence.h"
#include "flow/retell.h"
#include "protocol/sm_demand.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct rsti_image_demand_t {
    /* written by: conductor */
    int64_t requested; /* of all readers together, when told last; 0: not told */
    rsti_retell_t retell;
    /* written by: conductor, atomic */
    RSTI_MAILBOX(rsti_sm_demand_t) mailbox;
    /* written by: receiver */
    int64_t seen;
    rsti_sm_demand_t told; /* counts when seen > 0 */
} rsti_image_demand_t;

/* Receiver: true when there is something new to be told. */
bool rsti_image_demand_pending(rsti_image_demand_t *state);

#endif
