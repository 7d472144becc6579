/* spsc_rb.h: single-producer single-consumer ring of records (docs/reference/aeron/memory.md 11),
 * inside one process: conductor -> sender, conductor -> receiver. The tail moves only over complete
 * records. Aeron keeps 8 bytes free for a zeroed next header; this ring is filled to the last byte,
 * because the reading side zeroes the room that it gives back, as in the many-producer ring. */
#ifndef RSTI_CONCURRENT_SPSC_RB_H
#define RSTI_CONCURRENT_SPSC_RB_H

#include "concurrent/rb.h"

typedef struct rsti_spsc_rb_t {
    rsti_rb_t rb;
} rsti_spsc_rb_t;

/* The producer only. RSTI_RB_OK / FULL / INVALID. */
int rsti_spsc_rb_write(rsti_spsc_rb_t *ring, int32_t type, const void *record, size_t length);
/* Claim for writing in place: offset of the payload in the buffer, or RSTI_RB_FULL / INVALID. */
int64_t rsti_spsc_rb_try_claim(rsti_spsc_rb_t *ring, int32_t type, size_t length);

#endif
