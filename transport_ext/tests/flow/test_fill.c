/* test_fill.c: a receiver's view of its image, pass by pass in virtual time, and the times of its
 * reports. */
#include "flow/fill.h"
#include "flow/fill_suppress.h"
#include "tests/check.h"
#include "util/clock.h"
#include "util/int_math.h"
#include "util/rng.h"

#include <math.h>

#define US INT64_C(1000)
#define MS RSTI_NS_PER_MS
#define S RSTI_NS_PER_S
#define MB 1e6
#define BUFFER (4 * 1024 * 1024)

typedef struct image_t {
    rsti_fill_t fill;
    int64_t now_ns;
    double received, consumed;
    int64_t report_count;
    double strongest;
} image_t;

static void image_init(image_t *image)
{
    *image = (image_t){0};
    rsti_fill_init(&image->fill, 0);
}

/* Passes of 100 us; arriving bytes per second and the consumer's rate. */
static void pass(image_t *image, int64_t ms, double arriving, double taking)
{
    for (int64_t i = 0; i < ms * 10; i++) {
        image->now_ns += 100 * US;
        image->received += arriving / 10000;
        const double there = image->received - image->consumed;
        image->consumed += there < taking / 10000 ? there : taking / 10000;
        if (rsti_fill_update(&image->fill,
                &(rsti_fill_facts_t){image->now_ns, (int64_t)image->received,
                    (int64_t)image->consumed, BUFFER, MS, 0})) {
            image->report_count++;
            rsti_fill_on_told(&image->fill, image->fill.strength);
        }
        if (image->fill.strength > image->strongest) {
            image->strongest = image->fill.strength;
        }
    }
}

static bool is_near(double value, double expected)
{
    return fabs(value - expected) <= 0.02 * fabs(expected);
}

TEST(no_report_without_overload)
{
    image_t image;
    image_init(&image);
    pass(&image, 5000, 90 * MB, 100 * MB);
    CHECK_EQ(image.report_count, 0);
    CHECK(is_near(image.fill.drain, 90 * MB)); /* at least that much */
    pass(&image, 10, 100 * MB, 0); /* 10 ms of nothing: the GIL, no stall */
    CHECK(!image.fill.is_stalled);
    pass(&image, 3000, 0, 100 * MB);
    CHECK_EQ(image.fill.strength > 0, 0);
}

TEST(overload_is_foreseen)
{
    image_t image;
    image_init(&image);
    pass(&image, 1000, 95 * MB, 100 * MB);
    pass(&image, 15, 140 * MB, 100 * MB); /* 40 MB/s too much: 10 MB/s grow into f_lo in 26 ms */
    CHECK(image.fill.fill < image.fill.reaction.fill_low);
    CHECK(image.fill.predicted > image.fill.reaction.fill_low);
    CHECK(image.report_count > 0);
    const int64_t before = image.report_count;
    pass(&image, 100, 140 * MB, 100 * MB);
    const int64_t windows = 100 * MS / image.fill.reaction.window_ns;
    CHECK(image.report_count - before <= 2 * windows + 5); /* one per W/2, and one per rise */
    CHECK(image.report_count - before >= 2 * windows - 2);
    CHECK(image.strongest >= 1.0);
    pass(&image, 300, 100 * MB, 100 * MB);
    CHECK(is_near(image.fill.drain, 100 * MB)); /* busy all the time: that is its capacity */
    pass(&image, 100, 0, 100 * MB);
    CHECK(!(image.fill.strength > 0));
}

/* An agent may look twice at one instant, before and after new data. */
TEST(looks_at_one_instant_count_once)
{
    image_t image;
    image_init(&image);
    for (int64_t i = 0; i < 2000; i++) {
        image.now_ns += 100 * US;
        image.consumed = image.received; /* all of it */
        (void)rsti_fill_update(&image.fill,
            &(rsti_fill_facts_t){
                image.now_ns, (int64_t)image.received, (int64_t)image.consumed, BUFFER, MS, 0});
        image.received += 6000;
        (void)rsti_fill_update(&image.fill,
            &(rsti_fill_facts_t){
                image.now_ns, (int64_t)image.received, (int64_t)image.consumed, BUFFER, MS, 0});
    }
    CHECK(fabs(image.fill.slope) < 2 * MB); /* the throughput is 60 MB/s */
}

