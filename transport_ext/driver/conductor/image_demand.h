/* image_demand.h: the conductor's side of demand (receiver/image_demand.h): what the readers ask
 * for. */
#ifndef RSTI_DRIVER_CONDUCTOR_IMAGE_DEMAND_H
#define RSTI_DRIVER_CONDUCTOR_IMAGE_DEMAND_H

#include "driver/conductor/conductor_state.h"
#include "driver/receiver/image.h"

/* Each rebuild pass. Returns when to look again. */
int64_t rsti_image_demand_look(rst_driver_t *driver, rsti_image_t *image, int64_t hwm,
    int64_t now_ns);

#endif
