#include "concurrent/mpsc_rb.h"

#include "concurrent/atomics.h"
#include "tests/check.h"
#include "tests/concurrent/ring_records.h"
#include "tests/vectors/ring_and_broadcast.h"
#include "util/bits.h"
#include "util/error.h"
#include "util/rng.h"

#include <pthread.h>
#include <sched.h>

#define CAPACITY RING_CAPACITY

typedef struct fixture_t {
    _Alignas(64) uint8_t memory[CAPACITY + RSTI_RB_TRAILER_LENGTH];
    rsti_mpsc_rb_t ring;
} fixture_t;

static fixture_t *make(int64_t head, int64_t tail)
{
    static fixture_t fixture;
    memset(&fixture, 0, sizeof fixture);
    if (rsti_rb_init(&fixture.ring.rb, fixture.memory, sizeof fixture.memory) < 0) {
        abort();
    }
    fixture.ring.rb.trailer->head_position = head;
    fixture.ring.rb.trailer->head_cache_position = head;
    fixture.ring.rb.trailer->tail_position = tail;
    return &fixture;
}

static void put_record(fixture_t *fixture, size_t index, int32_t length, int32_t type)
{
    rsti_put_i32(fixture->memory + index, length);
    rsti_put_i32(fixture->memory + index + 4, type);
}

/* D1 */
TEST(capacity_must_be_a_power_of_two)
{
    static _Alignas(64) uint8_t memory[4096];
    rsti_mpsc_rb_t ring;
    CHECK_EQ(rsti_rb_init(&ring.rb, memory, 1024 + RSTI_RB_TRAILER_LENGTH), 0);
    CHECK_EQ(ring.rb.max_message_length, 128);
    CHECK((uint8_t *)ring.rb.trailer == memory + 1024);
    CHECK_EQ(rsti_rb_init(&ring.rb, memory, 64 + RSTI_RB_TRAILER_LENGTH), 0);
    CHECK_EQ(rsti_rb_init(&ring.rb, memory, 32 + RSTI_RB_TRAILER_LENGTH), -RST_EINVAL);
    CHECK_EQ(rsti_rb_init(&ring.rb, memory, 1000 + RSTI_RB_TRAILER_LENGTH), -RST_EINVAL);
    CHECK_EQ(rsti_rb_init(&ring.rb, memory, 0), -RST_EINVAL);
    CHECK_EQ(rsti_rb_init(&ring.rb, memory + 1, 64 + RSTI_RB_TRAILER_LENGTH), -RST_EINVAL);
}

/* D2, D8 */
TEST(types_and_lengths_are_checked)
{
    fixture_t *fixture = make(0, 0);
    static const uint8_t record[200];
    static const int32_t types[] = {0, -1, INT32_MIN};
    for (size_t i = 0; i < 3; i++) {
        CHECK_EQ(rsti_mpsc_rb_write(&fixture->ring, types[i], record, 8), RSTI_RB_INVALID);
        CHECK_EQ(rsti_mpsc_rb_try_claim(&fixture->ring, types[i], 8), RSTI_RB_INVALID);
    }
    CHECK_EQ(rsti_mpsc_rb_write(&fixture->ring, 1, record, 129), RSTI_RB_INVALID);
    CHECK_EQ(rsti_mpsc_rb_try_claim(&fixture->ring, 1, 129), RSTI_RB_INVALID);
    CHECK_EQ(rsti_rb_size(&fixture->ring.rb), 0);
    CHECK_EQ(rsti_mpsc_rb_write(&fixture->ring, 1, record, 128), RSTI_RB_OK);
    CHECK_EQ(rsti_mpsc_rb_write(&fixture->ring, 1, NULL, 0), RSTI_RB_OK);
    CHECK_EQ(rsti_rb_size(&fixture->ring.rb), 136 + 8);
}

