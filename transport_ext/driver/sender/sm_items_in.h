/* sm_items_in.h: the items behind a status message, on their way into the sender: the round trip of
 * its receiver, fill NAKs, and the demand and budget of its readers (docs/reference/wire.md, "SM
 * items"). They come decoded: a status message is read once, in receivers.c. */
#ifndef RSTI_DRIVER_SENDER_SM_ITEMS_IN_H
#define RSTI_DRIVER_SENDER_SM_ITEMS_IN_H

#include "driver/sender/network_publication.h"
#include "driver/sender/sender_state.h"
#include "protocol/frame.h"
#include "protocol/sm_items.h"

/* Of a status message that counts. */
void rsti_network_publication_on_items(rsti_sender_t *sender,
    rsti_network_publication_t *publication, const rsti_sm_t *sm, const rsti_sm_items_t *items,
    int64_t now_ns);
/* Of a status message from further behind than counts (docs/reference/aeron/wire.md 4.2), of a
 * receiver whose log and ours still hold what it lacks: its fill NAK counts. A buffer of half a
 * term that is full lies behind by what is under way too, so without this the fullest one would not
 * be heard. */
void rsti_network_publication_on_laggard(rsti_sender_t *sender,
    rsti_network_publication_t *publication, const rsti_sm_t *sm, const rsti_sm_items_t *items,
    const rsti_sm_facts_t *facts, int64_t now_ns);

#endif
