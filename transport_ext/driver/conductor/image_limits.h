/* image_limits.h: limits on the number of images of a stream, and on those whose source has not
 * proved itself (receiver/admission.h). Any host can send SETUPs under any address.
 *
 * Law: together, unproven images hold at most unproven-images-length bytes. They never hold more
 * than 7/8 of the sum of their own bytes and the free bytes of the file system. There are at most
 * RSTI_UNPROVEN_IMAGES of them, and RSTI_UNPROVEN_IMAGES_PER_HOST from one address. They take no
 * place from proven ones: stream-session-limit counts them only against each other. */
#ifndef RSTI_DRIVER_CONDUCTOR_IMAGE_LIMITS_H
#define RSTI_DRIVER_CONDUCTOR_IMAGE_LIMITS_H

#include "driver/conductor/conductor_state.h"
#include "driver/conductor/image_facts.h"

#define RSTI_UNPROVEN_IMAGES 64
#define RSTI_UNPROVEN_IMAGES_PER_HOST 8

/* Returns 0, or -RST_EFULL with a trail when a limit forbids another image. */
int rsti_image_check_limits(rst_driver_t *driver, const rsti_image_facts_t *facts);
/* The law above. held: bytes of the unproven images; wanted: bytes of the new image; most:
 * unproven-images-length; usable: free bytes, or INT64_MAX when unknown. */
bool rsti_unproven_images_fit(int64_t held, int64_t wanted, int64_t most, int64_t usable);

#endif
