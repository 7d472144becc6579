/* test_fair_share.c: the shares of the senders of one consumer are max-min fair: by tables, and for
 * random senders against the definition. */
#include "flow/fair_share.h"
#include "tests/check.h"
#include "util/rng.h"

#include <math.h>

static bool is_near(double value, double expected)
{
    return fabs(value - expected) <= 1e-9 * fmax(fabs(expected), 1.0);
}

/* Unequal senders of one consumer of 100 that all want more: equal parts from the first report. */
TEST(limited_senders_get_equal_parts)
{
    static const int32_t counts[] = {1, 2, 5, 8, RSTI_FAIR_SENDERS_MAX};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        rsti_fair_sender_t senders[RSTI_FAIR_SENDERS_MAX] = {{0}};
        const double parts = (double)counts[c] * (counts[c] + 1) / 2;
        for (int32_t i = 0; i < counts[c]; i++) {
            senders[i] = (rsti_fair_sender_t){100 * (i + 1) / parts, true};
        }
        CHECK(is_near(rsti_fair_share(senders, counts[c]), 100.0 / counts[c]));
    }
}

TEST(a_small_sender_keeps_its_rate)
{
    static const struct {
        rsti_fair_sender_t senders[8];
        int32_t count;
        double share; /* of the first one, which is limited */
    } rows[] = {
        {{{90, true}, {10, false}}, 2, 90},
        {{{90, true}, {10, true}}, 2, 50}, /* it wants more */
        {{{40, true}, {60, false}}, 2, 50}, /* above the share it has to give */
        {{{80, true}, {5, false}, {15, true}}, 3, 47.5},
        {{{10, true}, {30, false}, {60, false}}, 3, 35}, /* 30 keeps 30: the level rose past it */
        {{{30, true}, {30, true}, {30, true}, {5, false}, {5, false}}, 5, 30},
        {{{65, true}, {5, false}, {5, false}, {5, false}, {5, false}, {5, false}, {5, false},
             {5, false}},
            8, 65},
        {{{0, true}, {100, false}}, 2, 50}, /* a new one beside one that has all */
        {{{0, true}}, 1, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const double share = rsti_fair_share(rows[i].senders, rows[i].count);
        if (!is_near(share, rows[i].share)) {
            CHECK_FAIL("row %zu: %.17g", i, share);
        }
    }
}

TEST(no_sender_and_idle_senders_have_nothing)
{
    CHECK_EQ((int64_t)rsti_fair_share(NULL, 0), 0);
    const rsti_fair_sender_t idle[2] = {{0, false}, {0, false}};
    CHECK_EQ((int64_t)rsti_fair_share(idle, 2), 0);
}

/* The definition: nothing of the capacity is left over and nothing is given twice, and nobody gets
 * less than an equal part. */
TEST(the_shares_of_all_are_the_capacity)
{
    rsti_rng_t rng;
    rsti_rng_init(&rng, check_seed());
    for (int run = 0; run < 2000; run++) {
        rsti_fair_sender_t senders[RSTI_FAIR_SENDERS_MAX];
        const int32_t count = 1 + (int32_t)rsti_rng_below(&rng, RSTI_FAIR_SENDERS_MAX);
        double capacity = 0;
        for (int32_t i = 0; i < count; i++) {
            const double rate = pow(10, 9 * rsti_rng_unit(&rng));
            senders[i] = (rsti_fair_sender_t){rate, i == 0 || rsti_rng_below(&rng, 2) == 0};
            capacity += rate;
        }
        const double share = rsti_fair_share(senders, count);
        double given = 0;
        for (int32_t i = 0; i < count; i++) {
            given += senders[i].is_limited ? share : fmin(senders[i].rate, share);
        }
        CHECK(share >= capacity / count * (1 - 1e-9));
        CHECK(share <= capacity * (1 + 1e-9));
        CHECK(fabs(given - capacity) <= 1e-6 * capacity);
    }
}

CHECK_MAIN(RUN(limited_senders_get_equal_parts), RUN(a_small_sender_keeps_its_rate),
    RUN(no_sender_and_idle_senders_have_nothing), RUN(the_shares_of_all_are_the_capacity))
