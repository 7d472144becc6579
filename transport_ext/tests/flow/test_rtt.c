#include "flow/rtt.h"
#include "tests/check.h"
#include "util/rng.h"

#define MS INT64_C(1000000)

TEST(the_first_sample_is_the_estimate)
{
    rsti_rtt_t rtt;
    rsti_rtt_init(&rtt);
    CHECK_EQ(rtt.smoothed_ns, 0);
    CHECK(rsti_rtt_on_sample(&rtt, 100 * MS));
    CHECK_EQ(rtt.smoothed_ns, 100 * MS);
    CHECK_EQ(rtt.deviation_ns, 50 * MS);
    CHECK(rsti_rtt_on_sample(&rtt, 180 * MS));
    CHECK_EQ(rtt.smoothed_ns, 110 * MS);
    CHECK_EQ(rtt.deviation_ns, 57500000);
    CHECK_EQ(rtt.least_ns, 100 * MS);
}

TEST(invalid_round_trips_change_nothing)
{
    rsti_rtt_t rtt;
    rsti_rtt_init(&rtt);
    CHECK(!rsti_rtt_on_sample(&rtt, -1));
    CHECK(!rsti_rtt_on_sample(&rtt, RSTI_RTT_MAX_NS + 1));
    CHECK(!rsti_rtt_on_sample(&rtt, INT64_MIN));
    CHECK(!rsti_rtt_on_sample(&rtt, INT64_MAX));
    CHECK_EQ(rtt.smoothed_ns, 0);
    CHECK(rsti_rtt_on_sample(&rtt, 0)); /* a clock that did not tick: the shortest one */
    CHECK_EQ(rtt.smoothed_ns, 1);
    CHECK(rsti_rtt_on_sample(&rtt, RSTI_RTT_MAX_NS));
}

TEST(estimates_stay_among_the_samples)
{
    rsti_rng_t rng;
    rsti_rng_init(&rng, check_seed());
    for (int run = 0; run < 200; run++) {
        rsti_rtt_t rtt;
        rsti_rtt_init(&rtt);
        int64_t least = INT64_MAX, most = 0, first = 0;
        const int64_t scale = (int64_t)1 << (run % 33);
        for (int i = 0; i < 200; i++) {
            const int64_t sample = 1 + (int64_t)(rsti_rng_unit(&rng) * (double)scale);
            CHECK(rsti_rtt_on_sample(&rtt, sample));
            first = i == 0 ? sample : first;
            least = sample < least ? sample : least;
            most = sample > most ? sample : most;
            CHECK(rtt.smoothed_ns >= least && rtt.smoothed_ns <= most);
            CHECK(rtt.deviation_ns >= 0);
            CHECK(rtt.deviation_ns <= (most - least > first / 2 ? most - least : first / 2));
            CHECK_EQ(rtt.least_ns, least);
        }
    }
}

TEST(it_follows_a_change)
{
    rsti_rtt_t rtt;
    rsti_rtt_init(&rtt);
    (void)rsti_rtt_on_sample(&rtt, MS);
    for (int i = 0; i < 60; i++) {
        (void)rsti_rtt_on_sample(&rtt, 50 * MS);
    }
    CHECK(rtt.smoothed_ns > 49 * MS);
    CHECK(rtt.deviation_ns < MS);
}

