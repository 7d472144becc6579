#include "concurrent/broadcast.h"

#include "concurrent/atomics.h"
#include "util/alloc.h"
#include "util/bits.h"
#include "util/error.h"

#define CAPACITY_MIN 64
#define HEADER_LENGTH 8
#define RECORD_ALIGNMENT 8
#define PADDING_TYPE (-1)

typedef struct record_header_t {
    int32_t length; /* with this header */
    int32_t type;
} record_header_t;
_Static_assert(sizeof(record_header_t) == HEADER_LENGTH, "record header");

static int check_region(const void *buffer, size_t length)
{
    if (length < RSTI_BROADCAST_TRAILER_LENGTH + CAPACITY_MIN || length > INT32_MAX
        || !rsti_is_power_of_two((int64_t)(length - RSTI_BROADCAST_TRAILER_LENGTH))) {
        return RST_SET_ERR(RST_EINVAL,
            "broadcast of %zu bytes: must be a power of two of at least %d, plus a trailer of %d",
            length, CAPACITY_MIN, RSTI_BROADCAST_TRAILER_LENGTH);
    }
    if (((uintptr_t)buffer & 7) != 0) {
        return RST_SET_ERR(RST_EINVAL, "broadcast memory must be aligned to 8 bytes");
    }
    return 0;
}

/* Other processes write the positions: whatever they hold, the index is inside the buffer and
 * aligned. */
static size_t index_of(int64_t position, size_t capacity)
{
    return (size_t)position & (capacity - 1) & ~(size_t)(RECORD_ALIGNMENT - 1);
}

static int64_t advance(int64_t position, size_t bytes)
{
    return (int64_t)((uint64_t)position + bytes);
}

static size_t align_record(size_t length)
{
    return (length + (RECORD_ALIGNMENT - 1)) & ~(size_t)(RECORD_ALIGNMENT - 1);
}

int rsti_broadcast_tx_init(rsti_broadcast_tx_t *tx, void *buffer, size_t length)
{
    int result = check_region(buffer, length);
    if (result < 0) {
        return result;
    }
    size_t capacity = length - RSTI_BROADCAST_TRAILER_LENGTH;
    *tx = (rsti_broadcast_tx_t){
        .buffer = buffer,
        .trailer = (rsti_broadcast_trailer_t *)(void *)((uint8_t *)buffer + capacity),
        .capacity = capacity,
        .max_message_length = capacity / 8,
    };
    return 0;
}

/* Announces the new tail before a byte is overwritten, so a reader that is still there can tell
 * that its copy is torn. */
static void signal_intent(rsti_broadcast_tx_t *tx, int64_t new_tail)
{
    rsti_store_release_i64(&tx->trailer->tail_intent, new_tail);
    rsti_fence();
}

static void write_header(uint8_t *at, size_t length, int32_t type)
{
    record_header_t *header = (record_header_t *)(void *)at;
    rsti_store_relaxed_i32(&header->length, (int32_t)length);
    rsti_store_relaxed_i32(&header->type, type);
}

int rsti_broadcast_transmit(rsti_broadcast_tx_t *tx, int32_t type, const void *record,
    size_t length)
{
    if (type < 1) {
        return RST_SET_ERR(RST_EINVAL, "broadcast record type %d: must be at least 1", type);
    }
    if (length > tx->max_message_length) {
        return RST_SET_ERR(RST_ETOOLARGE, "broadcast record of %zu bytes: at most %zu fit", length,
            tx->max_message_length);
    }
    rsti_broadcast_trailer_t *trailer = tx->trailer;
    int64_t tail = rsti_load_relaxed_i64(&trailer->tail);
    size_t index = index_of(tail, tx->capacity);
    size_t need = align_record(HEADER_LENGTH + length);
    size_t room = tx->capacity - index;
    if (room < need) {
        signal_intent(tx, advance(tail, need + room));
        write_header(tx->buffer + index, room, PADDING_TYPE);
        tail = advance(tail, room);
        index = 0;
    } else {
        signal_intent(tx, advance(tail, need));
    }
    write_header(tx->buffer + index, HEADER_LENGTH + length, type);
    uint8_t *payload = tx->buffer + index + HEADER_LENGTH;
    rsti_copy_to_shared(payload, record, length);
    rsti_zero_shared(payload + length, need - HEADER_LENGTH - length);
    rsti_store_release_i64(&trailer->latest, tail);
    rsti_store_release_i64(&trailer->tail, advance(tail, need));
    return 0;
}

