/* image_window.c: see image_window.h. */
#include "driver/internal.h"

#include "flow/fill_window.h"

void rsti_image_window_on_sources(rsti_image_t *image)
{
    int32_t has_aeron = 0;
    for (int32_t i = 0; i < image->connection_capacity && image->cut.is_wanted; i++) {
        const rsti_connection_t *connection = &image->connections[i];
        has_aeron |= connection->transport != NULL && !connection->is_rstream;
    }
    if (rsti_load_relaxed_i32(&image->cut.has_aeron) != has_aeron) {
        rsti_store_release_i32(&image->cut.has_aeron, has_aeron);
    }
}

int32_t rsti_image_window(const rsti_image_t *image)
{
    const rsti_congestion_t *congestion = &image->congestion;
    if (!rsti_load_acquire_i32(&image->cut.has_aeron)) {
        return congestion->window;
    }
    return rsti_fill_window(&image->fill.fill, congestion->max_window, congestion->window,
        image->mtu);
}

bool rsti_image_window_is_due(const rsti_image_t *image, int64_t consumed)
{
    if (!rsti_load_acquire_i32(&image->cut.has_aeron)) {
        return false;
    }
    const rsti_fill_window_due_t due = {
        .consumed = consumed,
        .position = image->next_sm_position,
        .last_window = image->cut.next,
        .window = rsti_image_window(image),
        .whole = image->congestion.window,
    };
    return rsti_fill_window_is_due(&due);
}