/* A batch at a time, as Python programs read: the queue oscillates, and there is no overload. */
TEST(a_consumer_of_batches_keeps_up)
{
    image_t image;
    image_init(&image);
    for (int64_t i = 0; i < 100; i++) {
        pass(&image, 16, 16 * MB, 0);
        image.consumed = image.received - 20000;
        pass(&image, 1, 16 * MB, 0);
        if (i == 10) {
            image.report_count = 0; /* its pattern is known by now */
        }
    }
    CHECK(image.fill.reaction.fill_low <= 0.1);
    CHECK_EQ(image.report_count, 0);
    pass(&image, 60, 16 * MB, 0); /* now the batch is missing: late after two batches */
    CHECK(image.report_count > 0);
    CHECK(image.fill.is_stalled || image.fill.strength > 0.5);
}

/* The same, with a larger rest each time. */
TEST(a_consumer_of_batches_falls_behind)
{
    image_t image;
    image_init(&image);
    for (int64_t i = 0; i < 60; i++) {
        pass(&image, 16, 24 * MB, 0);
        image.consumed += 16 * 16000;
    }
    CHECK(image.report_count > 3);
    CHECK(image.fill.slope > 4 * MB && image.fill.slope < 12 * MB);
}

/* 100 MB/s into a consumer that reads all it can. Each 100 ms a datagram is missing for 5 ms, then
 * all data behind it are readable at once. It would be a false overload to count the data behind a
 * gap, or their release as growth. */
TEST(loss_is_no_overload)
{
    rsti_fill_t fill, naive;
    rsti_fill_init(&fill, 0);
    rsti_fill_init(&naive, 0);
    int64_t highest = 0, received = 0, consumed = 0;
    int reports = 0, naive_reports = 0;
    for (int64_t us = 0; us < 2000000; us += 100) {
        highest += 10000;
        received = us % 100000 >= 95000 ? received : highest;
        consumed += rsti_min_i64(received - consumed, 20000); /* twice the arrival rate */
        reports += rsti_fill_update(&fill,
            &(rsti_fill_facts_t){us * US, received, consumed, BUFFER, MS, highest});
        naive_reports += rsti_fill_update(&naive,
            &(rsti_fill_facts_t){us * US, highest, consumed, BUFFER, MS, 0});
    }
    CHECK_EQ(reports, 0);
    CHECK(naive_reports > 100);
}

/* A gap at the bottom holds back everything for 20 ms, then it is readable at once, and the
 * consumer reads at twice the arrival rate. */
TEST(arrivals_behind_a_gap_count)
{
    rsti_fill_t fill;
    rsti_fill_init(&fill, 0);
    int64_t highest = 0;
    int64_t received = 0;
    int64_t consumed = 0;
    for (int64_t now_ns = 0; now_ns < S; now_ns += 100 * US) {
        highest += 10000; /* 100 MB/s */
        const bool has_gap = now_ns % (100 * MS) < 20 * MS;
        received = has_gap ? received : highest;
        consumed = rsti_min_i64(received, consumed + 20000);
        (void)rsti_fill_update(&fill,
            &(rsti_fill_facts_t){now_ns, received, consumed, BUFFER, 10 * MS, highest});
        if (now_ns > 200 * MS) {
            CHECK(is_near(fill.arriving, 100 * MB));
        }
    }
    CHECK(fill.drain > 150 * MB);
    CHECK(fill.reaction.fill_low
        > 0.35); /* judged by its drain the buffer would be too small for a stop: 0.1 */
    for (int64_t now_ns = S; now_ns < 2 * S; now_ns += 100 * US) {
        highest += 1000;
        (void)rsti_fill_update(&fill,
            &(rsti_fill_facts_t){now_ns, highest, highest, BUFFER, 10 * MS, highest});
    }
    CHECK(is_near(fill.arriving, 10 * MB)); /* the estimate falls slowly */
    highest += 1000000;
    (void)rsti_fill_update(&fill,
        &(rsti_fill_facts_t){2 * S, highest, consumed, BUFFER, 10 * MS, highest});
    (void)rsti_fill_update(&fill,
        &(rsti_fill_facts_t){2 * S + 10 * MS, highest, consumed, BUFFER, 10 * MS, highest});
    CHECK(fill.arriving > 40 * MB); /* and rises at once */
}

