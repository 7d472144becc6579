/* A sender echoes to its group the first fill NAK of half a window, and within it only a clearly
 * stronger one. */
#include "flow/fill_echo.h"
#include "tests/check.h"
#include "util/rng.h"

#define W INT64_C(1000000)

TEST(the_first_and_stronger_ones_are_echoed)
{
    const struct {
        int64_t now_ns;
        double strength;
        bool is_echoed;
    } steps[] = {
        {10, 0.0, false}, /* strength zero */
        {20, 0.5, true},
        {30, 0.5, false},
        {40, 0.62, false}, /* not by an eighth */
        {50, 0.625, true},
        {60, 0.70, false},
        {70, 0.9, true},
        {20 + W / 2 - 1, 1.0, false},
        {20 + W / 2, 0.1, true}, /* half a window later anything counts again */
        {20 + W / 2 + 1, 0.2, false},
    };
    rsti_fill_echo_t echo = {0};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        CHECK_EQ(rsti_fill_echo_is_due(&echo, steps[i].strength, W, steps[i].now_ns),
            steps[i].is_echoed);
    }
}

TEST(few_leave_whatever_comes)
{
    rsti_rng_t rng;
    rsti_rng_init(&rng, check_seed());
    rsti_fill_echo_t echo = {0};
    int64_t count = 0;
    for (int64_t now_ns = 0; now_ns < 100 * W; now_ns += 1000) {
        count += rsti_fill_echo_is_due(&echo, rsti_rng_unit(&rng), W, now_ns);
    }
    CHECK(count >= 200); /* one for every half window */
    CHECK(count <= 200 * 9);
}

CHECK_MAIN(RUN(the_first_and_stronger_ones_are_echoed), RUN(few_leave_whatever_comes))
