/* test_rate_back.c: the adaptive law on the way back: what a receiver's clear gives, how far the
 * way leads, and what a receiver that fell silent does not give. */
#include "tests/flow/rate_bench.h"

/* At most half of the free room can come within RTT + P = 5 ms. */
TEST(after_clear_it_jumps_to_what_the_free_room_takes)
{
    static const struct {
        double drain_mb;
        int64_t room;
        int64_t mb_per_s;
    } rows[] = {
        {30, 100000, 40}, /* 30 + 50 KB / 5 ms */
        {10, 400000, 50},
        {0, 0, 20}, /* never lower than before */
        {30, BUFFER, 100}, /* never higher than before the episode */
        {500, 0, 100},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bench_t b;
        start(&b, 100 * MB);
        pass(&b, 5, 1.0);
        hear(&b, 1, 20);
        pass(&b, 20, 1.0);
        hear_clear(&b, 1, rows[i].drain_mb, rows[i].room);
        if (mb_per_s(&b) != rows[i].mb_per_s) {
            CHECK_FAIL("row %zu: %" PRId64 " MB/s", i, mb_per_s(&b));
        }
    }
}

/* By 1.5 per round trip up to the rate before the episode, and then in small steps. */
TEST(after_the_jump_it_is_back_in_some_round_trips)
{
    static const int64_t way_kb[] = {60000, 90000, 100000, 100000, 100000, 100000, 103000};
    bench_t b;
    start(&b, 100 * MB);
    pass(&b, 5, 1.0);
    hear(&b, 1, 20);
    pass(&b, 5, 1.0);
    hear_clear(&b, 1, 30, 100000);
    for (size_t i = 0; i < sizeof way_kb / sizeof way_kb[0]; i++) {
        pass(&b, 1, 1.0);
        if ((int64_t)(b.rate.bytes_per_s / 1000 + 0.5) != way_kb[i]) {
            CHECK_FAIL("after %zu ms: %.0f", i + 1, b.rate.bytes_per_s);
        }
    }
}

/* A new report ends the way back, and the next one leads to the same height. */
TEST(an_episode_on_the_way_back_remembers_the_height)
{
    bench_t b;
    start(&b, 100 * MB);
    pass(&b, 5, 1.0);
    for (int i = 0; i < 3; i++) {
        hear(&b, 1, 20);
        pass(&b, 4, 1.0);
        hear_clear(&b, 1, 30, 0);
        CHECK_EQ(mb_per_s(&b), 30);
        pass(&b, 1, 1.0);
        CHECK_EQ(mb_per_s(&b), 45);
    }
    hear(&b, 1, 20);
    CHECK_EQ(mb_per_s(&b), 20);
    hear_clear(&b, 1, 1000, 0);
    CHECK_EQ(mb_per_s(&b), 100);
}

TEST(clear_counts_only_from_the_last_receiver_in_overload)
{
    bench_t b;
    start(&b, 100 * MB);
    pass(&b, 5, 1.0);
    hear_clear(&b, 1, 500, BUFFER); /* there was no overload */
    CHECK_EQ(mb_per_s(&b), 100);
    hear(&b, 1, 20);
    hear(&b, 2, 40);
    hear_clear(&b, 1, 500, BUFFER);
    CHECK_EQ(mb_per_s(&b), 40); /* the other one still asks */
    hear_clear(&b, 3, 500, BUFFER); /* a stranger says nothing about them */
    CHECK_EQ(mb_per_s(&b), 40);
    hear_clear(&b, 2, 500, BUFFER);
    CHECK_EQ(mb_per_s(&b), 100);
    hear(&b, 1, 20);
    pass(&b, F / MS + 4, 1.0);
    hear_clear(&b, 1, 500, BUFFER); /* its report was forgotten */
    CHECK_EQ(mb_per_s(&b), 21);
}

/* Another receiver may have been silent because it heard this one. It has RTT + P to report. */
TEST(in_a_group_it_jumps_later_and_only_if_nobody_asks)
{
    const int64_t later_ms = (MS + P) / MS;
    bench_t b;
    start_with(&b, 100 * MB, true);
    pass(&b, 5, 1.0);
    hear(&b, 1, 20);
    pass(&b, 5, 1.0);
    hear_clear(&b, 1, 30, 100000);
    pass(&b, later_ms - 1, 1.0);
    CHECK_EQ(mb_per_s(&b), 20);
    pass(&b, 1, 1.0);
    CHECK_EQ(mb_per_s(&b), 40);
    pass(&b, 1, 1.0);
    CHECK_EQ(mb_per_s(&b), 60);

    start_with(&b, 100 * MB, true);
    pass(&b, 5, 1.0);
    hear(&b, 1, 20);
    pass(&b, 5, 1.0);
    hear_clear(&b, 1, 30, 100000);
    pass(&b, later_ms - 1, 1.0);
    hear(&b, 2, 25);
    pass(&b, 3 * later_ms, 1.0);
    CHECK_EQ(mb_per_s(&b), 25);
    hear_clear(&b, 2, 90, 0);
    pass(&b, later_ms, 1.0);
    CHECK_EQ(mb_per_s(&b), 90);
}

TEST(of_several_that_are_clear_the_smallest_room_counts)
{
    bench_t b;
    start_with(&b, 100 * MB, true);
    pass(&b, 5, 1.0);
    hear(&b, 1, 20);
    hear_clear(&b, 1, 70, 0);
    pass(&b, 3, 1.0);
    hear_clear(&b, 2, 50, 0);
    hear_clear(&b, 3, 80, 0);
    pass(&b, 2, 1.0); /* RTT + P since the first one */
    CHECK_EQ(mb_per_s(&b), 50);
}

