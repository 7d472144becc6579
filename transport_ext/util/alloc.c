#include "util/alloc.h"

#include "util/bits.h"
#include "util/error.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define LARGE_PAGE ((uintptr_t)2 << 20)
#define LARGE_BLOCK_MIN ((size_t)32 << 20)

void *rsti_alloc(size_t size)
{
    if (size > SIZE_MAX - RSTI_CACHE_LINE) {
        (void)RST_SET_ERR(RST_ENOMEM, "cannot allocate %zu bytes", size);
        return NULL;
    }
    size_t whole = (size + RSTI_CACHE_LINE - 1) & ~(size_t)(RSTI_CACHE_LINE - 1);
    if (whole == 0) {
        whole = RSTI_CACHE_LINE;
    }
    void *block = aligned_alloc(RSTI_CACHE_LINE, whole);
    if (block == NULL) {
        (void)RST_SET_ERR(RST_ENOMEM, "cannot allocate %zu bytes", size);
        return NULL;
    }
    memset(block, 0, whole);
    return block;
}

void *rsti_realloc(void *block, size_t old_size, size_t new_size)
{
    /* realloc() would lose the alignment. */
    void *bigger = rsti_alloc(new_size);
    if (bigger == NULL) {
        return NULL;
    }
    if (block != NULL) {
        memcpy(bigger, block, old_size < new_size ? old_size : new_size);
        rsti_free(block);
    }
    return bigger;
}

char *rsti_strndup(const char *text, size_t length)
{
    size_t kept = strnlen(text, length);
    char *copy = rsti_alloc(kept + 1);
    if (copy != NULL) {
        memcpy(copy, text, kept);
    }
    return copy;
}

void rsti_free(void *block)
{
    free(block);
}

void rsti_prefer_large_pages(void *block, size_t size)
{
#ifdef MADV_HUGEPAGE
    if (size > LARGE_BLOCK_MIN) {
        const uintptr_t begin = ((uintptr_t)block + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
        const uintptr_t end = ((uintptr_t)block + size) & ~(LARGE_PAGE - 1);
        (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
    }
#else
    (void)block;
    (void)size;
#endif
}
