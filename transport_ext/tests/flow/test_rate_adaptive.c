/* test_rate_adaptive.c: the law step by step in virtual time: start, the way down, and its
 * bounds under late, forged or extreme reports. */
#include "tests/flow/rate_bench.h"

TEST(it_begins_with_half_a_buffer_and_doubles_until_the_first_report)
{
    bench_t b;
    start(&b, 0);
    CHECK_EQ(mb_per_s(&b), RSTI_RATE_MAX / MB); /* its window holds the sender */
    start_with(&b, 0, true);
    CHECK_EQ(mb_per_s(&b), 419); /* 2 MiB in RTT + P = 5 ms */
    pass(&b, 10, 1.0);
    CHECK_EQ(mb_per_s(&b), 839); /* after L */
    pass(&b, 10, 1.0);
    CHECK_EQ(mb_per_s(&b), 1678);
    hear(&b, 1, 100);
    pass(&b, F / MS + 12, 1.0);
    CHECK(mb_per_s(&b) < 130); /* it doubles no more */
    rsti_rate_params_t params = rsti_rate_defaults();
    rsti_rate_init(&b.rate, &rsti_rate_adaptive, &params);
    (void)rsti_rate_on_cycle(&b.rate, &(rsti_rate_use_t){0, 0, 0, 0});
    CHECK_EQ(mb_per_s(&b), 1); /* nothing known */
}

/* Without a report in each step, and also on the way back. */
TEST(the_rate_does_not_grow_beyond_its_use)
{
    bench_t b;
    start(&b, 10 * MB);
    pass(&b, 1000, 0.49);
    CHECK_EQ(mb_per_s(&b), 10);
    pass(&b, 10, 1.0);
    CHECK_EQ(mb_per_s(&b), 20);
    hear(&b, 1, 5);
    pass(&b, F / MS + 1, 1.0);
    const double forgotten = b.rate.bytes_per_s;
    pass(&b, 1000, 0.49);
    CHECK(b.rate.bytes_per_s <= forgotten * 1.03 * (1 + 1e-9));
    hear(&b, 1, 1);
    hear_clear(&b, 1, 1, 4096);
    const double jumped = b.rate.bytes_per_s;
    pass(&b, 1000, 0.49);
    CHECK(b.rate.bytes_per_s <= jumped * (1 + 1e-9));
    pass(&b, 20, 1.0);
    CHECK(b.rate.bytes_per_s >= forgotten);
}

TEST(it_goes_to_the_smallest_rate_of_fresh_reports)
{
    static const struct {
        int64_t wait_ms, id;
        double asked; /* MB/s */
        int64_t mb_per_s;
    } steps[] = {
        {0, 1, 80, 80},
        {1, 2, 30, 30},
        {1, 1, 70, 30},
        {1, 2, 45, 45}, /* the same receiver again: up at once, too */
        {1, 3, 90, 45},
        {30, 1, 60, 45},
        {27, 3, 90, 45},
        {4, 4, 500, 60}, /* 63 ms after its report 2 is forgotten, whatever became of it */
        {30, 3, 300, 300}, /* and 1 */
        {0, 5, 0, 5}, /* the floor */
        {1, 5, 12, 12},
    };
    bench_t b;
    start(&b, 100 * MB);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        pass(&b, steps[i].wait_ms, 1.0);
        hear(&b, steps[i].id, steps[i].asked);
        if (mb_per_s(&b) != steps[i].mb_per_s) {
            CHECK_FAIL("step %zu: %" PRId64 " MB/s", i, mb_per_s(&b));
        }
    }
    CHECK_EQ(b.rate.report_count, 11);
}

/* Duplicates and their order change nothing. */
TEST(at_one_instant_only_the_last_report_of_a_receiver_counts)
{
    bench_t b;
    start(&b, 100 * MB);
    for (int i = 0; i < 50; i++) {
        hear(&b, i % 3, 20 + i % 3);
    }
    CHECK_EQ(mb_per_s(&b), 20);
    hear(&b, 0, 90);
    hear(&b, 0, 90);
    CHECK_EQ(mb_per_s(&b), 21);
}

