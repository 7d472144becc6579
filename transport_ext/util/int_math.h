/* int_math.h: arithmetic that wraps or saturates on purpose (signed overflow is undefined in C).
 * Term ids live modulo 2^32 and are read back as signed (docs/reference/aeron/wire.md 2). */
#ifndef RSTI_UTIL_INT_MATH_H
#define RSTI_UTIL_INT_MATH_H

#include <stdint.h>

static inline int32_t rsti_wrap_add_i32(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

static inline int32_t rsti_wrap_sub_i32(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a - (uint32_t)b);
}

static inline int64_t rsti_wrap_add_i64(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t rsti_saturating_add_i64(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum)) {
        return b > 0 ? INT64_MAX : INT64_MIN;
    }
    return sum;
}

static inline int64_t rsti_min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t rsti_max_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int32_t rsti_min_i32(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static inline int32_t rsti_max_i32(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

#endif
