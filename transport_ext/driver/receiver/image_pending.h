/* image_pending.h: frames that an image sends by time and not by arrival: status messages, NAKs and
 * items for its sources (docs/reference/aeron/wire.md 8.4, 9.3). */
#ifndef RSTI_DRIVER_RECEIVER_IMAGE_PENDING_H
#define RSTI_DRIVER_RECEIVER_IMAGE_PENDING_H

#include "driver/receiver/image.h"
#include "driver/receiver/receiver_state.h"

/* A newer image of the same session takes its place. Says goodbye a last time: the receiver id
 * stays the same, so nothing else tells the sender that the next status message is of a new
 * reader. */
void rsti_image_supersede(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns);
/* Sends the status messages, NAKs and items that are due. Returns the next deadline. Called by the
 * receiver in each pass. */
int64_t rsti_image_send_pending(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns);

#endif
