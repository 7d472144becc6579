/* ring_records.h: records that the tests of both rings write and read. */
#ifndef RSTI_TESTS_RING_RECORDS_H
#define RSTI_TESTS_RING_RECORDS_H

#include "concurrent/atomics.h"
#include "concurrent/rb.h"
#include "tests/check.h"
#include "util/bits.h"

#define RING_CAPACITY 1024
#define RING_PRODUCERS_MAX 4

typedef struct seen_t {
    size_t count;
    int32_t types[64];
    size_t lengths[64];
    uint8_t last[RING_CAPACITY];
    size_t act_at;
    rsti_rb_action_t action;
} seen_t;

static inline rsti_rb_action_t on_record(void *arg, int32_t type, const void *record, size_t length)
{
    seen_t *seen = arg;
    seen->types[seen->count] = type;
    seen->lengths[seen->count] = length;
    memcpy(seen->last, record, length);
    seen->count++;
    return seen->count == seen->act_at ? seen->action : RSTI_RB_CONTINUE;
}

/* Reads of a full ring of records of 16 bytes, of types 1, 2, 3 …: the second one commits, the
 * third one checks the effect, writes at the place of the first one, and stays. */
typedef struct committing_t {
    rsti_rb_t *rb;
    void *ring;
    int (*write)(void *ring, int32_t type);
    int64_t begin;
    int32_t count;
    bool is_free;
    int written;
} committing_t;

static inline rsti_rb_action_t on_committing(void *arg, int32_t type, const void *record,
    size_t length)
{
    committing_t *committing = arg;
    const rsti_rb_t *rb = committing->rb;
    committing->count++;
    (void)record;
    (void)length;
    if (type == 1) {
        return RSTI_RB_CONTINUE;
    }
    if (type == 2) {
        return rsti_load_relaxed_i64(&rb->trailer->head_position) == committing->begin
            ? RSTI_RB_COMMIT
            : RSTI_RB_BREAK;
    }
    static const uint8_t zeros[32];
    committing->is_free = rsti_load_relaxed_i64(&rb->trailer->head_position)
            == committing->begin + 32
        && memcmp(rb->buffer + rsti_rb_index(rb, committing->begin), zeros, 32) == 0;
    committing->written = committing->write(committing->ring, RING_CAPACITY / 16 + 1);
    return RSTI_RB_ABORT;
}

/* The ring is empty, its head at most 32 bytes before the end of the buffer. */
static inline void check_commit(rsti_rb_t *rb, void *ring, int (*write)(void *ring, int32_t type))
{
    const int32_t full = RING_CAPACITY / 16;
    for (int32_t type = 1; type <= full; type++) {
        CHECK_EQ(write(ring, type), RSTI_RB_OK);
    }
    CHECK_EQ(write(ring, full + 1), RSTI_RB_FULL);
    committing_t committing = {
        .rb = rb, .ring = ring, .write = write, .begin = rb->trailer->head_position};
    size_t count = rsti_rb_read(rb, 10, on_committing, &committing);
    count += committing.count == 2 ? rsti_rb_read(rb, 10, on_committing, &committing) : 0;
    CHECK_EQ(count, 2);
    CHECK_EQ(committing.count, 3);
    CHECK(committing.is_free);
    CHECK_EQ(committing.written, RSTI_RB_OK);
    CHECK_EQ(rb->trailer->head_position, committing.begin + 32);
    CHECK_EQ(rsti_rb_size(rb), RING_CAPACITY - 16);
    /* From the third to the one written meanwhile, each once and in order. */
    seen_t seen = {0};
    while (rsti_rb_read(rb, SIZE_MAX, on_record, &seen) > 0) {
    }
    CHECK_EQ(seen.count, full - 1);
    for (size_t i = 0; i < seen.count; i++) {
        CHECK_EQ(seen.types[i], 3 + (int64_t)i);
    }
}

/* Length and content follow from producer and sequence, so the consumer can check every byte. */
static inline size_t length_of(int32_t id, int32_t sequence)
{
    return 8 + (size_t)((sequence * 7 + id * 3) % 90);
}

static inline void fill(uint8_t *record, int32_t id, int32_t sequence)
{
    rsti_put_i32(record, id);
    rsti_put_i32(record + 4, sequence);
    memset(record + 8, (uint8_t)(id + sequence), length_of(id, sequence) - 8);
}

typedef struct consumer_t {
    int32_t next[RING_PRODUCERS_MAX + 1];
    size_t count;
    int errors;
} consumer_t;

static inline rsti_rb_action_t consume(void *arg, int32_t type, const void *record, size_t length)
{
    consumer_t *consumer = arg;
    uint8_t expected[128];
    if (type < 1 || type > RING_PRODUCERS_MAX) {
        consumer->errors++;
        return RSTI_RB_BREAK;
    }
    int32_t sequence = consumer->next[type]++;
    fill(expected, type, sequence);
    if (length != length_of(type, sequence) || memcmp(expected, record, length) != 0) {
        consumer->errors++;
    }
    consumer->count++;
    return RSTI_RB_CONTINUE;
}

#endif
