/* image_congestion.h: an image's window: the law that the channel asks for, its counters, and when
 * the sender is told (docs/reference/aeron/wire.md 8.2, 11). */
#ifndef RSTI_DRIVER_CONDUCTOR_IMAGE_CONGESTION_H
#define RSTI_DRIVER_CONDUCTOR_IMAGE_CONGESTION_H

#include "driver/conductor/conductor_state.h"
#include "driver/conductor/image_facts.h"
#include "driver/receiver/image.h"
#include "flow/congestion.h"

int rsti_image_congestion_init(rst_driver_t *driver, rsti_image_t *image,
    const rsti_image_facts_t *facts, int64_t now_ns);
int rsti_image_congestion_counters(rst_driver_t *driver, rsti_image_t *image);
void rsti_image_congestion_fini(rst_driver_t *driver, rsti_image_t *image);
/* One rebuild pass; true when a status message is to be scheduled. */
bool rsti_image_congestion_rebuild(rsti_image_t *image, const rsti_rebuild_facts_t *facts,
    bool is_ack_due);

#endif
