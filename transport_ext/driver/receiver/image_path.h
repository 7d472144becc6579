/* image_path.h: tells sources that follow the path what has arrived (flow/path_arrival.h), in a
 * status message of its own (docs/reference/wire.md, "Path"). Whether a source follows the path is
 * known from its first SETUP. Until the first datagram has come, an item of zero bytes goes before
 * each status message: a sender that waited to learn whether its receiver tells arrivals would
 * stand still. Others, Aeron's among them, are told nothing, and their datagrams are not counted.
 * Called by the receiver alone, except where it says otherwise. */
#ifndef RSTI_DRIVER_RECEIVER_IMAGE_PATH_H
#define RSTI_DRIVER_RECEIVER_IMAGE_PATH_H

#include "driver/receiver/receiver_state.h"
#include "flow/path_arrival.h"
#include "protocol/frame.h"

typedef struct rsti_image_t rsti_image_t;
typedef struct rsti_connection_t rsti_connection_t;

typedef struct rsti_image_path_t {
    rsti_path_arrival_t arrival;
    int64_t begins_ns; /* the clock of the items begins here: it tells nothing of ours */
} rsti_image_path_t;

static inline bool rsti_setup_follows_path(const rsti_setup_t *setup)
{
    const uint8_t flags = RSTI_SETUP_FLAG_RSTREAM | RSTI_SETUP_FLAG_PATH;
    return (setup->frame.flags & flags) == flags;
}

/* Conductor, before use. */
void rsti_image_path_init(rsti_image_t *image, int64_t now_ns);
/* A datagram that lies in the window has come, with frames from begin to end. */
void rsti_image_path_on_data(const rsti_receiver_t *receiver, rsti_image_t *image,
    const rsti_connection_t *connection, int64_t begin, int64_t end, int64_t bytes);
/* The first NAK for a gap. */
void rsti_image_path_on_lost(rsti_image_t *image, int64_t begin, int64_t end);
/* Before a status message: while nothing has arrived, tells that arrivals will be told. */
void rsti_image_path_introduce(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns);
/* Sends the item that is due. Returns the next deadline. */
int64_t rsti_image_path_pending(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns);

#endif
