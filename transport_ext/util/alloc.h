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

#endif
