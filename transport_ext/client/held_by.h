/* held_by.h: the reason that holds a publisher back, translated for the API. */
#ifndef RSTI_CLIENT_HELD_BY_H
#define RSTI_CLIENT_HELD_BY_H

#include "concurrent/wake.h"
#include "rstream/rstream.h"

/* The driver's value comes from another process: an unknown one reads as the window. */
static inline int64_t rsti_held_by_told(int32_t held_by)
{
    return held_by == RSTI_HELD_BY_RATE  ? RST_HELD_BY_RATE
        : held_by == RSTI_HELD_BY_BUDGET ? RST_HELD_BY_BUDGET
                                         : RST_HELD_BY_WINDOW;
}

#endif
