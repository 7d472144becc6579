/* test_fill_repair.c: data that a repair makes readable all at once is no overload, unless it
 * stands. */
#include "tests/flow/fill_image.h"

#define FREED 600000 /* more than half of the set point, 400000 */

/* A consumer of 100 MB/s with an empty queue; so much has come behind a gap. */
static image_t image_with_gap(double behind)
{
    image_t image;
    image_known(&image);
    image.behind = behind;
    (void)step(&image, 0, 0);
    return image;
}

/* The missing datagram comes. */
static rsti_fill_due_t repair(image_t *image)
{
    image->now_ns += STEP_NS;
    image->received += image->behind;
    image->behind = 0;
    return look(image);
}

TEST(what_is_taken_soon_after_a_repair_is_no_overload)
{
    image_t image = image_with_gap(FREED);
    CHECK_EQ(repair(&image), RSTI_FILL_QUIET);
    pass(&image, 1, 0, 0);
    CHECK(image.fill.standing > image.fill.set_point / 2);
    pass(&image, 1, 0, 300 * MB); /* below half of the set point before 2 ms have passed */
    pass(&image, 50, 100 * MB, 100 * MB);
    CHECK_EQ(image.report_count, 0);
}

TEST(what_stands_for_two_milliseconds_is)
{
    image_t image = image_with_gap(FREED);
    CHECK_EQ(repair(&image), RSTI_FILL_QUIET);
    const int64_t freed_ns = image.now_ns;
    CHECK_EQ(rsti_fill_due_ns(&image.fill), freed_ns + 2 * MS);
    image.now_ns = freed_ns + 2 * MS - 1;
    CHECK_EQ(look(&image), RSTI_FILL_QUIET);
    image.now_ns = freed_ns + 2 * MS;
    CHECK_EQ(look(&image), RSTI_FILL_REPORT);
}

/* The time begins anew when the queue was short in between. */
TEST(each_repair_has_its_own_time)
{
    image_t image = image_with_gap(FREED);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(repair(&image), RSTI_FILL_QUIET);
        pass(&image, 1, 0, 0);
        image.now_ns += STEP_NS;
        image.consumed = image.received; /* in time */
        image.behind = FREED;
        CHECK_EQ(look(&image), RSTI_FILL_QUIET);
    }
    CHECK_EQ(image.report_count, 0);
    CHECK_EQ(image.clear_count, 0);
}

/* Without a gap, or long after one, the queue counts at once. */
TEST(a_queue_without_a_repair_is_told_at_once)
{
    image_t image;
    image_known(&image);
    image.now_ns += STEP_NS;
    image.received += FREED;
    CHECK_EQ(look(&image), RSTI_FILL_REPORT);

    image = image_with_gap(1000);
    CHECK_EQ(repair(&image), RSTI_FILL_QUIET);
    image.now_ns += 4 * MS - 1;
    image.received += FREED;
    CHECK_EQ(look(&image), RSTI_FILL_QUIET); /* it may be a part of the repair */

    image = image_with_gap(1000);
    CHECK_EQ(repair(&image), RSTI_FILL_QUIET);
    image.now_ns += 4 * MS;
    image.received += FREED;
    CHECK_EQ(look(&image), RSTI_FILL_REPORT);
}

/* Nothing is taken although there is data: that is no loss. */
TEST(a_stall_waits_for_no_repair)
{
    image_t image = image_with_gap(1000);
    image.received += 300000; /* below half of the set point */
    pass(&image, 11, 0, 0);
    CHECK_EQ(image.report_count, 0);
    image.behind = FREED;
    (void)look(&image);
    CHECK_EQ(repair(&image), RSTI_FILL_REPORT);
}

/* Loss each 40 ms, repaired after 8: a consumer that reads all it can is in no overload. Without
 * the time that a repair is given it would report after each. */
TEST(a_lossy_path_is_no_overload)
{
    image_t image, naive;
    image_known(&image);
    image_known(&naive);
    for (int64_t us = 0; us < 2000000; us += 100) {
        const bool has_gap = us % 40000 >= 32000;
        image.now_ns += STEP_NS;
        naive.now_ns = image.now_ns;
        image.behind += 10000;
        if (!has_gap) {
            image.received += image.behind;
            image.behind = 0;
        }
        naive.received = image.received;
        (void)look(&image); /* the conductor sees the repair before the consumer */
        (void)look(&naive);
        image.consumed += fmin(image.received - image.consumed, 50000);
        naive.consumed = image.consumed;
        (void)look(&image);
        (void)look(&naive);
    }
    fprintf(stderr, "%" PRId64 " reports, %" PRId64 " without the time\n", image.report_count,
        naive.report_count);
    CHECK_EQ(image.report_count, 0);
    CHECK(naive.report_count > 20);
}

CHECK_MAIN(RUN(what_is_taken_soon_after_a_repair_is_no_overload),
    RUN(what_stands_for_two_milliseconds_is), RUN(each_repair_has_its_own_time),
    RUN(a_queue_without_a_repair_is_told_at_once), RUN(a_stall_waits_for_no_repair),
    RUN(a_lossy_path_is_no_overload))
