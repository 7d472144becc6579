/* publication_demand.h: what the readers of a publication ask for. */
#ifndef RSTI_CLIENT_PUBLICATION_DEMAND_H
#define RSTI_CLIENT_PUBLICATION_DEMAND_H

#include "client/publication.h"

/* Whether a waiter for demand must poll. With several readers of an IPC log the demand may rise
 * without a wake-up: the reader that lies behind reads on. Any thread; no locks. */
bool rsti_publication_is_demand_polled(const rst_publication_t *publication);

#endif
