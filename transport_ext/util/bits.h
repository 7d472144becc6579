/* bits.h: alignment, powers of two and unaligned little-endian access. */
#ifndef RSTI_UTIL_BITS_H
#define RSTI_UTIL_BITS_H

#include "util/assert.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
    "wire and memory layouts are little-endian; a big-endian port must swap in these functions");

#define RSTI_CACHE_LINE 64

static inline int64_t rsti_align_i64(int64_t value, int64_t alignment)
{
    return (value + (alignment - 1)) & ~(alignment - 1);
}

static inline int32_t rsti_align_i32(int32_t value, int32_t alignment)
{
    return (value + (alignment - 1)) & ~(alignment - 1);
}

static inline bool rsti_is_power_of_two(int64_t value)
{
    return value > 0 && (value & (value - 1)) == 0;
}

/* log2 of a power of two. */
static inline int32_t rsti_log2(uint32_t power_of_two)
{
    return (int32_t)__builtin_ctz(power_of_two);
}

static inline int32_t rsti_get_i32(const void *from)
{
    int32_t value;
    memcpy(&value, from, sizeof value);
    return value;
}

static inline int64_t rsti_get_i64(const void *from)
{
    int64_t value;
    memcpy(&value, from, sizeof value);
    return value;
}

static inline void rsti_put_i32(void *to, int32_t value)
{
    memcpy(to, &value, sizeof value);
}

static inline void rsti_put_i64(void *to, int64_t value)
{
    memcpy(to, &value, sizeof value);
}

#endif
