/* unblocker.c: repairs the claim of a producer that died before it committed
 * (docs/reference/aeron/memory.md 6). Each repair is one compare-and-swap of a frame's first word,
 * so a producer that is only slow wins if it commits first. */
#include "logbuffer/rebuilder.h"

#include <string.h>

static bool put_padding(const rsti_log_t *log, uint8_t *term, int32_t offset, int32_t length,
    int32_t term_id, int64_t expected_first_word)
{
    rsti_data_header_t header;
    memcpy(&header, log->metadata->default_header, sizeof header);
    header.frame.frame_length = length;
    header.frame.type = RSTI_FRAME_PAD;
    header.term_offset = offset;
    header.term_id = term_id;
    int64_t source[RSTI_DATA_HEADER_LENGTH / 8];
    memcpy(source, &header, sizeof header);
    int64_t *words = (int64_t *)(void *)(term + offset);
    rsti_store_relaxed_i64(&words[1], source[1]);
    rsti_store_relaxed_i64(&words[2], source[2]);
    return rsti_cas_i64(&words[0], expected_first_word, source[0]);
}

/* The first offset above the blocked one with a length, or end_offset. */
static int32_t next_frame(uint8_t *term, int32_t blocked_offset, int32_t end_offset)
{
    int32_t at = blocked_offset + RSTI_FRAME_ALIGNMENT;
    while (at < end_offset && rsti_load_acquire_i32(rsti_frame_length_address(term, at)) == 0) {
        at += RSTI_FRAME_ALIGNMENT;
    }
    return rsti_min_i32(at, end_offset);
}

static bool is_zero_back_to(uint8_t *term, int32_t from, int32_t blocked_offset)
{
    for (int32_t at = from - RSTI_FRAME_ALIGNMENT; at >= blocked_offset;
        at -= RSTI_FRAME_ALIGNMENT) {
        if (rsti_load_acquire_i32(rsti_frame_length_address(term, at)) != 0) {
            return false;
        }
    }
    return true;
}

static rsti_unblock_t unblock_zeros(const rsti_log_t *log, uint8_t *term, int32_t blocked_offset,
    int32_t tail_offset, int32_t term_id, int64_t first_word)
{
    const int32_t next = next_frame(term, blocked_offset, tail_offset);
    if (next >= tail_offset && tail_offset < log->term_length) {
        return RSTI_UNBLOCK_NONE; /* nothing follows yet: its producer may still commit */
    }
    if (!is_zero_back_to(term, next, blocked_offset)
        || !put_padding(log, term, blocked_offset, next - blocked_offset, term_id, first_word)) {
        return RSTI_UNBLOCK_NONE;
    }
    return next == log->term_length ? RSTI_UNBLOCK_TO_END : RSTI_UNBLOCK_DONE;
}

rsti_unblock_t rsti_term_unblock(const rsti_log_t *log, uint8_t *term, int32_t blocked_offset,
    int32_t tail_offset, int32_t term_id)
{
    if (blocked_offset < 0 || blocked_offset >= log->term_length
        || (blocked_offset & (RSTI_FRAME_ALIGNMENT - 1)) != 0) {
        return RSTI_UNBLOCK_NONE;
    }
    const int64_t first_word = rsti_load_acquire_i64((const int64_t *)(const void *)(term
        + blocked_offset));
    const int32_t length = (int32_t)first_word;
    if (length > 0) {
        return RSTI_UNBLOCK_NONE;
    }
    if (length == 0) {
        const int32_t tail = rsti_min_i32(tail_offset, log->term_length);
        return unblock_zeros(log, term, blocked_offset, tail, term_id, first_word);
    }
    const int32_t claimed = rsti_wrap_sub_i32(0, length);
    if (claimed < 0 || !rsti_frame_fits(claimed, log->term_length - blocked_offset)) {
        return RSTI_UNBLOCK_NONE;
    }
    return put_padding(log, term, blocked_offset, claimed, term_id, first_word) ? RSTI_UNBLOCK_DONE
                                                                                : RSTI_UNBLOCK_NONE;
}

bool rsti_log_unblock(const rsti_log_t *log, int64_t blocked_position)
{
    if (blocked_position < 0 || blocked_position >= rsti_max_position(log->term_length)) {
        return false;
    }
    rsti_log_metadata_t *metadata = log->metadata;
    const int32_t blocked_count = (int32_t)(blocked_position >> log->position_bits);
    const int32_t blocked_offset = rsti_position_offset(blocked_position, log->term_length);
    const int32_t active_count = rsti_load_acquire_i32(&metadata->active_term_count);
    if (blocked_offset == 0 && active_count == blocked_count - 1) {
        (void)rsti_log_rotate(metadata, active_count,
            rsti_wrap_add_i32(log->initial_term_id, active_count));
        return true;
    }
    const int32_t index = rsti_term_index(blocked_count);
    const int64_t raw = rsti_load_acquire_i64(&metadata->term_tail_counters[index]);
    const int32_t term_id = rsti_tail_term_id(raw);
    if (rsti_wrap_sub_i32(term_id, log->initial_term_id) != blocked_count) {
        return false;
    }
    switch (rsti_term_unblock(log, log->terms[index], blocked_offset,
        rsti_tail_offset(raw, log->term_length), term_id)) {
    case RSTI_UNBLOCK_TO_END:
        (void)rsti_log_rotate(metadata, blocked_count, term_id);
        return true;
    case RSTI_UNBLOCK_DONE:
        return true;
    case RSTI_UNBLOCK_NONE:
        return false;
    }
    return false;
}

uint8_t rsti_log_claim_owner(const rsti_log_t *log, int64_t position)
{
    const int32_t offset = rsti_position_offset(position, log->term_length);
    if (position < 0 || (offset & (RSTI_FRAME_ALIGNMENT - 1)) != 0) {
        return 0;
    }
    uint8_t *frame = log->terms[rsti_position_index(position, log->position_bits)] + offset;
    const int64_t word = rsti_load_acquire_i64((const int64_t *)(const void *)frame);
    rsti_frame_header_t header;
    memcpy(&header, &word, sizeof header);
    return header.frame_length < 0 ? (uint8_t)header.version : 0;
}

bool rsti_log_unblock_to_tail(const rsti_log_t *log, int64_t blocked_position)
{
    if (rsti_log_unblock(log, blocked_position)) {
        return true;
    }
    if (blocked_position < 0 || blocked_position >= rsti_max_position(log->term_length)) {
        return false;
    }
    const int32_t count = (int32_t)(blocked_position >> log->position_bits);
    const int32_t offset = rsti_position_offset(blocked_position, log->term_length);
    const int32_t index = rsti_term_index(count);
    uint8_t *term = log->terms[index];
    const int64_t raw = rsti_load_acquire_i64(&log->metadata->term_tail_counters[index]);
    const int32_t term_id = rsti_tail_term_id(raw);
    const int32_t tail = rsti_tail_offset(raw, log->term_length);
    if (rsti_wrap_sub_i32(term_id, log->initial_term_id) != count || tail <= offset
        || ((tail | offset) & (RSTI_FRAME_ALIGNMENT - 1)) != 0
        || !is_zero_back_to(term, tail, offset)) {
        return false;
    }
    const int64_t first_word = rsti_load_acquire_i64((const int64_t *)(const void *)(term
        + offset));
    return (int32_t)first_word == 0
        && put_padding(log, term, offset, tail - offset, term_id, first_word);
}
