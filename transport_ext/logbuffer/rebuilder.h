/* rebuilder.h: the receiving side of a log: inserting datagrams, finding and filling gaps, cleaning
 * consumed memory, unblocking dead producers (docs/reference/aeron/wire.md 8.4, 9.1, 9.3;
 * docs/reference/aeron/memory.md 5, 6).
 */
#ifndef RSTI_LOGBUFFER_REBUILDER_H
#define RSTI_LOGBUFFER_REBUILDER_H

#include "logbuffer/descriptor.h"

/* Copies a validated DATA/PAD datagram to term + offset, unless a frame is there already (its first
 * length word decides). True: it was inserted. */
bool rsti_term_insert(uint8_t *term, int32_t offset, const uint8_t *datagram, size_t length);

typedef struct rsti_gap_t {
    int32_t term_id;
    int32_t term_offset;
    int32_t length;
} rsti_gap_t;

/* First gap at or after offset, below limit_offset (of one term). true: *gap is set. Always sets
 * *contiguous_offset: end of the contiguous run of frames from offset (the gap's begin, else the
 * limit or the end of the frame that reaches over it). */
bool rsti_term_gap_scan(uint8_t *term, int32_t term_id, int32_t offset, int32_t limit_offset,
    int32_t term_length, int32_t *contiguous_offset, rsti_gap_t *gap);

/* The end of the contiguous run of frames from the offset. Looks at nothing behind it. */
int32_t rsti_term_contiguous_end(uint8_t *term, int32_t offset, int32_t limit_offset,
    int32_t term_length);

/* Several gaps in one pass; returns how many were stored (<= capacity). */
int32_t rsti_term_gap_scan_many(uint8_t *term, int32_t term_id, int32_t offset,
    int32_t limit_offset, int32_t term_length, int32_t *contiguous_offset, rsti_gap_t *gaps,
    int32_t capacity);

/* Writes one PAD over the gap if it is still all zero (reliable=false); true when filled. */
bool rsti_term_gap_fill(const rsti_log_t *log, const rsti_gap_t *gap);

/* Zeroes [position, position + length) which must not cross a term end: bytes behind the first
 * word, then the first word with release. */
void rsti_log_clean(const rsti_log_t *log, int64_t position, int32_t length);
/* Cleans from *clean_position up to to_position, at most to the end of one term per call; moves
 * *clean_position; returns bytes cleaned. */
int32_t rsti_log_clean_up_to(const rsti_log_t *log, int64_t *clean_position, int64_t to_position);

/* Unblocks a dead producer at blocked_position (docs/reference/aeron/memory.md 6). True:
 * unblocked. */
bool rsti_log_unblock(const rsti_log_t *log, int64_t blocked_position);
/* Likewise when no producer is left: then zeros up to the tail are a dead claim too. */
bool rsti_log_unblock_to_tail(const rsti_log_t *log, int64_t blocked_position);
/* The owner that a claim of this client shows; 1 to 255, so two clients may share one. */
static inline uint8_t rsti_claim_owner(int64_t client_id)
{
    return (uint8_t)(1 + (uint64_t)client_id % 255);
}
/* The owner of the claim at position; 0: there is no open claim, or it does not say. */
uint8_t rsti_log_claim_owner(const rsti_log_t *log, int64_t position);
/* The part within one term, for tests against vectors. */
typedef enum rsti_unblock_t {
    RSTI_UNBLOCK_NONE = 0,
    RSTI_UNBLOCK_DONE = 1,
    RSTI_UNBLOCK_TO_END = 2
} rsti_unblock_t;
rsti_unblock_t rsti_term_unblock(const rsti_log_t *log, uint8_t *term, int32_t blocked_offset,
    int32_t tail_offset, int32_t term_id);

#endif
