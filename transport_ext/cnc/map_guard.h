/* map_guard.h: keeps this process alive when another process cuts a mapped file short.
 *
 * Touching a mapped page behind the end of its file raises SIGBUS, which would end the driver with
 * all its streams because of one file. The guard's handler puts a page of zeros, private to this
 * process, in the place of the missing one, and marks the mapping as damaged. The owner of the file
 * looks at the mark and ends what used the file. A SIGBUS at any other address goes to the handler
 * that was there before. Threads that touch mapped files must not block SIGBUS.
 *
 * The handler is installed with the first mapping. A program that installs its own later loses the
 * guard, and nothing else. Source: mmap(2), "SIGBUS". */
#ifndef RSTI_CNC_MAP_GUARD_H
#define RSTI_CNC_MAP_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Mappings that are guarded at once; the others behave as without a guard. */
#define RSTI_MAP_GUARDS_MAX 8192

/* Any thread. base: the start of a whole mapping. */
void rsti_map_guard_add(const uint8_t *base, size_t length, bool read_only);
/* Call it before munmap. */
void rsti_map_guard_remove(const uint8_t *base);
/* The number of mappings that were damaged up to now, in this process. One load. */
int64_t rsti_map_guard_damaged(void);
/* True: a page of this mapping was missing. Compares with every guard. */
bool rsti_map_guard_is_damaged(const uint8_t *base);

#endif
