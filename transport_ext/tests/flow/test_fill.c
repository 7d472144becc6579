/* test_fill.c: a receiver's view of its image, pass by pass in virtual time: when it reports, which
 * rate it asks for, and when it says that it is clear. The random sequences are those of
 * tests/unit/test_flow_models.py. */
#include "tests/flow/fill_image.h"

TEST(no_report_without_overload)
{
    image_t image;
    image_init(&image);
    pass(&image, 5000, 90 * MB, 100 * MB);
    CHECK(is_near(image.fill.drain, 90 * MB, 0.02)); /* at least that much */
    for (int i = 0; i < 50; i++) { /* short pauses: their queue is below half of the set point */
        pass(&image, 3, 90 * MB, 0);
        pass(&image, 97, 90 * MB, 150 * MB);
    }
    pass(&image, 3000, 0, 100 * MB);
    CHECK_EQ(image.report_count, 0);
    CHECK_EQ(image.clear_count, 0);
}

/* The whole life of an overload: reports begin when the queue crosses half of the set point, one
 * comes in each period, also while the queue keeps its length, and they end with one "clear" below
 * a quarter. */
TEST(one_report_per_period_from_half_the_set_point_to_a_quarter)
{
    image_t image;
    image_known(&image);
    while (step(&image, 140 * MB, 100 * MB) == RSTI_FILL_QUIET) {
        CHECK(image.fill.standing <= image.fill.set_point / 2);
        CHECK(image.now_ns < 2 * S);
    }
    CHECK(image.fill.standing > image.fill.set_point / 2);
    CHECK_EQ(image.fill.set_point, 800000);
    pass(&image, 400, 100 * MB, 100 * MB); /* equilibrium */
    CHECK(image.report_count >= 100 && image.report_count <= 101);
    while (image.fill.standing >= image.fill.set_point / 4 + 10000) {
        (void)step(&image, 90 * MB, 100 * MB);
    }
    CHECK_EQ(image.clear_count, 0);
    pass(&image, 100, 100 * MB, 100 * MB); /* between a quarter and a half */
    CHECK_EQ(image.gap_least_ns, P);
    CHECK_EQ(image.gap_most_ns, P);
    CHECK_EQ(image.clear_count, 0);
    forget_counts(&image);
    pass(&image, 100, 80 * MB, 100 * MB);
    CHECK_EQ(image.clear_count, 1);
    CHECK(image.report_count <= 1);
    pass(&image, 1000, 99 * MB, 100 * MB);
    CHECK_EQ(image.clear_count, 1);
    CHECK(image.report_count <= 1);
}

TEST(a_period_is_a_round_trip_where_that_is_longer)
{
    static const int64_t round_trips_ns[] = {0, MS, 4 * MS, 9 * MS, 40 * MS};
    for (size_t i = 0; i < sizeof round_trips_ns / sizeof round_trips_ns[0]; i++) {
        image_t image;
        image_init(&image);
        image.rtt_ns = round_trips_ns[i];
        pass(&image, 50, 100 * MB, 10 * MB);
        pass(&image, 400, 10 * MB, 10 * MB);
        const int64_t period_ns = rsti_max_i64(round_trips_ns[i], P);
        CHECK(image.report_count >= 400 * MS / period_ns);
        CHECK_EQ(image.gap_least_ns, period_ns);
        CHECK_EQ(image.gap_most_ns, period_ns);
    }
}

/* The sender has forgotten an older report, and then other receivers are in overload. */
TEST(clear_only_after_an_own_report_that_is_fresh)
{
    static const struct {
        bool is_sent; /* else it only heard another receiver */
        int64_t age_ns;
        rsti_fill_due_t due;
    } rows[] = {{true, 10 * MS, RSTI_FILL_CLEAR}, {true, F, RSTI_FILL_CLEAR},
        {true, F + 1, RSTI_FILL_QUIET}, {true, 10 * S, RSTI_FILL_QUIET},
        {false, 10 * MS, RSTI_FILL_QUIET}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rsti_fill_t fill;
        rsti_fill_init(&fill, 0);
        rsti_fill_facts_t facts = {.buffer_bytes = BUFFER, .received = 1, .mtu = MTU};
        (void)rsti_fill_update(&fill, &facts);
        facts.now_ns = MS;
        facts.received = BUFFER / 2;
        CHECK_EQ(rsti_fill_update(&fill, &facts), RSTI_FILL_REPORT);
        (rows[i].is_sent ? rsti_fill_on_sent : rsti_fill_on_heard)(&fill);
        facts.now_ns = MS + rows[i].age_ns;
        facts.consumed = facts.received;
        CHECK_EQ(rsti_fill_update(&fill, &facts), rows[i].due);
        facts.now_ns += 1;
        CHECK_EQ(rsti_fill_update(&fill, &facts), RSTI_FILL_QUIET);
        CHECK(!fill.is_reporting);
    }
    CHECK_EQ(rsti_fill_fresh_ns(0), F);
    CHECK_EQ(rsti_fill_fresh_ns(10 * MS), F);
    CHECK_EQ(rsti_fill_fresh_ns(50 * MS), 300 * MS);
}

