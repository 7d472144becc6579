/* appender_internal.h: the part that both files of the appender share: reading the tail, claiming,
 * beginning and committing a frame. */
#ifndef RSTI_LOGBUFFER_APPENDER_INTERNAL_H
#define RSTI_LOGBUFFER_APPENDER_INTERNAL_H

#include "logbuffer/appender.h"

#include "util/fault.h"

/* The end of the active term at the time of the call. */
typedef struct rsti_tail_t {
    int32_t index;
    int32_t term_id;
    int32_t offset; /* clamped to the term length */
} rsti_tail_t;

typedef struct rsti_claim_t {
    uint8_t *frame;
    int32_t term_id;
    int32_t term_offset;
    int64_t position; /* behind the claim, or the reason for refusing it */
} rsti_claim_t;

/* The position before the message, or the reason for refusing it. */
int64_t rsti_appender_look(const rsti_appender_t *appender, int32_t required, rsti_tail_t *tail);
/* False: claimed->position is the reason. */
bool rsti_appender_claim(rsti_appender_t *appender, const rsti_tail_t *tail, int32_t required,
    rsti_claim_t *claimed);

/* The order of docs/reference/aeron/memory.md 4.4: the negative length is visible before any other
 * byte, so the unblocker can tell a claimed frame from untouched memory. */
static inline void rsti_frame_begin(uint8_t *frame, const rsti_appender_t *appender, int32_t length,
    uint8_t flags, int16_t type, int32_t term_id, int32_t term_offset, int64_t reserved_value)
{
#if RSTI_FAULT == RSTI_FAULT_COMMIT_ORDER
    rsti_store_release_i32(rsti_frame_length_address(frame, 0), length);
#else
    rsti_store_release_i32(rsti_frame_length_address(frame, 0), -length);
#endif
    rsti_release_fence();
    rsti_data_header_t *header = (rsti_data_header_t *)(void *)frame;
    header->frame.version = 0;
    header->frame.flags = flags;
    header->frame.type = type;
    header->term_offset = term_offset;
    header->session_id = appender->session_id;
    header->stream_id = appender->stream_id;
    header->term_id = term_id;
    header->reserved_value = reserved_value;
}

static inline void rsti_frame_commit(uint8_t *frame, int32_t length)
{
    rsti_store_release_i32(rsti_frame_length_address(frame, 0), length);
}

#endif
