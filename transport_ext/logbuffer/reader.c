/* reader.c: the subscriber's walk and the sender's scan over committed frames. */
#include "logbuffer/reader.h"

static bool is_scan_offset(int32_t offset, int32_t term_length)
{
    return offset >= 0 && offset <= term_length && (offset & (RSTI_FRAME_ALIGNMENT - 1)) == 0;
}

int32_t rsti_term_read(uint8_t *term, int32_t term_length, int32_t offset,
    rsti_fragment_t *fragments, int32_t capacity, int32_t *next_offset, bool *is_corrupt)
{
    int32_t count = 0;
    *is_corrupt = !is_scan_offset(offset, term_length);
    *next_offset = offset;
    if (*is_corrupt) {
        return 0;
    }
    while (count < capacity && offset < term_length) {
        /* Read once: the checked value is the used one. */
        const int32_t length = rsti_load_acquire_i32(rsti_frame_length_address(term, offset));
        if (length <= 0) {
            break;
        }
        if (!rsti_frame_fits(length, term_length - offset)) {
            *is_corrupt = true;
            break;
        }
        const rsti_data_header_t *header = (const rsti_data_header_t *)(void *)(term + offset);
        const int16_t type = header->frame.type;
        if (type == RSTI_FRAME_DATA) {
            rsti_fragment_t *fragment = &fragments[count++];
            fragment->header = header;
            fragment->payload = term + offset + RSTI_DATA_HEADER_LENGTH;
            fragment->payload_length = length - RSTI_DATA_HEADER_LENGTH;
            fragment->flags = header->frame.flags;
        } else if (type != RSTI_FRAME_PAD) {
            *is_corrupt = true;
            break;
        }
        offset += rsti_frame_span(length);
    }
    *next_offset = offset;
    return count;
}

int32_t rsti_term_scan(uint8_t *term, int32_t term_length, int32_t offset, int32_t max_length,
    int32_t *padding)
{
    int32_t available = 0;
    *padding = 0;
    if (!is_scan_offset(offset, term_length)) {
        return 0;
    }
    while (offset + available < term_length) {
        const int32_t at = offset + available;
        const int32_t length = rsti_load_acquire_i32(rsti_frame_length_address(term, at));
        if (length <= 0 || !rsti_frame_fits(length, term_length - at)) {
            break;
        }
        const rsti_data_header_t *header = (const rsti_data_header_t *)(void *)(term + at);
        const int32_t span = rsti_frame_span(length);
        const bool is_pad = header->frame.type == RSTI_FRAME_PAD;
        const int32_t sent = is_pad ? RSTI_DATA_HEADER_LENGTH : span;
        if (sent > max_length - available) {
            return available > 0 ? available : -sent;
        }
        available += sent;
        if (span > sent) {
            *padding = span - sent;
            break;
        }
    }
    return available;
}

int64_t rsti_log_committed_end(const rsti_log_t *log, int64_t from, int64_t to)
{
    int64_t position = from;
    while (position < to) {
        const int32_t offset = rsti_position_offset(position, log->term_length);
        uint8_t *term = log->terms[rsti_position_index(position, log->position_bits)];
        if (!is_scan_offset(offset, log->term_length)) {
            break;
        }
        const int32_t length = rsti_load_acquire_i32(rsti_frame_length_address(term, offset));
        if (length <= 0 || !rsti_frame_fits(length, log->term_length - offset)) {
            break;
        }
        position += rsti_frame_span(length);
    }
    return position;
}
