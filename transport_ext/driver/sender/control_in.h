/* control_in.h: control frames that reach a send endpoint (docs/reference/aeron/wire.md 7.3 to 7.5;
 * docs/reference/wire.md, "Proofs towards a sender"). Called by the sender alone. */
#ifndef RSTI_DRIVER_SENDER_CONTROL_IN_H
#define RSTI_DRIVER_SENDER_CONTROL_IN_H

#include "driver/sender/send_endpoint.h"
#include "driver/sender/sender_state.h"

/* Handles the control frames in received datagrams. Status messages come first, because they let
 * data flow. Untrusted. */
void rsti_send_endpoint_on_control(rsti_sender_t *sender, rsti_send_endpoint_t *endpoint,
    const rsti_datagram_t *datagrams, int count, int64_t now_ns);

#endif
