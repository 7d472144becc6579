/* demand.h: what the one reader of a network publication asks for goes into the log, where the
 * publisher reads it (concurrent/wake.h). With several receivers the publisher is told nothing: a
 * sender keeps no state per receiver, so it cannot say whose demand it would be. */
#ifndef RSTI_DRIVER_SENDER_DEMAND_H
#define RSTI_DRIVER_SENDER_DEMAND_H

#include "driver/sender/network_publication.h"
#include "driver/sender/sender_state.h"
#include "protocol/sm_demand.h"

/* Its one receiver told it. */
void rsti_network_publication_on_demand(rsti_sender_t *sender,
    rsti_network_publication_t *publication, const rsti_sm_demand_t *demand);
/* The receiver is another one, or gone. */
void rsti_network_publication_forget_demand(rsti_sender_t *sender,
    rsti_network_publication_t *publication);

#endif
