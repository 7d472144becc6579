/* image_insert.h: insertion of data and heartbeats into the log of an image
 * (docs/reference/aeron/wire.md 8.2). */
#ifndef RSTI_DRIVER_RECEIVER_IMAGE_INSERT_H
#define RSTI_DRIVER_RECEIVER_IMAGE_INSERT_H

#include "driver/receiver/image.h"
#include "driver/receiver/receiver_state.h"

/* Handles one datagram of the source of a connection. Called by the receiver. */
void rsti_image_on_packet(rsti_receiver_t *receiver, rsti_image_t *image,
    rsti_connection_t *connection, const uint8_t *datagram, size_t length, int64_t now_ns);

#endif
