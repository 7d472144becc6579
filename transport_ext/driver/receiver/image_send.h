/* image_send.h: frames from an image to its sources: status messages with and without items, and
 * anything else that goes to all of them (docs/reference/aeron/wire.md 8.4). */
#ifndef RSTI_DRIVER_RECEIVER_IMAGE_SEND_H
#define RSTI_DRIVER_RECEIVER_IMAGE_SEND_H

#include "driver/receiver/image.h"
#include "driver/receiver/receiver_state.h"

typedef enum rsti_sources_t {
    RSTI_SOURCES_ALL,
    RSTI_SOURCES_RSTREAM,
    RSTI_SOURCES_AERON
} rsti_sources_t;

/* To every connection that is alive; returns how many. */
int32_t rsti_image_send_to_live(rsti_receiver_t *receiver, rsti_image_t *image, const void *frame,
    size_t length, int64_t now_ns);
void rsti_image_send_sm(rsti_receiver_t *receiver, rsti_image_t *image, rsti_sources_t sources,
    int64_t position, int64_t window, bool is_draining, int64_t now_ns);
/* The last plain one with items behind it: to rstream sources alone, and more often than needed is
 * harmless (docs/reference/wire.md, SM items). fill: value of that item, for those that follow it;
 * NULL: none. Demand, budget and NOOPs go along once they are known. */
void rsti_image_send_items(rsti_receiver_t *receiver, rsti_image_t *image, const uint8_t *fill,
    int64_t now_ns);
/* The image is rejected. */
void rsti_image_send_err(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns);

#endif
