/* test_bucket.c: the law over every interval of random histories, debt, and that frequent fills
 * lose nothing. */
#include "flow/bucket.h"
#include "tests/check.h"
#include "util/clock.h"
#include "util/rng.h"

#define MS RSTI_NS_PER_MS
#define STEPS 300

typedef struct spent_t {
    int64_t now_ns;
    double before, after; /* spent in all */
} spent_t;

static rsti_bucket_t bucket_of(double rate, double burst, double debt, int64_t now_ns)
{
    rsti_bucket_t bucket;
    rsti_bucket_init(&bucket, now_ns);
    rsti_bucket_set(&bucket, rate, burst, debt);
    return bucket;
}

/* An owner that asks, and sometimes spends more than there is; no debt is forgiven. */
static void check_history(rsti_rng_t *rng)
{
    const double rate = 1000.0 * (double)(1 + rsti_rng_below(rng, 100000));
    const double burst = (double)(1 + rsti_rng_below(rng, 200000));
    const int64_t beyond = (int64_t)rsti_rng_below(rng, 5000);
    static spent_t spent[STEPS];
    rsti_bucket_t bucket = bucket_of(rate, burst, RSTI_BUCKET_NO_LIMIT, 0);
    int64_t now_ns = 0;
    double sum = 0;
    for (int i = 0; i < STEPS; i++) {
        now_ns += (int64_t)rsti_rng_below(rng, 5 * MS);
        rsti_bucket_fill(&bucket, now_ns);
        const int64_t room = rsti_bucket_room(&bucket);
        const int64_t amount = room == 0
            ? 0
            : (int64_t)rsti_rng_below(rng, (uint64_t)room + 1) + beyond;
        spent[i] = (spent_t){now_ns, sum, sum + (double)amount};
        sum = spent[i].after;
        rsti_bucket_spend(&bucket, (double)amount);
    }
    for (int i = 0; i < STEPS; i++) {
        for (int j = i; j < STEPS; j++) {
            const double earned = rate * (double)(spent[j].now_ns - spent[i].now_ns) / 1e9;
            CHECK(spent[j].after - spent[i].before <= earned + burst + (double)beyond + 1e-3);
        }
    }
}

TEST(no_interval_has_more_than_its_share)
{
    rsti_rng_t rng;
    rsti_rng_init(&rng, check_seed());
    for (int i = 0; i < 30 && check_failures == 0; i++) {
        check_history(&rng);
    }
}

TEST(frequent_fills_lose_nothing)
{
    rsti_bucket_t bucket = bucket_of(1000, 100, 0, 0); /* a token in a millisecond */
    rsti_bucket_spend(&bucket, 100);
    for (int64_t now_ns = 0; now_ns <= 50 * MS; now_ns += 777) {
        rsti_bucket_fill(&bucket, now_ns);
        CHECK_EQ(rsti_bucket_room(&bucket), now_ns / MS);
    }
}

TEST(it_never_holds_more_than_a_burst)
{
    rsti_bucket_t bucket = bucket_of(1000, 100, 0, 0);
    rsti_bucket_fill(&bucket, 3600 * RSTI_NS_PER_S);
    CHECK_EQ(rsti_bucket_room(&bucket), 100);
    rsti_bucket_spend(&bucket, 30);
    rsti_bucket_add(&bucket, 20);
    CHECK_EQ(rsti_bucket_room(&bucket), 90);
    rsti_bucket_add(&bucket, 20);
    CHECK_EQ(rsti_bucket_room(&bucket), 100);
}

TEST(a_debt_is_paid_first_and_forgiven_beyond_its_limit)
{
    rsti_bucket_t bucket = bucket_of(1000, 100, 50, 0);
    rsti_bucket_spend(&bucket, 1000); /* 850 are forgiven */
    CHECK(bucket.level == -50);
    CHECK_EQ(rsti_bucket_room(&bucket), 0);
    CHECK_EQ((int64_t)rsti_bucket_wait_ns(&bucket, 0), 50 * MS);
    CHECK_EQ((int64_t)rsti_bucket_wait_ns(&bucket, 1e9), 150 * MS); /* a burst is all it holds */
    rsti_bucket_fill(&bucket, 50 * MS);
    CHECK_EQ(rsti_bucket_room(&bucket), 0);
    rsti_bucket_fill(&bucket, 60 * MS);
    CHECK_EQ(rsti_bucket_room(&bucket), 10);
    CHECK(!(rsti_bucket_wait_ns(&bucket, 10) > 0));
}

TEST(other_numbers_count_from_the_last_fill)
{
    rsti_bucket_t bucket = bucket_of(1000, 100, 50, 0);
    rsti_bucket_spend(&bucket, 140);
    rsti_bucket_set(&bucket, 2000, 200, 20); /* the debt shrinks with its limit */
    CHECK(bucket.level == -20);
    rsti_bucket_fill(&bucket, 20 * MS);
    CHECK_EQ(rsti_bucket_room(&bucket), 20);
    rsti_bucket_set(&bucket, 2000, 10, 20);
    CHECK_EQ(rsti_bucket_room(&bucket), 10);
}

TEST(time_that_goes_back_is_no_time)
{
    rsti_bucket_t bucket = bucket_of(1000, 100, 0, 10 * MS);
    rsti_bucket_spend(&bucket, 100);
    rsti_bucket_fill(&bucket, 0);
    rsti_bucket_fill(&bucket, INT64_MIN);
    CHECK_EQ(rsti_bucket_room(&bucket), 0);
    rsti_bucket_fill(&bucket, 12 * MS);
    CHECK_EQ(rsti_bucket_room(&bucket), 2);
    rsti_bucket_fill(&bucket, INT64_MAX);
    CHECK_EQ(rsti_bucket_room(&bucket), 100);
    rsti_bucket_spend(&bucket, -5); /* gives nothing back */
    CHECK_EQ(rsti_bucket_room(&bucket), 100);
}

CHECK_MAIN(RUN(no_interval_has_more_than_its_share), RUN(frequent_fills_lose_nothing),
    RUN(it_never_holds_more_than_a_burst), RUN(a_debt_is_paid_first_and_forgiven_beyond_its_limit),
    RUN(other_numbers_count_from_the_last_fill), RUN(time_that_goes_back_is_no_time))
