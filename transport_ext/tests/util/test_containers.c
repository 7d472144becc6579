#include "tests/check.h"
#include "util/alloc.h"
#include "util/bits.h"
#include "util/error.h"
#include "util/hash_map.h"
#include "util/int_math.h"
#include "util/ptr_array.h"
#include "util/rng.h"

static bool is_zeroed(const uint8_t *bytes, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    return true;
}

TEST(memory_is_zeroed_and_aligned)
{
    for (size_t size = 0; size < 300; size += 37) {
        uint8_t *block = rsti_alloc(size);
        CHECK(block != NULL && ((uintptr_t)block & (RSTI_CACHE_LINE - 1)) == 0);
        CHECK(is_zeroed(block, 0, size));
        rsti_free(block);
    }
    rsti_free(NULL);
}

TEST(realloc_keeps_and_zeroes)
{
    uint8_t *block = rsti_realloc(NULL, 0, 10);
    CHECK(block != NULL);
    memset(block, 0xAB, 10);
    block = rsti_realloc(block, 10, 500);
    CHECK(block != NULL && block[9] == 0xAB && is_zeroed(block, 10, 500));
    block = rsti_realloc(block, 500, 4);
    CHECK(block != NULL && block[3] == 0xAB);
    rsti_free(block);
}

TEST(impossible_sizes_leave_a_trail)
{
    CHECK(rsti_alloc(SIZE_MAX) == NULL);
    CHECK_EQ(rst_last_error_code(), RST_ENOMEM);
}

TEST(strndup_stops_at_the_end)
{
    char *copy = rsti_strndup("abcdef", 3);
    CHECK_STR(copy, "abc");
    rsti_free(copy);
    copy = rsti_strndup("ab", 30);
    CHECK_STR(copy, "ab");
    rsti_free(copy);
}

TEST(bits_and_wrapping)
{
    CHECK_EQ(rsti_align_i32(1, 32), 32);
    CHECK_EQ(rsti_align_i64(64, 32), 64);
    CHECK(rsti_is_power_of_two(1) && rsti_is_power_of_two(INT64_C(1) << 40));
    CHECK(!rsti_is_power_of_two(0) && !rsti_is_power_of_two(-8) && !rsti_is_power_of_two(12));
    CHECK_EQ(rsti_log2(65536), 16);
    CHECK_EQ(rsti_wrap_add_i32(INT32_MAX, 1), INT32_MIN);
    CHECK_EQ(rsti_wrap_sub_i32(INT32_MIN, 1), INT32_MAX);
    CHECK_EQ(rsti_saturating_add_i64(INT64_MAX, 1), INT64_MAX);
    CHECK_EQ(rsti_saturating_add_i64(INT64_MIN, -1), INT64_MIN);
    CHECK_EQ(rsti_min_i64(-1, 1), -1);
    CHECK_EQ(rsti_max_i32(-1, 1), 1);
    uint8_t odd[16] = {0};
    rsti_put_i64(odd + 3, INT64_C(0x0102030405060708));
    CHECK_EQ(odd[3], 8);
    CHECK_EQ(rsti_get_i64(odd + 3), INT64_C(0x0102030405060708));
    rsti_put_i32(odd + 1, -2);
    CHECK_EQ(rsti_get_i32(odd + 1), -2);
}

/* Keys are negative too, and some differ in one half only. */
static int64_t key_of(size_t number)
{
    return (int64_t)((uint64_t)(uint32_t)((int32_t)number - 256) << 32 | (uint32_t)(number * 7));
}

/* The map against a plain table, with few keys, so that they collide and are often replaced or
 * removed. */
TEST(hash_map_against_a_table)
{
    enum {
        KEYS = 512
    };
    static int values[KEYS * 2];
    void *expected[KEYS] = {0};
    size_t count = 0;
    rsti_hash_map_t map = {0};
    rsti_rng_t rng;
    rsti_rng_init(&rng, check_seed());
    for (int step = 0; step < 100000; step++) {
        size_t k = rsti_rng_below(&rng, KEYS);
        int64_t key = key_of(k);
        if (rsti_rng_below(&rng, 2) == 0) {
            void *value = &values[rsti_rng_below(&rng, KEYS * 2)];
            CHECK_EQ(rsti_hash_map_put(&map, key, value), 0);
            count += expected[k] == NULL;
            expected[k] = value;
        } else {
            CHECK(rsti_hash_map_remove(&map, key) == expected[k]);
            count -= expected[k] != NULL;
            expected[k] = NULL;
        }
        CHECK_EQ(map.count, count);
        size_t probe = rsti_rng_below(&rng, KEYS);
        int64_t probe_key = key_of(probe);
        CHECK(rsti_hash_map_get(&map, probe_key) == expected[probe]);
    }
    rsti_hash_map_fini(&map);
    rsti_hash_map_fini(&map);
    CHECK(rsti_hash_map_get(&map, 1) == NULL);
}

static void sum_keys(void *arg, int64_t key, void *value)
{
    (void)value;
    *(int64_t *)arg += key;
}

TEST(hash_map_visits_all)
{
    rsti_hash_map_t map = {0};
    int64_t sum = 0;
    rsti_hash_map_for_each(&map, sum_keys, &sum);
    CHECK_EQ(sum, 0);
    CHECK(rsti_hash_map_remove(&map, 5) == NULL);
    for (int64_t key = 0; key < 100; key++) {
        CHECK_EQ(rsti_hash_map_put(&map, key, &sum), 0);
    }
    rsti_hash_map_for_each(&map, sum_keys, &sum);
    CHECK_EQ(sum, 4950);
    CHECK_EQ(map.count, 100);
    CHECK(map.count * 3 <= map.capacity * 2);
    rsti_hash_map_fini(&map);
}

TEST(ptr_array_moves_the_last_in)
{
    static int items[20];
    rsti_ptr_array_t array = {0};
    CHECK_EQ(rsti_ptr_array_remove(&array, &items[0]), 0);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(rsti_ptr_array_add(&array, &items[i]), 0);
    }
    CHECK_EQ(rsti_ptr_array_remove(&array, &items[3]), 1);
    CHECK_EQ(rsti_ptr_array_remove(&array, &items[3]), 0);
    CHECK_EQ(array.count, 19);
    CHECK(array.items[3] == &items[19]);
    rsti_ptr_array_remove_at(&array, 18);
    CHECK_EQ(array.count, 18);
    CHECK(array.items[17] == &items[17]);
    rsti_ptr_array_fini(&array);
    CHECK_EQ(array.count, 0);
}

CHECK_MAIN(RUN(memory_is_zeroed_and_aligned), RUN(realloc_keeps_and_zeroes),
    RUN(impossible_sizes_leave_a_trail), RUN(strndup_stops_at_the_end), RUN(bits_and_wrapping),
    RUN(hash_map_against_a_table), RUN(hash_map_visits_all), RUN(ptr_array_moves_the_last_in))
