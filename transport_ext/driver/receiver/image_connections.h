/* image_connections.h: the transports that carry a session, and for each its source, the abilities
 * and the liveness of that source, and its end of stream (docs/reference/aeron/wire.md 8.2).
 *
 * Law: a connection is bound to one source, and frames of others are dropped. Another source takes
 * its place only when it is proven (admission.h), its SETUP names the same stream, and the source
 * before it was silent for RSTI_SOURCE_SILENCE_NS or was never proven. A transport without a
 * connection gets one from a proven source of the image, or from any source that is admitted and
 * whose SETUP names the same stream: a multi-destination subscription may merge several sources.
 * An unproven image ends when a proven source begins its session with another stream or in the
 * same transport: where the stream begins, and whether it has ended, may be false.
 * What a SETUP said first about a source stays, except whether it follows fill.
 *
 * Called by the receiver alone. */
#ifndef RSTI_DRIVER_RECEIVER_IMAGE_CONNECTIONS_H
#define RSTI_DRIVER_RECEIVER_IMAGE_CONNECTIONS_H

#include "driver/receiver/candidates.h"
#include "driver/receiver/image.h"
#include "driver/receiver/receiver_state.h"
#include "protocol/frame.h"

/* Ten heartbeats. */
#define RSTI_SOURCE_SILENCE_NS RSTI_NS_PER_S
#define RSTI_PROOF_INTERVAL_NS (200 * RSTI_NS_PER_MS)

/* The connection of a transport, if it is bound to that source. NULL: the source is a stranger. */
rsti_connection_t *rsti_image_bound(const rsti_image_t *image,
    const rsti_receive_transport_t *transport, const struct sockaddr_storage *source);
/* The same; a transport without a connection gets one if the image knows the source as proven. */
rsti_connection_t *rsti_image_connection(rsti_image_t *image, rsti_receive_transport_t *transport,
    const struct sockaddr_storage *source, int64_t now_ns);
/* Whether a stranger may become the source of this transport now. */
bool rsti_image_may_join(const rsti_image_t *image, const rsti_receive_transport_t *transport,
    int64_t now_ns);
bool rsti_image_is_same_stream(const rsti_image_t *image, const rsti_setup_t *setup);
/* Whether a proven source with that SETUP ends the image: it is unproven, and another stream or in
 * the same transport. */
bool rsti_image_is_displaced_by(const rsti_image_t *image,
    const rsti_receive_transport_t *transport, const rsti_setup_t *setup);
/* Makes an admitted stranger the source of its transport, if the law above allows it. False: the
 * image ends first, and the next SETUP of the stranger begins the session anew. */
bool rsti_image_join(rsti_receiver_t *receiver, rsti_image_t *image, const rsti_origin_t *origin,
    const rsti_setup_t *setup, bool is_proven, int64_t now_ns);
/* The source of the connection has echoed a stamp. */
void rsti_image_prove(rsti_receiver_t *receiver, rsti_image_t *image,
    rsti_connection_t *connection);
/* Asks unproven sources for their proof again when it is time. Returns the next deadline. */
int64_t rsti_image_check_proof(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns);
/* Handles a SETUP of a source. */
void rsti_image_on_setup(rsti_image_t *image, rsti_connection_t *connection,
    const rsti_setup_t *setup, int64_t now_ns);
/* A valid frame of the stream came by this connection. */
void rsti_image_refresh_connection(rsti_receiver_t *receiver, rsti_image_t *image,
    rsti_connection_t *connection, int64_t now_ns);
/* A frame of this connection ended the stream at position. flags: of that frame. */
void rsti_image_on_end_of_stream(rsti_receiver_t *receiver, rsti_image_t *image,
    rsti_connection_t *connection, int64_t position, uint8_t flags);
/* Removes the connection of a transport that is being closed. */
void rsti_image_remove_transport(rsti_receiver_t *receiver, rsti_image_t *image,
    const rsti_receive_transport_t *transport);
/* Handles a status message from the sender: the echo of another receiver's fill NAK, or the target
 * delay. The echo of our own fill NAK is ignored. */
void rsti_image_on_echo(rsti_receiver_t *receiver, rsti_image_t *image, const rsti_sm_t *sm);

#endif