TEST(asked_at_once_then_ever_less)
{
    rsti_rtt_t rtt;
    rsti_rtt_init(&rtt);
    CHECK(rsti_rtt_is_ask_due(&rtt, 0));
    CHECK(rsti_rtt_is_ask_due(&rtt, -5));
    rsti_rtt_on_asked(&rtt, 0);
    CHECK(!rsti_rtt_is_ask_due(&rtt, RSTI_RTT_ASK_FIRST_NS - 1));
    CHECK(rsti_rtt_is_ask_due(&rtt, RSTI_RTT_ASK_FIRST_NS)); /* no answer came */
    (void)rsti_rtt_on_sample(&rtt, 40 * MS);
    rsti_rtt_on_asked(&rtt, 0);
    CHECK(!rsti_rtt_is_ask_due(&rtt, 40 * MS - 1)); /* not before the last answer */
    CHECK(rsti_rtt_is_ask_due(&rtt, 40 * MS));
    for (int i = 0; i < RSTI_RTT_FIRST_SAMPLES; i++) {
        (void)rsti_rtt_on_sample(&rtt, 40 * MS);
    }
    rsti_rtt_on_asked(&rtt, 0);
    CHECK(!rsti_rtt_is_ask_due(&rtt, RSTI_RTT_ASK_NS - 1));
    CHECK(rsti_rtt_is_ask_due(&rtt, RSTI_RTT_ASK_NS));
    rsti_rtt_on_asked(&rtt, INT64_MAX - 1);
    CHECK(!rsti_rtt_is_ask_due(&rtt, INT64_MAX - 1));
}

TEST(only_the_first_answer_to_a_question_of_ours_counts)
{
    rsti_rtt_t rtt;
    rsti_rtt_init(&rtt);
    CHECK(!rsti_rtt_on_answer(&rtt, INT64_MIN, 0, 0));
    CHECK(!rsti_rtt_on_answer(&rtt, 100, 0, 200));
    rsti_rtt_on_asked(&rtt, 100);
    CHECK(!rsti_rtt_on_answer(&rtt, 101, 0, 200));
    CHECK(rsti_rtt_on_answer(&rtt, 100, 30, 200));
    CHECK_EQ(rtt.smoothed_ns, 70);
    CHECK(!rsti_rtt_on_answer(&rtt, 100, 0, 300)); /* duplicated on the way */
    rsti_rtt_on_asked(&rtt, 300);
    CHECK(!rsti_rtt_on_answer(&rtt, 300, 101, 400)); /* held longer than the round trip */
    rsti_rtt_on_asked(&rtt, 400);
    CHECK(!rsti_rtt_on_answer(&rtt, 400, -1, 500));
    rsti_rtt_on_asked(&rtt, 500);
    CHECK(!rsti_rtt_on_answer(&rtt, 500, 0, 499));
    /* Late answers count as long as their request is remembered. */
    for (int i = 0; i <= RSTI_RTT_PENDING; i++) {
        rsti_rtt_on_asked(&rtt, 1000 + i);
    }
    CHECK(!rsti_rtt_on_answer(&rtt, 1000, 0, 1070));
    CHECK(rsti_rtt_on_answer(&rtt, 1001, 0, 1071));
    CHECK_EQ(rtt.smoothed_ns, 70);
}

TEST(the_least_is_forgotten_in_time)
{
    rsti_rtt_t rtt;
    rsti_rtt_init(&rtt);
    int64_t now_ns = 0;
    for (int i = 0; i < 300; i++, now_ns += 100 * MS) {
        rsti_rtt_on_asked(&rtt, now_ns);
        const int64_t sample_ns = i == 0 ? MS : 5 * MS;
        CHECK(rsti_rtt_on_answer(&rtt, now_ns, 0, now_ns + sample_ns));
        CHECK(now_ns > RSTI_RTT_MEMORY_NS - 10 * MS || rtt.least_ns == MS);
    }
    CHECK(now_ns > 2 * RSTI_RTT_MEMORY_NS);
    CHECK_EQ(rtt.least_ns, 5 * MS);
}

CHECK_MAIN(RUN(only_the_first_answer_to_a_question_of_ours_counts),
    RUN(the_least_is_forgotten_in_time), RUN(the_first_sample_is_the_estimate),
    RUN(invalid_round_trips_change_nothing), RUN(estimates_stay_among_the_samples),
    RUN(it_follows_a_change), RUN(asked_at_once_then_ever_less))