TEST(drain_and_variation_are_those_of_busy_times)
{
    image_t image;
    image_init(&image);
    pass(&image, 50, 100 * MB, 50 * MB);
    rsti_rng_t rng;
    rsti_rng_init(&rng, 7);
    for (int i = 0; i < 200; i++) { /* 40 or 60 MB/s, 10 ms each */
        pass(&image, 10, 50 * MB, rsti_rng_below(&rng, 2) == 0 ? 40 * MB : 60 * MB);
    }
    CHECK(image.fill.drain > 42 * MB && image.fill.drain < 58 * MB);
    CHECK(image.fill.variation > 0.1 && image.fill.variation < 0.3);
    const double drain = image.fill.drain;
    pass(&image, 1000, 1 * MB, 60 * MB); /* quiet: the arrival rate is no capacity */
    CHECK(image.fill.drain >= 0.99 * drain);
    pass(&image, 1000, 80 * MB, 100 * MB); /* a higher rate: the capacity is at least so much */
    CHECK(is_near(image.fill.drain, 80 * MB));
}

TEST(a_stall_is_full_strength_and_no_drain)
{
    image_t image;
    image_init(&image);
    pass(&image, 500, 60 * MB, 50 * MB); /* a queue that grows slowly */
    pass(&image, 100, 0, 50 * MB);
    pass(&image, 8, 100 * MB, 50 * MB);
    const double drain = image.fill.drain;
    const double fill = image.fill.fill;
    CHECK(fill > 0.0);
    image.strongest = 0;
    pass(&image, 40, 20 * MB, 0);
    CHECK(image.fill.is_stalled);
    CHECK(image.fill.strength >= 1.0);
    pass(&image, 200, 0, 0);
    CHECK(image.fill.is_stalled);
    pass(&image, 1, 0, 50 * MB);
    CHECK(!image.fill.is_stalled);
    CHECK(is_near(image.fill.drain, drain)); /* the pause is in no sample */
}

TEST(a_consumer_that_takes_seldom_is_not_stalled)
{
    image_t image;
    image_init(&image);
    for (int i = 0; i < 100; i++) { /* 400 KB every 20 ms */
        pass(&image, 20, 20 * MB, 0);
        image.now_ns += US;
        image.consumed = image.received - 100000;
        (void)rsti_fill_update(&image.fill,
            &(rsti_fill_facts_t){
                image.now_ns, (int64_t)image.received, (int64_t)image.consumed, BUFFER, MS, 0});
    }
    CHECK(is_near(image.fill.drain, 20 * MB));
    pass(&image, 30, 20 * MB, 0); /* 20 ms are usual */
    CHECK(!image.fill.is_stalled);
    pass(&image, 60, 20 * MB, 0);
    CHECK(image.fill.is_stalled);
}

TEST(reports_come_after_half_a_window_or_a_rise)
{
    rsti_fill_t fill;
    rsti_fill_init(&fill, 0);
    rsti_fill_facts_t facts = {.buffer_bytes = 1000000, .rtt_ns = MS};
    (void)rsti_fill_update(&fill, &facts);
    fill.gap_ns = 1e15; /* no stall in this test */
    static const struct {
        int64_t now_ms; /* W is 50 ms: no drain is known */
        int64_t received;
        bool is_due;
    } steps[] = {
        {1000, 40000, false},
        {3000, 400000, true},
        {3010, 400000, false},
        {3024, 400000, false},
        {3025, 400000, true},
        {3049, 400000, false},
        {3050, 400000, true},
        {3065, 400000, false},
        {3066, 500000, true},
        {3067, 510000, false},
        {3090, 520000, false},
        {3091, 520000, true},
    };
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        facts.now_ns = steps[i].now_ms * MS;
        facts.received = steps[i].received;
        const bool is_due = rsti_fill_update(&fill, &facts);
        CHECK_EQ(is_due, steps[i].is_due);
        if (is_due) {
            rsti_fill_on_told(&fill, fill.strength);
        }
    }
}

TEST(the_report_shows_the_image)
{
    image_t image;
    image_init(&image);
    pass(&image, 500, 105 * MB, 100 * MB);
    rsti_fill_report_t report;
    rsti_fill_report(&image.fill, &report);
    CHECK(is_near(report.fill, (image.received - image.consumed) / BUFFER));
    CHECK(is_near(report.drain, 100 * MB));
    CHECK_EQ((int64_t)report.drain_all, (int64_t)report.drain);
    CHECK_EQ(report.buffer_bytes, BUFFER);
    CHECK_EQ(report.rtt_ns, MS);
    CHECK_EQ(report.sender_count, 1);
    CHECK(report.strength > 0 && report.strength <= 1);
}

