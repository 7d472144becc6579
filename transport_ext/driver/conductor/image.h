/* image.h: the conductor's work on an image: loss detection, status messages, and lifecycle
 * (docs/reference/aeron/wire.md 8.6 and 12.2, docs/reference/aeron/driver.md 5.4). */
#ifndef RSTI_DRIVER_CONDUCTOR_IMAGE_H
#define RSTI_DRIVER_CONDUCTOR_IMAGE_H

#include "driver/conductor/conductor_state.h"
#include "driver/receiver/image.h"

/* Rebuild pass (wire.md 8.6). Returns the time of the next pass that is needed, or
 * RSTI_NO_DEADLINE. */
int64_t rsti_image_rebuild(rst_driver_t *driver, rsti_image_t *image, int64_t now_ns);
/* True when no reader has unread data. */
bool rsti_image_is_drained(const rsti_image_t *image);
/* True when a new subscriber may be linked to the image. */
bool rsti_image_accepts(const rsti_image_t *image);
/* The position at which a new subscriber begins. */
int64_t rsti_image_join_position(const rsti_image_t *image);
/* Call it before a subscriber leaves. The next status message then counts what the subscriber has
 * consumed. */
void rsti_image_note_consumed(rst_driver_t *driver, rsti_image_t *image);
/* The readers have read everything, and the stream goes on at position in another image. Tells them
 * so and takes the image from the receiver. */
void rsti_image_retire(rst_driver_t *driver, rsti_image_t *image, int64_t position, int64_t now_ns);
/* Each pass. True when the image may be freed. Lowers *next_deadline_ns to the time of the next
 * change. */
bool rsti_image_on_life(rst_driver_t *driver, rsti_image_t *image, int64_t now_ns,
    int64_t *next_deadline_ns);

#endif
