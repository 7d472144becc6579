/* driver.h: a driver made with what tests and the laboratory put in the place of the system. */
#ifndef RSTI_DRIVER_DRIVER_H
#define RSTI_DRIVER_DRIVER_H

#include "rstream/driver.h"

#include "media/media.h"
#include "util/clock.h"

/* With an injected clock, media table (not taken over) and seed: for tests. */
int rsti_driver_open_with(rst_driver_t **driver, const rst_driver_params_t *params,
    const rsti_clock_t *clock, const rsti_media_t *media, uint64_t seed);

#endif