TEST(demand_makes_the_buffer)
{
    rsti_fill_demand_t demand;
    rsti_fill_demand_init(&demand);
    CHECK_EQ(rsti_fill_demand_highest(&demand), -1);
    CHECK_EQ(rsti_fill_buffer(131072, -1, 1000, 1408), 131072); /* no demand control: the window */
    CHECK_EQ(rsti_fill_buffer(131072, 0, 1000, 1408), 1408);
    CHECK_EQ(rsti_fill_buffer(131072, 10, 1000, 1408), 10000);
    CHECK_EQ(rsti_fill_buffer(131072, 1000, 1000, 1408), 131072);
    CHECK_EQ(rsti_fill_buffer(131072, INT64_MAX, INT64_MAX, 1408), 131072);
    CHECK_EQ(rsti_fill_buffer(1000, 0, 0, 1408), 1000); /* the window is what there is */
    CHECK_EQ(rsti_fill_buffer(-5, 10, -10, -1), 0);
    static const struct {
        int64_t now_ms, messages, highest;
    } steps[] = {{0, 10, 10}, {5, 256, 256}, {9, 3, 256}, {15, 2, 256}, {25, 1, 2}, {26, 5, 5},
        {100, 4, 4}, {99, 9, 9}, {104, -7, 9}, {115, 0, 9}, {125, 0, 0}};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        rsti_fill_demand_set(&demand, steps[i].messages, 10 * MS, steps[i].now_ms * MS);
        CHECK_EQ(rsti_fill_demand_highest(&demand), steps[i].highest);
    }
}

TEST(waits_are_long_for_most_and_never_zero_in_a_group)
{
    CHECK_EQ(rsti_fill_wait_ns(1, 10 * MS, 0.5), 0);
    CHECK_EQ(rsti_fill_wait_ns(NAN, 10 * MS, 0.5), 0);
    CHECK_EQ(rsti_fill_wait_ns(2, 10 * MS, 0), 10 * MS / 64 + 1);
    CHECK_EQ(rsti_fill_wait_ns(1000, 10 * MS, 1), 10 * MS);
    CHECK_EQ(rsti_fill_wait_ns(1000, 0, 0.5), 1);
    CHECK(rsti_fill_wait_ns(INFINITY, INT64_MAX, NAN) > 0);
    int early = 0;
    for (int i = 0; i < 1000; i++) {
        early += rsti_fill_wait_ns(1000, 8 * MS, i / 1000.0) < 1 * MS;
    }
    CHECK(early <= 3); /* of a thousand, in the first eighth */
}

#define GROUP 1000

/* All members of a large group are overloaded at once: reports sent within a window reach the
 * others after the time of flight. */
TEST(a_group_speaks_with_few_voices)
{
    static rsti_fill_t fills[GROUP];
    static rsti_fill_suppress_t suppresses[GROUP];
    static int64_t heard_ns[64];
    static double strengths[64];
    rsti_rng_t rng;
    rsti_rng_init(&rng, check_seed());
    for (int i = 0; i < GROUP; i++) {
        rsti_fill_init(&fills[i], 0);
        rsti_fill_suppress_init(&suppresses[i]);
        (void)rsti_fill_update(&fills[i], &(rsti_fill_facts_t){0, 0, 0, BUFFER, MS, 0});
        fills[i].drain = 100 * MB;
        fills[i].gap_ns = 1e15;
    }
    int sent = 0;
    int heard = 0;
    for (int64_t now_ns = 100 * MS; now_ns < 168 * MS; now_ns += 100 * US) {
        for (; heard < sent && heard_ns[heard] <= now_ns; heard++) {
            for (int i = 0; i < GROUP; i++) {
                rsti_fill_suppress_on_heard(&suppresses[i], &fills[i], strengths[heard]);
            }
        }
        for (int i = 0; i < GROUP; i++) {
            const int64_t queue = (int64_t)(0.6 * BUFFER) + (i % 100) * 2000;
            const bool is_due = rsti_fill_update(&fills[i],
                &(rsti_fill_facts_t){now_ns, queue, 0, BUFFER, MS, 0});
            if (rsti_fill_suppress_is_due(&suppresses[i], &fills[i], is_due, GROUP,
                    rsti_rng_unit(&rng))) {
                CHECK(sent < 64);
                rsti_fill_on_told(&fills[i], fills[i].strength);
                strengths[sent] = fills[i].strength;
                heard_ns[sent++] = now_ns + MS;
            }
        }
    }
    CHECK(sent > 0);
    CHECK(sent <= 32); /* four windows of 17 ms, at most 8 in each */
}

