/* image_repair.h: the repair of an image whose sources are all rstream (docs/reference/wire.md,
 * "Repair"). The receiver keeps the list of gaps and sends NAKs for them, so a NAK does not wait
 * for a pass of the conductor. The receiver is also the only agent that inserts frames, so it never
 * sees half a frame. The conductor moves over contiguous data and reports losses
 * (conductor/image_loss.h). Called by the receiver except where it says otherwise. */
#ifndef RSTI_DRIVER_RECEIVER_IMAGE_REPAIR_H
#define RSTI_DRIVER_RECEIVER_IMAGE_REPAIR_H

#include "driver/receiver/image.h"
#include "driver/receiver/receiver_state.h"

/* Prepares the repair. Conductor, before use. */
void rsti_image_repair_init(rsti_image_t *image, bool may_repair, int64_t delay_ns);
/* Data from begin to end was inserted, or a heartbeat came (begin = end). */
void rsti_image_repair_on_data(rsti_image_t *image, int64_t begin, int64_t end, int64_t now_ns);
/* Sends the NAKs that are due, and round trip and arrival rate to the sender. Returns the next
 * deadline. */
int64_t rsti_image_repair_pending(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns);
/* A round trip was measured. */
void rsti_image_repair_on_rtt(rsti_image_t *image);

#endif
