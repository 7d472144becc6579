/* image_window.h: the smaller window of an image for Aeron's sources, which understand no fill NAKs
 * (flow/fill_window.h). A subscription asks for it by rs-fill-window. An rstream source gets fill
 * NAKs instead, and separate status messages with the whole window. The source of a connection
 * without a SETUP is treated as one of Aeron's, because it gets no fill NAKs either. */
#ifndef RSTI_DRIVER_RECEIVER_IMAGE_WINDOW_H
#define RSTI_DRIVER_RECEIVER_IMAGE_WINDOW_H

#include "concurrent/atomics.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct rsti_image_window_t {
    /* written by: conductor, before use */
    bool is_wanted;
    /* written by: conductor */
    int32_t next; /* in the newest status message that was scheduled */
    /* written by: receiver, atomic */
    int32_t has_aeron; /* is_wanted, and a source is not rstream */
} rsti_image_window_t;

/* Notes whether an Aeron source exists, after the sources changed. Receiver. */
static inline void rsti_image_window_set_aeron(rsti_image_window_t *window, int32_t has_aeron)
{
    if (rsti_load_relaxed_i32(&window->has_aeron) != has_aeron) {
        rsti_store_release_i32(&window->has_aeron, has_aeron);
    }
}

#endif
