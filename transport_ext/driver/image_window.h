/* image_window.h: an image's window for its sources that understand no fill NAKs, Aeron's
 * (flow/fill_window.h), when its subscription asks for it by rs-fill-window. Sources of ours get
 * fill NAKs, and the whole window in status messages of their own. What the source of a connection
 * without a SETUP understands is not known; it gets no fill NAKs, so it is taken for one of
 * Aeron's. */
#ifndef RSTI_DRIVER_IMAGE_WINDOW_H
#define RSTI_DRIVER_IMAGE_WINDOW_H

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

#endif