TEST(clearly_fuller_receiver_reports_anyway)
{
    rsti_fill_t fill;
    rsti_fill_suppress_t suppress;
    rsti_fill_init(&fill, 0);
    rsti_fill_suppress_init(&suppress);
    rsti_fill_facts_t facts = {.buffer_bytes = 1000000};
    (void)rsti_fill_update(&fill, &facts);
    fill.gap_ns = 1e15;
    facts.now_ns = 3 * S;
    facts.received = 700000; /* f_lo 0.1: strength 0.78 */
    CHECK(!rsti_fill_suppress_is_due(&suppress, &fill, rsti_fill_update(&fill, &facts), 10, 0.5));
    CHECK(suppress.is_waiting);
    rsti_fill_suppress_on_heard(&suppress, &fill, 0.3);
    CHECK(suppress.is_waiting);
    rsti_fill_suppress_on_heard(&suppress, &fill, 0.7);
    CHECK(!suppress.is_waiting);
    CHECK_EQ(suppress.silenced_count, 1);
    CHECK_EQ(rsti_fill_suppress_due_ns(&suppress), INT64_MAX);
    facts.now_ns += MS;
    facts.received = 890000; /* far above what it heard */
    CHECK(!rsti_fill_suppress_is_due(&suppress, &fill, rsti_fill_update(&fill, &facts), 10, 0.5));
    CHECK(suppress.is_waiting);
    facts.now_ns = rsti_fill_suppress_due_ns(&suppress);
    CHECK(rsti_fill_suppress_is_due(&suppress, &fill, rsti_fill_update(&fill, &facts), 10, 0.5));
    facts.consumed = facts.received; /* it is over while another wait runs */
    facts.now_ns += 20 * MS;
    CHECK(!rsti_fill_suppress_is_due(&suppress, &fill, rsti_fill_update(&fill, &facts), 10, 0.5));
    CHECK(!suppress.is_waiting);
}