/* It died, or its reports are lost: no jump, but growth by 3 %, 6 %, 12 % ... each 4 ms. */
TEST(a_receiver_that_falls_silent_is_forgotten)
{
    bench_t b;
    start(&b, 100 * MB);
    pass(&b, 9, 1.0);
    hear(&b, 1, 20);
    pass(&b, F / MS, 1.0);
    CHECK_EQ(mb_per_s(&b), 20);
    pass(&b, 4, 1.0);
    CHECK_EQ((int64_t)(b.rate.bytes_per_s / 1000 + 0.5), 20600);
    pass(&b, 12, 1.0);
    CHECK_EQ((int64_t)(b.rate.bytes_per_s / 1000 + 0.5), 30326); /* 1.06 * 1.12 * 1.24 */
    double before = b.rate.bytes_per_s;
    for (int i = 0; i < 100; i++) { /* on, without a limit and without a leap */
        pass(&b, 4, 1.0);
        CHECK(b.rate.bytes_per_s <= 1.5 * before * (1 + 1e-9));
        before = b.rate.bytes_per_s;
    }
    CHECK(mb_per_s(&b) > 400);
}

TEST(forged_reports_do_not_go_below_the_floor)
{
    bench_t b;
    start(&b, 100 * MB);
    for (int64_t i = 0; i < 2000; i++) { /* two seconds, each from another receiver */
        pass(&b, 1, 1.0);
        hear(&b, i * 7919, 0);
        CHECK(b.rate.bytes_per_s >= 5.0 * MB * 0.999);
        CHECK(b.rate.source_count <= RSTI_RATE_SOURCES_MAX);
    }
    for (int64_t i = 0; i < 20000; i++) {
        pass(&b, 1, 1.0);
        hear(&b, 1, 0);
    }
    CHECK_EQ((int64_t)b.rate.bytes_per_s, 4096); /* believed at last, and there it ends */
    pass(&b, 2000, 1.0);
    CHECK(b.rate.bytes_per_s > 100 * 4096);
}

TEST(a_forged_round_trip_holds_the_rate_for_little_more_than_a_second)
{
    bench_t b;
    start(&b, 100 * MB);
    rsti_fill_report_t report = report_of(9, 20 * MB);
    report.rtt_ns = INT64_MAX;
    rsti_rate_on_report(&b.rate, &report, b.now_ns);
    CHECK_EQ(rsti_rate_period_ns(&b.rate), 200 * MS);
    pass(&b, 1200, 1.0);
    CHECK_EQ(mb_per_s(&b), 20);
    pass(&b, 401, 1.0); /* the next step: two of these round trips */
    CHECK(mb_per_s(&b) > 20);
}

TEST(idle_times_lower_no_floor)
{
    bench_t b;
    start(&b, 100 * MB);
    pass(&b, 1000, 1.0);
    const double highest = rsti_rate_highest(&b.rate);
    pass(&b, 60000, 0.001);
    CHECK(rsti_rate_highest(&b.rate) >= highest);
    for (int i = 0; i < 1000; i++) {
        pass(&b, 1, 1.0);
        hear(&b, 1, 0);
        CHECK(b.rate.bytes_per_s >= 0.05 * highest * 0.999);
    }
}

/* H is what was really sent: neither the guess of the start nor a high rate that nobody uses. */
TEST(the_floor_is_a_share_of_what_was_sent)
{
    static const struct {
        bool is_group;
        double sent_mb;
        double kb_per_s;
    } rows[] = {{false, 100, 5000}, {false, 10, 500}, {true, 100, 5000}, {true, 0, 4.096}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bench_t b;
        start_with(&b, 0, rows[i].is_group);
        CHECK(b.rate.bytes_per_s > 400 * MB);
        CHECK_EQ((int64_t)rsti_rate_highest(&b.rate), 4096);
        pass_bytes(&b, 500, rows[i].sent_mb * MB);
        hear(&b, 1, 0);
        if (fabs(b.rate.bytes_per_s / 1000 - rows[i].kb_per_s) > rows[i].kb_per_s / 100) {
            CHECK_FAIL("row %zu: %.0f B/s", i, b.rate.bytes_per_s);
        }
    }
}

/* A sample of little use counts, and makes no older one forgotten. */
TEST(each_sample_counts_and_used_ones_make_older_ones_forgotten)
{
    bench_t b;
    start(&b, 1000 * MB);
    b.rate.params.least = 1000 * MB; /* so that the use alone changes */
    pass(&b, 100, 0.9);
    pass_bytes(&b, 100 * RSTI_RATE_SAMPLES * 5, 10 * MB);
    CHECK(rsti_rate_highest(&b.rate) >= 899 * MB);
    b.rate.params.least = 1;
    b.rate.params.most = 10 * MB;
    rsti_rate_set(&b.rate, 10 * MB);
    pass_bytes(&b, 100 * RSTI_RATE_SAMPLES, 6 * MB);
    CHECK(rsti_rate_highest(&b.rate) >= 899 * MB);
    pass_bytes(&b, 100 * RSTI_RATE_SAMPLES / 2, 6 * MB);
    CHECK(rsti_rate_highest(&b.rate) >= 899 * MB); /* not all of them at once */
    pass_bytes(&b, 100 * RSTI_RATE_SAMPLES / 2 + 200, 6 * MB);
    CHECK(rsti_rate_highest(&b.rate) <= 11 * MB);
}

