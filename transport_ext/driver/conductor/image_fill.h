/* image_fill.h: the conductor's work on fill (receiver/image_fill.h): measures how full the buffer
 * of an image is. */
#ifndef RSTI_DRIVER_CONDUCTOR_IMAGE_FILL_H
#define RSTI_DRIVER_CONDUCTOR_IMAGE_FILL_H

#include "driver/conductor/conductor_state.h"
#include "driver/receiver/image.h"
#include "flow/congestion.h"

/* Initial state without counters. */
void rsti_image_fill_init(rsti_image_t *image);
/* Allocates the counters, after the other counters of the image. is_wanted: the source of the
 * image reacts to fill reports. Returns 0, or a negative error code with a trail. */
int rsti_image_fill_counters(rst_driver_t *driver, rsti_image_t *image, bool is_wanted);
/* Releases the counters. */
void rsti_image_fill_fini(rst_driver_t *driver, rsti_image_t *image);
/* Each rebuild pass. Returns the time of the next check that is needed. */
int64_t rsti_image_fill_look(rst_driver_t *driver, rsti_image_t *image,
    const rsti_rebuild_facts_t *found);

#endif