/* D3, D4 */
TEST(two_writes_match_the_vector)
{
    fixture_t *fixture = make(0, 0);
    CHECK_EQ(rsti_mpsc_rb_write(&fixture->ring, 101, "abc", 3), RSTI_RB_OK);
    CHECK_EQ(rsti_mpsc_rb_write(&fixture->ring, 102, "12345678", 8), RSTI_RB_OK);
    CHECK_MEM(fixture->memory, vector_mpsc_two_writes_buffer_first_48, 48);
    CHECK_EQ(fixture->ring.rb.trailer->tail_position, 32);
    CHECK_EQ(fixture->ring.rb.trailer->head_position, 0);

    seen_t seen = {0};
    CHECK(rsti_rb_has_records(&fixture->ring.rb));
    CHECK_EQ(rsti_rb_read(&fixture->ring.rb, 1, on_record, &seen), 1);
    CHECK_EQ(seen.types[0], 101);
    CHECK_EQ(seen.lengths[0], 3);
    CHECK_MEM(seen.last, "abc", 3);
    CHECK_EQ(rsti_rb_read(&fixture->ring.rb, 10, on_record, &seen), 1);
    CHECK_EQ(seen.types[1], 102);
    CHECK_MEM(seen.last, "12345678", 8);
    CHECK_EQ(rsti_rb_read(&fixture->ring.rb, 10, on_record, &seen), 0);
    CHECK(!rsti_rb_has_records(&fixture->ring.rb));
    CHECK_EQ(fixture->ring.rb.trailer->head_position, 32);
    static const uint8_t zeros[CAPACITY];
    CHECK_MEM(fixture->memory, zeros, CAPACITY);
}

/* D3 */
TEST(wrap_with_padding_matches_the_vector)
{
    fixture_t *fixture = make(1008, 1008);
    uint8_t record[20];
    memset(record, 0x5A, sizeof record);
    CHECK_EQ(rsti_mpsc_rb_write(&fixture->ring, 7, record, sizeof record), RSTI_RB_OK);
    CHECK_EQ(fixture->ring.rb.trailer->tail_position, 1056);
    CHECK_MEM(fixture->memory + 1008, vector_mpsc_wrap_with_padding_at_1008, 16);
    CHECK_MEM(fixture->memory, vector_mpsc_wrap_with_padding_at_0, 32);
    seen_t seen = {0};
    CHECK_EQ(rsti_rb_read(&fixture->ring.rb, 10, on_record, &seen), 1);
    CHECK_EQ(seen.types[0], 7);
    CHECK_EQ(fixture->ring.rb.trailer->head_position, 1056);
}

/* D3, D10 */
TEST(full_ring_is_reported_and_every_byte_is_usable)
{
    static const uint8_t record[128];
    fixture_t *fixture = make(0, 1024 - 16);
    CHECK_EQ(rsti_mpsc_rb_write(&fixture->ring, 1, record, 9), RSTI_RB_FULL);
    CHECK_EQ(rsti_mpsc_rb_write(&fixture->ring, 1, record, 8), RSTI_RB_OK);
    CHECK_EQ(rsti_rb_size(&fixture->ring.rb), 1024);
    CHECK_EQ(rsti_mpsc_rb_write(&fixture->ring, 1, record, 0), RSTI_RB_FULL);

    fixture = make(16, 1024); /* room for exactly one record of 16 at index 0 */
    CHECK_EQ(rsti_mpsc_rb_write(&fixture->ring, 1, record, 9), RSTI_RB_FULL);
    CHECK_EQ(rsti_mpsc_rb_write(&fixture->ring, 1, record, 8), RSTI_RB_OK);

    fixture = make(16, 1024 - 8); /* needs padding of 8, and then does not fit in front of head */
    CHECK_EQ(rsti_mpsc_rb_write(&fixture->ring, 1, record, 10), RSTI_RB_FULL);
    CHECK_EQ(fixture->ring.rb.trailer->tail_position, 1024 - 8);
    CHECK_EQ(rsti_mpsc_rb_write(&fixture->ring, 1, record, 8), RSTI_RB_OK);
    CHECK_EQ(fixture->ring.rb.trailer->tail_position, 1024 + 16);

    fixture = make(1024 - 8, 1024 - 8); /* empty, padding needed */
    CHECK_EQ(rsti_mpsc_rb_write(&fixture->ring, 1, record, 100), RSTI_RB_OK);
}

/* D3 */
TEST(a_stale_head_cache_is_refreshed)
{
    static const uint8_t record[128];
    fixture_t *fixture = make(0, 1024);
    fixture->ring.rb.trailer->head_position = 1024;
    CHECK_EQ(rsti_mpsc_rb_write(&fixture->ring, 1, record, 20), RSTI_RB_OK);
    CHECK_EQ(fixture->ring.rb.trailer->head_cache_position, 1024);

    fixture = make(0, 1008); /* the same, for the space in front of the head */
    fixture->ring.rb.trailer->head_position = 512;
    CHECK_EQ(rsti_mpsc_rb_write(&fixture->ring, 1, record, 20), RSTI_RB_OK);
    CHECK_EQ(fixture->ring.rb.trailer->head_cache_position, 512);
}

