/* image_send.h: frames from an image to its sources: status messages with and without items, and
 * other frames for all sources (docs/reference/aeron/wire.md 8.4). Called by the receiver alone. */
#ifndef RSTI_DRIVER_RECEIVER_IMAGE_SEND_H
#define RSTI_DRIVER_RECEIVER_IMAGE_SEND_H

#include "driver/receiver/image.h"
#include "driver/receiver/receiver_state.h"

typedef enum rsti_sources_t {
    RSTI_SOURCES_ALL,
    RSTI_SOURCES_PROVEN,
    RSTI_SOURCES_RSTREAM,
    RSTI_SOURCES_PATH, /* those that follow the path */
    RSTI_SOURCES_AERON
} rsti_sources_t;

/* What an unproven source can save up. */
#define RSTI_ALLOWANCE_MAX (64 * 1024)

/* Adds three bytes for each that a source sent. */
static inline void rsti_connection_earn(rsti_connection_t *connection, size_t length)
{
    if (!connection->is_proven) {
        connection->allowance = rsti_min_i64(connection->allowance + 3 * (int64_t)length,
            RSTI_ALLOWANCE_MAX);
    }
}
/* Sends one frame to a source. False: an unproven source may not get it yet, or the system did not
 * accept it. */
bool rsti_connection_send(rsti_receiver_t *receiver, rsti_connection_t *connection,
    const void *frame, size_t length);
/* Sends a frame to every live connection. Returns the number of connections. */
int32_t rsti_image_send_to_live(rsti_receiver_t *receiver, rsti_image_t *image, const void *frame,
    size_t length, int64_t now_ns);
/* Sends a NAK to every live and proven source, and counts it. An unproven source gets none: one
 * datagram behind a gap would earn it many. */
void rsti_image_send_nak(rsti_receiver_t *receiver, rsti_image_t *image, const rsti_nak_t *nak,
    int64_t now_ns);
/* Sends a plain status message to the live sources of that kind. */
void rsti_image_send_sm(rsti_receiver_t *receiver, rsti_image_t *image, rsti_sources_t sources,
    int64_t position, int64_t window, bool is_draining, int64_t now_ns);
/* Sends the last status message again with items behind it, to rstream sources alone
 * (docs/reference/wire.md, SM items). Repetition is harmless. fill: the value of a fill NAK, for
 * the sources that follow fill; NULL: none. Demand, budget and NOOP answer are included once they
 * are known. */
void rsti_image_send_items(rsti_receiver_t *receiver, rsti_image_t *image, const uint8_t *fill,
    int64_t now_ns);
/* Sends the last status message again with what has arrived, to sources that follow the path. */
void rsti_image_send_path(rsti_receiver_t *receiver, rsti_image_t *image,
    const rsti_path_item_t *path, int64_t now_ns);
/* Sends image->leave_reason with EOS, to rstream sources alone: its last reader has left. */
void rsti_image_send_why(rsti_receiver_t *receiver, rsti_image_t *image, int64_t position,
    int64_t window, int64_t now_ns);
/* Sends an error frame: the image is rejected. */
void rsti_image_send_err(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns);

#endif
