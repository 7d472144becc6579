/* image_loss.h: losses go into the loss report, which is read later. */
#ifndef RSTI_DRIVER_CONDUCTOR_IMAGE_LOSS_H
#define RSTI_DRIVER_CONDUCTOR_IMAGE_LOSS_H

#include "driver/conductor/conductor_state.h"
#include "driver/receiver/image.h"

/* Of an image that the receiver repairs: what it asked for goes into the report. Returns the end of
 * contiguous data from there on. */
int64_t rsti_image_repair_rebuild(rst_driver_t *driver, rsti_image_t *image, int64_t from,
    int64_t hwm, bool *has_loss);
/* A gap whose NAK is due (or that is filled): into the loss report, each byte once. */
void rsti_image_report_loss(rst_driver_t *driver, rsti_image_t *image, const rsti_gap_t *gap);

#endif