/* D4, D6 */
TEST(open_claims_are_invisible)
{
    fixture_t *fixture = make(0, 0);
    seen_t seen = {0};
    int64_t offset = rsti_mpsc_rb_try_claim(&fixture->ring, 6, 12);
    CHECK_EQ(offset, 8);
    CHECK_EQ(rsti_get_i32(fixture->memory), -20);
    CHECK_EQ(rsti_mpsc_rb_write(&fixture->ring, 5, "zz", 2), RSTI_RB_OK);
    CHECK(!rsti_rb_has_records(&fixture->ring.rb));
    CHECK_EQ(rsti_rb_read(&fixture->ring.rb, 10, on_record, &seen), 0);
    memset(fixture->memory + offset, 0x77, 12);
    CHECK_EQ(rsti_rb_commit(&fixture->ring.rb, offset), RSTI_RB_OK);
    CHECK_EQ(rsti_rb_commit(&fixture->ring.rb, offset), RSTI_RB_INVALID);
    CHECK_EQ(rsti_rb_abort(&fixture->ring.rb, offset), RSTI_RB_INVALID);
    CHECK_EQ(rsti_rb_read(&fixture->ring.rb, 10, on_record, &seen), 2);
    CHECK_EQ(seen.types[0], 6);
    CHECK_EQ(seen.lengths[0], 12);
    CHECK_EQ(seen.types[1], 5);
}

/* D6 */
TEST(aborted_claims_are_skipped)
{
    fixture_t *fixture = make(0, 0);
    seen_t seen = {0};
    int64_t offset = rsti_mpsc_rb_try_claim(&fixture->ring, 6, 12);
    CHECK_EQ(rsti_mpsc_rb_write(&fixture->ring, 5, "zz", 2), RSTI_RB_OK);
    CHECK_EQ(rsti_rb_abort(&fixture->ring.rb, offset), RSTI_RB_OK);
    CHECK_EQ(rsti_rb_abort(&fixture->ring.rb, offset), RSTI_RB_INVALID);
    CHECK_EQ(rsti_rb_read(&fixture->ring.rb, 10, on_record, &seen), 1);
    CHECK_EQ(seen.types[0], 5);
    CHECK_EQ(fixture->ring.rb.trailer->head_position, 24 + 16);
}

/* D6 */
TEST(commit_and_abort_check_the_offset)
{
    fixture_t *fixture = make(0, 0);
    static const int64_t offsets[] = {
        INT64_MIN, -8, 0, 4, 7, 9, 16, CAPACITY, CAPACITY + 8, INT64_MAX - 7};
    CHECK_EQ(rsti_mpsc_rb_try_claim(&fixture->ring, 1, 8), 8);
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        CHECK_EQ(rsti_rb_commit(&fixture->ring.rb, offsets[i]), RSTI_RB_INVALID);
        CHECK_EQ(rsti_rb_abort(&fixture->ring.rb, offsets[i]), RSTI_RB_INVALID);
    }
    CHECK_EQ(rsti_rb_commit(&fixture->ring.rb, 8), RSTI_RB_OK);
    /* A claim without payload that ends with the buffer has its payload at the very end. */
    fixture = make(CAPACITY - 8, CAPACITY - 8);
    CHECK_EQ(rsti_mpsc_rb_try_claim(&fixture->ring, 1, 0), CAPACITY);
    CHECK_EQ(rsti_rb_commit(&fixture->ring.rb, CAPACITY), RSTI_RB_OK);
}

/* D5 */
TEST(abort_and_break_while_reading)
{
    fixture_t *fixture = make(0, 0);
    for (int32_t type = 1; type <= 4; type++) {
        CHECK_EQ(rsti_mpsc_rb_write(&fixture->ring, type, "x", 1), RSTI_RB_OK);
    }
    seen_t seen = {.act_at = 2, .action = RSTI_RB_ABORT};
    CHECK_EQ(rsti_rb_read(&fixture->ring.rb, 10, on_record, &seen), 1);
    CHECK_EQ(fixture->ring.rb.trailer->head_position, 16);
    seen = (seen_t){.act_at = 1, .action = RSTI_RB_BREAK};
    CHECK_EQ(rsti_rb_read(&fixture->ring.rb, 10, on_record, &seen), 1);
    CHECK_EQ(seen.types[0], 2);
    CHECK_EQ(fixture->ring.rb.trailer->head_position, 32);
    seen = (seen_t){0};
    CHECK_EQ(rsti_rb_read(&fixture->ring.rb, 10, on_record, &seen), 2);
    CHECK_EQ(seen.types[0], 3);
    CHECK_EQ(seen.types[1], 4);
}

