/* damaged_files.c: see damaged_files.h. */
#include "driver/conductor/damaged_files.h"

#include "cnc/map_guard.h"
#include "concurrent/atomics.h"
#include "driver/base/proxies.h"
#include "driver/conductor/conductor_state.h"
#include "driver/conductor/ipc_publication.h"
#include "driver/conductor/network_publication.h"
#include "driver/conductor/publication.h"
#include "driver/receiver/image.h"
#include "util/alloc.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define WHY "another process cut its log file short"

static void check_publications(rst_driver_t *driver)
{
    const rsti_conductor_t *conductor = driver->conductor;
    for (size_t i = 0; i < conductor->ipc_publications.count; i++) {
        rsti_ipc_publication_t *publication = conductor->ipc_publications.items[i];
        if (publication->base.life <= RSTI_LIFE_DRAINING
            && rsti_map_guard_is_damaged(publication->base.file.log.base)) {
            rsti_publication_abort(driver, &publication->base, publication->consumer_position, WHY);
        }
    }
    for (size_t i = 0; i < conductor->publications.count; i++) {
        rsti_network_publication_t *publication = conductor->publications.items[i];
        if (publication->base.life <= RSTI_LIFE_DRAINING
            && rsti_map_guard_is_damaged(publication->base.file.log.base)) {
            rsti_network_publication_abort(driver, publication, WHY);
        }
    }
}

/* As if a client had rejected it: its sender is told, and readers see the end of the image. */
static void check_images(rst_driver_t *driver)
{
    const rsti_conductor_t *conductor = driver->conductor;
    for (size_t i = 0; i < conductor->images.count; i++) {
        rsti_image_t *image = conductor->images.items[i];
        if (image->life != RSTI_LIFE_ACTIVE || image->reject_reason != NULL
            || !rsti_map_guard_is_damaged(image->file.log.base)) {
            continue;
        }
        char text[192];
        snprintf(text, sizeof text, "image of stream %" PRId32 " session %" PRId32 " ends: " WHY,
            image->stream_id, image->session_id);
        rsti_driver_log_error(driver, RST_ECORRUPT, text);
        image->reject_reason = rsti_strndup(text, strlen(text));
        if (image->reject_reason != NULL) {
            rsti_store_release_i32(&image->is_rejected, 1);
            rsti_driver_wake_agent(driver, RSTI_AGENT_RECEIVER);
        }
    }
}

void rsti_damaged_files_check(rst_driver_t *driver)
{
    const int64_t damaged = rsti_map_guard_damaged();
    if (damaged == driver->conductor->files_damaged) {
        return;
    }
    driver->conductor->files_damaged = damaged;
    if (rsti_map_guard_is_damaged(driver->cnc.base)) {
        rsti_store_release_i32(&driver->is_terminated, 1);
    }
    check_publications(driver);
    check_images(driver);
}