int rsti_broadcast_rx_init(rsti_broadcast_rx_t *rx, void *buffer, size_t length)
{
    int result = check_region(buffer, length);
    if (result < 0) {
        return result;
    }
    size_t capacity = length - RSTI_BROADCAST_TRAILER_LENGTH;
    rsti_broadcast_trailer_t *trailer = (rsti_broadcast_trailer_t *)(void *)((uint8_t *)buffer
        + capacity);
    *rx = (rsti_broadcast_rx_t){
        .buffer = buffer,
        .trailer = trailer,
        .capacity = capacity,
        .next = rsti_load_acquire_i64(&trailer->latest),
        .scratch = rsti_alloc(capacity / 8),
        .scratch_capacity = capacity / 8,
    };
    return rx->scratch == NULL ? -RST_ENOMEM : 0;
}

void rsti_broadcast_rx_fini(rsti_broadcast_rx_t *rx)
{
    rsti_free(rx->scratch);
    rx->scratch = NULL;
    rx->scratch_capacity = 0;
}

/* Whether the record at the cursor could not have been overwritten yet. */
static bool is_intact(const rsti_broadcast_rx_t *rx, int64_t cursor)
{
    rsti_acquire_fence();
    int64_t intent = rsti_load_acquire_i64(&rx->trailer->tail_intent);
    int64_t behind = (int64_t)((uint64_t)intent - (uint64_t)cursor);
    return behind < (int64_t)rx->capacity;
}

static int lapped(const rsti_broadcast_rx_t *rx, int64_t cursor)
{
    return RST_SET_ERR(RST_EFULL,
        "the driver's answers were overwritten before this client read them (position %lld of a "
        "buffer of %zu bytes): the client was away too long",
        (long long)cursor, rx->capacity);
}

int rsti_broadcast_receive(rsti_broadcast_rx_t *rx,
    void (*on_record)(void *arg, int32_t type, const void *record, size_t length), void *arg)
{
    int64_t tail = rsti_load_acquire_i64(&rx->trailer->tail);
    int64_t cursor = rx->next;
    if (tail <= cursor) {
        return 0;
    }
    if (!is_intact(rx, cursor)) {
        return lapped(rx, cursor);
    }
    size_t index = index_of(cursor, rx->capacity);
    const record_header_t *header = (const record_header_t *)(void *)(rx->buffer + index);
    if (rsti_load_relaxed_i32(&header->type) == PADDING_TYPE) {
        cursor = advance(cursor, rx->capacity - index);
        index = 0;
        header = (const record_header_t *)(void *)rx->buffer;
    }
    int64_t length = rsti_load_relaxed_i32(&header->length);
    int32_t type = rsti_load_relaxed_i32(&header->type);
    int64_t payload_length = length - HEADER_LENGTH;
    bool is_possible = type >= 1 && payload_length >= 0
        && payload_length <= (int64_t)rx->scratch_capacity
        && (int64_t)index + length <= (int64_t)rx->capacity && cursor < tail;
    if (is_possible) {
        rsti_copy_from_shared(rx->scratch, rx->buffer + index + HEADER_LENGTH,
            (size_t)payload_length);
    }
    /* Checked from where the read began and not from behind a padding, which may have been torn
     * too. */
    if (!is_intact(rx, rx->next)) {
        return lapped(rx, rx->next);
    }
    if (!is_possible) {
        return RST_SET_ERR(RST_ECORRUPT,
            "impossible record in the driver's broadcast at position %lld: type %d, length %lld",
            (long long)cursor, type, (long long)length);
    }
    rx->next = advance(cursor, align_record((size_t)length));
    on_record(arg, type, rx->scratch, (size_t)payload_length);
    return 1;
}