static int write_many(void *ring, int32_t type)
{
    return rsti_mpsc_rb_write(ring, type, "12345678", 8);
}

/* D5 */
TEST(commit_gives_room_back_while_reading)
{
    fixture_t *fixture = make(0, 0);
    check_commit(&fixture->ring.rb, &fixture->ring, write_many);
    /* The returned space ends with the buffer. */
    fixture = make(CAPACITY - 32, CAPACITY - 32);
    check_commit(&fixture->ring.rb, &fixture->ring, write_many);
}

/* D7 */
TEST(unblock_claimed_matches_the_vector)
{
    fixture_t *fixture = make(0, 0);
    CHECK(!rsti_mpsc_rb_unblock(&fixture->ring));
    CHECK_EQ(rsti_mpsc_rb_try_claim(&fixture->ring, 5, 12), 8);
    CHECK_EQ(rsti_mpsc_rb_write(&fixture->ring, 6, "zz", 2), RSTI_RB_OK);
    CHECK(rsti_mpsc_rb_unblock(&fixture->ring));
    CHECK_MEM(fixture->memory, vector_mpsc_unblock_claimed_first_40, 40);
    CHECK(!rsti_mpsc_rb_unblock(&fixture->ring));
    seen_t seen = {0};
    CHECK_EQ(rsti_rb_read(&fixture->ring.rb, 10, on_record, &seen), 1);
    CHECK_EQ(seen.types[0], 6);
}

/* D7 */
TEST(unblock_zero_gap_matches_the_vector)
{
    fixture_t *fixture = make(64, 128);
    put_record(fixture, 96, 18, 9);
    CHECK(rsti_mpsc_rb_unblock(&fixture->ring));
    CHECK_MEM(fixture->memory + 64, vector_mpsc_unblock_zero_gap_at_64_at_64, 32);
    CHECK_MEM(fixture->memory + 96, vector_mpsc_unblock_zero_gap_at_64_at_96, 8);
    seen_t seen = {0};
    CHECK_EQ(rsti_rb_read(&fixture->ring.rb, 10, on_record, &seen), 1);
    CHECK_EQ(seen.types[0], 9);
}

/* D7 */
TEST(unblock_zero_gap_at_index_0)
{
    fixture_t *fixture = make(0, 64);
    put_record(fixture, 32, 18, 9);
    CHECK(rsti_mpsc_rb_unblock(&fixture->ring));
    CHECK_EQ(rsti_get_i32(fixture->memory), 32);
    CHECK_EQ(rsti_get_i32(fixture->memory + 4), RSTI_RB_PADDING);
    CHECK_EQ(rsti_get_i32(fixture->memory + 32), 18);
}

/* D7 */
TEST(unblock_leaves_a_claim_of_this_moment)
{
    fixture_t *fixture = make(0, 64);
    CHECK(!rsti_mpsc_rb_unblock(&fixture->ring));
    fixture = make(512, 1024 + 64); /* zeros to the end, and no write behind it */
    CHECK(!rsti_mpsc_rb_unblock(&fixture->ring));
}

/* D7 */
TEST(unblock_gap_up_to_the_end_of_the_buffer)
{
    fixture_t *fixture = make(1008, 1024 + 64);
    put_record(fixture, 32, 18, 9);
    CHECK(rsti_mpsc_rb_unblock(&fixture->ring));
    CHECK_EQ(rsti_get_i32(fixture->memory + 1008), 16);
    seen_t seen = {0};
    CHECK_EQ(rsti_rb_read(&fixture->ring.rb, 10, on_record, &seen), 0);
    CHECK(rsti_mpsc_rb_unblock(&fixture->ring));
    CHECK_EQ(rsti_rb_read(&fixture->ring.rb, 10, on_record, &seen), 1);
    CHECK_EQ(seen.types[0], 9);
}

