/* The holder of a publication in shared memory: a reader gets a complete record, never half of one.
 */
#include "concurrent/holder.h"
#include "tests/check.h"

#include <pthread.h>

TEST(complete_record_is_read)
{
    rsti_counter_value_t value = {.value = 7, .registration_id = 8};
    rsti_holder_t got;
    CHECK(!rsti_holder_read(&value, &got)); /* a counter of Aeron's, or not yet used */
    const rsti_holder_t told = {.id = -5,
        .client_id = 2,
        .since_ms = 3,
        .position = 4,
        .window = 5,
        .address = {1, 2, 3, 4},
        .port = -6};
    rsti_holder_write(&value, &told);
    CHECK(rsti_holder_read(&value, &got));
    CHECK_MEM(&got, &told, sizeof told);
    CHECK_EQ(value.value, 7);
    CHECK_EQ(value.registration_id, 8);
    rsti_holder_write(&value, &(rsti_holder_t){.client_id = -1});
    CHECK(!rsti_holder_read(&value, &got));
}

/* A writer that died in the middle: the reader gives up instead of waiting. */
TEST(unfinished_record_is_not_read)
{
    rsti_counter_value_t value = {0};
    rsti_holder_t got;
    rsti_holder_write(&value, &(rsti_holder_t){.id = 1});
    (*(int64_t *)(void *)value.spare)++;
    CHECK(!rsti_holder_read(&value, &got));
}

/* Another process can write any number there. The next record is whole again. */
TEST(any_number_is_taken_as_a_version)
{
    const int64_t numbers[] = {INT64_MAX, INT64_MAX - 1, INT64_MIN, -1, -2, 1};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        rsti_counter_value_t value = {0};
        rsti_holder_t got;
        *(int64_t *)(void *)value.spare = numbers[i];
        rsti_holder_write(&value, &(rsti_holder_t){.id = 1, .port = INT64_MIN});
        CHECK(rsti_holder_read(&value, &got));
        CHECK_EQ(got.id, 1);
        CHECK_EQ(rsti_holder_address(&got).port, 0);
    }
}

/* Readers of other versions know an IPv6 address by its port below zero. */
TEST(an_address_keeps_its_family)
{
    rsti_holder_t holder = {0};
    CHECK_EQ(rsti_holder_address(&holder).family, AF_UNSPEC);
    const rsti_packed_address_t four = {.family = AF_INET, .port = 65535, .bytes = {10, 1, 2, 3}};
    rsti_holder_set_address(&holder, &four);
    CHECK_EQ(holder.port, 65535);
    rsti_packed_address_t got = rsti_holder_address(&holder);
    CHECK_EQ(got.family, four.family);
    CHECK_EQ(got.port, 65535);
    CHECK_MEM(got.bytes, four.bytes, sizeof got.bytes);
    const rsti_packed_address_t six = {.family = AF_INET6, .port = 65535, .bytes = {[15] = 7}};
    rsti_holder_set_address(&holder, &six);
    CHECK_EQ(holder.port, -65535);
    got = rsti_holder_address(&holder);
    CHECK_EQ(got.family, six.family);
    CHECK_EQ(got.port, 65535);
    CHECK_MEM(got.bytes, six.bytes, sizeof got.bytes);
}

static rsti_counter_value_t shared;
static int32_t is_over;

static void *write_on(void *arg)
{
    (void)arg;
    for (int64_t n = 1; rsti_load_relaxed_i32(&is_over) == 0; n++) {
        rsti_holder_write(&shared,
            &(rsti_holder_t){
                .id = n, .client_id = n, .since_ms = n, .position = n, .window = n, .port = n});
    }
    return NULL;
}

TEST(no_half_is_read_while_it_changes)
{
    pthread_t thread;
    int64_t last = 0;
    int changes = 0; /* enough to make a torn read certain without the lock */
    CHECK_EQ(pthread_create(&thread, NULL, write_on, NULL), 0);
    for (int64_t tries = 0; changes < 200000 && tries < 200000000; tries++) {
        rsti_holder_t got;
        if (rsti_holder_read(&shared, &got)) {
            changes += got.id != last;
            last = got.id;
            if (got.id != got.client_id || got.id != got.since_ms || got.id != got.position
                || got.id != got.window || got.id != got.port) {
                CHECK_EQ(got.id, got.port);
                break;
            }
        }
    }
    rsti_store_relaxed_i32(&is_over, 1);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK(changes > 0);
}

CHECK_MAIN(RUN(complete_record_is_read), RUN(unfinished_record_is_not_read),
    RUN(any_number_is_taken_as_a_version), RUN(an_address_keeps_its_family),
    RUN(no_half_is_read_while_it_changes))