/* The rate at the start is a guess: what was sent and what was taken limit the way back. */
TEST(the_way_back_ends_at_twice_what_was_sent_or_taken)
{
    static const struct {
        bool is_group;
        double sent_mb, drain_mb;
        int64_t mb_per_s; /* the end of the way */
    } rows[] = {
        {false, 100, 30, 200},
        {false, 100, 300, 600},
        {false, 20, 30, 60},
        {true, 100, 30, 200},
        {true, 100, 1000, 2000}, /* far beyond the guess */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bench_t b;
        start_with(&b, 0, rows[i].is_group);
        pass_bytes(&b, 250, rows[i].sent_mb * MB); /* at least one sample of that rate */
        hear(&b, 1, 10);
        pass(&b, 4, 1.0);
        hear_clear(&b, 1, rows[i].drain_mb, BUFFER);
        const double *back_to = &b.rate.state.adaptive.back_to;
        for (int ms = 0; ms < 6 && !(*back_to > 0); ms++) { /* a group waits for RTT + P */
            pass(&b, 1, 1.0);
        }
        const double end = *back_to;
        for (int ms = 0; ms < 20 && b.rate.bytes_per_s < end; ms++) {
            pass(&b, 1, 1.0);
        }
        if (b.rate.bytes_per_s < end || (int64_t)(end / MB + 0.5) != rows[i].mb_per_s) {
            CHECK_FAIL("row %zu: %.0f of %.0f MB/s", i, b.rate.bytes_per_s / MB, end / MB);
        }
    }
}

/* A receiver whose queue ran empty by chance gets two target delays of data, not half its buffer;
 * over a long way two round trips, because so much is on the way. */
TEST(the_room_after_clear_is_what_the_receiver_takes_soon)
{
    static const struct {
        double drain_mb;
        int64_t rtt_ms, kb_per_s;
    } rows[] = {
        {1, 1, 5000}, /* 1 + 2 * 10 KB / 5 ms */
        {10, 1, 50000},
        {10, 20, 20000}, /* 10 + 2 * 200 KB / 40 ms */
        {0, 1, 1000}, /* nothing: no jump */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bench_t b;
        start(&b, 100 * MB);
        pass(&b, 5, 1.0);
        b.rate.params.floor_share = 0;
        hear(&b, 1, 1);
        rsti_fill_report_t clear = report_of(1, 0);
        clear.is_clear = true;
        clear.fill = 0;
        clear.drain = rows[i].drain_mb * MB;
        clear.rtt_ns = rows[i].rtt_ms * MS;
        rsti_rate_on_report(&b.rate, &clear, b.now_ns);
        if ((int64_t)(b.rate.bytes_per_s / 1000 + 0.5) != rows[i].kb_per_s) {
            CHECK_FAIL("row %zu: %.0f KB/s", i, b.rate.bytes_per_s / 1000);
        }
    }
}

/* The height of the last episode counts for the next clear alone. */
TEST(a_receiver_that_falls_silent_on_the_way_back_gives_no_leap)
{
    bench_t b;
    start(&b, 100 * MB);
    pass(&b, 5, 1.0);
    hear(&b, 1, 20);
    pass(&b, 4, 1.0);
    hear_clear(&b, 1, 30, 0);
    pass(&b, 1, 1.0);
    CHECK_EQ(mb_per_s(&b), 45);
    hear(&b, 1, 20);
    pass(&b, F / MS, 1.0);
    CHECK_EQ(mb_per_s(&b), 20);
    pass(&b, 4, 1.0);
    CHECK_EQ((int64_t)(b.rate.bytes_per_s / 1000 + 0.5), 20600); /* 3 %, not 50 */
    pass(&b, 4, 1.0);
    CHECK_EQ((int64_t)(b.rate.bytes_per_s / 1000 + 0.5), 21836);
}

/* A new episode begins with small steps again. */
TEST(growth_begins_anew_after_an_episode)
{
    bench_t b;
    start(&b, 100 * MB);
    hear(&b, 1, 1);
    pass(&b, F / MS + 60, 1.0); /* by now each step is 50 % */
    double before = b.rate.bytes_per_s;
    pass(&b, 4, 1.0);
    CHECK(fabs(b.rate.bytes_per_s / before - 1.5) < 1e-6);
    hear(&b, 1, 30);
    pass(&b, F / MS, 1.0);
    before = b.rate.bytes_per_s;
    pass(&b, 4, 1.0);
    CHECK(fabs(b.rate.bytes_per_s / before - 1.03) < 1e-6);
}

CHECK_MAIN(RUN(after_clear_it_jumps_to_what_the_free_room_takes),
    RUN(after_the_jump_it_is_back_in_some_round_trips),
    RUN(an_episode_on_the_way_back_remembers_the_height),
    RUN(clear_counts_only_from_the_last_receiver_in_overload),
    RUN(in_a_group_it_jumps_later_and_only_if_nobody_asks),
    RUN(of_several_that_are_clear_the_smallest_room_counts),
    RUN(the_way_back_ends_at_twice_what_was_sent_or_taken),
    RUN(the_room_after_clear_is_what_the_receiver_takes_soon),
    RUN(a_receiver_that_falls_silent_on_the_way_back_gives_no_leap),
    RUN(growth_begins_anew_after_an_episode))
