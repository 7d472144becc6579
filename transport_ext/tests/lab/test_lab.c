/* test_lab.c: the engine against queues computed by hand, and the invariants of every run: one seed
 * gives one run, every loss is repaired, no queue exceeds its buffer. */
#include "lab/lab.h"
#include "tests/lab/world.h"
#include "util/clock.h"

#define MS 1e6
#define BUFFER 4194304.0

static void add_run(world_t *world, double seconds, double seed)
{
    ADD(world, run, RSTI_LAB_RUN, .step_ns = 1e5, .duration_ns = seconds * 1e9, .sample_ns = 1e6,
        .seed = seed, .traced_images = 1);
}

/* law 2: fixed at initial; 4: unlimited. fc 1: min, that is credit. */
static void add_sender(world_t *world, double law, double fc, double rate, double loss)
{
    ADD(world, sender, RSTI_LAB_SENDER, .law = law, .fc = fc, .rtt_ns = 1e6, .link_rate = 1000 * MB,
        .mtu = 1408, .timeout_ns = 5e9, .loss = loss, .history_bytes = 1e9,
        .ends_ns = RSTI_LAB_NEVER, .initial = rate, .floor_share = 0.05, .target_delay_ns = 1e7,
        .detect_ns = 2e5, .window_ns = 5e7, .step_share = 0.01, .cut50 = 0.1, .cut75 = 0.25,
        .cut87 = 0.5, .cut100 = 0.75, .increase = 1e6, .decrease = 0.5);
}

static void add_receiver(world_t *world, double number, double capacity, double noise,
    double reports)
{
    ADD(world, consumer, RSTI_LAB_CONSUMER, .noise = noise, .noise_ns = 1e7, .forward_to = -1,
        .dies_ns = RSTI_LAB_NEVER, .hangs_ns = RSTI_LAB_NEVER, .evict_ns = RSTI_LAB_NEVER);
    ADD(world, level, RSTI_LAB_LEVEL, .consumer = number, .bytes_per_s = capacity);
    ADD(world, image, RSTI_LAB_IMAGE, .consumer = number, .buffer_bytes = BUFFER,
        .reports = reports, .cubic_rtt_ns = 1e5, .target_delay_ns = 1e7);
}

static double at(const rsti_lab_t *lab, double time_s, int64_t column)
{
    const int64_t row = (int64_t)(time_s * 1000 + 0.5);
    return lab->samples.values[row * lab->samples.row_width + column];
}

enum {
    SENT = RSTI_LAB_TIME_WIDTH + 1,
    OVERRUN = RSTI_LAB_TIME_WIDTH + 10,
    QUEUE = RSTI_LAB_TIME_WIDTH + 14,
    CONSUMED,
    CAPACITY
};

static bool is_near(double value, double expected, double within)
{
    return value >= expected - within && value <= expected + within;
}

/* 50 MB/s into a capacity of 100: nothing waits; all but the bytes in flight is consumed. */
TEST(a_constant_rate_below_the_capacity_has_no_queue)
{
    world_t world = {0};
    add_run(&world, 2, 1);
    add_sender(&world, 2, 0, 50 * MB, 0);
    add_receiver(&world, 0, 100 * MB, 0, 0);
    rsti_lab_t lab;
    CHECK_EQ(rsti_lab_init(&lab, world.values, world.count), 0);
    rsti_lab_run(&lab);
    CHECK_EQ((int64_t)at(&lab, 1.9, QUEUE), 0);
    /* From the first status message after half a millisecond on, and the first burst of 2 ms. */
    CHECK(is_near(at(&lab, 1.9, SENT), 50 * MB * 1.9, 110e3));
    CHECK(is_near(at(&lab, 1.9, SENT) - at(&lab, 1.9, CONSUMED), 50 * MB * 0.0005, 12e3));
    CHECK(is_near(at(&lab, 1.9, CAPACITY), 100 * MB * 1.9, 11e3));
    rsti_lab_fini(&lab);
}