/* D7 */
TEST(unblock_a_full_ring)
{
    fixture_t *fixture = make(8, 1024 + 8);
    put_record(fixture, 8, -16, 1);
    for (size_t index = 24; index < CAPACITY; index += 8) {
        put_record(fixture, index, 8, 2);
    }
    put_record(fixture, 0, 8, 2);
    CHECK(rsti_mpsc_rb_unblock(&fixture->ring));
    CHECK_EQ(rsti_get_i32(fixture->memory + 8), 16);
    fixture = make(8, 1024 + 8);
    for (size_t index = 24; index < CAPACITY; index += 8) {
        put_record(fixture, index, 8, 2);
    }
    CHECK(rsti_mpsc_rb_unblock(&fixture->ring));
    CHECK_EQ(rsti_get_i32(fixture->memory + 8), 16);
}

TEST(impossible_records_are_skipped)
{
    static const int32_t lengths[] = {1, 7, 65, 1025, INT32_MAX};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        fixture_t *fixture = make(0, 64);
        put_record(fixture, 0, lengths[i], 3);
        seen_t seen = {0};
        CHECK_EQ(rsti_rb_read(&fixture->ring.rb, 10, on_record, &seen), 0);
        CHECK_EQ(seen.count, 0);
        CHECK_EQ(fixture->ring.rb.corrupt_count, 1);
        CHECK_EQ(fixture->ring.rb.trailer->head_position, 64);
        CHECK_EQ(rsti_mpsc_rb_write(&fixture->ring, 4, "ok", 2), RSTI_RB_OK);
        CHECK_EQ(rsti_rb_read(&fixture->ring.rb, 10, on_record, &seen), 1);
    }
    static const int32_t claims[] = {-1, -7, -72, -2000, INT32_MIN};
    for (size_t i = 0; i < sizeof claims / sizeof claims[0]; i++) {
        fixture_t *fixture = make(0, 64);
        put_record(fixture, 0, claims[i], 3);
        CHECK(rsti_mpsc_rb_unblock(&fixture->ring));
        CHECK_EQ(rsti_get_i32(fixture->memory), 64);
        CHECK_EQ(rsti_rb_commit(&fixture->ring.rb, 8), RSTI_RB_INVALID);
    }
}

/* Of any size and sign, small ones as likely as large ones. */
static int32_t any_number(rsti_rng_t *rng)
{
    return (int32_t)rsti_rng_next(rng) >> rsti_rng_below(rng, 32);
}

/* Every word of the shared memory may have any value: no call may leave the buffer (the sanitizers
 * check it) or hang. */
TEST(hostile_memory)
{
    rsti_rng_t rng;
    rsti_rng_init(&rng, check_seed());
    for (int round = 0; round < 20000; round++) {
        fixture_t *fixture = make(0, 0);
        rsti_rb_trailer_t *trailer = fixture->ring.rb.trailer;
        int shift = (int)rsti_rng_below(&rng, 64);
        trailer->head_position = (int64_t)(rsti_rng_next(&rng) >> shift);
        trailer->tail_position = (int64_t)(rsti_rng_next(&rng) >> shift);
        trailer->head_cache_position = (int64_t)(rsti_rng_next(&rng) >> shift);
        for (size_t i = 0; i < CAPACITY; i += 4) {
            if (rsti_rng_below(&rng, 4) == 0) {
                rsti_put_i32(fixture->memory + i, any_number(&rng));
            }
        }
        seen_t seen = {0};
        (void)rsti_mpsc_rb_unblock(&fixture->ring);
        (void)rsti_rb_has_records(&fixture->ring.rb);
        CHECK(rsti_rb_size(&fixture->ring.rb) <= CAPACITY);
        (void)rsti_mpsc_rb_write(&fixture->ring, 1, "12345678", 8);
        int64_t offset = rsti_mpsc_rb_try_claim(&fixture->ring, 1, 100);
        CHECK(offset < 0 || offset + 100 <= CAPACITY);
        (void)rsti_rb_commit(&fixture->ring.rb, (int64_t)rsti_rng_below(&rng, CAPACITY + 64));
        for (int i = 0; i < 4; i++) {
            (void)rsti_rb_read(&fixture->ring.rb, 16, on_record, &seen);
            (void)rsti_mpsc_rb_unblock(&fixture->ring);
        }
    }
}

/* D8, D1 */
TEST(heartbeat_and_correlation)
{
    fixture_t *fixture = make(0, 0);
    CHECK_EQ(rsti_mpsc_rb_heartbeat(&fixture->ring), 0);
    rsti_mpsc_rb_set_heartbeat(&fixture->ring, 1234);
    CHECK_EQ(rsti_mpsc_rb_heartbeat(&fixture->ring), 1234);
    CHECK_EQ(rsti_get_i64(fixture->memory + CAPACITY + 640), 1234);
    CHECK_EQ(rsti_mpsc_rb_next_correlation_id(&fixture->ring), 0);
    CHECK_EQ(rsti_mpsc_rb_next_correlation_id(&fixture->ring), 1);
    CHECK_EQ(rsti_get_i64(fixture->memory + CAPACITY + 512), 2);
}

