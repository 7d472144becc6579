/* gap_filler.c: turns a gap that will not be repaired into padding. */
#include "logbuffer/rebuilder.h"

#include <string.h>

static bool is_gap_in_term(const rsti_gap_t *gap, int32_t term_length)
{
    return gap->term_offset >= 0 && (gap->term_offset & (RSTI_FRAME_ALIGNMENT - 1)) == 0
        && gap->length >= RSTI_DATA_HEADER_LENGTH
        && (int64_t)gap->term_offset + gap->length <= term_length;
}

bool rsti_term_gap_fill(const rsti_log_t *log, const rsti_gap_t *gap)
{
    const int32_t count = rsti_wrap_sub_i32(gap->term_id, log->initial_term_id);
    if (count < 0 || !is_gap_in_term(gap, log->term_length)) {
        return false;
    }
    uint8_t *frame = log->terms[rsti_term_index(count)] + gap->term_offset;
    for (int32_t at = 0; at < gap->length; at += RSTI_FRAME_ALIGNMENT) {
        if (rsti_load_acquire_i32(rsti_frame_length_address(frame, at)) != 0) {
            return false;
        }
    }
    rsti_data_header_t header;
    memcpy(&header, log->metadata->default_header, sizeof header);
    header.frame.frame_length = gap->length;
    header.frame.type = RSTI_FRAME_PAD;
    header.frame.flags |= RSTI_FLAG_LOST;
    header.term_offset = gap->term_offset;
    header.term_id = gap->term_id;
    int64_t source[RSTI_DATA_HEADER_LENGTH / 8];
    memcpy(source, &header, sizeof header);
    int64_t *words = (int64_t *)(void *)frame;
    /* The same values as in a datagram for this place, so a race between the two does no harm. */
    rsti_store_relaxed_i64(&words[1], source[1]);
    rsti_store_relaxed_i64(&words[2], source[2]);
    return rsti_cas_i64(&words[0], 0, source[0]);
}