/* A stop of 20 ms at 50 MB/s makes a queue of 1 MB, which 50 MB/s of spare capacity drain in 20. */
TEST(a_stop_makes_the_queue_of_its_length)
{
    world_t world = {0};
    add_run(&world, 2, 1);
    add_sender(&world, 2, 0, 50 * MB, 0);
    add_receiver(&world, 0, 100 * MB, 0, 0);
    ADD(&world, pause, RSTI_LAB_PAUSE, .at_ns = 1000 * MS, .length_ns = 20 * MS);
    rsti_lab_t lab;
    CHECK_EQ(rsti_lab_init(&lab, world.values, world.count), 0);
    rsti_lab_run(&lab);
    CHECK_EQ((int64_t)at(&lab, 0.999, QUEUE), 0);
    CHECK(is_near(at(&lab, 1.010, QUEUE), 0.5 * MB, 12e3));
    CHECK(is_near(at(&lab, 1.020, QUEUE), 1.0 * MB, 17e3));
    CHECK(is_near(at(&lab, 1.030, QUEUE), 0.5 * MB, 17e3));
    CHECK_EQ((int64_t)at(&lab, 1.042, QUEUE), 0);
    rsti_lab_fini(&lab);
}

/* 150 MB/s under fc=max, whose limit follows the fastest receiver. The other one, at 100, is full
 * after 78 ms (a first burst of 2 ms counts). Then the sender is beyond its buffer, and of the 150
 * everything that is not retransmitted is dropped. */
TEST(overruns_are_counted_and_requested)
{
    world_t world = {0};
    add_run(&world, 1, 1);
    add_sender(&world, 2, 0, 150 * MB, 0);
    add_receiver(&world, 0, 100 * MB, 0, 0);
    add_receiver(&world, 1, 400 * MB, 0, 0);
    rsti_lab_t lab;
    CHECK_EQ(rsti_lab_init(&lab, world.values, world.count), 0);
    rsti_lab_run(&lab);
    CHECK_EQ((int64_t)at(&lab, 0.070, OVERRUN), 0);
    CHECK(at(&lab, 0.120, OVERRUN) > 0.2 * MB);
    CHECK(at(&lab, 0.120, OVERRUN) < 150 * MB * 0.042 + 15e3);
    CHECK(lab.images[0].nak_count > 0);
    CHECK(lab.images[1].overrun_bytes == 0);
    CHECK(lab.senders[0].resent_bytes > 0);
    CHECK(at(&lab, 0.9, CONSUMED) > 0.7 * 100 * MB * 0.9);
    rsti_lab_fini(&lab);
}

/* Credit: never more than the buffer, no overrun, whatever the consumer does; the path is full. */
TEST(credit_keeps_within_the_buffer)
{
    world_t world = {0};
    add_run(&world, 2, 7);
    add_sender(&world, 4, 1, 0, 0);
    add_receiver(&world, 0, 100 * MB, 0.3, 0);
    ADD(&world, pause, RSTI_LAB_PAUSE, .at_ns = 500 * MS, .length_ns = 300 * MS);
    rsti_lab_t lab;
    CHECK_EQ(rsti_lab_init(&lab, world.values, world.count), 0);
    rsti_lab_run(&lab);
    for (int64_t row = 0; row < lab.samples.row_count; row++) {
        CHECK(lab.samples.values[row * lab.samples.row_width + QUEUE] <= BUFFER);
    }
    CHECK_EQ((int64_t)at(&lab, 1.9, OVERRUN), 0);
    CHECK((int64_t)at(&lab, 0.79, QUEUE) > (int64_t)(BUFFER - 1408)); /* in the pause */
    CHECK(is_near(at(&lab, 1.9, CONSUMED), at(&lab, 1.9, CAPACITY), 0.02 * MB * 100));
    rsti_lab_fini(&lab);
}

/* 3 % of the datagrams are lost: everything arrives in order, and 3 % is sent twice. */
TEST(losses_are_retransmitted)
{
    world_t world = {0};
    add_run(&world, 3, 5);
    add_sender(&world, 2, 0, 50 * MB, 0.03);
    add_receiver(&world, 0, 100 * MB, 0, 0);
    rsti_lab_t lab;
    CHECK_EQ(rsti_lab_init(&lab, world.values, world.count), 0);
    rsti_lab_run(&lab);
    const double sent = at(&lab, 2.9, SENT);
    CHECK(is_near((double)lab.senders[0].resent_bytes / (double)lab.senders[0].sent, 0.031, 0.006));
    CHECK(sent - at(&lab, 2.9, CONSUMED) < 50 * MB * 0.05); /* a round trip or two of it missing */
    CHECK_EQ(lab.images[0].given_up_bytes, 0);
    rsti_lab_fini(&lab);
}

