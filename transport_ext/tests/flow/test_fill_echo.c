/* A sender echoes to its group the first fill NAK of a period, and within it only one that allows
 * clearly less. */
#include "flow/fill_echo.h"
#include "tests/check.h"
#include "util/rng.h"

#define P INT64_C(4000000)

TEST(the_first_and_lower_ones_are_echoed)
{
    const struct {
        int64_t now_ns;
        double allowed;
        bool is_echoed;
    } steps[] = {
        {10, 100e6, true},
        {20, 100e6, false},
        {30, 88e6, false},  /* not by an eighth */
        {40, 87.4e6, true},
        {50, 80e6, false},
        {60, 0, true},
        {70, 0, false},     /* nothing is less than nothing */
        {10 + P - 1, 0, false},
        {10 + P, 900e6, true}, /* a period later any one counts again */
        {10 + P + 1, 800e6, false},
    };
    rsti_fill_echo_t echo = {0};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (rsti_fill_echo_is_due(&echo, steps[i].allowed, P, steps[i].now_ns)
            != steps[i].is_echoed) {
            CHECK_FAIL("row %zu", i);
        }
    }
}

TEST(of_ever_lower_ones_eight_leave_in_a_period)
{
    rsti_fill_echo_t echo = {0};
    double allowed = 1e12;
    int count = 0;
    for (int i = 0; i < 100; i++) {
        count += rsti_fill_echo_is_due(&echo, allowed, P, i);
        allowed /= 2;
    }
    CHECK_EQ(count, RSTI_FILL_ECHOES);
    CHECK(rsti_fill_echo_is_due(&echo, 1e12, P, P));
}

TEST(few_leave_whatever_comes)
{
    rsti_rng_t rng;
    rsti_rng_init(&rng, check_seed());
    rsti_fill_echo_t echo = {0};
    int64_t count = 0;
    for (int64_t now_ns = 0; now_ns < 100 * P; now_ns += 1000) {
        count += rsti_fill_echo_is_due(&echo, rsti_rng_unit(&rng) * 1e8, P, now_ns);
    }
    CHECK(count >= 100); /* one for every period */
    CHECK(count <= 100 * RSTI_FILL_ECHOES);
}

CHECK_MAIN(RUN(the_first_and_lower_ones_are_echoed),
    RUN(of_ever_lower_ones_eight_leave_in_a_period), RUN(few_leave_whatever_comes))
