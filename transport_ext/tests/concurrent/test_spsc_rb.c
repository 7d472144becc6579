#include "concurrent/spsc_rb.h"

#include "concurrent/atomics.h"
#include "tests/check.h"
#include "tests/concurrent/ring_records.h"
#include "util/error.h"

#include <pthread.h>
#include <sched.h>

#define CAPACITY RING_CAPACITY
#define RECORDS 60000

typedef struct fixture_t {
    _Alignas(64) uint8_t memory[CAPACITY + RSTI_RB_TRAILER_LENGTH];
    rsti_spsc_rb_t ring;
} fixture_t;

/* Free memory is zero; the rest, from head to tail, is unread: records of 8 bytes without payload.
 */
static fixture_t *make(int64_t head, int64_t tail)
{
    static fixture_t fixture;
    memset(&fixture, 0, sizeof fixture);
    if (rsti_rb_init(&fixture.ring.rb, fixture.memory, sizeof fixture.memory) < 0) {
        abort();
    }
    for (int64_t at = head; at < tail; at += RSTI_RB_HEADER_LENGTH) {
        rsti_put_i32(fixture.memory + at % CAPACITY, RSTI_RB_HEADER_LENGTH);
        rsti_put_i32(fixture.memory + at % CAPACITY + 4, 9);
    }
    fixture.ring.rb.trailer->head_position = head;
    fixture.ring.rb.trailer->head_cache_position = head;
    fixture.ring.rb.trailer->tail_position = tail;
    return &fixture;
}

/* Neither a write nor a claim of length bytes is accepted, and nothing has changed. */
static void check_full(fixture_t *fixture, size_t length)
{
    static const uint8_t record[128];
    static uint8_t before[sizeof fixture->memory];
    memcpy(before, fixture->memory, sizeof before);
    CHECK_EQ(rsti_spsc_rb_write(&fixture->ring, 1, record, length), RSTI_RB_FULL);
    CHECK_EQ(rsti_spsc_rb_try_claim(&fixture->ring, 1, length), RSTI_RB_FULL);
    CHECK_MEM(fixture->memory, before, sizeof before);
}

/* D10 */
TEST(full_leaves_unread_data_alone)
{
    check_full(make(0, CAPACITY), 0);                  /* no byte is free */
    check_full(make(8, CAPACITY + 8), 0);              /* none here either */
    check_full(make(0, CAPACITY - 16), 9); /* not at the end, and unread at the start */
    check_full(make(16, CAPACITY - 8), 10); /* 8 at the end, 16 at the start */
    check_full(make(16, CAPACITY), 9); /* 16 at the start */
    check_full(make(CAPACITY - 8, 2 * CAPACITY - 24), 9);
}

/* D10 */
TEST(an_exact_fit_is_taken)
{
    fixture_t *fixture = make(0, CAPACITY - 16); /* at the end of the buffer */
    CHECK_EQ(rsti_spsc_rb_write(&fixture->ring, 1, "12345678", 8), RSTI_RB_OK);
    CHECK_EQ(fixture->ring.rb.trailer->tail_position, CAPACITY);
    CHECK_EQ(rsti_rb_size(&fixture->ring.rb), CAPACITY);
    CHECK_EQ(rsti_get_i32(fixture->memory + CAPACITY - 16), 16);
    CHECK_MEM(fixture->memory + CAPACITY - 8, "12345678", 8);

    fixture = make(16, CAPACITY); /* at the start */
    CHECK_EQ(rsti_spsc_rb_try_claim(&fixture->ring, 1, 8), 8);
    CHECK_EQ(rsti_rb_size(&fixture->ring.rb), CAPACITY);

    fixture = make(16, CAPACITY - 8); /* at the start, behind padding */
    CHECK_EQ(rsti_spsc_rb_write(&fixture->ring, 1, "12345678", 8), RSTI_RB_OK);
    CHECK_EQ(fixture->ring.rb.trailer->tail_position, CAPACITY + 16);
    CHECK_EQ(rsti_get_i32(fixture->memory + CAPACITY - 8), 8);
    CHECK_EQ(rsti_get_i32(fixture->memory + CAPACITY - 4), RSTI_RB_PADDING);
    CHECK_EQ(rsti_get_i32(fixture->memory), 16);
}