/* --- many producers --------------------------------------------------------------------------- */

#define RECORDS_EACH 20000

typedef struct producer_t {
    rsti_mpsc_rb_t *ring;
    int32_t id;
    int64_t correlation_sum;
} producer_t;

static void *produce(void *arg)
{
    producer_t *producer = arg;
    rsti_mpsc_rb_t *ring = producer->ring;
    for (int32_t sequence = 0; sequence < RECORDS_EACH; sequence++) {
        size_t length = length_of(producer->id, sequence);
        producer->correlation_sum += rsti_mpsc_rb_next_correlation_id(ring);
        bool is_to_abort = sequence % 64 == 63;
        for (;;) {
            if (sequence % 2 == 0) {
                uint8_t record[128];
                fill(record, producer->id, sequence);
                if (rsti_mpsc_rb_write(ring, producer->id, record, length) == RSTI_RB_OK) {
                    break;
                }
            } else {
                int64_t offset = rsti_mpsc_rb_try_claim(ring, producer->id, length);
                if (offset >= 0 && is_to_abort) {
                    (void)rsti_rb_abort(&ring->rb, offset);
                    is_to_abort = false;
                } else if (offset >= 0) {
                    fill(ring->rb.buffer + offset, producer->id, sequence);
                    (void)rsti_rb_commit(&ring->rb, offset);
                    break;
                }
            }
            (void)sched_yield();
        }
    }
    return NULL;
}

/* D8, D9 */
TEST(many_producers_lose_nothing_and_keep_their_order)
{
    static _Alignas(64) uint8_t memory[4096 + RSTI_RB_TRAILER_LENGTH];
    rsti_mpsc_rb_t ring;
    memset(memory, 0, sizeof memory);
    CHECK_EQ(rsti_rb_init(&ring.rb, memory, sizeof memory), 0);
    producer_t producers[RING_PRODUCERS_MAX];
    pthread_t threads[RING_PRODUCERS_MAX];
    for (int32_t i = 0; i < RING_PRODUCERS_MAX; i++) {
        producers[i] = (producer_t){.ring = &ring, .id = i + 1};
        CHECK_EQ(pthread_create(&threads[i], NULL, produce, &producers[i]), 0);
    }
    consumer_t consumer = {0};
    while (consumer.count < (size_t)RING_PRODUCERS_MAX * RECORDS_EACH && consumer.errors == 0) {
        if (rsti_rb_read(&ring.rb, 32, consume, &consumer) == 0) {
            (void)sched_yield();
        }
    }
    int64_t correlation_sum = 0;
    for (int i = 0; i < RING_PRODUCERS_MAX; i++) {
        CHECK_EQ(consumer.errors, 0); /* before the join: a failed consumer would hang producers */
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
        correlation_sum += producers[i].correlation_sum;
    }
    /* Each id once: the sum of 0 … n-1. */
    int64_t n = (int64_t)RING_PRODUCERS_MAX * RECORDS_EACH;
    CHECK_EQ(correlation_sum, n * (n - 1) / 2);
    CHECK_EQ(ring.rb.corrupt_count, 0);
}

CHECK_MAIN(RUN(capacity_must_be_a_power_of_two), RUN(types_and_lengths_are_checked),
    RUN(two_writes_match_the_vector), RUN(wrap_with_padding_matches_the_vector),
    RUN(full_ring_is_reported_and_every_byte_is_usable), RUN(a_stale_head_cache_is_refreshed),
    RUN(open_claims_are_invisible), RUN(aborted_claims_are_skipped),
    RUN(commit_and_abort_check_the_offset), RUN(abort_and_break_while_reading),
    RUN(commit_gives_room_back_while_reading), RUN(unblock_claimed_matches_the_vector),
    RUN(unblock_zero_gap_matches_the_vector), RUN(unblock_zero_gap_at_index_0),
    RUN(unblock_leaves_a_claim_of_this_moment), RUN(unblock_gap_up_to_the_end_of_the_buffer),
    RUN(unblock_a_full_ring), RUN(impossible_records_are_skipped), RUN(hostile_memory),
    RUN(heartbeat_and_correlation), RUN(many_producers_lose_nothing_and_keep_their_order))
