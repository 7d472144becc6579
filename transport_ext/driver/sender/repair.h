/* repair.h: when all receivers are rstream, the sender knows their round-trip times. It then paces
 * its data, and it answers a repeated NAK again after one round trip (docs/reference/wire.md,
 * "Repair"). */
#ifndef RSTI_DRIVER_SENDER_REPAIR_H
#define RSTI_DRIVER_SENDER_REPAIR_H

#include "driver/sender/network_publication.h"

/* Sets the pacing and the NAK delay anew. Called by the sender after the receivers changed. */
void rsti_network_publication_update_repair(rsti_network_publication_t *publication);

#endif
