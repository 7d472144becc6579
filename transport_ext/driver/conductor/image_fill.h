/* image_fill.h: the conductor's side of fill (receiver/image_fill.h): it judges how full an image
 * is. */
#ifndef RSTI_DRIVER_CONDUCTOR_IMAGE_FILL_H
#define RSTI_DRIVER_CONDUCTOR_IMAGE_FILL_H

#include "driver/conductor/conductor_state.h"
#include "driver/receiver/image.h"
#include "flow/congestion.h"

void rsti_image_fill_init(const rst_driver_t *driver, rsti_image_t *image);
/* They stand behind the other counters of the image; is_wanted: its source follows fill. */
int rsti_image_fill_counters(rst_driver_t *driver, rsti_image_t *image, bool is_wanted);
void rsti_image_fill_fini(rst_driver_t *driver, rsti_image_t *image);
/* Each rebuild pass. Returns when to look again. */
int64_t rsti_image_fill_look(rst_driver_t *driver, rsti_image_t *image,
    const rsti_rebuild_facts_t *found);

#endif
