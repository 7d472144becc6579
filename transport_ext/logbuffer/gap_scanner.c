/* gap_scanner.c: finds missing frames in a term that is being rebuilt. */
#include "logbuffer/rebuilder.h"

#include "util/fault.h"

static int32_t length_at(uint8_t *term, int32_t offset)
{
    return rsti_load_acquire_i32(rsti_frame_length_address(term, offset));
}

/* The first offset, from the given one on, where no frame begins. True: a gap begins there. False:
 * the limit was reached, or the length there is impossible. */
static bool walk_frames(uint8_t *term, int32_t *offset, int32_t limit_offset, int32_t term_length)
{
    int32_t at = *offset;
    bool is_gap = false;
    while (at < limit_offset) {
        const int32_t length = length_at(term, at);
        if (length <= 0) {
            is_gap = true;
            break;
        }
        if (!rsti_frame_fits(length, term_length - at)) {
            break;
        }
        at += rsti_frame_span(length);
    }
    *offset = at;
    return is_gap;
}

static int32_t gap_end(uint8_t *term, int32_t begin, int32_t limit_offset)
{
    int32_t at = begin + RSTI_FRAME_ALIGNMENT;
    while (at < limit_offset && length_at(term, at) == 0) {
        at += RSTI_FRAME_ALIGNMENT;
    }
    return rsti_min_i32(at, limit_offset);
}

int32_t rsti_term_contiguous_end(uint8_t *term, int32_t offset, int32_t limit_offset,
    int32_t term_length)
{
    int32_t at = offset;
    (void)walk_frames(term, &at, rsti_min_i32(limit_offset, term_length), term_length);
    return at;
}

int32_t rsti_term_gap_scan_many(uint8_t *term, int32_t term_id, int32_t offset,
    int32_t limit_offset, int32_t term_length, int32_t *contiguous_offset, rsti_gap_t *gaps,
    int32_t capacity)
{
    *contiguous_offset = offset;
    if (offset < 0 || (offset & (RSTI_FRAME_ALIGNMENT - 1)) != 0) {
        return 0;
    }
    const int32_t limit = rsti_min_i32(limit_offset, term_length);
    int32_t count = 0;
    int32_t at = offset;
    bool is_gap = walk_frames(term, &at, limit, term_length);
    *contiguous_offset = at;
    while (is_gap && count < capacity) {
        const int32_t end = gap_end(term, at, limit);
#if RSTI_FAULT == RSTI_FAULT_GAP_BEGIN
        at += end - at > RSTI_FRAME_ALIGNMENT ? RSTI_FRAME_ALIGNMENT : 0;
#endif
        gaps[count++] = (rsti_gap_t){.term_id = term_id, .term_offset = at, .length = end - at};
        at = end;
        is_gap = walk_frames(term, &at, limit, term_length);
    }
    return count;
}

bool rsti_term_gap_scan(uint8_t *term, int32_t term_id, int32_t offset, int32_t limit_offset,
    int32_t term_length, int32_t *contiguous_offset, rsti_gap_t *gap)
{
    return rsti_term_gap_scan_many(term, term_id, offset, limit_offset, term_length,
               contiguous_offset, gap, 1)
        == 1;
}
