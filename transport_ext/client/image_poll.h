/* image_poll.h: the frame walk that the callback polls and the block polls share. */
#ifndef RSTI_CLIENT_IMAGE_POLL_H
#define RSTI_CLIENT_IMAGE_POLL_H

#include "client/image.h"

/* Finds the raw frames from the scan position on, as rst_image_poll_block defines a block. Returns
 * their length. The caller holds subscription->lock or is the image's poller. */
int32_t rsti_image_block(const rst_image_t *image, int32_t bytes_max, const uint8_t **frames,
    bool *is_corrupt);

#endif
