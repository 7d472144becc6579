/* fill_window.c: see the header for the law. */
#include "flow/fill_window.h"

#include "protocol/frame.h"

#include <math.h>

#define LOW_LEAST 0.1
#define HIGH 0.9

int32_t rsti_fill_window(const rsti_fill_t *fill, int64_t buffer_bytes, int32_t window, int32_t mtu)
{
    const int64_t buffer = rsti_clamp_i64(buffer_bytes, 0, RSTI_BUFFER_MAX);
    if (buffer == 0) {
        return window;
    }
    const double whole = (double)buffer;
    const double low = fmax(LOW_LEAST,
        (double)rsti_fill_set_point(fill, fill->drain, buffer) / whole);
    const double level = rsti_clamp_double((double)fill->standing / whole, 0.0, 1.0);
    const double strength = rsti_clamp_double((level - low) / (HIGH - low), 0.0, 1.0);
    if (!(strength > 0)) {
        return window;
    }
    const int32_t left = (int32_t)((1.0 - strength) * (double)window);
    return rsti_min_i32(window, rsti_max_i32(mtu, left & ~(RSTI_FRAME_ALIGNMENT - 1)));
}

bool rsti_fill_window_is_due(const rsti_fill_window_due_t *due)
{
    const bool is_whole_again = due->window == due->whole && due->last_window < due->whole;
    return is_whole_again
        || due->consumed + due->window > due->position + due->last_window + due->whole / 4;
}
