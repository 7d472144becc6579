/* image_window.h: the conductor's work on the window for Aeron sources (receiver/image_window.h).
 */
#ifndef RSTI_DRIVER_CONDUCTOR_IMAGE_WINDOW_H
#define RSTI_DRIVER_CONDUCTOR_IMAGE_WINDOW_H

#include "driver/conductor/conductor_state.h"
#include "driver/receiver/image.h"

/* The current window for Aeron sources. It never exceeds the window of congestion control. */
int32_t rsti_image_window(const rsti_image_t *image);
/* True when Aeron sources need a status message now, even if other sources do not. */
bool rsti_image_window_is_due(const rsti_image_t *image, int64_t consumed);

#endif
