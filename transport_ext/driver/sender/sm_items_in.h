/* sm_items_in.h: the sender handles the items behind a status message: the round trip of its
 * receiver, fill NAKs, and the demand and budget of its readers (docs/reference/wire.md, "SM
 * items"). receivers.c decodes a status message once and passes the items on. */
#ifndef RSTI_DRIVER_SENDER_SM_ITEMS_IN_H
#define RSTI_DRIVER_SENDER_SM_ITEMS_IN_H

#include "driver/sender/network_publication.h"
#include "driver/sender/sender_state.h"
#include "protocol/frame.h"
#include "protocol/sm_items.h"

/* Handles the items of an accepted status message. Sender. */
void rsti_network_publication_on_items(rsti_sender_t *sender,
    rsti_network_publication_t *publication, const rsti_sm_t *sm, const rsti_sm_items_t *items,
    int64_t now_ns);
/* Handles the fill NAK of a status message whose position is too old to be accepted
 * (docs/reference/aeron/wire.md 4.2), when both logs still hold the data that the receiver lacks. A
 * receiver whose buffer of half a term is full is also behind by the data in flight. Without this
 * function its fill NAKs would be ignored. Sender. */
void rsti_network_publication_on_laggard(rsti_sender_t *sender,
    rsti_network_publication_t *publication, const rsti_sm_t *sm, const rsti_sm_items_t *items,
    const rsti_sm_facts_t *facts, int64_t now_ns);

#endif
