/* image_demand.h: what the readers of an image ask for, told to a sender of ours (docs/wire.md, "Demand").
 * Of unicast images only: in a group the sender keeps no state per receiver.
 *
 * The readers tell it behind their positions (concurrent/wake.h) and wake the conductor. It hands the pair
 * to the receiver in a sequence lock (conductor writes, receiver reads), which sends it in an additional
 * status message and repeats it in each that it sends anyway.
 *
 * A datagram that is lost must not leave a publisher waiting for what it was told. So while the demand is
 * bounded and no data come, the pair is sent again after REPEAT_MIN_NS, then twice that, up to
 * REPEAT_MAX_NS; when data come it is not, since the sender has something to send. */
#ifndef RSTI_DRIVER_IMAGE_DEMAND_H
#define RSTI_DRIVER_IMAGE_DEMAND_H

#include "protocol/sm_demand.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct rsti_image_demand_t {
    /* written by: conductor */
    int64_t requested; /* of all readers together, when told last; 0: not told */
    int64_t told_hwm;
    int64_t due_ns, repeat_ns;
    /* written by: conductor, atomic */
    int64_t begin, position, messages, end;
    /* written by: receiver, atomic */
    int32_t is_wanted; /* some source is rstream */
    /* written by: receiver */
    int64_t seen;
    rsti_sm_demand_t told; /* counts when seen > 0 */
} rsti_image_demand_t;

#endif
