/* driver.h: opening a driver with an injected clock, network and secret, for tests and the
 * laboratory. */
#ifndef RSTI_DRIVER_DRIVER_H
#define RSTI_DRIVER_DRIVER_H

#include "rstream/driver.h"

#include "media/media.h"
#include "util/clock.h"
#include "util/secret.h"

/* As rst_driver_open, with the given clock, media table and secret. The caller keeps the ownership
 * of media; NULL: UDP sockets. */
int rsti_driver_open_with(rst_driver_t **driver, const rst_driver_params_t *params,
    const rsti_clock_t *clock, const rsti_media_t *media, const rsti_secret_t *secret);

#endif
