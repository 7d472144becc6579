/* held_by.h: the reason that holds a publisher back, translated for the API. offer still returns
 * Aeron's -2, because programs compare with it. */
#ifndef RSTI_CLIENT_HELD_BY_H
#define RSTI_CLIENT_HELD_BY_H

#include "concurrent/wake.h"
#include "rstream/rstream.h"

/* The driver's values come from another process: an unknown one reads as the window. Without
 * storage the log cannot grow, whatever the other limits say. storage may be NULL. */
static inline int64_t rsti_held_by_told(const rsti_log_ext_t *ext, rst_storage_t *storage)
{
    const int32_t held_by = rsti_load_relaxed_i32(&ext->held_by);
    const int64_t needed = rsti_load_acquire_i64(&ext->storage.needed);
    if (needed > 0) {
        if (storage != NULL) {
            *storage = (rst_storage_t){needed, rsti_load_relaxed_i64(&ext->storage.usable)};
        }
        return RST_HELD_BY_STORAGE;
    }
    return held_by == RSTI_HELD_BY_RATE  ? RST_HELD_BY_RATE
        : held_by == RSTI_HELD_BY_BUDGET ? RST_HELD_BY_BUDGET
        : held_by == RSTI_HELD_BY_PATH   ? RST_HELD_BY_PATH
                                         : RST_HELD_BY_WINDOW;
}

#endif