/* Of a thousand with rising fill some are always a quarter ahead of what the group has heard. */
TEST(in_a_large_group_half_a_strength_is_news)
{
    static const struct {
        double group_size, heard;
        bool is_silent;
    } cases[] = {{10, 0.7, true}, {10, 0.4, false}, {1000, 0.4, true}, {1000, 0.25, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rsti_fill_t fill;
        rsti_fill_suppress_t suppress;
        rsti_fill_init(&fill, 0);
        rsti_fill_suppress_init(&suppress);
        rsti_fill_facts_t facts = {.buffer_bytes = 1000000};
        (void)rsti_fill_update(&fill, &facts);
        fill.gap_ns = 1e15;
        facts.now_ns = 3 * S;
        facts.received = 700000; /* strength 0.78 */
        CHECK(!rsti_fill_suppress_is_due(&suppress, &fill, rsti_fill_update(&fill, &facts),
            cases[i].group_size, 0.5));
        rsti_fill_suppress_on_heard(&suppress, &fill, cases[i].heard);
        CHECK_EQ(suppress.is_waiting, !cases[i].is_silent);
        facts.now_ns += MS;
        CHECK(!rsti_fill_suppress_is_due(&suppress, &fill, rsti_fill_update(&fill, &facts),
            cases[i].group_size, 0.5));
        CHECK_EQ(suppress.is_waiting, !cases[i].is_silent);
    }
}

/* A consumer that stops in a small group: the wait that began with a weak report ends with the
 * strong one. */
TEST(in_a_small_group_the_strongest_hardly_wait)
{
    static const struct {
        double group_size;
        int64_t least_ns, most_ns; /* the rest of the wait at the strongest report */
    } cases[] = {{2, 0, 1}, {4, 0, 1}, {8, 3 * MS, 4 * MS + MS / 2}, {16, 12 * MS, INT64_MAX}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rsti_fill_t fill;
        rsti_fill_suppress_t suppress;
        rsti_fill_init(&fill, 0);
        rsti_fill_suppress_init(&suppress);
        rsti_fill_facts_t facts = {.buffer_bytes = 1000000, .rtt_ns = 2 * MS};
        (void)rsti_fill_update(&fill, &facts);
        fill.gap_ns = 1e15;
        facts.now_ns = 3 * S;
        facts.received = 150000; /* f_lo 0.1: strength 0.06 */
        CHECK(!rsti_fill_suppress_is_due(&suppress, &fill, rsti_fill_update(&fill, &facts),
            cases[i].group_size, 0.999));
        const int64_t began_ns = facts.now_ns;
        CHECK(rsti_fill_suppress_due_ns(&suppress) > began_ns + 5 * MS);
        facts.now_ns += MS / 1000;
        facts.received = 1000000;
        const bool is_due = rsti_fill_update(&fill, &facts);
        CHECK_EQ((int64_t)(fill.strength * 1000), 1000);
        const bool is_sent = rsti_fill_suppress_is_due(&suppress, &fill, is_due,
            cases[i].group_size, 0.0);
        const int64_t left_ns = is_sent ? 0 : rsti_fill_suppress_due_ns(&suppress) - began_ns;
        CHECK(left_ns >= cases[i].least_ns);
        CHECK(left_ns <= cases[i].most_ns);
    }
}

TEST(a_deadline_is_there_while_there_is_something_to_say)
{
    rsti_fill_t fill;
    rsti_fill_init(&fill, 0);
    CHECK_EQ(rsti_fill_due_ns(&fill), INT64_MAX);
    rsti_fill_facts_t facts = {.buffer_bytes = 1000000};
    (void)rsti_fill_update(&fill, &facts);
    facts.received = 300000; /* below f_lo, and above half of it */
    facts.now_ns = 5 * MS;
    (void)rsti_fill_update(&fill, &facts);
    facts.now_ns = 100 * US + 2 * S;
    (void)rsti_fill_update(&fill, &facts);
    CHECK(fill.is_stalled);
    CHECK_EQ(rsti_fill_due_ns(&fill), facts.now_ns);
    rsti_fill_on_told(&fill, fill.strength);
    CHECK_EQ(rsti_fill_due_ns(&fill), facts.now_ns + fill.reaction.window_ns / 2);
}

TEST(wild_numbers_are_clamped)
{
    static const int64_t wild[] = {0, INT64_MAX, INT64_MIN, -1, 5, 1 << 20, INT64_MAX - 1};
    rsti_fill_t fill;
    rsti_fill_init(&fill, INT64_MAX);
    for (size_t i = 0; i < 7 * 7 * 7; i++) {
        (void)rsti_fill_update(&fill,
            &(rsti_fill_facts_t){wild[i % 7], wild[i / 7 % 7], wild[i / 49], wild[(i + 3) % 7],
                wild[(i + 5) % 7], wild[(i + 2) % 7]});
        CHECK(fill.strength >= 0 && fill.strength <= 1);
        CHECK(fill.fill >= 0 && fill.fill <= 2);
        CHECK(fill.drain >= 0 && fill.drain <= RSTI_RATE_MAX);
        rsti_fill_on_told(&fill, i % 2 == 0 ? NAN : -INFINITY);
        CHECK(rsti_fill_due_ns(&fill) >= fill.now_ns);
    }
}

CHECK_MAIN(RUN(no_report_without_overload), RUN(overload_is_foreseen),
    RUN(looks_at_one_instant_count_once), RUN(a_consumer_of_batches_keeps_up),
    RUN(a_consumer_of_batches_falls_behind), RUN(loss_is_no_overload),
    RUN(arrivals_behind_a_gap_count), RUN(drain_and_variation_are_those_of_busy_times),
    RUN(a_stall_is_full_strength_and_no_drain), RUN(a_consumer_that_takes_seldom_is_not_stalled),
    RUN(reports_come_after_half_a_window_or_a_rise), RUN(the_report_shows_the_image),
    RUN(demand_makes_the_buffer), RUN(waits_are_long_for_most_and_never_zero_in_a_group),
    RUN(a_group_speaks_with_few_voices), RUN(clearly_fuller_receiver_reports_anyway),
    RUN(in_a_large_group_half_a_strength_is_news), RUN(in_a_small_group_the_strongest_hardly_wait),
    RUN(a_deadline_is_there_while_there_is_something_to_say), RUN(wild_numbers_are_clamped))
