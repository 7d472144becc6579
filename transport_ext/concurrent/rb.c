#include "concurrent/rb.h"

#include "concurrent/atomics.h"
#include "util/bits.h"
#include "util/error.h"

#define CAPACITY_MIN 64

int rsti_rb_init(rsti_rb_t *ring, void *buffer, size_t length)
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
    *ring = (rsti_rb_t){
        .buffer = buffer,
        .trailer = (rsti_rb_trailer_t *)(void *)((uint8_t *)buffer + capacity),
        .capacity = capacity,
        .max_message_length = capacity / 8,
    };
    return 0;
}

size_t rsti_rb_index(const rsti_rb_t *ring, int64_t position)
{
    return (size_t)position & (ring->capacity - 1) & ~(size_t)(RSTI_RB_ALIGNMENT - 1);
}

rsti_rb_header_t *rsti_rb_header(const rsti_rb_t *ring, size_t index)
{
    return (rsti_rb_header_t *)(void *)(ring->buffer + index);
}

static uint64_t span(int64_t from, int64_t to)
{
    return (uint64_t)to - (uint64_t)from;
}

static size_t align_record(size_t length)
{
    return (length + (RSTI_RB_ALIGNMENT - 1)) & ~(size_t)(RSTI_RB_ALIGNMENT - 1);
}

/* ---- writing ---- */

bool rsti_rb_is_writable(const rsti_rb_t *ring, int32_t type, size_t length)
{
    return type >= 1 && length <= ring->max_message_length;
}

size_t rsti_rb_need(size_t length)
{
    return align_record(RSTI_RB_HEADER_LENGTH + length);
}

/* Signed on purpose: the head may have passed a tail that was read before it. The compare-and-swap
 * of the many-producer ring then fails. */
static bool is_roomy(const rsti_rb_t *ring, size_t need, int64_t head, int64_t tail)
{
    return (int64_t)span(head, tail) <= (int64_t)ring->capacity - (int64_t)need;
}

/* Whether `need` bytes fit between tail and head. Loads the consumer's head only if the cached one
 * leaves no room. */
static bool has_room(rsti_rb_t *ring, size_t need, int64_t tail, int64_t *head)
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
static bool has_room_at_start(rsti_rb_t *ring, size_t need, int64_t *head)
{
    if (need <= rsti_rb_index(ring, *head)) {
        return true;
    }
    *head = rsti_load_acquire_i64(&ring->trailer->head_position);
    if (need > rsti_rb_index(ring, *head)) {
        return false;
    }
    rsti_store_release_i64(&ring->trailer->head_cache_position, *head);
    return true;
}

int64_t rsti_rb_find_room(rsti_rb_t *ring, size_t need, int64_t tail, int64_t *head,
    size_t *padding)
{
    *padding = 0;
    if (!has_room(ring, need, tail, head)) {
        return RSTI_RB_FULL;
    }
    const size_t index = rsti_rb_index(ring, tail);
    const size_t room = ring->capacity - index;
    if (need <= room) {
        return (int64_t)index;
    }
    if (!has_room_at_start(ring, need, head)) {
        return RSTI_RB_FULL;
    }
    *padding = room;
    return 0;
}

void rsti_rb_put_padding(rsti_rb_t *ring, size_t index, int32_t length)
{
    rsti_rb_header_t *header = rsti_rb_header(ring, index);
    rsti_store_release_i32(&header->length, -length);
    rsti_release_fence();
    rsti_store_relaxed_i32(&header->type, RSTI_RB_PADDING);
    rsti_store_release_i32(&header->length, length);
}

int64_t rsti_rb_put_claim(rsti_rb_t *ring, size_t index, int32_t type, size_t length)
{
    rsti_rb_header_t *header = rsti_rb_header(ring, index);
    rsti_store_release_i32(&header->length, -(int32_t)(RSTI_RB_HEADER_LENGTH + length));
    rsti_release_fence();
    rsti_store_relaxed_i32(&header->type, type);
    return (int64_t)index + RSTI_RB_HEADER_LENGTH;
}

void rsti_rb_fill_claim(rsti_rb_t *ring, int64_t offset, const void *record, size_t length)
{
    if (length > 0) {
        memcpy(ring->buffer + offset, record, length);
    }
    rsti_rb_header_t *header = rsti_rb_header(ring, (size_t)offset - RSTI_RB_HEADER_LENGTH);
    rsti_store_release_i32(&header->length, (int32_t)(RSTI_RB_HEADER_LENGTH + length));
}

/* The header of an open claim, or NULL. */
static rsti_rb_header_t *claimed_header(const rsti_rb_t *ring, int64_t offset, int32_t *length)
{
    if (offset < RSTI_RB_HEADER_LENGTH || offset > (int64_t)ring->capacity
        || (offset & (RSTI_RB_ALIGNMENT - 1)) != 0) {
        return NULL;
    }
    rsti_rb_header_t *header = rsti_rb_header(ring, (size_t)offset - RSTI_RB_HEADER_LENGTH);
    int32_t claimed = rsti_load_relaxed_i32(&header->length);
    if (claimed > -RSTI_RB_HEADER_LENGTH || claimed == INT32_MIN) {
        return NULL;
    }
    *length = -claimed;
    return header;
}

