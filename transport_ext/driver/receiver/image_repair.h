/* image_repair.h: the repair of an image whose sources are all rstream (docs/reference/wire.md,
 * "Repair"). The receiver keeps the list of gaps and asks for them itself: no pass of the conductor
 * lies between a gap and its NAK, and as the only one that inserts it never sees half a frame. The
 * conductor walks over what is contiguous and reports losses (conductor/image_loss.h). */
#ifndef RSTI_DRIVER_RECEIVER_IMAGE_REPAIR_H
#define RSTI_DRIVER_RECEIVER_IMAGE_REPAIR_H

#include "driver/receiver/image.h"
#include "driver/receiver/receiver_state.h"

/* Conductor, before use. */
void rsti_image_repair_init(rsti_image_t *image, bool may_repair, int64_t delay_ns);
/* What was inserted, or a heartbeat: begin = end. */
void rsti_image_repair_on_data(rsti_image_t *image, int64_t begin, int64_t end, int64_t now_ns);
/* NAKs that are due, and news for the sender. Returns the next deadline. */
int64_t rsti_image_repair_pending(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns);
/* A round trip was measured. */
void rsti_image_repair_on_rtt(rsti_image_t *image);

#endif
