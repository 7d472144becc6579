/* image.h: the conductor's side of an image: rebuild and life (docs/reference/aeron/wire.md 8.6 and
 * 12.2, docs/reference/aeron/driver.md 5.4). */
#ifndef RSTI_DRIVER_CONDUCTOR_IMAGE_H
#define RSTI_DRIVER_CONDUCTOR_IMAGE_H

#include "driver/conductor/conductor_state.h"
#include "driver/receiver/image.h"

/* Rebuild pass (8.6). Returns when its loss timer is due. */
int64_t rsti_image_rebuild(rst_driver_t *driver, rsti_image_t *image, int64_t now_ns);
bool rsti_image_is_drained(const rsti_image_t *image);
bool rsti_image_accepts(const rsti_image_t *image);
int64_t rsti_image_join_position(const rsti_image_t *image);
/* Before a subscriber leaves: what it has consumed goes into the next status message. */
void rsti_image_note_consumed(rst_driver_t *driver, rsti_image_t *image);
/* Every pass: true when the image may be freed. Lowers *next_deadline_ns to when time matters. */
bool rsti_image_on_life(rst_driver_t *driver, rsti_image_t *image, int64_t now_ns,
    int64_t *next_deadline_ns);

#endif
