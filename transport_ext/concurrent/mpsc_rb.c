#include "concurrent/mpsc_rb.h"

#include "concurrent/atomics.h"
#include "util/fault.h"

/* Claims `need` contiguous bytes by moving the tail. Returns their index, or RSTI_RB_FULL. */
static int64_t claim(rsti_rb_t *ring, size_t need)
{
    rsti_rb_trailer_t *trailer = ring->trailer;
    int64_t head = rsti_load_acquire_i64(&trailer->head_cache_position);
    for (;;) {
        const int64_t tail = rsti_load_acquire_i64(&trailer->tail_position);
        size_t padding;
        const int64_t index = rsti_rb_find_room(ring, need, tail, &head, &padding);
        if (index < 0) {
            return index;
        }
        const int64_t new_tail = (int64_t)((uint64_t)tail + need + padding);
        if (rsti_cas_i64(&trailer->tail_position, tail, new_tail)) {
            if (padding != 0) {
                rsti_rb_put_padding(ring, rsti_rb_index(ring, tail), (int32_t)padding);
            }
            return index;
        }
    }
}

int64_t rsti_mpsc_rb_try_claim(rsti_mpsc_rb_t *ring, int32_t type, size_t length)
{
    if (!rsti_rb_is_writable(&ring->rb, type, length)) {
        return RSTI_RB_INVALID;
    }
    const int64_t index = claim(&ring->rb, rsti_rb_need(length));
    return index < 0 ? index : rsti_rb_put_claim(&ring->rb, (size_t)index, type, length);
}

int rsti_mpsc_rb_write(rsti_mpsc_rb_t *ring, int32_t type, const void *record, size_t length)
{
    const int64_t offset = rsti_mpsc_rb_try_claim(ring, type, length);
    if (offset < 0) {
        return (int)offset;
    }
    rsti_rb_fill_claim(&ring->rb, offset, record, length);
    return RSTI_RB_OK;
}

static bool is_zero(const rsti_rb_t *ring, size_t from, size_t to)
{
    for (size_t at = from; at < to; at += RSTI_RB_ALIGNMENT) {
        if (rsti_load_acquire_i32(&rsti_rb_header(ring, at)->length) != 0) {
            return false;
        }
    }
    return true;
}

/* A producer died between moving the tail and writing its length: zeros from the head to the next
 * record. All of them become padding. */
static bool unblock_gap(rsti_rb_t *ring, size_t index, size_t end, int64_t tail, bool is_wrapped)
{
    size_t at = index + RSTI_RB_ALIGNMENT;
    while (at < end && rsti_load_acquire_i32(&rsti_rb_header(ring, at)->length) == 0) {
        at += RSTI_RB_ALIGNMENT;
    }
    if (at >= end) {
        /* Zeros up to the tail may be a claim of this moment. Zeros up to the end of the buffer are
         * a dead claim once another producer has written behind them. */
        if (!is_wrapped || is_zero(ring, 0, rsti_rb_index(ring, tail))) {
            return false;
        }
    }
    if (!is_zero(ring, index, at)) {
        return false; /* the producer was alive */
    }
#if RSTI_FAULT == RSTI_FAULT_UNBLOCK
    at += 8;
#endif
    rsti_rb_put_padding(ring, index, (int32_t)(at - index));
    return true;
}

bool rsti_mpsc_rb_unblock(rsti_mpsc_rb_t *mpsc)
{
    rsti_rb_t *ring = &mpsc->rb;
    int64_t head = rsti_load_relaxed_i64(&ring->trailer->head_position);
    int64_t tail = rsti_load_acquire_i64(&ring->trailer->tail_position);
    size_t claimed = rsti_rb_contiguous(ring, head, tail);
    if (claimed == 0) {
        return false;
    }
    size_t index = rsti_rb_index(ring, head);
    rsti_rb_header_t *header = rsti_rb_header(ring, index);
    int32_t length = rsti_load_acquire_i32(&header->length);
    if (length > 0) {
        return false;
    }
    if (length == 0) {
        bool is_wrapped = (uint64_t)tail - (uint64_t)head > claimed;
        return unblock_gap(ring, index, index + claimed, tail, is_wrapped);
    }
    int64_t record_length = -(int64_t)length;
    if (record_length < RSTI_RB_HEADER_LENGTH || record_length > (int64_t)claimed) {
        record_length = (int64_t)claimed;
        ring->corrupt_count++;
    }
    rsti_store_relaxed_i32(&header->type, RSTI_RB_PADDING);
#if RSTI_FAULT == RSTI_FAULT_UNBLOCK
    record_length += 8;
#endif
    rsti_store_release_i32(&header->length, (int32_t)record_length);
    return true;
}

int64_t rsti_mpsc_rb_next_correlation_id(rsti_mpsc_rb_t *ring)
{
    return rsti_fetch_add_i64(&ring->rb.trailer->correlation_counter, 1);
}

void rsti_mpsc_rb_set_heartbeat(rsti_mpsc_rb_t *ring, int64_t now_ms)
{
    rsti_store_release_i64(&ring->rb.trailer->consumer_heartbeat_ms, now_ms);
}

int64_t rsti_mpsc_rb_heartbeat(const rsti_mpsc_rb_t *ring)
{
    return rsti_load_acquire_i64(&ring->rb.trailer->consumer_heartbeat_ms);
}
