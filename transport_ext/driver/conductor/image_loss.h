/* image_loss.h: writes lost ranges into the loss report. */
#ifndef RSTI_DRIVER_CONDUCTOR_IMAGE_LOSS_H
#define RSTI_DRIVER_CONDUCTOR_IMAGE_LOSS_H

#include "driver/conductor/conductor_state.h"
#include "driver/receiver/image.h"

/* For an image whose receiver repairs losses itself: reports the ranges that the receiver has
 * requested. Sets *has_loss when there was one. Returns the end of contiguous data after from. */
int64_t rsti_image_repair_rebuild(rst_driver_t *driver, rsti_image_t *image, int64_t from,
    int64_t hwm, bool *has_loss);
/* Reports a gap when its NAK is due or when it is filled without one. Each byte is reported once.
 */
void rsti_image_report_loss(rst_driver_t *driver, rsti_image_t *image, const rsti_gap_t *gap);
/* Reports the bytes from begin to end, once. */
void rsti_image_report_range(rst_driver_t *driver, rsti_image_t *image, int64_t begin, int64_t end);

#endif
