/* repair.h: when all receivers are rstream, the sender knows how far away they are: it paces what
 * it sends, and forgets a NAK that it answered after a round trip (docs/reference/wire.md,
 * "Repair"). */
#ifndef RSTI_DRIVER_SENDER_REPAIR_H
#define RSTI_DRIVER_SENDER_REPAIR_H

#include "driver/sender/network_publication.h"

/* The receivers have changed. */
void rsti_network_publication_update_repair(rsti_network_publication_t *publication);

#endif
