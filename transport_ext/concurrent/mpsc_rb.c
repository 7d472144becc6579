#include "concurrent/mpsc_rb.h"

#include "concurrent/atomics.h"
#include "util/bits.h"
#include "util/error.h"
#include "util/fault.h"

#define CAPACITY_MIN 64
#define RECORD_ALIGNMENT 8

/* i32 length (with this header), i32 type, payload. */
typedef struct record_header_t {
    int32_t length;
    int32_t type;
} record_header_t;
_Static_assert(sizeof(record_header_t) == RSTI_RB_HEADER_LENGTH, "record header");

int rsti_mpsc_rb_init(rsti_mpsc_rb_t *ring, void *buffer, size_t length)
{
    if (length < RSTI_RB_TRAILER_LENGTH + CAPACITY_MIN || length > INT32_MAX
        || !rsti_is_power_of_two((int64_t)(length - RSTI_RB_TRAILER_LENGTH))) {
        return RST_SET_ERR(RST_EINVAL,
            "ring of %zu bytes: must be a power of two of at least %d, plus a trailer of %d",
            length, CAPACITY_MIN, RSTI_RB_TRAILER_LENGTH);
    }
    if (((uintptr_t)buffer & 7) != 0) {
        return RST_SET_ERR(RST_EINVAL, "ring memory must be aligned to 8 bytes");
    }
    size_t capacity = length - RSTI_RB_TRAILER_LENGTH;
    *ring = (rsti_mpsc_rb_t){
        .buffer = buffer,
        .trailer = (rsti_rb_trailer_t *)(void *)((uint8_t *)buffer + capacity),
        .capacity = capacity,
        .max_message_length = capacity / 8,
    };
    return 0;
}

/* Positions lie in memory that other processes write: whatever they hold, the index is inside the
 * buffer and aligned. */
static size_t index_of(const rsti_mpsc_rb_t *ring, int64_t position)
{
    return (size_t)position & (ring->capacity - 1) & ~(size_t)(RECORD_ALIGNMENT - 1);
}

static record_header_t *header_at(const rsti_mpsc_rb_t *ring, size_t index)
{
    return (record_header_t *)(void *)(ring->buffer + index);
}

static uint64_t span(int64_t from, int64_t to)
{
    return (uint64_t)to - (uint64_t)from;
}

static size_t align_record(size_t length)
{
    return (length + (RECORD_ALIGNMENT - 1)) & ~(size_t)(RECORD_ALIGNMENT - 1);
}

static void write_padding(rsti_mpsc_rb_t *ring, size_t index, int32_t length)
{
    record_header_t *header = header_at(ring, index);
    rsti_store_release_i32(&header->length, -length);
    rsti_release_fence();
    rsti_store_relaxed_i32(&header->type, RSTI_RB_PADDING);
    rsti_store_release_i32(&header->length, length);
}

/* Signed on purpose: the head may be past a tail that was read before it; the CAS then fails. */
static bool is_roomy(const rsti_mpsc_rb_t *ring, size_t need, int64_t head, int64_t tail)
{
    return (int64_t)span(head, tail) <= (int64_t)ring->capacity - (int64_t)need;
}

/* Whether need bytes fit between tail and head; asks the consumer's own word only when the cached
 * one says no. */
static bool has_room(rsti_mpsc_rb_t *ring, size_t need, int64_t tail, int64_t *head)
{
    if (is_roomy(ring, need, *head, tail)) {
        return true;
    }
    *head = rsti_load_acquire_i64(&ring->trailer->head_position);
    if (!is_roomy(ring, need, *head, tail)) {
        return false;
    }
    rsti_store_release_i64(&ring->trailer->head_cache_position, *head);
    return true;
}

/* The wrapped case: the record goes to index 0, in front of the head. */
static bool has_room_at_start(rsti_mpsc_rb_t *ring, size_t need, int64_t *head)
{
    if (need <= index_of(ring, *head)) {
        return true;
    }
    *head = rsti_load_acquire_i64(&ring->trailer->head_position);
    if (need > index_of(ring, *head)) {
        return false;
    }
    rsti_store_release_i64(&ring->trailer->head_cache_position, *head);
    return true;
}