/* W = L d is 1 MB. */
TEST(no_report_while_the_window_keeps_the_delay)
{
    static const struct {
        int64_t window_bytes;
        bool is_quiet;
    } rows[] = {{0, false}, {65536, true}, {999000, true}, {1100000, false}, {BUFFER, false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        image_t image;
        image_known(&image);
        image.window_bytes = rows[i].window_bytes;
        pass(&image, 10, 160 * MB, 100 * MB);
        pass(&image, 100, 100 * MB, 100 * MB);
        CHECK(image.fill.standing > image.fill.set_point / 2);
        CHECK_EQ(image.report_count == 0, rows[i].is_quiet);
        const bool was_reporting = image.fill.is_reporting;
        image.window_bytes = 65536; /* one that becomes short ends an overload */
        CHECK_EQ(step(&image, 100 * MB, 100 * MB),
            was_reporting ? RSTI_FILL_CLEAR : RSTI_FILL_QUIET);
        CHECK(!image.fill.is_reporting);
    }
}

/* A sender that follows at once: the queue comes to the set point, and the rate to the drain. */
TEST(allowed_leads_the_queue_to_its_set_point)
{
    static const double queues[] = {500e3, 1500e3, 3000e3};
    for (size_t i = 0; i < sizeof queues / sizeof queues[0]; i++) {
        image_t image;
        image_known(&image);
        image.received += queues[i];
        (void)look(&image);
        pass(&image, 1, 100 * MB, 100 * MB);
        for (int64_t us = 0; us < 100000; us += 100) {
            (void)step(&image, image.fill.allowed, 100 * MB);
        }
        CHECK(is_near((double)image.fill.standing, (double)image.fill.set_point, 0.05));
        CHECK(is_near(image.fill.allowed, 100 * MB, 0.05));
        CHECK(image.fill.is_reporting);
    }
}

/* A consumer of 20 MB/s keeps 120 KB of the 160 of its set point, and then stops. */
TEST(a_stop_takes_all_of_the_rate_within_its_time)
{
    static const struct {
        int64_t every_ms; /* it takes so rarely; 0: in each pass */
        int64_t stall_ms; /* S */
    } rows[] = {{0, 10}, {2, 10}, {5, 20}, {20, 80}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        image_t image;
        image_init(&image);
        image.received = 120e3;
        for (int64_t ms = 1; ms <= 2000; ms++) {
            pass(&image, 1, 20 * MB, rows[i].every_ms == 0 ? 20 * MB : 0);
            if (rows[i].every_ms > 0 && ms % rows[i].every_ms == 0) {
                image.consumed = image.received - 120e3;
            }
        }
        (void)look(&image);
        CHECK(image.fill.is_reporting && image.fill.allowed > 15 * MB);
        double before = INFINITY;
        for (int64_t us = 0; us < rows[i].stall_ms * 1000 + 500; us += 100) {
            (void)step(&image, 20 * MB, 0);
            CHECK(image.fill.allowed <= before);
            before = image.fill.allowed;
        }
        CHECK(!(image.fill.allowed > 0));
        CHECK(image.fill.is_stalled);
        forget_counts(&image);
        pass(&image, 100, 0, 0);
        CHECK(image.fill.is_stalled && !(image.fill.allowed > 0));
        CHECK(image.report_count >= 25 && image.report_count <= 26);
        pass(&image, 1, 0, 50 * MB);
        CHECK(!image.fill.is_stalled);
    }
}

/* Also while nothing arrives: the drain counts less and less, from its usual gap to S. */
TEST(a_consumer_that_takes_nothing_is_asked_for_less_and_less)
{
    image_t image;
    image_init(&image);
    image.received = 120e3;
    pass(&image, 1000, 20 * MB, 20 * MB);
    const double correction = (double)(image.fill.set_point - image.fill.standing) / 8e-3;
    CHECK(is_near(image.fill.allowed, 20 * MB + correction, 0.01));
    pass(&image, 5, 0, 0);
    CHECK(is_near(image.fill.allowed, 10 * MB + correction, 0.02));
    pass(&image, 5, 0, 0);
    CHECK(is_near(image.fill.allowed, correction, 0.02));
}

/* It takes each 5 ms, so it stalls after 20: within its usual gap nothing is missing. */
TEST(a_consumer_that_takes_rarely_is_given_its_time)
{
    static const struct {
        int64_t waited_ms;
        double share; /* of the drain */
    } rows[] = {{2, 1}, {5, 1}, {8, 0.8}, {12, 0.533}, {17, 0.2}, {20, 0}, {40, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        image_t image;
        image_init(&image);
        image.received = 120e3;
        for (int64_t takings = 0; takings < 400; takings++) {
            pass(&image, 5, 20 * MB, 0);
            image.consumed = image.received - 120e3;
        }
        (void)look(&image);
        pass(&image, rows[i].waited_ms, 0, 0);
        const double correction = (double)(image.fill.set_point - image.fill.standing) / 8e-3;
        const double expected = rows[i].share * image.fill.drain + correction;
        if (fabs(image.fill.allowed - expected) > MB / 2) {
            CHECK_FAIL("after %" PRId64 " ms: %.1f MB/s, expected %.1f", rows[i].waited_ms,
                image.fill.allowed / MB, expected / MB);
        }
    }
}

TEST(a_stall_is_told_at_once)
{
    rsti_fill_t fill;
    rsti_fill_init(&fill, 0);
    rsti_fill_facts_t facts = {.buffer_bytes = BUFFER, .received = BUFFER / 2, .mtu = MTU};
    CHECK_EQ(rsti_fill_update(&fill, &facts), RSTI_FILL_REPORT);
    rsti_fill_on_sent(&fill);
    facts.now_ns = 10 * MS - US; /* S is 10 ms */
    CHECK_EQ(rsti_fill_update(&fill, &facts), RSTI_FILL_REPORT);
    rsti_fill_on_sent(&fill);
    facts.now_ns = 10 * MS;
    CHECK_EQ(rsti_fill_update(&fill, &facts), RSTI_FILL_QUIET);
    facts.now_ns = 10 * MS + 1;
    CHECK_EQ(rsti_fill_update(&fill, &facts), RSTI_FILL_REPORT);
    CHECK(fill.is_stalled);
    rsti_fill_on_sent(&fill);
    facts.now_ns += US; /* once */
    CHECK_EQ(rsti_fill_update(&fill, &facts), RSTI_FILL_QUIET);
    facts.now_ns += P;
    CHECK_EQ(rsti_fill_update(&fill, &facts), RSTI_FILL_REPORT);
}

TEST(each_stall_of_a_period_is_told_at_once)
{
    rsti_fill_t fill;
    rsti_fill_init(&fill, 0);
    rsti_fill_facts_t facts = {
        .buffer_bytes = BUFFER, .received = BUFFER / 2, .mtu = MTU, .rtt_ns = 100 * MS};
    CHECK_EQ(rsti_fill_update(&fill, &facts), RSTI_FILL_REPORT);
    rsti_fill_on_sent(&fill);
    facts.now_ns = 10 * MS + 1;
    CHECK_EQ(rsti_fill_update(&fill, &facts), RSTI_FILL_REPORT);
    rsti_fill_on_sent(&fill);
    facts.now_ns = 11 * MS; /* it goes on, and stands again */
    facts.consumed = 32;
    CHECK_EQ(rsti_fill_update(&fill, &facts), RSTI_FILL_QUIET);
    facts.now_ns = 21 * MS + 1;
    CHECK_EQ(rsti_fill_update(&fill, &facts), RSTI_FILL_REPORT);
}

TEST(a_pause_is_in_no_drain)
{
    image_t image;
    image_init(&image);
    pass(&image, 500, 60 * MB, 50 * MB);
    const double drain = image.fill.drain;
    pass(&image, 200, 0, 0);
    pass(&image, 1, 0, 50 * MB);
    CHECK(is_near(image.fill.drain, drain, 0.01));
    pass(&image, 50, 0, 50 * MB);
    CHECK(is_near(image.fill.drain, drain, 0.02));
}

/* A batch at a time, as Python programs read: the queue oscillates, and there is no overload. */
TEST(bursts_of_taking_are_no_overload)
{
    static const int64_t every_ms[] = {2, 5, 16, 40};
    for (size_t i = 0; i < sizeof every_ms / sizeof every_ms[0]; i++) {
        image_t image;
        image_init(&image);
        for (int64_t batch = 0; batch < 100; batch++) {
            pass(&image, every_ms[i], 16 * MB, 0);
            image.consumed = image.received - 20000;
            if (batch == 10) {
                forget_counts(&image); /* its pattern is known by now */
            }
        }
        CHECK_EQ(image.report_count, 0);
        CHECK_EQ(image.clear_count, 0);
        CHECK(!image.fill.is_reporting);
        /* Now the batch is missing: late after two batches. */
        pass(&image, 3 * every_ms[i] + 10, 16 * MB, 0);
        CHECK(image.report_count > 0);
    }
}

/* The same, with a larger rest each time. */
TEST(a_consumer_of_batches_falls_behind)
{
    image_t image;
    image_init(&image);
    for (int i = 0; i < 60; i++) {
        pass(&image, 16, 24 * MB, 0);
        image.consumed += 16 * 16000;
    }
    CHECK(image.report_count > 100);
    CHECK(is_near(image.fill.drain, 16 * MB, 0.1));
    CHECK(image.fill.allowed < 16 * MB);
}

/* 100 MB/s into a consumer that reads all it can. Each 100 ms a datagram is missing for 6 ms, then
 * all data behind it are readable at once. To count the data behind a gap would be a false
 * overload. */
TEST(data_behind_a_gap_is_not_in_the_queue)
{
    image_t image, naive;
    image_known(&image);
    image_known(&naive);
    for (int64_t us = 0; us < 2000000; us += 100) {
        const bool has_gap = us % 100000 >= 94000;
        image.now_ns += STEP_NS;
        naive.now_ns = image.now_ns;
        naive.received += 10000;
        image.received = has_gap ? image.received : naive.received;
        image.consumed += fmin(image.received - image.consumed, 300000);
        naive.consumed = image.consumed;
        (void)look(&image);
        (void)look(&naive);
    }
    CHECK_EQ(image.report_count, 0);
    CHECK(naive.report_count > 10);
}

TEST(drain_is_that_of_busy_times)
{
    image_t image;
    image_init(&image);
    pass(&image, 300, 100 * MB, 50 * MB);
    CHECK(is_near(image.fill.drain, 50 * MB, 0.02));
    for (int i = 0; i < 100; i++) { /* 40 or 60 MB/s, 10 ms each */
        pass(&image, 10, 50 * MB, i % 2 == 0 ? 40 * MB : 60 * MB);
    }
    CHECK(is_near(image.fill.drain, 50 * MB, 0.15));
    pass(&image, 500, 0, 60 * MB);
    const double drain = image.fill.drain;
    pass(&image, 1000, 1 * MB, 60 * MB); /* quiet: the arrival rate is no capacity */
    CHECK(image.fill.drain >= 0.99 * drain);
    CHECK(is_near(image.fill.taking, 1 * MB, 0.1)); /* but that is what it takes */
    pass(&image, 1000, 80 * MB, 100 * MB); /* a higher rate: the capacity is at least so much */
    CHECK(is_near(image.fill.drain, 80 * MB, 0.02));
}

TEST(a_consumer_that_takes_seldom_is_not_stalled)
{
    image_t image;
    image_init(&image);
    for (int i = 0; i < 100; i++) { /* 400 KB every 20 ms */
        pass(&image, 20, 20 * MB, 0);
        image.consumed = image.received - 100000;
        (void)look(&image);
    }
    CHECK(is_near(image.fill.drain, 20 * MB, 0.02));
    pass(&image, 30, 20 * MB, 0); /* 20 ms are usual */
    CHECK(!image.fill.is_stalled);
    pass(&image, 60, 20 * MB, 0);
    CHECK(image.fill.is_stalled);
}

TEST(the_set_point_is_within_its_limits)
{
    static const struct {
        double drain;
        int64_t target_ns, rtt_ns, largest, buffer, expected;
    } rows[] = {
        {100e6, 10 * MS, MS, 0, BUFFER, 800000}, /* 0.8 L d */
        {100e6, 5 * MS, MS, 0, BUFFER, 400000},
        {100e6, 10 * MS, 10 * MS, 0, BUFFER, 1000000}, /* RTT d */
        {1e6, 10 * MS, 100 * MS, 0, BUFFER, 100000},
        {100e6, 10 * MS, 20 * MS, 0, BUFFER, BUFFER / 4},
        {100e3, 10 * MS, MS, 0, BUFFER, 2 * MTU},
        {1e6, 10 * MS, MS, 300000, BUFFER, 300000}, /* one message */
        {1e6, 10 * MS, MS, 3000000, BUFFER, BUFFER / 4},
        {100e6, 10 * MS, MS, 0, 65536, 65536 / 4},
        {0, 10 * MS, MS, 0, BUFFER, BUFFER / 4}, /* not known */
        {1e12, 10 * S, 10 * S, 0, RSTI_BUFFER_MAX, RSTI_BUFFER_MAX / 4},
        {100e6, 10 * MS, MS, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rsti_fill_t fill;
        rsti_fill_init(&fill, rows[i].target_ns);
        const rsti_fill_facts_t facts = {
            .rtt_ns = rows[i].rtt_ns, .largest = rows[i].largest, .mtu = MTU};
        (void)rsti_fill_update(&fill, &facts);
        CHECK_EQ(rsti_fill_set_point(&fill, rows[i].drain, rows[i].buffer), rows[i].expected);
    }
}

TEST(the_report_shows_the_image)
{
    image_t image;
    image_known(&image);
    image.received += 1200e3;
    pass(&image, 1, 100 * MB, 100 * MB);
    rsti_fill_report_t report;
    rsti_fill_report(&image.fill, image.fill.drain, false, &report);
    CHECK(is_near(report.fill, (image.received - image.consumed) / BUFFER, 0.001));
    CHECK(is_near(report.drain, 100 * MB, 0.02));
    CHECK(is_near(report.allowed, 100 * MB - 400e3 / 8e-3, 0.02)); /* 50 MB/s */
    CHECK_EQ(report.buffer_bytes, BUFFER);
    CHECK_EQ(report.rtt_ns, MS);
    CHECK_EQ(report.is_clear, false);
    CHECK_EQ(report.receiver_id, 0);
    /* The share of one of two senders: another drain, and another set point (400 KB). */
    rsti_fill_report(&image.fill, image.fill.drain / 2, false, &report);
    CHECK(is_near(report.drain, 50 * MB, 0.02));
    CHECK(!(report.allowed > 0)); /* 50 MB/s - 800 KB / 8 ms */
}

/* An obstacle that has gone shows in the newest sample first. */
TEST(clear_tells_the_newest_sample_where_it_is_higher)
{
    image_t image;
    image_init(&image);
    pass(&image, 500, 22 * MB, 20 * MB); /* a queue of a megabyte */
    rsti_fill_report_t report;
    rsti_fill_report(&image.fill, image.fill.drain, true, &report);
    CHECK_EQ(report.is_clear, true);
    CHECK(is_near(report.drain, 20 * MB, 0.02));
    pass(&image, 6, 0, 100 * MB);
    CHECK(is_near(image.fill.drain, 30 * MB, 0.05)); /* an eighth of the way */
    rsti_fill_report(&image.fill, image.fill.drain, false, &report);
    CHECK(is_near(report.drain, image.fill.drain, 0.001));
    rsti_fill_report(&image.fill, image.fill.drain, true, &report);
    CHECK(is_near(report.drain, 100 * MB, 0.02));
    pass(&image, 12, 0, 5 * MB); /* a slow sample: the drain is told */
    CHECK(image.fill.latest < 20 * MB);
    rsti_fill_report(&image.fill, image.fill.drain, true, &report);
    CHECK(is_near(report.drain, image.fill.drain, 0.001));
}

/* Nothing arrives and nothing is taken: the next report is due at a time that it names. */
TEST(a_deadline_is_there_while_there_is_something_to_say)
{
    rsti_fill_t fill;
    rsti_fill_init(&fill, 0);
    CHECK_EQ(rsti_fill_due_ns(&fill), INT64_MAX);
    rsti_fill_facts_t facts = {.buffer_bytes = 1000000, .mtu = MTU};
    (void)rsti_fill_update(&fill, &facts);
    CHECK_EQ(rsti_fill_due_ns(&fill), INT64_MAX);
    facts.received = 100000; /* below half of the set point: it may stall */
    facts.now_ns = 5 * MS;
    CHECK_EQ(rsti_fill_update(&fill, &facts), RSTI_FILL_QUIET);
    CHECK_EQ(rsti_fill_due_ns(&fill), facts.now_ns + 10 * MS + 1);
    facts.received = 300000;
    CHECK_EQ(rsti_fill_update(&fill, &facts), RSTI_FILL_REPORT);
    CHECK_EQ(rsti_fill_due_ns(&fill), facts.now_ns); /* it was not sent yet */
    rsti_fill_on_sent(&fill);
    CHECK_EQ(rsti_fill_due_ns(&fill), facts.now_ns + P);
    for (int i = 0; i < 5; i++) {
        facts.now_ns = rsti_fill_due_ns(&fill);
        CHECK_EQ(rsti_fill_update(&fill, &facts), RSTI_FILL_REPORT);
        rsti_fill_on_sent(&fill);
    }
}

TEST(time_and_positions_do_not_go_back)
{
    image_t image;
    image_known(&image);
    image.received += 1e6;
    (void)look(&image);
    const rsti_fill_t before = image.fill;
    rsti_fill_facts_t facts = facts_of(&image);
    facts.now_ns -= S;
    facts.received -= 500000;
    facts.consumed -= 500000;
    (void)rsti_fill_update(&image.fill, &facts);
    CHECK_EQ(image.fill.now_ns, before.now_ns);
    CHECK_EQ(image.fill.received, before.received);
    CHECK_EQ(image.fill.consumed, before.consumed);
    CHECK_EQ(image.fill.standing, before.standing);
}

TEST(wild_numbers_are_clamped)
{
    static const int64_t wild[] = {0, INT64_MAX, INT64_MIN, -1, 5, 1 << 20, INT64_MAX - 1};
    rsti_fill_t fill;
    rsti_fill_init(&fill, INT64_MAX);
    for (size_t i = 0; i < 7 * 7 * 7; i++) {
        const rsti_fill_facts_t facts = {
            .now_ns = wild[i % 7],
            .received = wild[i / 7 % 7],
            .consumed = wild[i / 49],
            .buffer_bytes = wild[(i + 3) % 7],
            .rtt_ns = wild[(i + 5) % 7],
            .mtu = (int32_t)wild[(i + 1) % 7],
            .largest = wild[(i + 4) % 7],
            .window_bytes = wild[(i + 2) % 7],
        };
        (void)rsti_fill_update(&fill, &facts);
        CHECK(fill.allowed >= 0 && fill.allowed <= RSTI_RATE_MAX);
        CHECK(fill.fill >= 0 && fill.fill <= 2);
        CHECK(fill.drain >= 0 && fill.drain <= RSTI_RATE_MAX);
        CHECK(fill.set_point >= 0 && fill.set_point <= fill.buffer_bytes / 4 * 3);
        CHECK(fill.standing >= 0);
        (i % 2 == 0 ? rsti_fill_on_sent : rsti_fill_on_heard)(&fill);
        CHECK(rsti_fill_due_ns(&fill) >= fill.now_ns);
    }
}

CHECK_MAIN(RUN(no_report_without_overload),
    RUN(one_report_per_period_from_half_the_set_point_to_a_quarter),
    RUN(a_period_is_a_round_trip_where_that_is_longer),
    RUN(clear_only_after_an_own_report_that_is_fresh),
    RUN(no_report_while_the_window_keeps_the_delay), RUN(allowed_leads_the_queue_to_its_set_point),
    RUN(a_stop_takes_all_of_the_rate_within_its_time),
    RUN(a_consumer_that_takes_nothing_is_asked_for_less_and_less),
    RUN(a_consumer_that_takes_rarely_is_given_its_time), RUN(a_stall_is_told_at_once),
    RUN(each_stall_of_a_period_is_told_at_once), RUN(a_pause_is_in_no_drain),
    RUN(bursts_of_taking_are_no_overload), RUN(a_consumer_of_batches_falls_behind),
    RUN(data_behind_a_gap_is_not_in_the_queue), RUN(drain_is_that_of_busy_times),
    RUN(a_consumer_that_takes_seldom_is_not_stalled), RUN(the_set_point_is_within_its_limits),
    RUN(the_report_shows_the_image), RUN(clear_tells_the_newest_sample_where_it_is_higher),
    RUN(a_deadline_is_there_while_there_is_something_to_say),
    RUN(time_and_positions_do_not_go_back), RUN(wild_numbers_are_clamped))
