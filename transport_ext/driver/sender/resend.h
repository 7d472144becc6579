/* resend.h: retransmission of data that a receiver missed (docs/reference/aeron/wire.md 9.4).
 * Called by the sender alone. */
#ifndef RSTI_DRIVER_SENDER_RESEND_H
#define RSTI_DRIVER_SENDER_RESEND_H

#include "driver/sender/network_publication.h"
#include "driver/sender/sender_state.h"
#include "protocol/frame.h"

/* True when the data at position was sent and is still in the log. */
bool rsti_network_publication_holds(const rsti_network_publication_t *publication, int64_t position,
    int64_t snd_pos);
/* Handles a NAK: schedules the retransmission, or ignores the NAK. */
void rsti_network_publication_on_nak(rsti_sender_t *sender, rsti_network_publication_t *publication,
    const rsti_nak_t *nak, int64_t now_ns);
/* Sends the retransmissions that are due. Called in each pass before new data is sent. */
void rsti_network_publication_send_again(rsti_sender_t *sender,
    rsti_network_publication_t *publication, int64_t now_ns, int64_t *next_deadline_ns);

#endif
