/* The law of NOOPs, step by step. A reader that answers in time is never given up. A reader that
 * does not answer is given up after one to two intervals. A reader that received none is not, and a
 * reader that answers again returns. */
#include "flow/noop.h"
#include "tests/check.h"
#include "util/rng.h"

#define I INT64_C(1000)

TEST(without_an_interval_nothing_is_sent)
{
    rsti_noop_t noop;
    rsti_noop_init(&noop, 0);
    CHECK_EQ(rsti_noop_on_cycle(&noop, 0), RSTI_NOOP_WAIT);
    CHECK_EQ(rsti_noop_on_cycle(&noop, INT64_MAX), RSTI_NOOP_WAIT);
    CHECK_EQ(noop.number, 0);
    CHECK_EQ(noop.due_ns, INT64_MAX);
}

TEST(one_leaves_every_interval)
{
    rsti_noop_t noop;
    int64_t sent = 0;
    rsti_noop_init(&noop, I);
    for (int64_t now_ns = 0; now_ns < 100 * I; now_ns += 7) {
        const rsti_noop_action_t action = rsti_noop_on_cycle(&noop, now_ns);
        CHECK(action != RSTI_NOOP_DIED);
        sent += action == RSTI_NOOP_SEND;
        rsti_noop_on_answer(&noop, noop.number, noop.number);
        CHECK_EQ(noop.number, sent);
        CHECK(noop.due_ns > now_ns);
    }
    CHECK(sent >= 99 && sent <= 100);
}

TEST(silent_reader_is_dead_within_two_intervals)
{
    for (int64_t stops_ns = 10 * I; stops_ns < 12 * I; stops_ns += 100) {
        rsti_noop_t noop;
        int64_t died_ns = 0;
        rsti_noop_init(&noop, I);
        for (int64_t now_ns = 0; now_ns < 20 * I && died_ns == 0; now_ns += 10) {
            if (rsti_noop_on_cycle(&noop, now_ns) == RSTI_NOOP_DIED) {
                died_ns = now_ns;
            }
            if (now_ns < stops_ns) {
                rsti_noop_on_answer(&noop, noop.number, noop.number);
            }
        }
        CHECK(noop.is_dead);
        CHECK(died_ns > stops_ns);
        CHECK(died_ns <= stops_ns + 2 * I + 10);
        /* It is reported once; the numbers go on, and an old answer does not count. */
        CHECK_EQ(rsti_noop_on_cycle(&noop, died_ns + I), RSTI_NOOP_SEND);
        rsti_noop_on_answer(&noop, noop.number, noop.number - 1);
        CHECK(noop.is_dead);
        rsti_noop_on_answer(&noop, noop.number, noop.number);
        CHECK(!noop.is_dead);
    }
}

TEST(late_answer_within_an_interval_keeps_the_reader)
{
    rsti_noop_t noop;
    rsti_noop_init(&noop, I);
    for (int64_t round = 0; round < 50; round++) {
        CHECK_EQ(rsti_noop_on_cycle(&noop, round * I), RSTI_NOOP_SEND);
        rsti_noop_on_answer(&noop, noop.number, noop.answered); /* heard at once */
        CHECK_EQ(rsti_noop_on_cycle(&noop, round * I + I - 1), RSTI_NOOP_WAIT);
        rsti_noop_on_answer(&noop, noop.number, noop.number);
    }
}

TEST(reader_without_a_noop_is_left_alone)
{
    rsti_noop_t noop;
    rsti_noop_init(&noop, I);
    for (int64_t round = 0; round < 50; round++) {
        CHECK_EQ(rsti_noop_on_cycle(&noop, round * I), RSTI_NOOP_SEND);
    }
    rsti_noop_on_answer(&noop, noop.number, 0); /* now it has */
    CHECK_EQ(rsti_noop_on_cycle(&noop, 50 * I), RSTI_NOOP_DIED);
}

TEST(another_peer_begins_anew)
{
    rsti_noop_t noop;
    rsti_noop_init(&noop, I);
    (void)rsti_noop_on_cycle(&noop, 0);
    rsti_noop_on_answer(&noop, 1, 0);
    CHECK_EQ(rsti_noop_on_cycle(&noop, I), RSTI_NOOP_DIED);
    rsti_noop_forget(&noop, I + 1);
    CHECK(!noop.is_dead);
    CHECK_EQ(noop.due_ns, I + 1);
    CHECK_EQ(rsti_noop_on_cycle(&noop, I + 1), RSTI_NOOP_SEND);
    CHECK_EQ(rsti_noop_on_cycle(&noop, 2 * I + 1), RSTI_NOOP_SEND); /* it has not heard one yet */
}

/* An answer of the peer before tells only what that one had heard. */
TEST(late_answer_of_the_peer_before_is_no_silence_of_the_next)
{
    rsti_noop_t noop;
    rsti_noop_init(&noop, I);
    (void)rsti_noop_on_cycle(&noop, 0);
    rsti_noop_forget(&noop, 1);
    rsti_noop_on_answer(&noop, 1, 0);
    CHECK_EQ(rsti_noop_on_cycle(&noop, 1), RSTI_NOOP_SEND);
}

/* Numbers that were never sent, or answers before their NOOP was received, change nothing. */
TEST(hostile_answers_change_nothing)
{
    rsti_rng_t rng;
    rsti_rng_init(&rng, check_seed());
    rsti_noop_t noop;
    rsti_noop_init(&noop, I);
    (void)rsti_noop_on_cycle(&noop, 0);
    rsti_noop_on_answer(&noop, 1, 0);
    CHECK_EQ(rsti_noop_on_cycle(&noop, I), RSTI_NOOP_DIED);
    for (int i = 0; i < 1000; i++) {
        const rsti_noop_t before = noop;
        const int64_t heard = 3 + (int64_t)(rsti_rng_next(&rng) >> 2);
        rsti_noop_on_answer(&noop, heard, heard);
        rsti_noop_on_answer(&noop, 1, heard);
        CHECK_MEM(&noop, &before, sizeof noop);
    }
    CHECK(noop.is_dead);
}

CHECK_MAIN(RUN(without_an_interval_nothing_is_sent), RUN(one_leaves_every_interval),
    RUN(silent_reader_is_dead_within_two_intervals),
    RUN(late_answer_within_an_interval_keeps_the_reader), RUN(reader_without_a_noop_is_left_alone),
    RUN(another_peer_begins_anew), RUN(late_answer_of_the_peer_before_is_no_silence_of_the_next),
    RUN(hostile_answers_change_nothing))
