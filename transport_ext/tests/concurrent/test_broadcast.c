#include "concurrent/broadcast.h"

#include "concurrent/atomics.h"
#include "tests/check.h"
#include "tests/vectors/ring_and_broadcast.h"
#include "util/bits.h"
#include "util/error.h"
#include "util/rng.h"

#include <pthread.h>
#include <sched.h>

#define CAPACITY 1024

static _Alignas(64) uint8_t memory[CAPACITY + RSTI_BROADCAST_TRAILER_LENGTH];
static rsti_broadcast_tx_t tx;

static rsti_broadcast_trailer_t *make(int64_t tail)
{
    memset(memory, 0, sizeof memory);
    if (rsti_broadcast_tx_init(&tx, memory, sizeof memory) < 0) {
        abort();
    }
    tx.trailer->tail = tail;
    tx.trailer->tail_intent = tail;
    tx.trailer->latest = tail;
    return tx.trailer;
}

typedef struct seen_t {
    int count;
    int32_t type;
    size_t length;
    uint8_t record[CAPACITY];
} seen_t;

static void on_record(void *arg, int32_t type, const void *record, size_t length)
{
    seen_t *seen = arg;
    seen->count++;
    seen->type = type;
    seen->length = length;
    memcpy(seen->record, record, length);
}

/* D1 */
TEST(regions_are_checked)
{
    rsti_broadcast_rx_t rx;
    CHECK_EQ(rsti_broadcast_tx_init(&tx, memory, 1000), -RST_EINVAL);
    CHECK_EQ(rsti_broadcast_tx_init(&tx, memory, 32 + RSTI_BROADCAST_TRAILER_LENGTH), -RST_EINVAL);
    CHECK_EQ(rsti_broadcast_rx_init(&rx, memory, 100), -RST_EINVAL);
    CHECK_EQ(rsti_broadcast_rx_init(&rx, memory + 4, 64 + RSTI_BROADCAST_TRAILER_LENGTH),
        -RST_EINVAL);
}

/* D11 */
TEST(first_record_matches_the_vector)
{
    rsti_broadcast_trailer_t *trailer = make(0);
    uint8_t record[8] = {0x2a};
    CHECK_EQ(rsti_broadcast_transmit(&tx, 3844, record, sizeof record), 0);
    CHECK_MEM(memory, vector_broadcast_first_buffer_first_16, 16);
    CHECK_EQ(trailer->tail_intent, 16);
    CHECK_EQ(trailer->tail, 16);
    CHECK_EQ(trailer->latest, 0);
}

/* D11 */
TEST(wrap_matches_the_vector)
{
    rsti_broadcast_trailer_t *trailer = make(1008);
    rsti_broadcast_rx_t rx;
    CHECK_EQ(rsti_broadcast_rx_init(&rx, memory, sizeof memory), 0);
    uint8_t record[20];
    memset(record, 0x33, sizeof record);
    CHECK_EQ(rsti_broadcast_transmit(&tx, 3, record, sizeof record), 0);
    CHECK_MEM(memory + 1008, vector_broadcast_wrap_at_1008, 8);
    CHECK_MEM(memory, vector_broadcast_wrap_at_0, 32);
    CHECK_EQ(trailer->tail_intent, 1056);
    CHECK_EQ(trailer->tail, 1056);
    CHECK_EQ(trailer->latest, 1024);
    seen_t seen = {0};
    CHECK_EQ(rsti_broadcast_receive(&rx, on_record, &seen), 1);
    CHECK_EQ(seen.type, 3);
    CHECK_EQ(seen.length, 20);
    CHECK_MEM(seen.record, record, 20);
    CHECK_EQ(rsti_broadcast_receive(&rx, on_record, &seen), 0);
    rsti_broadcast_rx_fini(&rx);
}

/* D2, D11 */
TEST(transmit_refuses)
{
    (void)make(0);
    static const uint8_t record[200];
    CHECK_EQ(rsti_broadcast_transmit(&tx, 0, record, 8), -RST_EINVAL);
    CHECK_EQ(rsti_broadcast_transmit(&tx, 1, record, 129), -RST_ETOOLARGE);
    CHECK_EQ(rsti_broadcast_transmit(&tx, 1, record, 128), 0);
    CHECK_EQ(rsti_broadcast_transmit(&tx, 1, record, 0), 0);
}

