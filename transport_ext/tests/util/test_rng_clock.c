#include "tests/check.h"
#include "util/clock.h"
#include "util/rng.h"

/* Published results of splitmix64 seeded with 0, which seeds the state. */
TEST(seeding_is_splitmix64)
{
    rsti_rng_t rng;
    rsti_rng_init(&rng, 0);
    CHECK(rng.state[0] == UINT64_C(0xe220a8397b1dcdaf));
    CHECK(rng.state[1] == UINT64_C(0x6e789e6aa1b965f4));
    CHECK(rng.state[2] == UINT64_C(0x06c45d188009454f));
}

/* Published results of xoshiro256** from the state {1, 2, 3, 4}. */
TEST(stream_is_xoshiro256starstar)
{
    rsti_rng_t rng = {.state = {1, 2, 3, 4}};
    static const uint64_t expected[] = {11520, 0, 1509978240, UINT64_C(1215971899390074240)};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        CHECK(rsti_rng_next(&rng) == expected[i]);
    }
}

TEST(one_seed_is_one_stream)
{
    rsti_rng_t a, b, c;
    rsti_rng_init(&a, 7);
    rsti_rng_init(&b, 7);
    rsti_rng_init(&c, 8);
    int differences = 0;
    for (int i = 0; i < 100; i++) {
        uint64_t value = rsti_rng_next(&a);
        CHECK(value == rsti_rng_next(&b));
        differences += value != rsti_rng_next(&c);
    }
    CHECK_EQ(differences, 100);
}

TEST(ranges_hold_and_are_even)
{
    rsti_rng_t rng;
    rsti_rng_init(&rng, check_seed());
    int counts[6] = {0};
    double sum = 0.0;
    for (int i = 0; i < 60000; i++) {
        uint64_t value = rsti_rng_below(&rng, 6);
        CHECK(value < 6);
        counts[value]++;
        double unit = rsti_rng_unit(&rng);
        CHECK(unit >= 0.0 && unit < 1.0);
        sum += unit;
    }
    for (int i = 0; i < 6; i++) {
        CHECK(counts[i] > 9400 && counts[i] < 10600); /* 10 000 +- more than 6 sigma */
    }
    CHECK(sum > 29500 && sum < 30500);
    CHECK_EQ(rsti_rng_below(&rng, 1), 0);
    (void)rsti_rng_below(&rng, UINT64_MAX);
}

TEST(entropy_differs)
{
    CHECK(rsti_rng_entropy() != rsti_rng_entropy());
}

TEST(system_clock_moves_forward)
{
    rsti_clock_t clock = rsti_clock_system();
    int64_t first_ns = rsti_clock_nano_time(&clock);
    CHECK(rsti_clock_nano_time(&clock) >= first_ns);
    CHECK(rsti_clock_epoch_ms(&clock) > INT64_C(1600000000000));
}

/* P */
TEST(manual_clock_is_turned_by_hand)
{
    rsti_manual_clock_t manual = {.now_ns = 0, .epoch_ms_at_zero = 1000};
    rsti_clock_t clock = rsti_clock_manual(&manual);
    CHECK_EQ(rsti_clock_nano_time(&clock), 0);
    CHECK_EQ(rsti_clock_epoch_ms(&clock), 1000);
    manual.now_ns = 5 * RSTI_NS_PER_S + 999999;
    CHECK_EQ(rsti_clock_nano_time(&clock), 5 * RSTI_NS_PER_S + 999999);
    CHECK_EQ(rsti_clock_epoch_ms(&clock), 6000);
}

typedef struct counted_t {
    int64_t epoch_ms;
    int asked;
} counted_t;

static int64_t count_epoch_ns(void *arg)
{
    counted_t *counted = arg;
    counted->asked++;
    return counted->epoch_ms * RSTI_NS_PER_MS;
}

/* L11 */
TEST(a_cached_epoch_is_asked_for_at_the_millisecond)
{
    const int64_t begin_ns = -3 * RSTI_NS_PER_MS; /* a monotonic clock begins at any value */
    counted_t counted = {.epoch_ms = 5000};
    const rsti_clock_t clock = {.epoch_ns = count_epoch_ns, .arg = &counted};
    rsti_cached_epoch_t cached;
    rsti_cached_epoch_init(&cached, &clock, begin_ns);
    CHECK_EQ(cached.now_ms, 5000);
    CHECK_EQ(counted.asked, 1);
    counted.epoch_ms = 5001;
    rsti_cached_epoch_update(&cached, &clock, begin_ns);
    rsti_cached_epoch_update(&cached, &clock, begin_ns + RSTI_NS_PER_MS - 1);
    CHECK_EQ(cached.now_ms, 5000);
    CHECK_EQ(counted.asked, 1);
    rsti_cached_epoch_update(&cached, &clock, begin_ns + RSTI_NS_PER_MS);
    CHECK_EQ(cached.now_ms, 5001);
    CHECK_EQ(counted.asked, 2);
    /* Intervals count from the last pass: a late pass moves the next one, and the wall clock may
     * step back. */
    counted.epoch_ms = 3;
    rsti_cached_epoch_update(&cached, &clock, begin_ns + 5 * RSTI_NS_PER_MS + 7);
    CHECK_EQ(cached.now_ms, 3);
    rsti_cached_epoch_update(&cached, &clock, begin_ns + 6 * RSTI_NS_PER_MS + 6);
    CHECK_EQ(counted.asked, 3);
    rsti_cached_epoch_update(&cached, &clock, begin_ns + 6 * RSTI_NS_PER_MS + 7);
    CHECK_EQ(counted.asked, 4);
}

CHECK_MAIN(RUN(seeding_is_splitmix64), RUN(stream_is_xoshiro256starstar),
    RUN(one_seed_is_one_stream), RUN(ranges_hold_and_are_even), RUN(entropy_differs),
    RUN(system_clock_moves_forward), RUN(manual_clock_is_turned_by_hand),
    RUN(a_cached_epoch_is_asked_for_at_the_millisecond))
