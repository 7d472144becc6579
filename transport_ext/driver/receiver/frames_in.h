/* frames_in.h: what happens to data, set-ups, round-trip frames and status messages that arrive at
 * a receive endpoint (docs/reference/aeron/wire.md 6). */
#ifndef RSTI_DRIVER_RECEIVER_FRAMES_IN_H
#define RSTI_DRIVER_RECEIVER_FRAMES_IN_H

#include "driver/receiver/receive_endpoint.h"

/* One datagram whose header was found acceptable. */
void rsti_receive_endpoint_on_data(rsti_receiver_t *receiver, rsti_receive_transport_t *transport,
    const uint8_t *datagram, size_t length, const struct sockaddr_storage *source, int64_t now_ns);
void rsti_receive_endpoint_on_setup(rsti_receiver_t *receiver, rsti_receive_transport_t *transport,
    const rsti_setup_t *setup, const struct sockaddr_storage *source, int64_t now_ns);
void rsti_receive_endpoint_on_rttm(rsti_receiver_t *receiver, rsti_receive_transport_t *transport,
    const rsti_rttm_t *rttm, int64_t now_ns);
/* A status message from a sender: an echo to its group, or its own (docs/reference/wire.md, "Target
 * delay"). length: of the datagram, which the frame must fill. */
void rsti_receive_endpoint_on_echo(rsti_receiver_t *receiver, rsti_receive_transport_t *transport,
    const rsti_sm_t *sm, size_t length);

#endif