TEST(a_consumer_that_went_on_is_seen)
{
    fixture_t *fixture = make(0, CAPACITY);
    memset(fixture->memory, 0, CAPACITY); /* everything was read */
    fixture->ring.rb.trailer->head_position = CAPACITY;
    CHECK_EQ(rsti_spsc_rb_write(&fixture->ring, 1, "12345678", 8), RSTI_RB_OK);
    CHECK_EQ(fixture->ring.rb.trailer->head_cache_position, CAPACITY);
}

TEST(types_and_lengths_are_checked)
{
    fixture_t *fixture = make(0, 0);
    static const uint8_t record[200];
    CHECK_EQ(rsti_spsc_rb_write(&fixture->ring, 0, record, 8), RSTI_RB_INVALID);
    CHECK_EQ(rsti_spsc_rb_try_claim(&fixture->ring, -1, 8), RSTI_RB_INVALID);
    CHECK_EQ(rsti_spsc_rb_write(&fixture->ring, 1, record, CAPACITY / 8 + 1), RSTI_RB_INVALID);
    CHECK_EQ(rsti_spsc_rb_try_claim(&fixture->ring, 1, CAPACITY / 8 + 1), RSTI_RB_INVALID);
    CHECK_EQ(rsti_rb_size(&fixture->ring.rb), 0);
    CHECK_EQ(rsti_spsc_rb_write(&fixture->ring, 1, record, CAPACITY / 8), RSTI_RB_OK);
    CHECK_EQ(rsti_spsc_rb_write(&fixture->ring, 1, NULL, 0), RSTI_RB_OK);
}

TEST(claims_wait_for_their_commit)
{
    fixture_t *fixture = make(0, 0);
    seen_t seen = {0};
    const int64_t first = rsti_spsc_rb_try_claim(&fixture->ring, 6, 12);
    const int64_t second = rsti_spsc_rb_try_claim(&fixture->ring, 7, 3);
    CHECK_EQ(rsti_spsc_rb_write(&fixture->ring, 5, "zz", 2), RSTI_RB_OK);
    CHECK(!rsti_rb_has_records(&fixture->ring.rb));
    CHECK_EQ(rsti_rb_read(&fixture->ring.rb, 10, on_record, &seen), 0);
    CHECK_EQ(rsti_rb_abort(&fixture->ring.rb, first), RSTI_RB_OK);
    CHECK_EQ(rsti_rb_commit(&fixture->ring.rb, first), RSTI_RB_INVALID);
    CHECK_EQ(rsti_rb_read(&fixture->ring.rb, 10, on_record, &seen), 0);
    memcpy(fixture->memory + second, "abc", 3);
    CHECK_EQ(rsti_rb_commit(&fixture->ring.rb, second), RSTI_RB_OK);
    CHECK_EQ(rsti_rb_read(&fixture->ring.rb, 1, on_record, &seen), 1);
    CHECK_EQ(seen.types[0], 7);
    CHECK_EQ(seen.lengths[0], 3);
    CHECK_MEM(seen.last, "abc", 3);
    CHECK_EQ(rsti_rb_read(&fixture->ring.rb, 10, on_record, &seen), 1);
    CHECK_EQ(seen.types[1], 5);
    static const uint8_t zeros[CAPACITY];
    CHECK_MEM(fixture->memory, zeros, CAPACITY);
}

