/* wake_readers.h: readers of an image that got data are woken once per burst. */
#ifndef RSTI_DRIVER_RECEIVER_WAKE_READERS_H
#define RSTI_DRIVER_RECEIVER_WAKE_READERS_H

#include "driver/receiver/image.h"
#include "driver/receiver/receiver_state.h"

/* The image got data. */
void rsti_receiver_touch(rsti_receiver_t *receiver, rsti_image_t *image);
/* The burst is over: the readers of all touched images are woken. */
void rsti_receiver_wake_touched(rsti_receiver_t *receiver);

#endif
