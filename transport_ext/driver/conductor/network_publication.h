/* network_publication.h: the conductor's side of a network publication: creation, limit and life
 * (docs/reference/aeron/memory.md 5, docs/reference/aeron/wire.md 12.1). */
#ifndef RSTI_DRIVER_CONDUCTOR_NETWORK_PUBLICATION_H
#define RSTI_DRIVER_CONDUCTOR_NETWORK_PUBLICATION_H

#include "driver/conductor/conductor_state.h"
#include "driver/sender/network_publication.h"
#include "driver/sender/send_endpoint.h"

int rsti_network_publication_create(rst_driver_t *driver, rsti_network_publication_t **publication,
    const rsti_publication_facts_t *facts, rsti_send_endpoint_t *endpoint);
void rsti_network_publication_destroy(rst_driver_t *driver,
    rsti_network_publication_t *publication);
void rsti_network_publication_update(rst_driver_t *driver, rsti_network_publication_t *publication,
    int64_t now_ns);
void rsti_network_publication_on_spies_changed(rst_driver_t *driver,
    rsti_network_publication_t *publication);
/* Time-based part of life; earlier calls are harmless. True when it may be freed. */
bool rsti_network_publication_on_life(rst_driver_t *driver, rsti_network_publication_t *publication,
    int64_t now_ns);
/* When it is to be called again. */
int64_t rsti_network_publication_life_due_ns(const rst_driver_t *driver,
    const rsti_network_publication_t *publication);

#endif
