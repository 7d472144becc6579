/* test_allowance.c: the law over every interval of random histories; a producer that keeps to the
 * limit loses nothing that it earned. */
#include "flow/allowance.h"
#include "tests/check.h"
#include "util/clock.h"
#include "util/rng.h"

#define MS RSTI_NS_PER_MS
#define MTU 1408
#define STEPS 400

typedef struct written_t {
    int64_t now_ns;
    int64_t before, after; /* position */
} written_t;

static int64_t burst_of(double rate)
{
    const double burst = rate / 100; /* 10 ms */
    return (int64_t)(burst > 4 * MTU ? burst : 4 * MTU) + 1;
}

/* Producers that write whenever they may, at random times; the conductor checks at others. */
static void check_history(rsti_rng_t *rng)
{
    const double rate = 1000.0 * (double)(1 + rsti_rng_below(rng, 100000));
    const int64_t message = 1 + (int64_t)rsti_rng_below(rng, 200000);
    static written_t written[STEPS];
    rsti_allowance_t allowance;
    int64_t now_ns = 0, position = 0;
    rsti_allowance_init(&allowance, rate, MTU, 0, 0);
    int64_t limit = rsti_allowance_limit(&allowance, 0, 0);
    for (int i = 0; i < STEPS; i++) {
        now_ns += (int64_t)rsti_rng_below(rng, rsti_rng_below(rng, 10) == 0 ? 500 * MS : 5 * MS);
        written[i] = (written_t){now_ns, position, position};
        const int64_t most = (int64_t)rsti_rng_below(rng, 40);
        for (int64_t k = 0; k < most && position < limit; k++) {
            position += message;
        }
        written[i].after = position;
        if (rsti_rng_below(rng, 3) != 0) {
            const int64_t raised = rsti_allowance_limit(&allowance, position, now_ns);
            CHECK(raised >= position);
            CHECK(raised >= limit); /* the limit never falls, so it need not be withdrawn */
            limit = raised;
        }
    }
    for (int i = 0; i < STEPS; i++) {
        for (int j = i; j < STEPS; j++) {
            const int64_t passed_ns = written[j].now_ns - written[i].now_ns;
            const double earned = rate * (double)passed_ns / 1e9;
            CHECK(written[j].after - written[i].before
                <= (int64_t)earned + burst_of(rate) + message);
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

TEST(timely_producer_gets_all_of_the_rate)
{
    rsti_allowance_t allowance;
    int64_t now_ns = 5 * RSTI_NS_PER_S;
    const int64_t begin_ns = now_ns;
    rsti_allowance_init(&allowance, 1e8, MTU, 0, now_ns);
    int64_t position = rsti_allowance_limit(&allowance, 0, now_ns);
    int looks = 0;
    CHECK_EQ(position, 1000000); /* 10 ms */
    while (now_ns < begin_ns + RSTI_NS_PER_S) {
        (void)rsti_allowance_limit(&allowance, position, now_ns);
        const int64_t due_ns = rsti_allowance_due_ns(&allowance);
        CHECK(due_ns > now_ns);
        now_ns = due_ns + MS; /* late, as sleepers are */
        position = rsti_allowance_limit(&allowance, position, now_ns);
        looks++;
    }
    const double share = (double)position / (1e8 * (double)(now_ns - begin_ns) / 1e9);
    CHECK(share > 0.999 && share < 1.011);
    CHECK(looks < 1000); /* and not more often than necessary */
}

TEST(resting_producer_causes_no_checks)
{
    rsti_allowance_t allowance;
    rsti_allowance_init(&allowance, 1e6, MTU, 77, 0);
    CHECK_EQ(rsti_allowance_limit(&allowance, 77, 0), 77 + 10000);
    CHECK_EQ(rsti_allowance_due_ns(&allowance), INT64_MAX);
    CHECK_EQ(rsti_allowance_limit(&allowance, 78, 0), 77 + 10000);
    CHECK(rsti_allowance_due_ns(&allowance) < INT64_MAX);
    CHECK_EQ(rsti_allowance_limit(&allowance, 78, MS), 78 + 10000);
    CHECK_EQ(rsti_allowance_due_ns(&allowance), INT64_MAX);
}

TEST(a_message_beyond_the_limit_is_earned_before_the_next)
{
    rsti_allowance_t allowance;
    rsti_allowance_init(&allowance, 1e6, MTU, 0, 0);
    CHECK_EQ(rsti_allowance_limit(&allowance, 110000, 0), 110000); /* 100 000 in debt: 100 ms */
    CHECK_EQ(rsti_allowance_limit(&allowance, 110000, 99 * MS), 110000);
    CHECK_EQ(rsti_allowance_limit(&allowance, 110000, 101 * MS), 111000);
    /* back: as if the position had not moved */
    CHECK_EQ(rsti_allowance_limit(&allowance, 100, 101 * MS), 111000);
    CHECK_EQ(rsti_allowance_limit(&allowance, 110000, MS), 111000);
}

TEST(another_rate_counts_from_now_on)
{
    rsti_allowance_t allowance;
    rsti_allowance_init(&allowance, RSTI_RATE_MAX, MTU, 0, 0);
    CHECK_EQ(rsti_allowance_limit(&allowance, 5000000, MS), INT64_MAX);
    CHECK_EQ(rsti_allowance_due_ns(&allowance), INT64_MAX);
    /* an earlier free burst costs nothing now */
    rsti_allowance_set(&allowance, 1e6, 9000000, 2 * MS);
    CHECK_EQ(rsti_allowance_limit(&allowance, 9000000, 2 * MS), 9000000 + 10000);
    CHECK_EQ(rsti_allowance_limit(&allowance, 9010000, 2 * MS), 9010000);
    rsti_allowance_set(&allowance, 2e6, 9010000, 3 * MS);
    CHECK_EQ(rsti_allowance_limit(&allowance, 9010000, 4 * MS), 9010000 + 1000 + 2000);
    rsti_allowance_set(&allowance, RSTI_RATE_MAX, 9010000, 4 * MS);
    CHECK_EQ(rsti_allowance_limit(&allowance, 9010000, 4 * MS), INT64_MAX);
}

TEST(a_law_as_bytes_per_second)
{
    rsti_rate_params_t params = rsti_rate_defaults();
    CHECK(rsti_allowance_rate(&rsti_rate_adaptive, &params, MTU) >= RSTI_RATE_MAX);
    CHECK(rsti_allowance_rate(&rsti_rate_unlimited, &params, MTU) >= RSTI_RATE_MAX);
    CHECK(rsti_allowance_rate(&rsti_rate_fixed, &params, MTU) >= RSTI_RATE_MAX);
    params.datagrams_per_s = 10;
    CHECK_EQ(rsti_allowance_rate(&rsti_rate_fixed, &params, MTU), 10 * MTU);
    params.initial = 10 * MTU - 1;
    CHECK_EQ(rsti_allowance_rate(&rsti_rate_fixed, &params, MTU), 10 * MTU - 1);
    params.initial = 10 * MTU + 1;
    CHECK_EQ(rsti_allowance_rate(&rsti_rate_fixed, &params, MTU), 10 * MTU);
}

CHECK_MAIN(RUN(no_interval_has_more_than_its_share), RUN(timely_producer_gets_all_of_the_rate),
    RUN(resting_producer_causes_no_checks),
    RUN(a_message_beyond_the_limit_is_earned_before_the_next), RUN(another_rate_counts_from_now_on),
    RUN(a_law_as_bytes_per_second))
