/* resend.h: what a receiver missed is sent again (docs/reference/aeron/wire.md 9.4). */
#ifndef RSTI_DRIVER_SENDER_RESEND_H
#define RSTI_DRIVER_SENDER_RESEND_H

#include "driver/sender/network_publication.h"
#include "driver/sender/sender_state.h"
#include "protocol/frame.h"

/* What lies at position was sent and can be sent again. */
bool rsti_network_publication_holds(const rsti_network_publication_t *publication, int64_t position,
    int64_t snd_pos);
void rsti_network_publication_on_nak(rsti_sender_t *sender, rsti_network_publication_t *publication,
    const rsti_nak_t *nak, int64_t now_ns);
/* What waits to be sent again, before new data. */
void rsti_network_publication_send_again(rsti_sender_t *sender,
    rsti_network_publication_t *publication, int64_t now_ns, int64_t *next_deadline_ns);

#endif
