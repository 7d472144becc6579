/* test_replay.c: against a model that remembers every counter. */
#include "seal/replay.h"
#include "tests/check.h"
#include "util/rng.h"

#define COUNTERS 20000

static bool model_is_fresh(const bool *has_come, int64_t highest, int64_t counter)
{
    return counter > highest || (highest - counter < RSTI_REPLAY_WINDOW && !has_come[counter]);
}

TEST(it_does_what_the_model_does)
{
    rsti_rng_t rng;
    rsti_rng_init(&rng, check_seed());
    for (int round = 0; round < 20; round++) {
        static bool has_come[COUNTERS];
        memset(has_come, 0, sizeof has_come);
        rsti_replay_t replay;
        rsti_replay_init(&replay);
        int64_t highest = -1;
        const uint64_t far = 1 + rsti_rng_below(&rng, 3000);
        for (int i = 0; i < 20000; i++) {
            const int64_t from = highest - (int64_t)far;
            int64_t counter = from + (int64_t)rsti_rng_below(&rng, 2 * far);
            counter = counter < 0 ? 0 : counter % COUNTERS;
            const bool is_fresh = model_is_fresh(has_come, highest, counter);
            CHECK_EQ(rsti_replay_is_fresh(&replay, (uint64_t)counter), is_fresh);
            if (is_fresh && rsti_rng_below(&rng, 8) > 0) { /* else it was forged */
                rsti_replay_note(&replay, (uint64_t)counter);
                has_come[counter] = true;
                highest = counter > highest ? counter : highest;
            }
        }
    }
}

TEST(both_sides_of_the_window)
{
    rsti_replay_t replay;
    rsti_replay_init(&replay);
    CHECK(rsti_replay_is_fresh(&replay, 0));
    rsti_replay_note(&replay, 0);
    CHECK(!rsti_replay_is_fresh(&replay, 0));
    rsti_replay_note(&replay, RSTI_REPLAY_WINDOW);
    CHECK(!rsti_replay_is_fresh(&replay, 0)); /* too old: it came, and need not be remembered */
    CHECK(rsti_replay_is_fresh(&replay, 1));
    rsti_replay_note(&replay, UINT64_MAX - 1);
    CHECK(!rsti_replay_is_fresh(&replay, UINT64_MAX));
    CHECK(!rsti_replay_is_fresh(&replay, 1));
    CHECK(rsti_replay_is_fresh(&replay, UINT64_MAX - RSTI_REPLAY_WINDOW));
    CHECK(!rsti_replay_is_fresh(&replay, UINT64_MAX - RSTI_REPLAY_WINDOW - 1));
}

CHECK_MAIN(RUN(it_does_what_the_model_does), RUN(both_sides_of_the_window))