/* A consumer that read nothing sleeps. It must not sleep when a record lies behind padding. */
TEST(a_record_behind_the_padding_at_the_end_is_read)
{
    fixture_t *fixture = make(CAPACITY - 16, CAPACITY - 16);
    seen_t seen = {0};
    CHECK_EQ(rsti_spsc_rb_write(&fixture->ring, 3, "123456789", 9), RSTI_RB_OK);
    CHECK_EQ(rsti_rb_size(&fixture->ring.rb), 16 + 24); /* it did not fit before the end */
    CHECK_EQ(rsti_rb_read(&fixture->ring.rb, 10, on_record, &seen), 1);
    CHECK_EQ(seen.types[0], 3);
    CHECK_EQ(seen.lengths[0], 9);
    CHECK_EQ(rsti_rb_size(&fixture->ring.rb), 0);
}

/* Limit and refusal apply at the end of the memory as everywhere. */
TEST(reading_stops_at_the_end_of_the_memory_when_told_to)
{
    fixture_t *fixture = make(CAPACITY - 16, CAPACITY - 16);
    seen_t seen = {0};
    CHECK_EQ(rsti_spsc_rb_write(&fixture->ring, 1, "12345678", 8), RSTI_RB_OK);
    CHECK_EQ(rsti_spsc_rb_write(&fixture->ring, 2, "12345678", 8), RSTI_RB_OK);
    CHECK_EQ(rsti_rb_read(&fixture->ring.rb, 1, on_record, &seen), 1);
    CHECK_EQ(rsti_rb_size(&fixture->ring.rb), 16);
    CHECK_EQ(rsti_rb_read(&fixture->ring.rb, 1, on_record, &seen), 1);
    CHECK_EQ(seen.types[1], 2);
}

static int write_one(void *ring, int32_t type)
{
    return rsti_spsc_rb_write(ring, type, "12345678", 8);
}

/* D5 */
TEST(commit_gives_room_back_while_reading)
{
    fixture_t *fixture = make(0, 0);
    check_commit(&fixture->ring.rb, &fixture->ring, write_one);
    fixture = make(CAPACITY - 32, CAPACITY - 32);
    check_commit(&fixture->ring.rb, &fixture->ring, write_one);
}

static void *produce(void *arg)
{
    rsti_spsc_rb_t *ring = arg;
    for (int32_t sequence = 0; sequence < RECORDS; sequence++) {
        const size_t length = length_of(1, sequence);
        uint8_t record[128];
        fill(record, 1, sequence);
        if (sequence % 3 != 0) {
            while (rsti_spsc_rb_write(ring, 1, record, length) != RSTI_RB_OK) {
                (void)sched_yield();
            }
            continue;
        }
        int64_t offset;
        while ((offset = rsti_spsc_rb_try_claim(ring, 1, length)) < 0) {
            (void)sched_yield();
        }
        memcpy(ring->rb.buffer + offset, record, length);
        (void)rsti_rb_commit(&ring->rb, offset);
    }
    return NULL;
}

/* D10 */
TEST(one_producer_loses_nothing_and_keeps_its_order)
{
    fixture_t *fixture = make(0, 0);
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, produce, &fixture->ring), 0);
    consumer_t consumer = {0};
    while (consumer.count < RECORDS && consumer.errors == 0) {
        if (rsti_rb_read(&fixture->ring.rb, 32, consume, &consumer) == 0) {
            (void)sched_yield();
        }
    }
    CHECK_EQ(consumer.errors, 0); /* before the join: a failed consumer would hang the producer */
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(fixture->ring.rb.corrupt_count, 0);
    CHECK_EQ(rsti_rb_size(&fixture->ring.rb), 0);
}

CHECK_MAIN(RUN(full_leaves_unread_data_alone), RUN(an_exact_fit_is_taken),
    RUN(a_consumer_that_went_on_is_seen), RUN(types_and_lengths_are_checked),
    RUN(claims_wait_for_their_commit), RUN(a_record_behind_the_padding_at_the_end_is_read),
    RUN(reading_stops_at_the_end_of_the_memory_when_told_to),
    RUN(commit_gives_room_back_while_reading), RUN(one_producer_loses_nothing_and_keeps_its_order))