/* D11 */
TEST(in_order_and_a_late_join_starts_at_the_latest)
{
    (void)make(0);
    rsti_broadcast_rx_t early, late;
    CHECK_EQ(rsti_broadcast_rx_init(&early, memory, sizeof memory), 0);
    for (uint8_t i = 1; i <= 3; i++) {
        CHECK_EQ(rsti_broadcast_transmit(&tx, i, &i, 1), 0);
    }
    CHECK_EQ(rsti_broadcast_rx_init(&late, memory, sizeof memory), 0);
    seen_t seen = {0};
    for (int32_t i = 1; i <= 3; i++) {
        CHECK_EQ(rsti_broadcast_receive(&early, on_record, &seen), 1);
        CHECK_EQ(seen.type, i);
        CHECK_EQ(seen.record[0], i);
    }
    CHECK_EQ(rsti_broadcast_receive(&early, on_record, &seen), 0);
    CHECK_EQ(rsti_broadcast_receive(&late, on_record, &seen), 1);
    CHECK_EQ(seen.type, 3);
    CHECK_EQ(rsti_broadcast_receive(&late, on_record, &seen), 0);
    rsti_broadcast_rx_fini(&early);
    rsti_broadcast_rx_fini(&late);
    rsti_broadcast_rx_fini(&late);
}

/* D11 */
TEST(lapped_before_the_copy)
{
    (void)make(0);
    rsti_broadcast_rx_t rx;
    CHECK_EQ(rsti_broadcast_rx_init(&rx, memory, sizeof memory), 0);
    static const uint8_t record[120];
    seen_t seen = {0};
    for (int i = 0; i < 7; i++) { /* 7 * 128 of 1024 */
        CHECK_EQ(rsti_broadcast_transmit(&tx, 1, record, sizeof record), 0);
    }
    CHECK_EQ(rsti_broadcast_receive(&rx, on_record, &seen), 1);
    CHECK_EQ(rsti_broadcast_transmit(&tx, 1, record, sizeof record), 0);
    CHECK_EQ(rsti_broadcast_receive(&rx, on_record, &seen), 1);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(rsti_broadcast_transmit(&tx, 1, record, sizeof record), 0);
    }
    /* Reader at 256, tail 1280: exactly one buffer behind, so the record may be overwritten
     * already. */
    CHECK_EQ(rsti_broadcast_receive(&rx, on_record, &seen), -RST_EFULL);
    CHECK_EQ(seen.count, 2);
    CHECK(strstr(rst_last_error_text(), "256") != NULL);
    rsti_broadcast_rx_fini(&rx);
}

/* D11 */
TEST(lapped_by_an_intent)
{
    rsti_broadcast_trailer_t *trailer = make(0);
    rsti_broadcast_rx_t rx;
    CHECK_EQ(rsti_broadcast_rx_init(&rx, memory, sizeof memory), 0);
    seen_t seen = {0};
    CHECK_EQ(rsti_broadcast_transmit(&tx, 1, "x", 1), 0);
    trailer->tail_intent = CAPACITY;
    CHECK_EQ(rsti_broadcast_receive(&rx, on_record, &seen), -RST_EFULL);
    trailer->tail_intent = CAPACITY - 8;
    CHECK_EQ(rsti_broadcast_receive(&rx, on_record, &seen), 1);
    rsti_broadcast_rx_fini(&rx);
}

TEST(impossible_records_are_refused)
{
    static const int32_t cases[][2] = {
        {0, 1}, {7, 1}, {-16, 1}, {137, 1}, {INT32_MAX, 1}, {16, 0}, {16, -2}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rsti_broadcast_trailer_t *trailer = make(0);
        rsti_broadcast_rx_t rx;
        CHECK_EQ(rsti_broadcast_rx_init(&rx, memory, sizeof memory), 0);
        trailer->tail = trailer->tail_intent = 16;
        rsti_put_i32(memory, cases[i][0]);
        rsti_put_i32(memory + 4, cases[i][1]);
        seen_t seen = {0};
        CHECK_EQ(rsti_broadcast_receive(&rx, on_record, &seen), -RST_ECORRUPT);
        CHECK_EQ(seen.count, 0);
        rsti_broadcast_rx_fini(&rx);
    }
    /* Padding with no record behind it, and a record that would leave the buffer. */
    rsti_broadcast_trailer_t *trailer = make(1008);
    rsti_broadcast_rx_t rx;
    CHECK_EQ(rsti_broadcast_rx_init(&rx, memory, sizeof memory), 0);
    trailer->tail = trailer->tail_intent = 1024;
    rsti_put_i32(memory + 1008, 16);
    rsti_put_i32(memory + 1012, -1);
    seen_t seen = {0};
    CHECK_EQ(rsti_broadcast_receive(&rx, on_record, &seen), -RST_ECORRUPT);
    rsti_put_i32(memory + 1008, 24);
    rsti_put_i32(memory + 1012, 1);
    CHECK_EQ(rsti_broadcast_receive(&rx, on_record, &seen), -RST_ECORRUPT);
    rsti_broadcast_rx_fini(&rx);
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
        rsti_broadcast_trailer_t *trailer = make(0);
        int shift = (int)rsti_rng_below(&rng, 64);
        trailer->latest = (int64_t)(rsti_rng_next(&rng) >> shift);
        trailer->tail = (int64_t)(rsti_rng_next(&rng) >> shift);
        trailer->tail_intent = (int64_t)(rsti_rng_next(&rng) >> shift);
        for (size_t i = 0; i < CAPACITY; i += 4) {
            rsti_put_i32(memory + i, any_number(&rng));
        }
        rsti_broadcast_rx_t rx;
        CHECK_EQ(rsti_broadcast_rx_init(&rx, memory, sizeof memory), 0);
        seen_t seen = {0};
        for (int i = 0; i < 4; i++) {
            (void)rsti_broadcast_receive(&rx, on_record, &seen);
        }
        (void)rsti_broadcast_transmit(&tx, 1, "12345678", 8);
        (void)rsti_broadcast_receive(&rx, on_record, &seen);
        rsti_broadcast_rx_fini(&rx);
    }
}

