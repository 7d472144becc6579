/* test_sm_repeat.c: a sender that stopped at an old limit is sent the new one again; a sender that
 * knows it or has nothing to send is not. */
#include "flow/sm_repeat.h"
#include "tests/check.h"
#include "util/clock.h"

#define MTU 1408
#define WINDOW 131072
#define TIMEOUT_NS INT64_C(200000000)

static rsti_sm_repeat_t repeat;

static void announce(int64_t limit)
{
    rsti_sm_repeat_on_sent(&repeat, limit, TIMEOUT_NS);
}

TEST(repeats_at_growing_intervals_while_the_sender_stands_at_an_old_limit)
{
    rsti_sm_repeat_init(&repeat);
    announce(WINDOW);
    announce(2 * WINDOW);
    const int64_t hwm = WINDOW - 100; /* its next frame did not fit */
    int64_t now_ns = 1000;
    int64_t interval_ns = RSTI_SM_REPEAT_NS;
    for (int i = 0; i < 12; i++) {
        CHECK(!rsti_sm_repeat_is_due(&repeat, hwm, MTU, now_ns));
        CHECK_EQ(repeat.due_ns, now_ns + interval_ns);
        CHECK(!rsti_sm_repeat_is_due(&repeat, hwm, MTU, now_ns + interval_ns - 1));
        now_ns += interval_ns;
        CHECK(rsti_sm_repeat_is_due(&repeat, hwm, MTU, now_ns));
        announce(2 * WINDOW);
        interval_ns = 2 * interval_ns < TIMEOUT_NS ? 2 * interval_ns : TIMEOUT_NS;
    }
    /* A new limit begins again. */
    announce(3 * WINDOW);
    CHECK(!rsti_sm_repeat_is_due(&repeat, hwm, MTU, now_ns));
    CHECK_EQ(repeat.due_ns, now_ns + RSTI_SM_REPEAT_NS);
    /* It went on: nothing is due, and the next stop waits for the full time again. */
    CHECK(!rsti_sm_repeat_is_due(&repeat, WINDOW + 1, MTU, now_ns + RSTI_SM_REPEAT_NS));
    CHECK_EQ(repeat.due_ns, RSTI_NO_DEADLINE);
}

TEST(senders_at_other_positions_are_left_alone)
{
    rsti_sm_repeat_init(&repeat);
    CHECK(!rsti_sm_repeat_is_due(&repeat, 0, MTU, 0)); /* before the first */
    announce(WINDOW);
    announce(2 * WINDOW);
    static const int64_t positions[] = {0,
        WINDOW - MTU, /* its next frame would have fitted: it has none */
        WINDOW + 1, 2 * WINDOW - MTU, 2 * WINDOW - MTU + 1, 2 * WINDOW, 2 * WINDOW + 1};
    for (size_t i = 0; i < sizeof positions / sizeof positions[0]; i++) {
        CHECK(!rsti_sm_repeat_is_due(&repeat, positions[i], MTU, INT64_MAX / 2));
        CHECK_EQ(repeat.due_ns, RSTI_NO_DEADLINE);
    }
    CHECK(!rsti_sm_repeat_is_due(&repeat, WINDOW - MTU + 1, MTU, 0));
    CHECK(repeat.due_ns != RSTI_NO_DEADLINE);
}

TEST(several_lost_in_a_row_are_seen_as_far_as_limits_are_remembered)
{
    rsti_sm_repeat_init(&repeat);
    announce(WINDOW);
    for (int i = 1; i <= RSTI_SM_REPEAT_LIMITS; i++) {
        announce(WINDOW + i * 32768);
    }
    (void)rsti_sm_repeat_is_due(&repeat, WINDOW, MTU, 0);
    CHECK_EQ(repeat.due_ns, RSTI_SM_REPEAT_NS);
    announce(WINDOW + (RSTI_SM_REPEAT_LIMITS + 1) * 32768);
    (void)rsti_sm_repeat_is_due(&repeat, WINDOW, MTU, 0);
    CHECK_EQ(repeat.due_ns, RSTI_NO_DEADLINE);
}

TEST(the_first_interval_follows_the_round_trip)
{
    static const int64_t round_trips[][2] = {{1000, RSTI_SM_REPEAT_MIN_NS}, {100000000, 125000000}};
    for (int i = 0; i < 2; i++) {
        rsti_sm_repeat_init(&repeat);
        rsti_sm_repeat_on_rtt(&repeat, round_trips[i][0]);
        announce(WINDOW);
        announce(2 * WINDOW);
        CHECK(!rsti_sm_repeat_is_due(&repeat, WINDOW - 100, MTU, 0));
        CHECK_EQ(repeat.due_ns, round_trips[i][1]);
        announce(2 * WINDOW);
        CHECK(!rsti_sm_repeat_is_due(&repeat, WINDOW - 100, MTU, 0));
        CHECK_EQ(repeat.due_ns,
            2 * round_trips[i][1] < TIMEOUT_NS ? 2 * round_trips[i][1] : TIMEOUT_NS);
    }
}

int main(int argc, char **argv)
{
    static const check_case_t cases[] = {
        RUN(repeats_at_growing_intervals_while_the_sender_stands_at_an_old_limit),
        RUN(senders_at_other_positions_are_left_alone),
        RUN(several_lost_in_a_row_are_seen_as_far_as_limits_are_remembered),
        RUN(the_first_interval_follows_the_round_trip),
    };
    return check_run(cases, sizeof cases / sizeof cases[0], argc > 1 ? argv[1] : NULL);
}
