/* memory.c: replaces util/alloc.c with the same contract; every block records its process. Freed
 * memory is overwritten, so that a use after free shows. */
#include "tests/sim/process.h"
#include "tests/sim/resource_faults.h"
#include "tests/sim/world.h"
#include "util/alloc.h"
#include "util/bits.h"
#include "util/error.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC 0x5349424c /* a block that is in use */
#define FREED 0xDB
#define FREED_BYTES_MAX 4096 /* of a large block only the beginning is overwritten */

typedef struct block_t {
    _Alignas(RSTI_CACHE_LINE) struct block_t *next, *prev;
    size_t size;
    int32_t magic;
    int32_t process_id;
} block_t;

static block_t *blocks_of[SIM_PROCESSES_MAX];
static int64_t count_of[SIM_PROCESSES_MAX];

void *rsti_alloc(size_t size)
{
    if (size > SIZE_MAX - sizeof(block_t) - RSTI_CACHE_LINE) {
        (void)RST_SET_ERR(RST_ENOMEM, "cannot allocate %zu bytes", size);
        return NULL;
    }
    if (sim_resource_fails(RESOURCE_MEMORY)) {
        (void)RST_SET_ERR(RST_ENOMEM, "cannot allocate %zu bytes", size);
        return NULL;
    }
    /* calloc() need not touch the pages of a large block; alignment by hand. */
    uint8_t *raw = calloc(1, size + sizeof(block_t) + 2 * RSTI_CACHE_LINE);
    if (raw == NULL) {
        (void)RST_SET_ERR(RST_ENOMEM, "cannot allocate %zu bytes", size);
        return NULL;
    }
    uint8_t *aligned = raw + RSTI_CACHE_LINE - (uintptr_t)raw % RSTI_CACHE_LINE;
    block_t *block = (block_t *)(void *)aligned;
    aligned[-1] = (uint8_t)(aligned - raw); /* 1 … 64 */
    block->size = size;
    block->magic = MAGIC;
    block->process_id = sim_process_current()->id;
    block->prev = NULL;
    block->next = blocks_of[block->process_id];
    if (block->next != NULL) {
        block->next->prev = block;
    }
    blocks_of[block->process_id] = block;
    count_of[block->process_id]++;
    return block + 1;
}

void rsti_free(void *block)
{
    if (block == NULL) {
        return;
    }
    block_t *header = (block_t *)block - 1;
    if (header->magic != MAGIC) {
        sim_fail("an invalid block is freed, or a block twice");
    }
    if (header->prev != NULL) {
        header->prev->next = header->next;
    } else {
        blocks_of[header->process_id] = header->next;
    }
    if (header->next != NULL) {
        header->next->prev = header->prev;
    }
    count_of[header->process_id]--;
    header->magic = 0;
    memset(block, FREED, header->size < FREED_BYTES_MAX ? header->size : FREED_BYTES_MAX);
    uint8_t *aligned = (uint8_t *)header;
    free(aligned - aligned[-1]);
}

void *rsti_realloc(void *block, size_t old_size, size_t new_size)
{
    void *bigger = rsti_alloc(new_size);
    if (bigger != NULL && block != NULL) {
        memcpy(bigger, block, old_size < new_size ? old_size : new_size);
        rsti_free(block);
    }
    return bigger;
}

char *rsti_strndup(const char *text, size_t length)
{
    const size_t kept = strnlen(text, length);
    char *copy = rsti_alloc(kept + 1);
    if (copy != NULL) {
        memcpy(copy, text, kept);
    }
    return copy;
}

int64_t sim_memory_held(int32_t process_id)
{
    return count_of[process_id];
}

void sim_memory_free_all(int32_t process_id)
{
    while (blocks_of[process_id] != NULL) {
        rsti_free(blocks_of[process_id] + 1);
    }
}

void rsti_prefer_large_pages(void *block, size_t size)
{
    (void)block;
    (void)size;
}
