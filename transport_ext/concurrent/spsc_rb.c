#include "concurrent/spsc_rb.h"

#include "concurrent/atomics.h"

/* The place of the next record with this payload, and the tail behind it. The tail is not moved;
 * padding at the end of the buffer is written. */
static int64_t find_place(rsti_rb_t *ring, int32_t type, size_t length, int64_t *new_tail)
{
    if (!rsti_rb_is_writable(ring, type, length)) {
        return RSTI_RB_INVALID;
    }
    const int64_t tail = rsti_load_relaxed_i64(&ring->trailer->tail_position);
    int64_t head = rsti_load_relaxed_i64(&ring->trailer->head_cache_position);
    const size_t need = rsti_rb_need(length);
    size_t padding;
    const int64_t index = rsti_rb_find_room(ring, need, tail, &head, &padding);
    if (index >= 0) {
        *new_tail = (int64_t)((uint64_t)tail + need + padding);
        if (padding != 0) {
            rsti_rb_put_padding(ring, rsti_rb_index(ring, tail), (int32_t)padding);
        }
    }
    return index;
}

int64_t rsti_spsc_rb_try_claim(rsti_spsc_rb_t *ring, int32_t type, size_t length)
{
    int64_t tail;
    const int64_t index = find_place(&ring->rb, type, length, &tail);
    if (index < 0) {
        return index;
    }
    const int64_t offset = rsti_rb_put_claim(&ring->rb, (size_t)index, type, length);
    rsti_store_release_i64(&ring->rb.trailer->tail_position, tail);
    return offset;
}

int rsti_spsc_rb_write(rsti_spsc_rb_t *ring, int32_t type, const void *record, size_t length)
{
    int64_t tail;
    const int64_t index = find_place(&ring->rb, type, length, &tail);
    if (index < 0) {
        return (int)index;
    }
    rsti_rb_header_t *header = rsti_rb_header(&ring->rb, (size_t)index);
    rsti_store_relaxed_i32(&header->type, type);
    rsti_rb_fill_claim(&ring->rb, index + RSTI_RB_HEADER_LENGTH, record, length);
    rsti_store_release_i64(&ring->rb.trailer->tail_position, tail);
    return RSTI_RB_OK;
}
