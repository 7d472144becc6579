/* test_rate_adaptive.c: the law step by step in virtual time: start, cuts within a window,
 * recovery, and its bounds under late, duplicated, forged or extreme reports. */
#include "flow/rate.h"
#include "tests/check.h"
#include "util/clock.h"

#include <math.h>

#define MS RSTI_NS_PER_MS
#define S RSTI_NS_PER_S
#define MB 1000000
#define BUFFER (4 * 1024 * 1024)

typedef struct bench_t {
    rsti_rate_t rate;
    int64_t now_ns;
    double sent;
} bench_t;

static void start(bench_t *b, double initial)
{
    rsti_rate_params_t params = rsti_rate_defaults();
    params.initial = initial;
    *b = (bench_t){0};
    rsti_rate_init(&b->rate, &rsti_rate_adaptive, &params);
    (void)rsti_rate_on_cycle(&b->rate, &(rsti_rate_use_t){0, 0, MS, BUFFER});
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

static void hear(bench_t *b, int64_t id, double strength, double drain)
{
    const rsti_fill_report_t report = {
        .receiver_id = id,
        .strength = strength,
        .fill = 0.5,
        .drain = drain,
        .drain_all = drain,
        .variation = 0.04,
        .sender_count = 1,
        .buffer_bytes = BUFFER,
        .rtt_ns = MS,
    };
    rsti_rate_on_report(&b->rate, &report, b->now_ns);
}

static int64_t mb_per_s(const bench_t *b)
{
    return (int64_t)(b->rate.bytes_per_s / MB + 0.5);
}

TEST(it_begins_with_half_a_buffer_per_reaction_and_doubles)
{
    bench_t b;
    start(&b, 0);
    CHECK_EQ(mb_per_s(&b), 41); /* 2 MiB in 51 ms */
    pass(&b, 51, 1.0);
    CHECK_EQ(mb_per_s(&b), 82);
    pass(&b, 60, 1.0); /* faster now: what is free lasts shorter */
    CHECK(mb_per_s(&b) >= 164);
    rsti_rate_params_t params = rsti_rate_defaults();
    rsti_rate_init(&b.rate, &rsti_rate_adaptive, &params);
    (void)rsti_rate_on_cycle(&b.rate, &(rsti_rate_use_t){0, 0, 0, 0});
    CHECK_EQ(mb_per_s(&b), 1); /* nothing known */
}

TEST(rate_does_not_grow_beyond_its_use)
{
    bench_t b;
    start(&b, 10 * MB);
    pass(&b, 1000, 0.49);
    CHECK_EQ(mb_per_s(&b), 10);
    pass(&b, 60, 1.0);
    CHECK_EQ(mb_per_s(&b), 20);
}

TEST(the_strongest_of_a_window_counts_at_once)
{
    static const struct {
        int64_t wait_ms;
        double strength;
        int64_t mb_per_s;
    } steps[] = {
        {0, 0.2, 90},
        {1, 0.2, 90},
        {1, 0.1, 90},
        {1, 0.6, 70},
        {2, 0.6, 70},
        {1, 0.3, 70},
        {1, 1.0, 50},
        {1, 1.0, 50}, /* W is 20 ms: all of them one window */
        {15, 0.2, 45},              /* the next one cuts what the first one left */
        {1, 1.0, 25},
    };
    bench_t b;
    start(&b, 100 * MB);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        pass(&b, steps[i].wait_ms, 1.0);
        hear(&b, 1, steps[i].strength, 50 * MB);
        CHECK_EQ(mb_per_s(&b), steps[i].mb_per_s);
    }
    CHECK_EQ(b.rate.report_count, 10);
}

TEST(the_window_does_not_grow_while_the_rate_is_cut)
{
    bench_t b;
    start(&b, 100 * MB);
    hear(&b, 1, 1.0, 100 * MB);
    const int64_t window_ns = b.rate.state.adaptive.reaction.window_ns;
    for (int i = 0; i < 3; i++) { /* a pause: the drain is as it was */
        pass(&b, window_ns / MS + 1, 1.0);
        hear(&b, 1, 1.0, 100 * MB);
        CHECK_EQ(b.rate.state.adaptive.reaction.window_ns, window_ns);
    }
    CHECK_EQ(mb_per_s(&b), 6);
    CHECK_EQ((int64_t)(b.rate.state.adaptive.target / MB), 100); /* and it comes back to there */
}

