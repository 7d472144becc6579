/* image_create.h: an image is made when a SETUP arrives, and freed. */
#ifndef RSTI_DRIVER_CONDUCTOR_IMAGE_CREATE_H
#define RSTI_DRIVER_CONDUCTOR_IMAGE_CREATE_H

#include "driver/conductor/conductor_state.h"
#include "driver/conductor/image_facts.h"
#include "driver/receiver/image.h"

int rsti_publication_image_create(rst_driver_t *driver, rsti_image_t **image,
    const rsti_image_facts_t *facts, int64_t now_ns);
void rsti_publication_image_destroy(rst_driver_t *driver, rsti_image_t *image);

#endif
