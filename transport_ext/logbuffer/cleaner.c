/* cleaner.c: zeroes the memory that every consumer has read (docs/reference/aeron/memory.md 5). */
#include "logbuffer/rebuilder.h"

#include "util/fault.h"

#include <string.h>

void rsti_log_clean(const rsti_log_t *log, int64_t position, int32_t length)
{
    RST_ASSERT(position >= 0);
    RST_ASSERT(length >= 8);
    const int32_t offset = rsti_position_offset(position, log->term_length);
    RST_ASSERT(length <= log->term_length - offset);
    uint8_t *begin = log->terms[rsti_position_index(position, log->position_bits)] + offset;
#if RSTI_FAULT == RSTI_FAULT_CLEANER
    length += offset + length < log->term_length ? RSTI_FRAME_ALIGNMENT : 0;
#endif
    memset(begin + 8, 0, (size_t)length - 8);
    rsti_store_release_i64((int64_t *)(void *)begin, 0);
}

int32_t rsti_log_clean_up_to(const rsti_log_t *log, int64_t *clean_position, int64_t to_position)
{
    const int64_t from = *clean_position;
    RST_ASSERT((from & (RSTI_FRAME_ALIGNMENT - 1)) == 0);
    /* Consumers store their positions in shared memory: one inside a frame is rounded down. */
    const int64_t to = to_position & ~(int64_t)(RSTI_FRAME_ALIGNMENT - 1);
    if (from < 0 || to <= from) {
        return 0;
    }
    const int32_t left = log->term_length - rsti_position_offset(from, log->term_length);
    const int32_t length = (int32_t)rsti_min_i64(to - from, left);
    rsti_log_clean(log, from, length);
    *clean_position = from + length;
    return length;
}
