/* sequence.h: several words that change together, one writer, any reader (a sequence lock). The
 * words lie between two numbers, begin and end, and are read and written by relaxed loads and
 * stores:
 *
 *     writer: change = open(&begin); words ...; close(&end, change)
 *     reader: change = load_acquire(&end); words ...; is_whole(&begin, change), else they are torn
 *
 * A reader that finds them torn, or changed while it read, tries again at its next look: the writer
 * wakes it behind close. Numbers are above zero once something was written. */
#ifndef RSTI_CONCURRENT_SEQUENCE_H
#define RSTI_CONCURRENT_SEQUENCE_H

#include "concurrent/atomics.h"

static inline int64_t rsti_sequence_open(int64_t *begin)
{
    const int64_t change = rsti_load_relaxed_i64(begin) + 1;
    rsti_store_release_i64(begin, change);
    rsti_fence();
    return change;
}

static inline void rsti_sequence_close(int64_t *end, int64_t change)
{
    rsti_store_release_i64(end, change);
}

static inline bool rsti_sequence_is_whole(const int64_t *begin, int64_t change)
{
    rsti_acquire_fence();
    return change == rsti_load_acquire_i64(begin);
}

#endif
