/* image_window.h: the conductor's side of the window for Aeron's sources (receiver/image_window.h).
 */
#ifndef RSTI_DRIVER_CONDUCTOR_IMAGE_WINDOW_H
#define RSTI_DRIVER_CONDUCTOR_IMAGE_WINDOW_H

#include "driver/conductor/conductor_state.h"
#include "driver/receiver/image.h"

/* The window for Aeron's sources now: that of congestion, or less. */
int32_t rsti_image_window(const rsti_image_t *image);
/* It is told at once, though the status message for the others is not due. */
bool rsti_image_window_is_due(const rsti_image_t *image, int64_t consumed);

#endif
