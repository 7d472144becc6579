/* block_appender.c: appending foreign frames and padding, for an exclusive producer only
 * (docs/reference/aeron/memory.md 4.5). */
#include "logbuffer/appender.h"

#include "logbuffer/appender_internal.h"
#include "util/error.h"

#include <inttypes.h>
#include <string.h>

void rsti_appender_next(const rsti_appender_t *appender, int32_t *term_id, int32_t *term_offset)
{
    const rsti_log_t *log = appender->log;
    *term_id = appender->term_id;
    *term_offset = appender->term_offset;
    if (!appender->is_exclusive) {
        const int64_t position = rsti_log_producer_position(log);
        *term_id = rsti_position_term_id(position, log->position_bits, log->initial_term_id);
        *term_offset = rsti_position_offset(position, log->term_length);
    } else if (appender->term_offset >= log->term_length) {
        *term_id = rsti_wrap_add_i32(appender->term_id, 1);
        *term_offset = 0;
    }
}

int64_t rsti_append_padding(rsti_appender_t *appender, size_t length)
{
    RST_ASSERT(appender->is_exclusive);
    RST_ASSERT(length <= (size_t)rsti_max_message_length(appender->log->term_length));
    const int32_t frame_length = (int32_t)length + RSTI_DATA_HEADER_LENGTH;
    const int32_t required = rsti_frame_span(frame_length);
    rsti_tail_t tail;
    const int64_t before = rsti_appender_look(appender, required, &tail);
    if (before < 0) {
        return before;
    }
    rsti_claim_t claimed;
    if (!rsti_appender_claim(appender, &tail, required, &claimed)) {
        return claimed.position;
    }
    rsti_frame_begin(claimed.frame, appender, frame_length, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_PAD,
        claimed.term_id, claimed.term_offset, 0);
    rsti_frame_commit(claimed.frame, frame_length);
    return claimed.position;
}

/* ---- blocks ---- */

static int64_t refuse_frame(int32_t offset, const char *what, int64_t is, int64_t must)
{
    (void)RST_SET_ERR(RST_EINVAL,
        "frame at byte %" PRId32 " of the block: %s is %" PRId64 ", must be %" PRId64, offset, what,
        is, must);
    return RST_ERROR;
}

static int64_t check_frame(const rsti_appender_t *appender, const uint8_t *frame, int32_t at,
    int32_t rest, int32_t *span)
{
    rsti_data_header_t copy; /* the block need not be aligned */
    memcpy(&copy, frame, sizeof copy); /* a block is a multiple of 32 long: a header fits */
    const rsti_data_header_t *header = &copy;
    const int32_t length = header->frame.frame_length;
    if (!rsti_frame_fits(length, rest)) {
        (void)RST_SET_ERR(RST_EINVAL,
            "frame at byte %" PRId32 " of the block: frame length %" PRId32
            " does not fit the %" PRId32 " bytes left",
            at, length, rest);
        return RST_ERROR;
    }
    if (header->frame.type != RSTI_FRAME_DATA) {
        return refuse_frame(at, "type", header->frame.type, RSTI_FRAME_DATA);
    }
    if (header->term_offset != appender->term_offset + at) {
        return refuse_frame(at, "term offset", header->term_offset, appender->term_offset + at);
    }
    if (header->term_id != appender->term_id) {
        return refuse_frame(at, "term id", header->term_id, appender->term_id);
    }
    if (header->session_id != appender->session_id) {
        return refuse_frame(at, "session id", header->session_id, appender->session_id);
    }
    if (header->stream_id != appender->stream_id) {
        return refuse_frame(at, "stream id", header->stream_id, appender->stream_id);
    }
    *span = rsti_frame_span(length);
    return 0;
}

static int64_t check_block(const rsti_appender_t *appender, const uint8_t *frames, size_t length)
{
    const int32_t room = appender->log->term_length - appender->term_offset;
    if (length == 0 || length > (size_t)room || length % RSTI_FRAME_ALIGNMENT != 0) {
        (void)RST_SET_ERR(RST_EINVAL,
            "block of %zu bytes: must be a multiple of %d and fit the %" PRId32
            " bytes left of the term",
            length, RSTI_FRAME_ALIGNMENT, room);
        return RST_ERROR;
    }
    int32_t at = 0;
    while (at < (int32_t)length) {
        int32_t span = 0;
        const int64_t result = check_frame(appender, frames + at, at, (int32_t)length - at, &span);
        if (result < 0) {
            return result;
        }
        at += span;
    }
    return 0;
}

/* One frame after the other, the length of each last. Aeron copies a block whole and commits its
 * first frame at the end. If that producer dies in between, the first frame is unblocked and the
 * frames behind it remain: readers miss a message in the middle. Here they miss only the end of the
 * block. */
static int32_t copy_frame(uint8_t *to, const uint8_t *from, int32_t rest)
{
    int32_t length;
    memcpy(&length, from, sizeof length);
    if (!rsti_frame_fits(length, rest)) {
        length = rest; /* the caller has changed it after the check: never write beyond the claim */
    }
    const int32_t span = rsti_frame_span(length);
    rsti_store_release_i32(rsti_frame_length_address(to, 0), -length);
    rsti_release_fence();
    memcpy(to + sizeof length, from + sizeof length, (size_t)span - sizeof length);
    rsti_frame_commit(to, length);
    return span;
}

int64_t rsti_append_frames(rsti_appender_t *appender, const uint8_t *frames, size_t length)
{
    RST_ASSERT(appender->is_exclusive);
    const int32_t required = length <= INT32_MAX ? (int32_t)length : INT32_MAX;
    rsti_tail_t tail;
    int64_t result = rsti_appender_look(appender, required, &tail);
    if (result < 0) {
        return result;
    }
    rsti_claim_t claimed;
    if (tail.offset >= appender->log->term_length) {
        /* Rotates the log: the block begins the next term. */
        (void)rsti_appender_claim(appender, &tail, RSTI_FRAME_ALIGNMENT, &claimed);
        result = rsti_appender_look(appender, required, &tail);
        if (result < 0 || claimed.position != RST_ADMIN_ACTION) {
            return result < 0 ? result : claimed.position;
        }
    }
    result = check_block(appender, frames, length);
    if (result < 0) {
        return result;
    }
    if (!rsti_appender_claim(appender, &tail, required, &claimed)) {
        return claimed.position;
    }
    /* Frame by frame: with the first length of the block last, readers would miss a message in the
     * middle if the producer died in between. */
    for (int32_t at = 0; at < required;) {
        at += copy_frame(claimed.frame + at, frames + at, required - at);
    }
    return claimed.position;
}
