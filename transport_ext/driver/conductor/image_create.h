/* image_create.h: makes an image when a SETUP arrives, and frees it. */
#ifndef RSTI_DRIVER_CONDUCTOR_IMAGE_CREATE_H
#define RSTI_DRIVER_CONDUCTOR_IMAGE_CREATE_H

#include "driver/conductor/conductor_state.h"
#include "driver/conductor/image_facts.h"
#include "driver/receiver/image.h"

/* Makes the log file, the counters and the state. Returns 0, or a negative error code with a
 * trail; then *image is unchanged and nothing is left behind. */
int rsti_publication_image_create(rst_driver_t *driver, rsti_image_t **image,
    const rsti_image_facts_t *facts, int64_t now_ns);
/* Gives the image its counters once its source is proven. Before that only its readers have one. */
void rsti_publication_image_show(rst_driver_t *driver, rsti_image_t *image);
/* The receiver must have released the image. */
void rsti_publication_image_destroy(rst_driver_t *driver, rsti_image_t *image);

#endif