int rsti_rb_commit(rsti_rb_t *ring, int64_t offset)
{
    int32_t length;
    rsti_rb_header_t *header = claimed_header(ring, offset, &length);
    if (header == NULL) {
        return RSTI_RB_INVALID;
    }
    rsti_store_release_i32(&header->length, length);
    return RSTI_RB_OK;
}

int rsti_rb_abort(rsti_rb_t *ring, int64_t offset)
{
    int32_t length;
    rsti_rb_header_t *header = claimed_header(ring, offset, &length);
    if (header == NULL) {
        return RSTI_RB_INVALID;
    }
    rsti_store_relaxed_i32(&header->type, RSTI_RB_PADDING);
    rsti_store_release_i32(&header->length, length);
    return RSTI_RB_OK;
}

/* ---- reading ---- */

size_t rsti_rb_contiguous(const rsti_rb_t *ring, int64_t head, int64_t tail)
{
    size_t to_end = ring->capacity - rsti_rb_index(ring, head);
    uint64_t claimed = span(head, tail);
    return claimed < to_end ? (size_t)claimed & ~(size_t)(RSTI_RB_ALIGNMENT - 1) : to_end;
}

/* Free memory is zero: that is how a reader recognises a record that is not there yet. */
static int64_t give_back(rsti_rb_t *ring, int64_t head, size_t length)
{
    const int64_t new_head = (int64_t)((uint64_t)head + length);
    if (length > 0) {
        memset(ring->buffer + rsti_rb_index(ring, head), 0, length);
        rsti_store_release_i64(&ring->trailer->head_position, new_head);
    }
    return new_head;
}

typedef struct reading_t {
    size_t limit;
    rsti_rb_on_record_t on_record;
    void *arg;
    size_t count;
    bool is_stopped; /* by the reader, or at a record that is not there yet */
} reading_t;

/* Reads to the tail or to the end of the memory. True: it reached the end. */
static bool read_piece(rsti_rb_t *ring, reading_t *reading)
{
    int64_t head = rsti_load_relaxed_i64(&ring->trailer->head_position);
    const size_t index = rsti_rb_index(ring, head);
    const size_t end = rsti_rb_contiguous(ring, head,
        rsti_load_acquire_i64(&ring->trailer->tail_position));
    size_t at = 0;   /* behind the index: the next record */
    size_t kept = 0; /* behind the index: read from here on, room not yet given back */
    while (!reading->is_stopped && reading->count < reading->limit && at < end) {
        const rsti_rb_header_t *header = rsti_rb_header(ring, index + at);
        int32_t length = rsti_load_acquire_i32(&header->length);
        if (length <= 0) {
            reading->is_stopped = true;
            break;
        }
        size_t record_length = align_record((size_t)length);
        if (length < RSTI_RB_HEADER_LENGTH || record_length > end - at) {
            /* The beginning of the next record is unknown. But one begins at the end of this piece:
             * at the tail, or at index 0. */
            ring->corrupt_count++;
            at = end;
            break;
        }
        int32_t type = rsti_load_relaxed_i32(&header->type);
        rsti_rb_action_t action = RSTI_RB_CONTINUE;
        if (type != RSTI_RB_PADDING) {
            action = reading->on_record(reading->arg, type, header + 1,
                (size_t)length - RSTI_RB_HEADER_LENGTH);
            reading->is_stopped = action == RSTI_RB_ABORT || action == RSTI_RB_BREAK;
            if (action == RSTI_RB_ABORT) {
                break;
            }
            reading->count++;
        }
        at += record_length;
        if (action == RSTI_RB_COMMIT) {
            head = give_back(ring, head, at - kept);
            kept = at;
        }
    }
    (void)give_back(ring, head, at - kept);
    return index + at == ring->capacity;
}

/* A record that does not fit before the end of the memory is at its start, behind padding. A reader
 * that sleeps after reading nothing must have looked there too. */
size_t rsti_rb_read(rsti_rb_t *ring, size_t limit, rsti_rb_on_record_t on_record, void *arg)
{
    reading_t reading = {.limit = limit, .on_record = on_record, .arg = arg};
    if (read_piece(ring, &reading)) {
        (void)read_piece(ring, &reading);
    }
    return reading.count;
}

bool rsti_rb_has_records(const rsti_rb_t *ring)
{
    int64_t head = rsti_load_acquire_i64(&ring->trailer->head_position);
    int64_t tail = rsti_load_acquire_i64(&ring->trailer->tail_position);
    return tail != head
        && rsti_load_acquire_i32(&rsti_rb_header(ring, rsti_rb_index(ring, head))->length) > 0;
}

size_t rsti_rb_size(const rsti_rb_t *ring)
{
    /* The head first: a tail that is read later is never behind it. */
    int64_t head = rsti_load_acquire_i64(&ring->trailer->head_position);
    uint64_t size = span(head, rsti_load_acquire_i64(&ring->trailer->tail_position));
    return size > ring->capacity ? ring->capacity : (size_t)size;
}
