#include "flow/pace.h"
#include "tests/check.h"
#include "util/rng.h"

#define US INT64_C(1000)
#define MS INT64_C(1000000)
#define S INT64_C(1000000000)

static int64_t arrive(rsti_arrival_t *arrival, int64_t now_ns, int64_t ns, int64_t step_ns)
{
    for (int64_t end_ns = now_ns + ns; now_ns < end_ns; now_ns += step_ns) {
        rsti_arrival_on_data(arrival, 1408, 100 * MS, now_ns);
    }
    return now_ns;
}

TEST(the_rate_is_the_arrival_rate_while_data_move)
{
    rsti_arrival_t arrival;
    rsti_arrival_init(&arrival);
    CHECK_EQ(rsti_arrival_rate(&arrival), 0);
    int64_t now_ns = arrive(&arrival, 0, 100 * MS, 100 * US);
    const int64_t rate = rsti_arrival_rate(&arrival);
    CHECK(rate > 14080000 * 99 / 100 && rate < 14080000 * 101 / 100);
    for (int i = 0; i < 4; i++) { /* bursts of 50 ms and pauses of 100 ms: the same */
        now_ns = arrive(&arrival, now_ns + 100 * MS, 50 * MS, 100 * US);
    }
    CHECK(rsti_arrival_rate(&arrival) > 14080000 * 99 / 100);
    CHECK(rsti_arrival_rate(&arrival) < 14080000 * 101 / 100);
    (void)arrive(&arrival, now_ns, 3 * S, MS); /* ten times slower: believed */
    CHECK(rsti_arrival_rate(&arrival) < 1408000 * 102 / 100);
}

TEST(few_datagrams_make_no_rate)
{
    rsti_arrival_t arrival;
    rsti_arrival_init(&arrival);
    for (int64_t i = 0; i < 100; i++) { /* two at a time, back to back */
        rsti_arrival_on_data(&arrival, 1408, MS, i * 20 * MS);
        rsti_arrival_on_data(&arrival, 1408, MS, i * 20 * MS + 10);
    }
    CHECK_EQ(rsti_arrival_rate(&arrival), 0);
}

TEST(the_wish_follows_the_queue)
{
    rsti_arrival_t arrival = {.younger = 8000};
    CHECK_EQ(rsti_arrival_wanted(&arrival, 112, 100), 0); /* no queue was ever seen: no wish */
    CHECK_EQ(rsti_arrival_wanted(&arrival, 113, 100), 8000);
    CHECK_EQ(rsti_arrival_wanted(&arrival, 100, 100), 9000);
    CHECK_EQ(rsti_arrival_wanted(&arrival, 112, 100), 9000);
    CHECK_EQ(rsti_arrival_wanted(&arrival, 125, 100), 8000);
    CHECK_EQ(rsti_arrival_wanted(&arrival, 126, 100), 7000);
}

TEST(pacer_limits_long_lossy_paths_only)
{
    rsti_pacer_t pacer;
    rsti_pacer_init(&pacer);
    CHECK_EQ(rsti_pacer_room(&pacer, 0), INT64_MAX);
    rsti_pacer_set(&pacer, 1000000, 100 * MS);
    CHECK_EQ(rsti_pacer_room(&pacer, 0), INT64_MAX);
    rsti_pacer_on_loss(&pacer, 0);
    CHECK_EQ(rsti_pacer_room(&pacer, 0), RSTI_PACE_BURST_MIN);
    CHECK_EQ(rsti_pacer_room(&pacer, RSTI_PACE_LOSS_ROUND_TRIPS * 100 * MS + 1), INT64_MAX);
    rsti_pacer_set(&pacer, 1000000, RSTI_PACE_RTT_MIN_NS - 1);
    CHECK_EQ(rsti_pacer_room(&pacer, 1), INT64_MAX);
    rsti_pacer_set(&pacer, 0, 100 * MS);
    CHECK_EQ(rsti_pacer_room(&pacer, 1), INT64_MAX);
    rsti_pacer_set(&pacer, -5, 100 * MS); /* what a peer says may be anything */
    CHECK_EQ(rsti_pacer_room(&pacer, 1), INT64_MAX);
}

/* sent in t <= rate * t + burst, whatever is retransmitted in between; and all of it is used. */
TEST(the_bound_holds)
{
    rsti_rng_t rng;
    rsti_rng_init(&rng, check_seed());
    for (int run = 0; run < 50; run++) {
        rsti_pacer_t pacer;
        rsti_pacer_init(&pacer);
        const int64_t rate = 100000 + (int64_t)(rsti_rng_unit(&rng) * 1e9);
        const int64_t burst = rate / 1000 > RSTI_PACE_BURST_MIN ? rate / 1000 : RSTI_PACE_BURST_MIN;
        rsti_pacer_set(&pacer, rate, 100 * MS);
        rsti_pacer_on_loss(&pacer, 0);
        int64_t now_ns = 0, sent = 0, resent = 0;
        for (int i = 0; i < 2000; i++) {
            int64_t room = rsti_pacer_room(&pacer, now_ns);
            if (room < 1408) {
                now_ns = rsti_pacer_due_ns(&pacer, 1408, now_ns);
                room = rsti_pacer_room(&pacer, now_ns);
                CHECK(room >= 1407);
            }
            rsti_pacer_on_loss(&pacer, now_ns);
            rsti_pacer_on_sent(&pacer, room);
            sent += room;
            if (rsti_rng_unit(&rng) < 0.1) {
                rsti_pacer_on_sent(&pacer, 1408);
                resent += 1408;
            }
            CHECK((double)sent <= (double)rate * (double)now_ns / 1e9 + (double)burst + i);
        }
        CHECK((double)(sent + resent + burst) >= 0.9 * (double)rate * (double)now_ns / 1e9);
    }
}

TEST(resends_cannot_starve)
{
    rsti_pacer_t pacer;
    rsti_pacer_init(&pacer);
    rsti_pacer_set(&pacer, 100 * 1000000, 100 * MS);
    rsti_pacer_on_loss(&pacer, 0);
    (void)rsti_pacer_room(&pacer, 0);
    rsti_pacer_on_sent(&pacer, INT64_C(1) << 40);
    CHECK_EQ(rsti_pacer_room(&pacer, 0), 0);
    CHECK(rsti_pacer_room(&pacer, RSTI_PACE_BURST_NS + 100 * US) > 0);
}

CHECK_MAIN(RUN(the_rate_is_the_arrival_rate_while_data_move), RUN(few_datagrams_make_no_rate),
    RUN(the_wish_follows_the_queue), RUN(pacer_limits_long_lossy_paths_only), RUN(the_bound_holds),
    RUN(resends_cannot_starve))
