/* appender.h: producing into a log (docs/reference/aeron/memory.md 4). Concurrent appends are safe
 * from any thread or process; the exclusive form has one producer with its own state. Return
 * values: the position after the message, or RST_BACK_PRESSURED / NOT_CONNECTED / ADMIN_ACTION /
 * MAX_POSITION_EXCEEDED. Lengths must have been checked by the caller. */
#ifndef RSTI_LOGBUFFER_APPENDER_H
#define RSTI_LOGBUFFER_APPENDER_H

#include "logbuffer/descriptor.h"

typedef struct rsti_iovec_t {
    const void *data;
    size_t length;
} rsti_iovec_t;

typedef struct rsti_appender_t {
    rsti_log_t *log;
    const int64_t *limit; /* publisher limit counter */
    int32_t session_id;
    int32_t stream_id;
    int32_t max_payload;
    bool is_exclusive;
    uint8_t owner; /* rsti_claim_owner; 0: claims do not say whose they are */
    int32_t term_id;          /* exclusive only: written by the one producer */
    int32_t term_offset;
} rsti_appender_t;

void rsti_appender_init(rsti_appender_t *appender, rsti_log_t *log, const int64_t *limit,
    int32_t session_id, int32_t stream_id, bool is_exclusive);

/* One message, gathered from parts; fragmented when longer than max_payload. reserved_value goes
 * on every fragment. */
int64_t rsti_append(rsti_appender_t *appender, const rsti_iovec_t *parts, size_t part_count,
    size_t length, int64_t reserved_value);

/* Exclusive only: one message of at most rsti_max_control_length bytes that need not wait for the
 * limit while readers are connected, such as the end of the stream. It may begin wherever the last
 * message below the limit may end (rsti_limit_overshoot). */
int64_t rsti_append_control(rsti_appender_t *appender, const rsti_iovec_t *part,
    int64_t reserved_value);

/* Claim of length <= max_payload: *frame is the header in the log (length word negative). Until it
 * is committed its version says whose it is. */
int64_t rsti_append_claim(rsti_appender_t *appender, size_t length, int64_t reserved_value,
    rsti_data_header_t **frame);
void rsti_append_commit(rsti_data_header_t *frame);
void rsti_append_abort(rsti_data_header_t *frame);

/* Exclusive only: one PAD frame of 32 + length bytes; length <= max message length. */
int64_t rsti_append_padding(rsti_appender_t *appender, size_t length);
/* Exclusive only: whole frames made elsewhere, copied as they are, each header's first word
 * last (docs/reference/aeron/memory.md 4.5). RST_ERROR with a trail when they are not DATA frames
 * of this session and stream, each on a multiple of 32 and where it says it lies, all within the
 * rest of the term. The bytes must not change meanwhile. */
int64_t rsti_append_frames(rsti_appender_t *appender, const uint8_t *frames, size_t length);
/* Where the next frame goes: offset 0 of the next term when the active one is full. */
void rsti_appender_next(const rsti_appender_t *appender, int32_t *term_id, int32_t *term_offset);

/* Many unfragmented messages with one claim of the tail: takes as many of count as fit the limit
 * and the term, at most 256 (messages may have different lengths; each <= max_payload, else it ends
 * before it). *taken says how many; the result is the position after the last one taken, or a
 * reason when none was: RST_ERROR when the first is longer than max_payload (rsti_append takes it).
 * next(arg, i, &data, &length) gives message i; it is called once per i, in order, and may be
 * called for messages that are not taken in the end. */
int64_t rsti_append_many(rsti_appender_t *appender, size_t count,
    void (*next)(void *arg, size_t index, const void **data, size_t *length), void *arg,
    int64_t reserved_value, size_t *taken);

#endif
