/* check.h: helpers of the fuzz targets. A broken property aborts; the driver (or libFuzzer) then
 * reports the input. */
#ifndef RSTI_FUZZ_CHECK_H
#define RSTI_FUZZ_CHECK_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUZZ_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition);                \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#define FUZZ_BLOCK_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

/* A copy in a heap block of exactly this size, so that the sanitizer sees a read of one byte too
 * many. Blocks are kept per size: an allocation for each input would halve the rate. The copy is
 * valid until the next call with this size. */
static inline uint8_t *fuzz_exact_copy(const uint8_t *data, size_t size)
{
    static uint8_t *blocks[FUZZ_BLOCK_MAX + 1];
    static uint8_t *large;
    uint8_t **block = size <= FUZZ_BLOCK_MAX ? &blocks[size] : &large;
    if (size > FUZZ_BLOCK_MAX) {
        free(large);
        large = NULL;
    }
    if (*block == NULL) {
        *block = malloc(size);
        if (*block == NULL && size > 0) {
            abort();
        }
    }
    if (size > 0) {
        memcpy(*block, data, size);
    }
    return *block;
}

/* Little-endian, by hand: the naive side of the comparisons shares no code with the decoder under
 * test. */
static inline uint64_t fuzz_read(const uint8_t *from, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++) {
        value |= (uint64_t)from[i] << (8 * i);
    }
    return value;
}

static inline int64_t fuzz_i32(const uint8_t *from)
{
    return (int32_t)(uint32_t)fuzz_read(from, 4);
}

#endif
