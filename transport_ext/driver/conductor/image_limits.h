/* image_limits.h: limits on the number of images of a stream, and on those whose source has not
 * proved itself (receiver/admission.h). Any host can send SETUPs under any address.
 *
 * Law: together, unproven images hold at most unproven-images-length bytes. They never hold more
 * than 7/8 of the sum of their own bytes and the free bytes of the file system. There are at most
 * RSTI_UNPROVEN_IMAGES of them, and RSTI_UNPROVEN_IMAGES_PER_HOST from one address. They take no
 * place from proven ones: stream-session-limit counts them only against each other.
 *
 * Law: the images from one address, proven or not, hold at most source-images-length bytes. They
 * never hold more than 7/8 of the sum of their own bytes and the free bytes of the file system.
 * When 7/8 of all counters are taken, an address with one RSTI_SOURCE_IMAGES_SHARE-th of them as
 * images gets no more. So a host that has proved its address leaves room for others. */
#ifndef RSTI_DRIVER_CONDUCTOR_IMAGE_LIMITS_H
#define RSTI_DRIVER_CONDUCTOR_IMAGE_LIMITS_H

#include "driver/conductor/conductor_state.h"
#include "driver/conductor/image_facts.h"

#define RSTI_UNPROVEN_IMAGES 64
#define RSTI_UNPROVEN_IMAGES_PER_HOST 8
#define RSTI_SOURCE_IMAGES_SHARE 16 /* a sixteenth; an image has half a dozen counters or more */

/* Returns 0, or -RST_EFULL with a trail when a limit forbids another image. */
int rsti_image_check_limits(rst_driver_t *driver, const rsti_image_facts_t *facts);
/* Whether the log of the image may grow up to position: 0, or -RST_EFULL with a trail. */
int rsti_image_check_growth(rst_driver_t *driver, const rsti_image_t *image, int64_t position);
/* The law of both. held: bytes of these images; wanted: bytes more; most: the option; usable: free
 * bytes, or INT64_MAX when unknown. */
bool rsti_images_fit(int64_t held, int64_t wanted, int64_t most, int64_t usable);

#endif
