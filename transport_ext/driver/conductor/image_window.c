/* image_window.c: see image_window.h. */
#include "driver/conductor/image_window.h"

#include "flow/fill_window.h"

int32_t rsti_image_window(const rsti_image_t *image)
{
    const rsti_congestion_t *congestion = &image->congestion;
    if (!rsti_load_acquire_i32(&image->window_cut.has_aeron)) {
        return congestion->window;
    }
    return rsti_fill_window(&image->fill.fill, congestion->max_window, congestion->window,
        image->mtu);
}

bool rsti_image_window_is_due(const rsti_image_t *image, int64_t consumed)
{
    if (!rsti_load_acquire_i32(&image->window_cut.has_aeron)) {
        return false;
    }
    const rsti_fill_window_due_t due = {
        .consumed = consumed,
        .position = image->next_sm_position,
        .last_window = image->window_cut.next,
        .window = rsti_image_window(image),
        .whole = image->congestion.window,
    };
    return rsti_fill_window_is_due(&due);
}
