/* network_publication.h: the conductor's work on a network publication: creation, limit and
 * lifecycle (docs/reference/aeron/memory.md 5, docs/reference/aeron/wire.md 12.1). */
#ifndef RSTI_DRIVER_CONDUCTOR_NETWORK_PUBLICATION_H
#define RSTI_DRIVER_CONDUCTOR_NETWORK_PUBLICATION_H

#include "driver/conductor/conductor_state.h"
#include "driver/sender/network_publication.h"
#include "driver/sender/send_endpoint.h"

/* Whether its sender follows the path: its channel says so, or leaves that to the driver. */
bool rsti_network_publication_wants_path(const rst_driver_t *driver, const rsti_channel_t *channel,
    const rsti_send_endpoint_t *endpoint);
/* Returns 0, or a negative error code with a trail; then *publication is unchanged. */
int rsti_network_publication_create(rst_driver_t *driver, rsti_network_publication_t **publication,
    const rsti_publication_facts_t *facts, rsti_send_endpoint_t *endpoint);
/* The sender must have released the publication. */
void rsti_network_publication_destroy(rst_driver_t *driver,
    rsti_network_publication_t *publication);
/* Ends the stream at the sender's position, see rsti_publication_abort. */
void rsti_network_publication_abort(rst_driver_t *driver, rsti_network_publication_t *publication,
    const char *why);
/* Each pass: updates the position counter and the limit. */
void rsti_network_publication_update(rst_driver_t *driver, rsti_network_publication_t *publication,
    int64_t now_ns);
/* Call it after each change of the spies. Tells the sender whether there are any. */
void rsti_network_publication_on_spies_changed(rst_driver_t *driver,
    rsti_network_publication_t *publication);
/* The part of the lifecycle that depends on time. Early calls have no effect. True when the
 * publication may be freed. */
bool rsti_network_publication_on_life(rst_driver_t *driver, rsti_network_publication_t *publication,
    int64_t now_ns);
/* The time at which rsti_network_publication_on_life must be called next. */
int64_t rsti_network_publication_life_due_ns(const rst_driver_t *driver,
    const rsti_network_publication_t *publication);

#endif
