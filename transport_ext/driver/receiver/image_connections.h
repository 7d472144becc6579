/* image_connections.h: the transports that carry a session, and for each the abilities of its
 * source, its liveness and its end of stream (docs/reference/aeron/wire.md 8.2). Called by the
 * receiver alone. */
#ifndef RSTI_DRIVER_RECEIVER_IMAGE_CONNECTIONS_H
#define RSTI_DRIVER_RECEIVER_IMAGE_CONNECTIONS_H

#include "driver/receiver/image.h"
#include "driver/receiver/receiver_state.h"
#include "protocol/frame.h"

/* Handles a SETUP of a session that has an image: its transport becomes a connection of the image.
 */
void rsti_image_on_setup(rsti_image_t *image, rsti_receive_transport_t *transport,
    const rsti_setup_t *setup, const struct sockaddr_storage *source, int64_t now_ns);
/* A valid frame of the stream came by this transport. Returns the connection, made if needed. */
rsti_connection_t *rsti_image_refresh_connection(rsti_receiver_t *receiver, rsti_image_t *image,
    rsti_receive_transport_t *transport, const struct sockaddr_storage *source, int64_t now_ns);
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