TEST(one_seed_is_one_run)
{
    double *first = NULL;
    int64_t first_size = 0;
    for (int turn = 0; turn < 3; turn++) {
        world_t world = {0};
        add_run(&world, 1, turn < 2 ? 3 : 4);
        add_sender(&world, 0, 0, 0, 0.001);
        add_receiver(&world, 0, 100 * MB, 0.15, 1);
        add_receiver(&world, 1, 80 * MB, 0.15, 1);
        rsti_lab_t lab;
        CHECK_EQ(rsti_lab_init(&lab, world.values, world.count), 0);
        rsti_lab_run(&lab);
        const int64_t size = lab.samples.row_count * lab.samples.row_width
            * (int64_t)sizeof(double);
        if (first == NULL) {
            first = malloc((size_t)size);
            first_size = size;
            memcpy(first, lab.samples.values, (size_t)size);
        }
        CHECK_EQ(size, first_size);
        CHECK_EQ(memcmp(first, lab.samples.values, (size_t)size) == 0, turn < 2);
        rsti_lab_fini(&lab);
    }
    free(first);
}

TEST(gaps_are_cut_and_bounded)
{
    rsti_lab_gaps_t gaps = {0};
    rsti_lab_gaps_append(&gaps, 100, 200, 0);
    rsti_lab_gaps_append(&gaps, 300, 400, 0);
    CHECK_EQ(rsti_lab_gaps_remove(&gaps, 120, 150), 30);
    CHECK_EQ(gaps.count, 3);
    CHECK_EQ(rsti_lab_gaps_remove(&gaps, 0, 350), 20 + 50 + 50);
    CHECK_EQ(gaps.count, 1);
    CHECK_EQ(gaps.gaps[0].from, 350);
    for (int64_t i = 0; i < 1000; i++) {
        rsti_lab_gaps_append(&gaps, 1000 + 10 * i, 1005 + 10 * i, 0);
    }
    CHECK_EQ(gaps.count, RSTI_LAB_GAPS_MAX);
    CHECK_EQ(gaps.gaps[RSTI_LAB_GAPS_MAX - 1].to, 1005 + 10 * 999);
    /* A cut that would need one more value is not made: it is requested again. */
    CHECK_EQ(rsti_lab_gaps_remove(&gaps, 1001, 1002), 0);
}

TEST(a_record_that_is_wrong_is_named)
{
    world_t world = {0};
    rsti_lab_t lab;
    add_run(&world, 1, 1);
    add_sender(&world, 0, 0, 0, 0.95);
    CHECK_EQ(rsti_lab_init(&lab, world.values, world.count), -RST_EINVAL);
    CHECK(strstr(rst_last_error_text(), "sender 0: loss is 0.95") != NULL);
    world.values[0] = 99;
    CHECK_EQ(rsti_lab_init(&lab, world.values, world.count), -RST_EINVAL);
    world.values[0] = RSTI_LAB_RUN;
    CHECK_EQ(rsti_lab_init(&lab, world.values, 3), -RST_EINVAL);
    CHECK(strstr(rst_last_error_text(), "run 0: 2 values, needs 5") != NULL);
}

TEST(a_reference_to_nothing_is_named)
{
    world_t world = {0};
    rsti_lab_t lab;
    add_run(&world, 1, 1);
    add_sender(&world, 0, 0, 0, 0);
    add_receiver(&world, 0, 100 * MB, 0, 0);
    ADD(&world, pause, RSTI_LAB_PAUSE, .consumer = 1, .at_ns = 1, .length_ns = 1);
    CHECK_EQ(rsti_lab_init(&lab, world.values, world.count), -RST_EINVAL);
    CHECK(strstr(rst_last_error_text(), "pause names consumer 1, there are 1") != NULL);
}

CHECK_MAIN(RUN(a_constant_rate_below_the_capacity_has_no_queue),
    RUN(a_stop_makes_the_queue_of_its_length), RUN(overruns_are_counted_and_requested),
    RUN(credit_keeps_within_the_buffer), RUN(losses_are_retransmitted), RUN(one_seed_is_one_run),
    RUN(gaps_are_cut_and_bounded), RUN(a_record_that_is_wrong_is_named),
    RUN(a_reference_to_nothing_is_named))