TEST(wild_numbers_are_clamped)
{
    static const double wild[] = {0, -1, 1e300, -1e300, NAN, INFINITY, -INFINITY, 0.5};
    static const int64_t times[] = {0, INT64_MAX, INT64_MIN, -1, 5, INT64_MAX, 1};
    static const int64_t round_trips[] = {INT64_MAX, INT64_MIN, 1, 0, -1};
    for (int is_group = 0; is_group <= 1; is_group++) {
        bench_t b;
        start_with(&b, 100 * MB, is_group);
        for (size_t i = 0; i < 8 * 8 * 7; i++) {
            const rsti_fill_report_t report = {
                .receiver_id = (int64_t)i,
                .is_clear = i % 3 == 0,
                .fill = wild[i / 8 % 8],
                .drain = wild[(i + 3) % 8],
                .allowed = wild[i % 8],
                .buffer_bytes = i % 2 == 0 ? INT64_MAX : INT64_MIN,
                .rtt_ns = round_trips[i % 5],
            };
            rsti_rate_on_report(&b.rate, &report, times[i % 7]);
            (void)rsti_rate_on_cycle(&b.rate,
                &(rsti_rate_use_t){times[(i + 1) % 7], times[(i + 2) % 7], times[(i + 3) % 7],
                    times[(i + 4) % 7]});
            CHECK(b.rate.bytes_per_s >= 4096);
            CHECK(b.rate.bytes_per_s <= RSTI_RATE_MAX);
        }
    }
}

TEST(the_margin_says_whether_a_stop_is_survived)
{
    bench_t b;
    start(&b, 100 * MB);
    hear(&b, 1, 100);
    /* 4 MiB - 1 MB, over 100 MB/s in RTT + P + D = 5.2 ms */
    CHECK(fabs(b.rate.margin - 6.143) < 0.001);
    static const struct {
        int64_t target_ns, detect_ns, buffer, rtt_ns;
        double rate, expected;
    } rows[] = {
        {10 * MS, 0, 3000000, MS, 100e6, 4.5}, /* a quarter is the set point at most */
        {10 * MS, 0, 4000000, 20 * MS, 50e6, 1.5},
        {10 * MS, 5 * MS, 2000000, MS, 50e6, 3.0},
        {10 * MS, 0, 0, MS, 50e6, 0},
        {10 * MS, 0, BUFFER, MS, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CHECK(fabs(rsti_rate_headroom(rows[i].target_ns, rows[i].detect_ns, rows[i].buffer,
                       rows[i].rtt_ns, rows[i].rate)
                  - rows[i].expected)
            < 1e-9);
    }
}

TEST(laws_are_found_by_name)
{
    CHECK(rsti_rate_find("adaptive") == &rsti_rate_adaptive);
    CHECK(rsti_rate_find("nak") == &rsti_rate_nak);
    CHECK(rsti_rate_find("fixed") == &rsti_rate_fixed);
    CHECK(rsti_rate_find("aimd") == &rsti_rate_aimd);
    CHECK(rsti_rate_find("unlimited") == &rsti_rate_unlimited);
    CHECK(rsti_rate_find("none") == NULL);
    CHECK(rsti_rate_find(NULL) == NULL);
}

CHECK_MAIN(RUN(it_begins_with_half_a_buffer_and_doubles_until_the_first_report),
    RUN(the_rate_does_not_grow_beyond_its_use), RUN(it_goes_to_the_smallest_rate_of_fresh_reports),
    RUN(at_one_instant_only_the_last_report_of_a_receiver_counts),
    RUN(a_receiver_that_falls_silent_is_forgotten), RUN(forged_reports_do_not_go_below_the_floor),
    RUN(a_forged_round_trip_holds_the_rate_for_little_more_than_a_second),
    RUN(idle_times_lower_no_floor), RUN(the_floor_is_a_share_of_what_was_sent),
    RUN(each_sample_counts_and_used_ones_make_older_ones_forgotten), RUN(wild_numbers_are_clamped),
    RUN(the_margin_says_whether_a_stop_is_survived), RUN(laws_are_found_by_name))
