/* frames_in.h: handling of data, SETUPs, round-trip frames and status messages that arrive at a
 * receive endpoint (docs/reference/aeron/wire.md 6). Called by the receiver alone. */
#ifndef RSTI_DRIVER_RECEIVER_FRAMES_IN_H
#define RSTI_DRIVER_RECEIVER_FRAMES_IN_H

#include "driver/receiver/receive_endpoint.h"

/* Handles one data or padding datagram with a valid header. */
void rsti_receive_endpoint_on_data(rsti_receiver_t *receiver, rsti_receive_transport_t *transport,
    const uint8_t *datagram, size_t length, const struct sockaddr_storage *source, int64_t now_ns);
/* Handles a SETUP: of a source of an image, or of one that wants to be admitted (admission.h). */
void rsti_receive_endpoint_on_setup(rsti_receiver_t *receiver, rsti_receive_transport_t *transport,
    const rsti_setup_t *setup, const struct sockaddr_storage *source, int64_t now_ns);
/* Handles a round-trip frame: a request of a source, or an answer, which may prove its source. */
void rsti_receive_endpoint_on_rttm(rsti_receiver_t *receiver, rsti_receive_transport_t *transport,
    const rsti_rttm_t *rttm, const struct sockaddr_storage *source, int64_t now_ns);
/* Handles a status message from a sender. It is an echo of a receiver's fill NAK, or the sender's
 * own with its target delay (docs/reference/wire.md, "Target delay"). It counts only when it comes
 * from a source of the image. length: of the datagram, which the frame must fill. */
void rsti_receive_endpoint_on_echo(rsti_receiver_t *receiver, rsti_receive_transport_t *transport,
    const rsti_sm_t *sm, size_t length, const struct sockaddr_storage *source);

#endif
