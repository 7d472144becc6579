/* image_gaps.h: what an unreliable stream has lost. The driver fills a gap with padding of its own
 * (logbuffer/gap_filler.c). The reader finds that padding when it moves on, and reports the range
 * from the end of the last message before it to the beginning of the first one behind it, because a
 * message of which a part is missing is lost as a whole. The caller holds subscription->lock. */
#ifndef RSTI_CLIENT_IMAGE_GAPS_H
#define RSTI_CLIENT_IMAGE_GAPS_H

#include "client/image.h"

/* For a new image. */
void rsti_image_gaps_init(rst_image_t *image);
/* Before the position moves: looks at what was read since the last call. */
void rsti_image_gaps_look(rst_image_t *image);
/* Keeps an event of the image for rst_subscription_next_event; fills in the image. A full ring
 * tells several gaps of one image as one, in which the bytes that are missing stay exact; else it
 * drops its oldest event. */
void rsti_image_gaps_keep(rst_image_t *image, const rst_image_event_t *event);
/* The image ends: reports what was missing at its end. */
void rsti_image_gaps_end(rst_image_t *image);

#endif
