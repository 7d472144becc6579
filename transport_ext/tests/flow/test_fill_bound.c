/* test_fill_bound.c: an image whose window holds its sender: there nothing can overrun, so its
 * queue may be longer, and the window of a consumer that takes nothing may be filled. */
#include "tests/flow/fill_image.h"

/* A window of so many bytes, which is the buffer too. */
static image_t image_bound(int64_t window_bytes)
{
    image_t image;
    image_init(&image);
    image.window_bytes = window_bytes;
    return image;
}

TEST(the_set_point_is_up_to_three_quarters_of_the_window)
{
    static const struct {
        double drain;
        int64_t rtt_ns, window, buffer, expected;
    } rows[] = {
        {100e6, MS, BUFFER, BUFFER, 800000},
        {100e6, 20 * MS, BUFFER, BUFFER, 2000000}, /* RTT d, beyond a quarter */
        {100e6, 50 * MS, BUFFER, BUFFER, BUFFER / 4 * 3},
        {100e6, 50 * MS, 0, BUFFER, BUFFER / 4},
        {0, MS, BUFFER, BUFFER, BUFFER / 4 * 3}, /* not known */
        {0, MS, 0, BUFFER, BUFFER / 4},
        {1e12, MS, 1, 65536, 49152},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rsti_fill_t fill;
        rsti_fill_init(&fill, 0);
        (void)rsti_fill_update(&fill,
            &(rsti_fill_facts_t){
                .rtt_ns = rows[i].rtt_ns, .mtu = MTU, .window_bytes = rows[i].window});
        CHECK_EQ(rsti_fill_set_point(&fill, rows[i].drain, rows[i].buffer), rows[i].expected);
    }
}

/* Nothing is known of a consumer that has taken nothing. */
TEST(no_report_before_anything_was_taken)
{
    image_t image = image_bound(BUFFER);
    image.received = BUFFER;
    pass(&image, 5000, 0, 0);
    CHECK_EQ(image.report_count, 0);
    CHECK(image.fill.is_stalled);
    pass(&image, 20, 0, 20 * MB); /* now the drain is known */
    CHECK(image.report_count > 0);

    image_t free = image_bound(0); /* of a group */
    free.received = BUFFER;
    pass(&free, 50, 0, 0);
    CHECK(free.report_count > 10);
}

/* A sender that follows each report at once. Returns the milliseconds until the window is full;
 * -1: never within a second. */
static int64_t ms_to_fill(image_t *image)
{
    for (int64_t us = 0; us < 1000000; us += 100) {
        const double room = (double)image->window_bytes - (image->received - image->consumed);
        if (room < MTU) {
            return us / 1000;
        }
        (void)step(image, fmin(image->told, room * 10000), 0);
    }
    return -1;
}

/* A program that sends and then reads in one thread must not wait for itself. */
TEST(the_window_of_a_consumer_that_stops_can_be_filled)
{
    static const double drains[] = {1 * MB, 20 * MB, 100 * MB};
    for (size_t i = 0; i < sizeof drains / sizeof drains[0]; i++) {
        image_t image = image_bound(BUFFER);
        image.received = 0.012 * drains[i]; /* more than half of the set point */
        pass(&image, 1000, drains[i], drains[i]);
        CHECK(image.fill.is_reporting);
        image.told = image.fill.allowed;
        for (int ms = 0; ms < 240; ms++) { /* it may be a pause: nothing yet */
            pass(&image, 1, fmin(image.told, 1e9), 0);
        }
        CHECK(image.fill.is_stalled);
        CHECK(image.received - image.consumed < BUFFER / 4 * 3 + MTU);
        for (int ms = 0; ms < 30 && image.fill.allowed < BUFFER; ms++) {
            pass(&image, 1, fmin(image.told, 1e9), 0);
        }
        const double least = BUFFER / 0.25;
        CHECK(image.fill.allowed >= least && image.fill.allowed <= 1.01 * least);
        const int64_t took_ms = ms_to_fill(&image);
        fprintf(stderr, "%.0f MB/s: filled in %" PRId64 " ms\n", drains[i] / MB, took_ms);
        CHECK(took_ms > 150 && took_ms <= 300);
        CHECK(image.fill.is_stalled);
    }
}

/* In a group or under fc=max what comes after a stop would overrun. */
TEST(a_stop_stops_a_sender_that_no_window_holds)
{
    image_t image = image_bound(0);
    pass(&image, 1000, 20 * MB, 20 * MB);
    pass(&image, 20, 20 * MB, 0);
    CHECK(image.fill.is_stalled);
    CHECK(!(image.told > 0));
}

/* Until the stop is one: the window is not for consumers that are merely slow. */
TEST(a_slow_consumer_gets_no_more_than_it_takes)
{
    image_t image = image_bound(BUFFER);
    image.received = 2e6;
    for (int64_t ms = 0; ms < 2000; ms++) {
        pass(&image, 1, ms > 0 ? image.told : 0, 2 * MB);
        CHECK(!image.fill.is_stalled);
    }
    CHECK(is_near(image.told, 2 * MB, 0.05));
    CHECK(is_near((double)image.fill.standing, 16000, 0.1)); /* 0.8 L d */
}

CHECK_MAIN(RUN(the_set_point_is_up_to_three_quarters_of_the_window),
    RUN(no_report_before_anything_was_taken),
    RUN(the_window_of_a_consumer_that_stops_can_be_filled),
    RUN(a_stop_stops_a_sender_that_no_window_holds),
    RUN(a_slow_consumer_gets_no_more_than_it_takes))
