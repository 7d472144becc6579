/* test_rate_adaptive.c: the law step by step in virtual time: start, the way down and back, and its
 * bounds under late, forged or extreme reports. */
#include "flow/rate.h"
#include "tests/check.h"
#include "util/clock.h"

#include <math.h>

#define MS RSTI_NS_PER_MS
#define S RSTI_NS_PER_S
#define MB 1000000
#define BUFFER (4 * 1024 * 1024)
#define P RSTI_FILL_PERIOD_NS
#define F (60 * MS) /* rsti_fill_fresh_ns of a short round trip */

typedef struct bench_t {
    rsti_rate_t rate;
    int64_t now_ns;
    double sent;
} bench_t;

static void start_with(bench_t *b, double initial, bool is_group)
{
    rsti_rate_params_t params = rsti_rate_defaults();
    params.initial = initial;
    params.is_group = is_group;
    *b = (bench_t){0};
    rsti_rate_init(&b->rate, &rsti_rate_adaptive, &params);
    (void)rsti_rate_on_cycle(&b->rate, &(rsti_rate_use_t){0, 0, MS, BUFFER});
}

static void start(bench_t *b, double initial)
{
    start_with(b, initial, false);
}

/* Sends that share of the rate, a pass each millisecond. */
static void pass(bench_t *b, int64_t ms, double share)
{
    for (int64_t i = 0; i < ms; i++) {
        b->now_ns += MS;
        b->sent += b->rate.bytes_per_s * share / 1000;
        (void)rsti_rate_on_cycle(&b->rate,
            &(rsti_rate_use_t){b->now_ns, (int64_t)b->sent, MS, BUFFER});
    }
}

static rsti_fill_report_t report_of(int64_t id, double allowed)
{
    return (rsti_fill_report_t){.receiver_id = id,
        .fill = 0.5,
        .drain = 50 * MB,
        .allowed = allowed,
        .buffer_bytes = BUFFER,
        .rtt_ns = MS};
}

static void hear(bench_t *b, int64_t id, double mb_per_s)
{
    const rsti_fill_report_t report = report_of(id, mb_per_s * MB);
    rsti_rate_on_report(&b->rate, &report, b->now_ns);
}

static void hear_clear(bench_t *b, int64_t id, double drain_mb, int64_t room)
{
    rsti_fill_report_t clear = report_of(id, 0);
    clear.is_clear = true;
    clear.drain = drain_mb * MB;
    clear.fill = 1.0 - (double)room / BUFFER;
    rsti_rate_on_report(&b->rate, &clear, b->now_ns);
}

static int64_t mb_per_s(const bench_t *b)
{
    return (int64_t)(b->rate.bytes_per_s / MB + 0.5);
}

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
            CHECK(b.rate.bytes_per_s >= 65536);
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
    RUN(a_receiver_that_falls_silent_is_forgotten),
    RUN(after_clear_it_jumps_to_what_the_free_room_takes),
    RUN(after_the_jump_it_is_back_in_some_round_trips),
    RUN(an_episode_on_the_way_back_remembers_the_height),
    RUN(clear_counts_only_from_the_last_receiver_in_overload),
    RUN(in_a_group_it_jumps_later_and_only_if_nobody_asks),
    RUN(of_several_that_are_clear_the_smallest_room_counts),
    RUN(forged_reports_do_not_go_below_the_floor),
    RUN(a_forged_round_trip_holds_the_rate_for_little_more_than_a_second),
    RUN(idle_times_lower_no_floor), RUN(wild_numbers_are_clamped),
    RUN(the_margin_says_whether_a_stop_is_survived), RUN(laws_are_found_by_name))
