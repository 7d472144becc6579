/* The fill at which reports begin, the window W and the headroom X, from far too small buffers to
 * large ones: tables, and properties that always hold. */
#include "flow/reaction.h"
#include "tests/check.h"
#include "util/clock.h"

#include <math.h>

#define MS RSTI_NS_PER_MS
#define RATE 1e8 /* bytes per second: 100 000 a millisecond */

static double margin(const rsti_reaction_t *reaction, int64_t buffer_bytes)
{
    return rsti_reaction_margin(reaction, buffer_bytes, RATE, RSTI_DETECT_NS);
}

static bool is_near(double found, double expected)
{
    return fabs(found - expected) < 1e-3;
}

TEST(reports_begin_where_they_leave_room_for_a_stop)
{
    /* Round trip 1 ms: T0 + D = 1 + 1 + 0.2 ms, 220 000 bytes. */
    static const struct {
        int64_t buffer_bytes;
        double fill_low, margin;
        int64_t window_ns;
    } cases[] = {
        {110000, 0.1, 0.45, MS}, /* too small for a stop, whenever reports begin */
        {244000, 0.1, 0.9982, MS},
        {275000, 0.2, 1.0, MS}, /* early enough, and no earlier */
        {440000, 0.5, 1.0, MS},
        {550000, 0.5, 1.25, MS}, /* from here on early enough anyway */
        {2000000, 0.5, 10.0 / (1.2 + 4.714285), 4714285},
        {4000000, 0.25, 30.0 / (1.2 + 16.142857), 16142857},
        {20000000, 0.1, 180.0 / 51.2, 50 * MS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int64_t buffer_bytes = cases[i].buffer_bytes;
        const rsti_reaction_t reaction = rsti_reaction(RSTI_TARGET_DELAY_NS, RSTI_DETECT_NS,
            buffer_bytes, MS, RATE, RATE, RATE);
        CHECK(is_near(reaction.fill_low, cases[i].fill_low));
        CHECK(is_near(margin(&reaction, buffer_bytes), cases[i].margin));
        CHECK_EQ(reaction.window_ns, cases[i].window_ns);
        CHECK_EQ(reaction.reach_ns, reaction.window_ns + MS);
    }
}

/* After a stop the data arrive at the rate of the link, whatever the consumer could take. */
TEST(consumer_faster_than_arrivals_needs_no_more_room)
{
    static const struct {
        double coming;
        double fill_low;
    } cases[] = {{RATE, 0.4960080}, {1.5 * RATE, 0.2440120}, {2 * RATE, 0.1}, {9 * RATE, 0.1},
        {0, 0.499002}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const rsti_reaction_t reaction = rsti_reaction(RSTI_TARGET_DELAY_NS, RSTI_DETECT_NS,
            4008000, 10 * MS, 2 * RATE, cases[i].coming, RATE);
        CHECK(is_near(reaction.fill_low, cases[i].fill_low));
    }
    const rsti_reaction_t flood = rsti_reaction(RSTI_TARGET_DELAY_NS, RSTI_DETECT_NS, 4008000,
        10 * MS, RATE, 9 * RATE, RATE);
    CHECK(is_near(flood.fill_low, 1 / 4.008)); /* nor at a rate that its consumer cannot sustain */
}

/* On a long path a queue of a round trip is no overload. */
TEST(reports_begin_no_earlier_than_a_round_trip_can_steer)
{
    static const struct {
        int64_t rtt_ns;
        double fill_low;
    } cases[] = {{0, 0.1}, {10 * MS, 0.1}, {50 * MS, 0.15625}, {100 * MS, 0.3125}, {300 * MS, 0.1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const rsti_reaction_t reaction = rsti_reaction(RSTI_TARGET_DELAY_NS, RSTI_DETECT_NS,
            32000000, cases[i].rtt_ns, RATE, RATE, RATE);
        CHECK(is_near(reaction.fill_low, cases[i].fill_low)); /* 300 ms: too small for a stop */
    }
}

/* A larger buffer survives every stop that a smaller one survives. */
TEST(the_margin_rises_with_the_buffer)
{
    static const int64_t round_trips[] = {0, MS / 10, MS, 10 * MS, 100 * MS};
    for (size_t i = 0; i < sizeof round_trips / sizeof round_trips[0]; i++) {
        double before = 0;
        for (int64_t buffer_bytes = 1000; buffer_bytes < 100000000;
            buffer_bytes += buffer_bytes / 16 + 1) {
            const rsti_reaction_t reaction = rsti_reaction(RSTI_TARGET_DELAY_NS, RSTI_DETECT_NS,
                buffer_bytes, round_trips[i], RATE, RATE, RATE);
            const double now = margin(&reaction, buffer_bytes);
            CHECK(now >= before - 1e-9);
            CHECK(reaction.fill_low >= 0.1);
            CHECK(reaction.fill_low <= 0.5);
            before = now;
        }
        CHECK(before > 1);
    }
}

TEST(unknown_values_count_as_slow_and_safe)
{
    const rsti_reaction_t none = rsti_reaction(RSTI_TARGET_DELAY_NS, RSTI_DETECT_NS, 0, MS, RATE,
        RATE, RATE);
    CHECK(is_near(none.fill_low, 0.5));
    CHECK_EQ(none.window_ns, 50 * MS);
    CHECK(is_near(margin(&none, 0), 0));
    const rsti_reaction_t still = rsti_reaction(RSTI_TARGET_DELAY_NS, RSTI_DETECT_NS, 100000, MS, 0,
        0, 0);
    CHECK(is_near(still.fill_low, 0.1));
    CHECK_EQ(still.window_ns, 50 * MS);
    CHECK(is_near(rsti_reaction_margin(&still, 100000, 0, RSTI_DETECT_NS), 0));
}

CHECK_MAIN(RUN(reports_begin_where_they_leave_room_for_a_stop),
    RUN(consumer_faster_than_arrivals_needs_no_more_room),
    RUN(reports_begin_no_earlier_than_a_round_trip_can_steer),
    RUN(the_margin_rises_with_the_buffer), RUN(unknown_values_count_as_slow_and_safe))
