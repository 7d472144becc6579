/* mpsc_rb.h: many-producer single-consumer ring of records (docs/reference/aeron/memory.md 10).
 * Used for clients -> conductor in the CnC file, and inside the driver for sender, receiver ->
 * conductor. */
#ifndef RSTI_CONCURRENT_MPSC_RB_H
#define RSTI_CONCURRENT_MPSC_RB_H

#include "concurrent/rb.h"

typedef struct rsti_mpsc_rb_t {
    rsti_rb_t rb;
} rsti_mpsc_rb_t;

/* Any thread or process. RSTI_RB_OK / FULL / INVALID. */
int rsti_mpsc_rb_write(rsti_mpsc_rb_t *ring, int32_t type, const void *record, size_t length);
/* Claim for writing in place: offset of the payload in the buffer, or RSTI_RB_FULL / INVALID. */
int64_t rsti_mpsc_rb_try_claim(rsti_mpsc_rb_t *ring, int32_t type, size_t length);
/* Consumer only. Skips a record whose producer died; true: something was unblocked. The caller
 * decides when (the head has not moved for the client liveness timeout). */
bool rsti_mpsc_rb_unblock(rsti_mpsc_rb_t *ring);
int64_t rsti_mpsc_rb_next_correlation_id(rsti_mpsc_rb_t *ring);
void rsti_mpsc_rb_set_heartbeat(rsti_mpsc_rb_t *ring, int64_t now_ms);
int64_t rsti_mpsc_rb_heartbeat(const rsti_mpsc_rb_t *ring);

#endif
