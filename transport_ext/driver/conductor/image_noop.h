/* image_noop.h: the conductor's work on NOOPs (receiver/image_noop.h): checks whether all readers
 * have answered. */
#ifndef RSTI_DRIVER_CONDUCTOR_IMAGE_NOOP_H
#define RSTI_DRIVER_CONDUCTOR_IMAGE_NOOP_H

#include "driver/conductor/conductor_state.h"
#include "driver/receiver/image.h"

/* Each rebuild pass. Returns the time of the next check that is needed. */
int64_t rsti_image_noop_look(rst_driver_t *driver, rsti_image_t *image, int64_t hwm,
    int64_t now_ns);

#endif