TEST(recovery_leads_to_the_drain)
{
    bench_t b;
    start(&b, 100 * MB);
    hear(&b, 1, 1.0, 60 * MB); /* R 50, R_t 60.6: one percent of the drain is added */
    const int64_t reach_ms = b.rate.state.adaptive.reaction.reach_ns / MS;
    pass(&b, reach_ms, 1.0);
    CHECK_EQ(mb_per_s(&b), 50); /* not before T is over */
    pass(&b, 1, 1.0);
    CHECK_EQ((int64_t)(b.rate.bytes_per_s / 1000), 55300);
    pass(&b, 100, 1.0);
    CHECK(b.rate.bytes_per_s > 58 * MB);
    CHECK(b.rate.bytes_per_s < 63 * MB);
}

TEST(after_a_long_silence_it_probes)
{
    bench_t b;
    start(&b, 40 * MB);
    hear(&b, 1, 0.1, 40 * MB);
    const int64_t began_ns = b.now_ns;
    const int64_t reach_ns = b.rate.state.adaptive.reaction.reach_ns;
    while (b.rate.bytes_per_s < 90 * MB) {
        pass(&b, 1, 1.0);
        CHECK(b.now_ns < 2 * S);
    }
    CHECK((b.now_ns - began_ns) / reach_ns <= 10); /* E1 allows 20 */
    hear(&b, 1, 0.5, 95 * MB); /* found: back to the small steps */
    CHECK_EQ(b.rate.state.adaptive.step, 0);
    CHECK((int64_t)(b.rate.state.adaptive.target / MB) <= 96);
}

/* The effect of a probe is reported a round trip later: the next probe must not start before. */
TEST(a_far_receiver_is_probed_by_steps_that_it_can_tell_of)
{
    const int64_t rtt_ns = 40 * MS;
    bench_t b;
    start(&b, 40 * MB);
    hear(&b, 1, 0.1, 40 * MB);
    int64_t probed_ns = 0;
    int probes = 0;
    while (probes < 4) {
        const int32_t step = b.rate.state.adaptive.step;
        b.now_ns += MS;
        b.sent += b.rate.bytes_per_s / 1000;
        (void)rsti_rate_on_cycle(&b.rate,
            &(rsti_rate_use_t){b.now_ns, (int64_t)b.sent, rtt_ns, BUFFER});
        CHECK(b.now_ns < 5 * S);
        if (b.rate.state.adaptive.step == step || step < 4) {
            continue;
        }
        CHECK(probed_ns == 0 || b.now_ns - probed_ns >= 2 * rtt_ns);
        CHECK(probed_ns == 0 || b.now_ns - probed_ns <= 2 * rtt_ns + MS);
        probed_ns = b.now_ns;
        probes++;
    }
}

TEST(the_slowest_receiver_is_the_one_to_follow)
{
    bench_t b;
    start(&b, 100 * MB);
    hear(&b, 1, 0.8, 80 * MB);
    hear(&b, 2, 0.8, 30 * MB);
    hear(&b, 3, 0.9, 90 * MB);
    CHECK_EQ((int64_t)(b.rate.state.adaptive.target / MB), 55); /* R: not below it */
    CHECK_EQ(b.rate.source_count, 3);
    pass(&b, 2100, 1.0); /* receiver 2 is gone: the law does not wait for it */
    CHECK_EQ(b.rate.source_count, 0);
    CHECK(b.rate.bytes_per_s > 100 * MB);
}

TEST(one_below_its_fair_share_takes_larger_steps)
{
    bench_t small, large;
    start(&small, 10 * MB);
    start(&large, 90 * MB);
    rsti_fill_report_t report = {.strength = 0.5,
        .drain = 10 * MB,
        .drain_all = 100 * MB,
        .sender_count = 2,
        .buffer_bytes = BUFFER};
    rsti_rate_on_report(&small.rate, &report, 0);
    report.drain = 90 * MB;
    rsti_rate_on_report(&large.rate, &report, 0);
    /* 10 + min(half of the 40 that it is owed, R), which is above all that was sent. */
    CHECK_EQ((int64_t)small.rate.state.adaptive.target, 10 * MB + 75 * MB / 10);
    pass(&small, 300, 1.0);
    pass(&large, 300, 1.0);
    CHECK(small.rate.bytes_per_s > 20 * MB);
    CHECK(large.rate.state.adaptive.step >= 3);
}

