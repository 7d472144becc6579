/* wake_readers.h: wakes the readers of images with new data, once per burst. Called by the receiver
 * alone. */
#ifndef RSTI_DRIVER_RECEIVER_WAKE_READERS_H
#define RSTI_DRIVER_RECEIVER_WAKE_READERS_H

#include "driver/receiver/image.h"
#include "driver/receiver/receiver_state.h"

/* The image got data: its readers are woken at the end of the burst. */
void rsti_receiver_touch(rsti_receiver_t *receiver, rsti_image_t *image);
/* The burst is over: wakes the readers of all touched images. */
void rsti_receiver_wake_touched(rsti_receiver_t *receiver);

#endif
