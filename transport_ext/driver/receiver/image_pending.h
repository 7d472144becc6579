/* image_pending.h: what an image has to send when nothing arrives: status messages, NAKs, news for
 * its sources (docs/reference/aeron/wire.md 8.4, 9.3). */
#ifndef RSTI_DRIVER_RECEIVER_IMAGE_PENDING_H
#define RSTI_DRIVER_RECEIVER_IMAGE_PENDING_H

#include "driver/receiver/image.h"
#include "driver/receiver/receiver_state.h"

/* Status message, NAK or gap fill that is due. Returns the next deadline. */
int64_t rsti_image_send_pending(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns);

#endif