TEST(forged_reports_do_not_go_below_the_floor)
{
    bench_t b;
    start(&b, 100 * MB);
    for (int64_t i = 0; i < 2000; i++) { /* two seconds, each from another receiver */
        pass(&b, 1, 1.0);
        hear(&b, i * 7919, 1.0, 1);
        CHECK(b.rate.bytes_per_s >= 5.0 * MB * 0.999);
        CHECK(b.rate.source_count <= RSTI_RATE_SOURCES_MAX);
    }
    for (int64_t i = 0; i < 20000; i++) {
        pass(&b, 1, 1.0);
        hear(&b, 1, 1.0, 1);
    }
    CHECK_EQ((int64_t)b.rate.bytes_per_s, 65536); /* believed at last, and there it ends */
    const double start_again = b.rate.bytes_per_s;
    pass(&b, 3000, 1.0);
    CHECK(b.rate.bytes_per_s > 100 * start_again);
}

TEST(a_forged_round_trip_holds_the_rate_for_less_than_a_second)
{
    bench_t b;
    start(&b, 100 * MB);
    const rsti_fill_report_t report = {
        .receiver_id = 9, .strength = 1.0, .drain = 100 * MB, .rtt_ns = INT64_MAX};
    rsti_rate_on_report(&b.rate, &report, b.now_ns);
    CHECK_EQ(mb_per_s(&b), 50);
    CHECK_EQ(b.rate.state.adaptive.reaction.reach_ns, 400 * MS);
    pass(&b, 401, 1.0);
    CHECK(b.rate.bytes_per_s > 70 * MB);
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
        hear(&b, 1, 1.0, 1);
        CHECK(b.rate.bytes_per_s >= 0.05 * highest * 0.999);
    }
}

TEST(wild_numbers_are_clamped)
{
    static const double wild[] = {0, -1, 1e300, -1e300, NAN, INFINITY, -INFINITY, 0.5};
    static const int64_t times[] = {0, INT64_MAX, INT64_MIN, -1, 5, INT64_MAX, 1};
    bench_t b;
    start(&b, 100 * MB);
    for (size_t i = 0; i < 8 * 8 * 7; i++) {
        const rsti_fill_report_t report = {
            .receiver_id = (int64_t)i,
            .strength = wild[i % 8],
            .fill = wild[i / 8 % 8],
            .drain = wild[(i + 3) % 8],
            .drain_all = wild[(i + 5) % 8],
            .variation = wild[(i / 8 + 1) % 8],
            .sender_count = i % 3 == 0 ? INT32_MIN
                : i % 3 == 1           ? INT32_MAX
                                       : 0,
            .buffer_bytes = i % 2 == 0 ? INT64_MAX : INT64_MIN,
            .rtt_ns = i % 5 == 0 ? INT64_MAX
                : i % 5 == 1     ? INT64_MIN
                                 : 1,
        };
        rsti_rate_on_report(&b.rate, &report, times[i % 7]);
        (void)rsti_rate_on_cycle(&b.rate,
            &(rsti_rate_use_t){
                times[(i + 1) % 7], times[(i + 2) % 7], times[(i + 3) % 7], times[(i + 4) % 7]});
        CHECK(b.rate.bytes_per_s >= 65536);
        CHECK(b.rate.bytes_per_s <= RSTI_RATE_MAX);
    }
}

TEST(the_margin_says_whether_a_stop_is_survived)
{
    bench_t b;
    start(&b, 100 * MB);
    hear(&b, 1, 0.1, 100 * MB); /* B 4 MiB, f_lo 0.238, T 18.3 ms, D 0.2 ms */
    CHECK(b.rate.margin > 1.69);
    CHECK(b.rate.margin < 1.77);
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

CHECK_MAIN(RUN(it_begins_with_half_a_buffer_per_reaction_and_doubles),
    RUN(rate_does_not_grow_beyond_its_use), RUN(the_strongest_of_a_window_counts_at_once),
    RUN(the_window_does_not_grow_while_the_rate_is_cut), RUN(recovery_leads_to_the_drain),
    RUN(after_a_long_silence_it_probes), RUN(a_far_receiver_is_probed_by_steps_that_it_can_tell_of),
    RUN(the_slowest_receiver_is_the_one_to_follow),
    RUN(one_below_its_fair_share_takes_larger_steps), RUN(forged_reports_do_not_go_below_the_floor),
    RUN(a_forged_round_trip_holds_the_rate_for_less_than_a_second), RUN(idle_times_lower_no_floor),
    RUN(wild_numbers_are_clamped), RUN(the_margin_says_whether_a_stop_is_survived),
    RUN(laws_are_found_by_name))
