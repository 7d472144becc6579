/* image_connections.h: the transports that carry a session and the sources behind them: what each
 * of them understands, whether it lives, and where the stream ends (docs/reference/aeron/wire.md
 * 8.2). */
#ifndef RSTI_DRIVER_RECEIVER_IMAGE_CONNECTIONS_H
#define RSTI_DRIVER_RECEIVER_IMAGE_CONNECTIONS_H

#include "driver/receiver/image.h"
#include "driver/receiver/receiver_state.h"
#include "protocol/frame.h"

/* A SETUP of a session that has its image: its transport belongs to it from now on. */
void rsti_image_on_setup(rsti_image_t *image, rsti_receive_transport_t *transport,
    const rsti_setup_t *setup, const struct sockaddr_storage *source, int64_t now_ns);
/* A frame that belongs to the stream came by this transport. */
rsti_connection_t *rsti_image_refresh_connection(rsti_receiver_t *receiver, rsti_image_t *image,
    rsti_receive_transport_t *transport, const struct sockaddr_storage *source, int64_t now_ns);
void rsti_image_on_end_of_stream(rsti_receiver_t *receiver, rsti_image_t *image,
    rsti_connection_t *connection, int64_t position, uint8_t flags);
void rsti_image_remove_transport(rsti_receiver_t *receiver, rsti_image_t *image,
    const rsti_receive_transport_t *transport);
/* A status message from the sender: another receiver's fill NAK, or the delay that the sender aims
 * at. The sender's echo of our own fill NAK tells nothing. */
void rsti_image_on_echo(rsti_receiver_t *receiver, rsti_image_t *image, const rsti_sm_t *sm);

#endif
