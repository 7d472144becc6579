/* image_limits.h: limits on the number of images of a stream, and on the memory of unproven
 * images. An image is unproven until its first data frame. Any host can send SETUPs, and each new
 * session gets an image.
 *
 * Law: together, unproven images hold at most unproven-images-length bytes, unless there is only
 * one. They never hold more than 7/8 of the sum of their own bytes and the free bytes of the file
 * system. */
#ifndef RSTI_DRIVER_CONDUCTOR_IMAGE_LIMITS_H
#define RSTI_DRIVER_CONDUCTOR_IMAGE_LIMITS_H

#include "driver/conductor/conductor_state.h"
#include "driver/receiver/receive_endpoint.h"
#include "protocol/frame.h"

/* Returns 0, or -RST_EFULL with a trail when a limit forbids another image. */
int rsti_image_check_limits(rst_driver_t *driver, const rsti_receive_endpoint_t *endpoint,
    const rsti_setup_t *setup, bool is_sparse);
/* The law above. held: bytes of the unproven images; wanted: bytes of the new image; most:
 * unproven-images-length; usable: free bytes, or INT64_MAX when unknown. */
bool rsti_unproven_images_fit(int64_t held, int64_t wanted, int64_t most, int64_t usable);

#endif
