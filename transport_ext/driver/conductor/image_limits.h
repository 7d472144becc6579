/* image_limits.h: how many images a stream may have, and how much memory images may hold
 * that have not proved themselves by a frame. Anybody can write SETUPs, and an image is made for
 * each new session.
 *
 * Law: images that have not got a frame yet hold together at most unproven-images-length bytes,
 * unless there is only one; and never more than 7/8 of what they and the free space of the file
 * system are together. */
#ifndef RSTI_DRIVER_CONDUCTOR_IMAGE_LIMITS_H
#define RSTI_DRIVER_CONDUCTOR_IMAGE_LIMITS_H

#include "driver/conductor/conductor_state.h"
#include "driver/receiver/receive_endpoint.h"
#include "protocol/frame.h"

/* -RST_EFULL when there are enough already. */
int rsti_image_check_limits(rst_driver_t *driver, const rsti_receive_endpoint_t *endpoint,
    const rsti_setup_t *setup, bool is_sparse);
bool rsti_unproven_images_fit(int64_t held, int64_t wanted, int64_t most, int64_t usable);

#endif