/* --- threads: a receiver gets complete records in order, or learns that it was lapped --------- */

#define RECORDS 50000

static int32_t is_done;

static void *transmit_all(void *arg)
{
    (void)arg;
    uint8_t record[64];
    for (int32_t sequence = 1; sequence <= RECORDS; sequence++) {
        size_t length = 8 + (size_t)(sequence % 50);
        memset(record, (uint8_t)sequence, sizeof record);
        rsti_put_i32(record, sequence);
        (void)rsti_broadcast_transmit(&tx, 1 + sequence % 5, record, length);
        if (sequence % 16 == 0) {
            (void)sched_yield();
        }
    }
    rsti_store_release_i32(&is_done, 1);
    return NULL;
}

typedef struct check_t {
    int32_t last;
    int received;
    int errors;
} check_t;

static void check_record(void *arg, int32_t type, const void *record, size_t length)
{
    check_t *check = arg;
    const uint8_t *bytes = record;
    int32_t sequence = rsti_get_i32(bytes);
    bool is_good = sequence > check->last && type == 1 + sequence % 5
        && length == 8 + (size_t)(sequence % 50);
    for (size_t i = 4; is_good && i < length; i++) {
        is_good = bytes[i] == (uint8_t)sequence;
    }
    check->errors += !is_good;
    check->last = sequence;
    check->received++;
}

static void *receive_all(void *arg)
{
    check_t *check = arg;
    rsti_broadcast_rx_t rx;
    if (rsti_broadcast_rx_init(&rx, memory, sizeof memory) < 0) {
        check->errors++;
        return NULL;
    }
    for (;;) {
        int32_t was_done = rsti_load_acquire_i32(&is_done);
        int result = rsti_broadcast_receive(&rx, check_record, check);
        if (result == 0) {
            if (was_done) {
                break;
            }
            (void)sched_yield();
        } else if (result == -RST_EFULL) {
            /* Lapped: a new receiver starts at the latest record, which it may have read already.
             */
            rsti_broadcast_rx_fini(&rx);
            if (rsti_broadcast_rx_init(&rx, memory, sizeof memory) < 0) {
                check->errors++;
                return NULL;
            }
            check->last -= 1;
        } else if (result < 0) {
            check->errors++;
            break;
        }
    }
    rsti_broadcast_rx_fini(&rx);
    return NULL;
}

/* D11 */
TEST(receivers_see_whole_records_or_a_lap)
{
    (void)make(0);
    rsti_store_release_i32(&is_done, 0);
    check_t checks[2] = {{0}};
    pthread_t threads[3];
    CHECK_EQ(pthread_create(&threads[0], NULL, receive_all, &checks[0]), 0);
    CHECK_EQ(pthread_create(&threads[1], NULL, receive_all, &checks[1]), 0);
    CHECK_EQ(pthread_create(&threads[2], NULL, transmit_all, NULL), 0);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    }
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(checks[i].errors, 0);
        CHECK(checks[i].received > 0);
        CHECK_EQ(checks[i].last, RECORDS);
    }
}

CHECK_MAIN(RUN(regions_are_checked), RUN(first_record_matches_the_vector),
    RUN(wrap_matches_the_vector), RUN(transmit_refuses),
    RUN(in_order_and_a_late_join_starts_at_the_latest), RUN(lapped_before_the_copy),
    RUN(lapped_by_an_intent), RUN(impossible_records_are_refused), RUN(hostile_memory),
    RUN(receivers_see_whole_records_or_a_lap))
