/* alloc.h: zeroed, cache-line aligned heap memory. Agents allocate only in the conductor's cold
 * paths. NULL leaves an RST_ENOMEM trail. rsti_free(NULL) is legal. */
#ifndef RSTI_UTIL_ALLOC_H
#define RSTI_UTIL_ALLOC_H

#include <stddef.h>

void *rsti_alloc(size_t size);
/* Keeps the first old_size bytes and zeroes the rest. After a failure the old block is
 * unchanged. */
void *rsti_realloc(void *block, size_t old_size, size_t new_size);
char *rsti_strndup(const char *text, size_t length);
void rsti_free(void *block);
/* Asks the system for large pages for a block of more than 32 MiB, which every C library takes from
 * the system anew: with small pages the first writes take longer than the copies. Only a hint; a
 * page that is not written still costs nothing. */
void rsti_prefer_large_pages(void *block, size_t size);

#endif
