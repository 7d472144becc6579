/* image_window.h: an image's window for its sources that understand no fill NAKs, Aeron's
 * (flow/fill_window.h), when its subscription asks for it by rs-fill-window. Sources of ours get
 * fill NAKs, and the whole window in status messages of their own. What the source of a connection
 * without a SETUP understands is not known; it gets no fill NAKs, so it is taken for one of
 * Aeron's. */
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
    int32_t has_aeron; /* is_wanted, and some source is not of ours */
} rsti_image_window_t;

/* Receiver: the sources of the image are others. */
static inline void rsti_image_window_set_aeron(rsti_image_window_t *window, int32_t has_aeron)
{
    if (rsti_load_relaxed_i32(&window->has_aeron) != has_aeron) {
        rsti_store_release_i32(&window->has_aeron, has_aeron);
    }
}

#endif