/* Moves the tail over need bytes that lie in one piece; their index, or RSTI_RB_FULL. */
static int64_t claim(rsti_mpsc_rb_t *ring, size_t need)
{
    rsti_rb_trailer_t *trailer = ring->trailer;
    int64_t head = rsti_load_acquire_i64(&trailer->head_cache_position);
    for (;;) {
        int64_t tail = rsti_load_acquire_i64(&trailer->tail_position);
        if (!has_room(ring, need, tail, &head)) {
            return RSTI_RB_FULL;
        }
        size_t index = index_of(ring, tail);
        size_t room = ring->capacity - index;
        size_t padding = 0;
        if (need > room) {
            if (!has_room_at_start(ring, need, &head)) {
                return RSTI_RB_FULL;
            }
            padding = room;
        }
        int64_t new_tail = (int64_t)((uint64_t)tail + need + padding);
        if (rsti_cas_i64(&trailer->tail_position, tail, new_tail)) {
            if (padding != 0) {
                write_padding(ring, index, (int32_t)padding);
                index = 0;
            }
            return (int64_t)index;
        }
    }
}

static bool is_writable(const rsti_mpsc_rb_t *ring, int32_t type, size_t length)
{
    return type >= 1 && length <= ring->max_message_length;
}

int64_t rsti_mpsc_rb_try_claim(rsti_mpsc_rb_t *ring, int32_t type, size_t length)
{
    if (!is_writable(ring, type, length)) {
        return RSTI_RB_INVALID;
    }
    size_t record_length = RSTI_RB_HEADER_LENGTH + length;
    int64_t index = claim(ring, align_record(record_length));
    if (index < 0) {
        return index;
    }
    record_header_t *header = header_at(ring, (size_t)index);
    rsti_store_release_i32(&header->length, -(int32_t)record_length);
    rsti_release_fence();
    rsti_store_relaxed_i32(&header->type, type);
    return index + RSTI_RB_HEADER_LENGTH;
}

int rsti_mpsc_rb_write(rsti_mpsc_rb_t *ring, int32_t type, const void *record, size_t length)
{
    int64_t offset = rsti_mpsc_rb_try_claim(ring, type, length);
    if (offset < 0) {
        return (int)offset;
    }
    if (length > 0) {
        memcpy(ring->buffer + offset, record, length);
    }
    record_header_t *header = header_at(ring, (size_t)offset - RSTI_RB_HEADER_LENGTH);
    rsti_store_release_i32(&header->length, (int32_t)(RSTI_RB_HEADER_LENGTH + length));
    return RSTI_RB_OK;
}

/* The header of an open claim, or NULL. */
static record_header_t *claimed_header(const rsti_mpsc_rb_t *ring, int64_t offset, int32_t *length)
{
    if (offset < RSTI_RB_HEADER_LENGTH || offset > (int64_t)ring->capacity
        || (offset & (RECORD_ALIGNMENT - 1)) != 0) {
        return NULL;
    }
    record_header_t *header = header_at(ring, (size_t)offset - RSTI_RB_HEADER_LENGTH);
    int32_t claimed = rsti_load_relaxed_i32(&header->length);
    if (claimed > -RSTI_RB_HEADER_LENGTH || claimed == INT32_MIN) {
        return NULL;
    }
    *length = -claimed;
    return header;
}

int rsti_mpsc_rb_commit(rsti_mpsc_rb_t *ring, int64_t offset)
{
    int32_t length;
    record_header_t *header = claimed_header(ring, offset, &length);
    if (header == NULL) {
        return RSTI_RB_INVALID;
    }
    rsti_store_release_i32(&header->length, length);
    return RSTI_RB_OK;
}

int rsti_mpsc_rb_abort(rsti_mpsc_rb_t *ring, int64_t offset)
{
    int32_t length;
    record_header_t *header = claimed_header(ring, offset, &length);
    if (header == NULL) {
        return RSTI_RB_INVALID;
    }
    rsti_store_relaxed_i32(&header->type, RSTI_RB_PADDING);
    rsti_store_release_i32(&header->length, length);
    return RSTI_RB_OK;
}

/* Bytes from index on that are claimed and lie in one piece. */
static size_t contiguous_claimed(const rsti_mpsc_rb_t *ring, int64_t head, int64_t tail)
{
    size_t to_end = ring->capacity - index_of(ring, head);
    uint64_t claimed = span(head, tail);
    return claimed < to_end ? (size_t)claimed & ~(size_t)(RECORD_ALIGNMENT - 1) : to_end;
}

