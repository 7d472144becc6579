/* eviction.h: the driver's notice that one reader of one log was evicted. It is at byte 96 of the
 * value record of the reader's position counter, unused by Aeron, behind the line that the client
 * writes (wake.h).
 *
 * An evicted reader may be anywhere: in a batch, asleep, stopped by a signal. When it goes on, the
 * log may have been cleaned and filled again under it. So it reads as behind a sequence lock: its
 * copy counts only if this word is still zero afterwards. */
#ifndef RSTI_CONCURRENT_EVICTION_H
#define RSTI_CONCURRENT_EVICTION_H

#include "concurrent/counters.h"
#include "concurrent/wake.h"

typedef struct rsti_reader_ext_t {
    int64_t let_go_ms; /* written by: driver's conductor, once. Wall clock; 0: not evicted */
    uint8_t pad[24];
} rsti_reader_ext_t;
#define RSTI_READER_EXT_OFFSET 96
_Static_assert(RSTI_READER_EXT_OFFSET + sizeof(rsti_reader_ext_t) == sizeof(rsti_counter_value_t),
    "extension of a position counter");
_Static_assert(offsetof(rsti_counter_value_t, spare) + sizeof(rsti_position_ext_t)
        <= RSTI_READER_EXT_OFFSET,
    "extension of a position counter");

static inline rsti_reader_ext_t *rsti_reader_ext(rsti_counter_value_t *value)
{
    return (rsti_reader_ext_t *)(void *)((uint8_t *)value + RSTI_READER_EXT_OFFSET);
}

#endif
