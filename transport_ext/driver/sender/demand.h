/* demand.h: the sender writes the demand of a network publication's only receiver into the log,
 * where the publisher reads it (concurrent/wake.h). With several receivers it writes nothing,
 * because a sender keeps no state per receiver and cannot tell their demands apart. Called by the
 * sender alone. */
#ifndef RSTI_DRIVER_SENDER_DEMAND_H
#define RSTI_DRIVER_SENDER_DEMAND_H

#include "driver/sender/network_publication.h"
#include "driver/sender/sender_state.h"
#include "protocol/sm_demand.h"

/* The only receiver reported its demand. */
void rsti_network_publication_on_demand(rsti_sender_t *sender,
    rsti_network_publication_t *publication, const rsti_sm_demand_t *demand, int64_t now_ns);
/* The only receiver sent a status message without a demand. A receiver repeats a bounded demand
 * while no data comes. When it does not for RSTI_ITEM_NS, the demand is erased and the receiver
 * gets a SETUP, after which it tells its demand again: one forged demand must not hold a stream for
 * ever. */
void rsti_network_publication_check_demand(rsti_sender_t *sender,
    rsti_network_publication_t *publication, int64_t now_ns);
/* Erases the demand: the receiver was replaced, or it left. */
void rsti_network_publication_forget_demand(rsti_sender_t *sender,
    rsti_network_publication_t *publication);

#endif