size_t rsti_mpsc_rb_read(
    rsti_mpsc_rb_t *ring, size_t limit, rsti_rb_on_record_t on_record, void *arg)
{
    int64_t head = rsti_load_relaxed_i64(&ring->trailer->head_position);
    size_t index = index_of(ring, head);
    size_t end = contiguous_claimed(
        ring, head, rsti_load_acquire_i64(&ring->trailer->tail_position));
    size_t consumed_bytes = 0;
    size_t count = 0;
    rsti_rb_action_t action = RSTI_RB_CONTINUE;
    while (action == RSTI_RB_CONTINUE && count < limit && consumed_bytes < end) {
        const record_header_t *header = header_at(ring, index + consumed_bytes);
        int32_t length = rsti_load_acquire_i32(&header->length);
        if (length <= 0) {
            break;
        }
        size_t record_length = align_record((size_t)length);
        if (length < RSTI_RB_HEADER_LENGTH || record_length > end - consumed_bytes) {
            /* No way to know where the next record begins, but one begins at the end of this
             * piece: at the tail, or at index 0. */
            ring->corrupt_count++;
            consumed_bytes = end;
            break;
        }
        int32_t type = rsti_load_relaxed_i32(&header->type);
        if (type != RSTI_RB_PADDING) {
            action = on_record(arg, type, header + 1, (size_t)length - RSTI_RB_HEADER_LENGTH);
            if (action == RSTI_RB_ABORT) {
                break;
            }
            count++;
        }
        consumed_bytes += record_length;
    }
    if (consumed_bytes > 0) {
        memset(ring->buffer + index, 0, consumed_bytes);
        rsti_store_release_i64(&ring->trailer->head_position,
            (int64_t)((uint64_t)head + consumed_bytes));
    }
    return count;
}

bool rsti_mpsc_rb_has_records(const rsti_mpsc_rb_t *ring)
{
    int64_t head = rsti_load_acquire_i64(&ring->trailer->head_position);
    int64_t tail = rsti_load_acquire_i64(&ring->trailer->tail_position);
    return tail != head
           && rsti_load_acquire_i32(&header_at(ring, index_of(ring, head))->length) > 0;
}

static bool is_zero(const rsti_mpsc_rb_t *ring, size_t from, size_t to)
{
    for (size_t at = from; at < to; at += RECORD_ALIGNMENT) {
        if (rsti_load_acquire_i32(&header_at(ring, at)->length) != 0) {
            return false;
        }
    }
    return true;
}

/* A producer died between moving the tail and writing its length: zeros from the head up to the
 * next record. Everything up to there becomes padding. */
static bool unblock_gap(
    rsti_mpsc_rb_t *ring, size_t index, size_t end, int64_t tail, bool is_wrapped)
{
    size_t at = index + RECORD_ALIGNMENT;
    while (at < end && rsti_load_acquire_i32(&header_at(ring, at)->length) == 0) {
        at += RECORD_ALIGNMENT;
    }
    if (at >= end) {
        /* Zeros up to the tail may be a claim of this moment. Zeros up to the end of the buffer are
         * a dead one as soon as somebody wrote behind it. */
        if (!is_wrapped || is_zero(ring, 0, index_of(ring, tail))) {
            return false;
        }
    }
    if (!is_zero(ring, index, at)) {
        return false; /* it was alive after all */
    }
#if RSTI_FAULT == RSTI_FAULT_UNBLOCK
    at += 8;
#endif
    write_padding(ring, index, (int32_t)(at - index));
    return true;
}

bool rsti_mpsc_rb_unblock(rsti_mpsc_rb_t *ring)
{
    int64_t head = rsti_load_relaxed_i64(&ring->trailer->head_position);
    int64_t tail = rsti_load_acquire_i64(&ring->trailer->tail_position);
    size_t claimed = contiguous_claimed(ring, head, tail);
    if (claimed == 0) {
        return false;
    }
    size_t index = index_of(ring, head);
    record_header_t *header = header_at(ring, index);
    int32_t length = rsti_load_acquire_i32(&header->length);
    if (length > 0) {
        return false;
    }
    if (length == 0) {
        bool is_wrapped = span(head, tail) > claimed;
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
    return rsti_fetch_add_i64(&ring->trailer->correlation_counter, 1);
}

void rsti_mpsc_rb_set_heartbeat(rsti_mpsc_rb_t *ring, int64_t now_ms)
{
    rsti_store_release_i64(&ring->trailer->consumer_heartbeat_ms, now_ms);
}

int64_t rsti_mpsc_rb_heartbeat(const rsti_mpsc_rb_t *ring)
{
    return rsti_load_acquire_i64(&ring->trailer->consumer_heartbeat_ms);
}

size_t rsti_mpsc_rb_size(const rsti_mpsc_rb_t *ring)
{
    /* Head first: the tail read after it is never behind it. */
    int64_t head = rsti_load_acquire_i64(&ring->trailer->head_position);
    uint64_t size = span(head, rsti_load_acquire_i64(&ring->trailer->tail_position));
    return size > ring->capacity ? ring->capacity : (size_t)size;
}
