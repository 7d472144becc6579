/* A reader that its group has left behind: when what it lacks is lost, and where it goes on. */
#include "loss/overrun.h"

#include "tests/check.h"

#define TERM (64 * 1024)
#define STEP 1024
#define NEVER INT64_MIN

/* Datagrams of STEP bytes from begin to end, each a message. Returns what was sent. */
static int64_t take(rsti_overrun_t *overrun, int64_t begin, int64_t end)
{
    int64_t sent = -1;
    for (int64_t at = begin; at < end; at += STEP) {
        sent = rsti_overrun_on_data(overrun, at, at + STEP, true, TERM);
    }
    return sent;
}

TEST(data_is_lost_when_it_has_left_the_history)
{
    CHECK(!rsti_overrun_is_lost(0, -1, TERM));
    CHECK(!rsti_overrun_is_lost(1000, 1000 + TERM, TERM));
    CHECK(rsti_overrun_is_lost(1000, 1001 + TERM, TERM));
}

TEST(few_datagrams_prove_nothing)
{
    rsti_overrun_t overrun = {0};
    CHECK_EQ(take(&overrun, 0, (RSTI_OVERRUN_PROOF - 1) * STEP), -1);
    CHECK_EQ(rsti_overrun_goes_on_at(&overrun, TERM, 0), -1);
    CHECK_EQ(take(&overrun, (RSTI_OVERRUN_PROOF - 1) * STEP, RSTI_OVERRUN_PROOF * STEP),
        RSTI_OVERRUN_PROOF * STEP);
}

TEST(a_datagram_from_far_away_begins_anew)
{
    rsti_overrun_t overrun = {0};
    CHECK_EQ(take(&overrun, 0, TERM), TERM);
    CHECK_EQ(take(&overrun, 9 * TERM, 9 * TERM + STEP), -1);
    CHECK_EQ(rsti_overrun_goes_on_at(&overrun, TERM, 0), -1);
    CHECK_EQ(take(&overrun, TERM, TERM + STEP), -1);
    CHECK_EQ(take(&overrun, TERM + STEP, 2 * TERM), 2 * TERM);
    CHECK_EQ(rsti_overrun_goes_on_at(&overrun, TERM, 0), TERM + TERM / 8);
}

TEST(no_message_from_before_a_jump_is_gone_on_at)
{
    rsti_overrun_t overrun = {0};
    CHECK_EQ(take(&overrun, 0, TERM), TERM);
    int64_t at = TERM + TERM / 8 + STEP;
    for (int i = 0; i < RSTI_OVERRUN_PROOF; i++, at += STEP) { /* a part of a long message */
        (void)rsti_overrun_on_data(&overrun, at, at + STEP, false, TERM);
    }
    CHECK_EQ(rsti_overrun_goes_on_at(&overrun, TERM, 0), -1);
}

TEST(late_datagrams_and_small_losses_change_nothing)
{
    rsti_overrun_t overrun = {0};
    CHECK_EQ(take(&overrun, 0, TERM), TERM);
    CHECK_EQ(take(&overrun, TERM - 3 * STEP, TERM - 2 * STEP), TERM);
    CHECK_EQ(take(&overrun, TERM + TERM / 8, TERM + TERM / 8 + STEP), TERM + TERM / 8 + STEP);
    CHECK_EQ(take(&overrun, 2 * TERM, 2 * TERM + STEP), -1); /* more than an eighth is missing */
}

TEST(it_goes_on_at_the_oldest_message_that_can_be_had)
{
    rsti_overrun_t overrun = {0};
    const int64_t sent = take(&overrun, 0, 4 * TERM);
    CHECK_EQ(rsti_overrun_goes_on_at(&overrun, TERM, 0), sent - TERM + TERM / 8);
    CHECK_EQ(rsti_overrun_goes_on_at(&overrun, TERM, 1), sent - TERM + TERM / 4);
    CHECK_EQ(rsti_overrun_goes_on_at(&overrun, TERM, 2), sent - TERM / 2);
    /* Marks are a 32nd of a term apart: two messages here. */
    CHECK_EQ(rsti_overrun_goes_on_at(&overrun, TERM, 3), sent - 2 * STEP);
    CHECK_EQ(rsti_overrun_goes_on_at(&overrun, TERM / 2, 0), sent - TERM / 2 + TERM / 16);
}

TEST(it_goes_on_where_a_message_begins)
{
    rsti_overrun_t overrun = {0};
    int64_t sent = -1;
    for (int64_t at = 0; at < 4 * TERM; at += STEP) { /* messages of seven datagrams */
        sent = rsti_overrun_on_data(&overrun, at, at + STEP, at / STEP % 7 == 0, TERM);
    }
    const int64_t begin = rsti_overrun_goes_on_at(&overrun, TERM, 0);
    CHECK_EQ(begin % (7 * STEP), 0);
    CHECK(begin >= sent - TERM + TERM / 8);
    CHECK(begin < sent - TERM + TERM / 8 + 7 * STEP);
}

TEST(one_message_longer_than_the_history_begins_nowhere)
{
    rsti_overrun_t overrun = {0};
    for (int64_t at = 0; at < 4 * TERM; at += STEP) {
        (void)rsti_overrun_on_data(&overrun, at, at + STEP, at == 0, TERM);
    }
    CHECK_EQ(rsti_overrun_goes_on_at(&overrun, TERM, 0), -1);
}

TEST(a_reader_that_does_not_catch_up_goes_on_later_each_time)
{
    CHECK_EQ(rsti_overrun_next_tries(0, NEVER, 0, TERM), 0);
    CHECK_EQ(rsti_overrun_next_tries(0, 1000, 1000 + 2 * TERM - 1, TERM), 1);
    CHECK_EQ(rsti_overrun_next_tries(2, 1000, 1000, TERM), 3);
    CHECK_EQ(rsti_overrun_next_tries(3, 1000, 1000, TERM), RSTI_OVERRUN_TRIES_MAX);
    CHECK_EQ(rsti_overrun_next_tries(3, 1000, 1000 + 2 * TERM, TERM), 0);
}

CHECK_MAIN(RUN(data_is_lost_when_it_has_left_the_history), RUN(few_datagrams_prove_nothing),
    RUN(a_datagram_from_far_away_begins_anew), RUN(no_message_from_before_a_jump_is_gone_on_at),
    RUN(late_datagrams_and_small_losses_change_nothing),
    RUN(it_goes_on_at_the_oldest_message_that_can_be_had), RUN(it_goes_on_where_a_message_begins),
    RUN(one_message_longer_than_the_history_begins_nowhere),
    RUN(a_reader_that_does_not_catch_up_goes_on_later_each_time))
