/* image_overrun.h: the conductor's part of an overrun (receiver/image_overrun.h). */
#ifndef RSTI_DRIVER_CONDUCTOR_IMAGE_OVERRUN_H
#define RSTI_DRIVER_CONDUCTOR_IMAGE_OVERRUN_H

#include "driver/conductor/conductor_state.h"
#include "driver/receiver/image.h"

/* Asks the receiver where the stream goes on when what is missing is lost for good and the readers,
 * the last of which stands at least, have read everything before it. */
void rsti_image_overrun_check(rst_driver_t *driver, rsti_image_t *image, int64_t least,
    int64_t now_ns);
/* Prepares the image that takes the place of another one. */
void rsti_image_overrun_inherit(rsti_image_t *image, const rsti_image_t *old);

#endif
