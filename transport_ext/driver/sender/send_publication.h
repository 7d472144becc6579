/* send_publication.h: one pass of the sender over a network publication: set-ups, data as far as
 * flow control, budgets and the law of rate let it go, heartbeats (docs/reference/aeron/wire.md
 * 7). */
#ifndef RSTI_DRIVER_SENDER_SEND_PUBLICATION_H
#define RSTI_DRIVER_SENDER_SEND_PUBLICATION_H

#include "driver/sender/network_publication.h"
#include "driver/sender/sender_state.h"
#include "protocol/frame.h"

/* Returns how many bytes went out. */
int64_t rsti_network_publication_send(rsti_sender_t *sender,
    rsti_network_publication_t *publication, int64_t now_ns, int64_t *next_deadline_ns);
void rsti_network_publication_on_rttm(rsti_sender_t *sender,
    rsti_network_publication_t *publication, const rsti_rttm_t *rttm);
void rsti_network_publication_on_response_setup(rsti_sender_t *sender,
    const rsti_network_publication_t *publication, const rsti_rsp_setup_t *setup);

#endif
