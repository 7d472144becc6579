/* test_traffic.c: flows on a bottleneck against links computed by hand, the model of cubic against
 * the formula of its RFC, and the invariants of every run: nothing is delivered that was not sent,
 * and one seed gives one run. The laws on many links are judged in tests/lab/test_links.py. */
#include "lab/traffic.h"
#include "tests/lab/world.h"
#include "util/error.h"

#include <math.h>

#define MS 1e6
#define S 1e9
#define DATAGRAM 1000
#define MBIT (1e6 / 8)

enum {
    TIME,
    QUEUE,
    RATE,
    SENT,
    RESENT,
    DROPPED,
    LOST,
    DELIVERED,
    WINDOW,
    STATE,
    REFUSED
};

static rsti_lab_traffic_t traffic;

static void add_link(world_t *world, double rate, double queue, double loss, double seconds)
{
    ADD(world, link, RSTI_LAB_LINK, .rate = rate, .queue_bytes = queue, .loss = loss,
        .control_loss = loss, .duration_ns = seconds * S, .sample_ns = 10 * MS, .seed = 1);
}

static void add_flow(world_t *world, double kind, double rtt_ms, double app_rate, double begins_s)
{
    ADD(world, flow, RSTI_LAB_FLOW, .kind = kind, .rtt_ns = rtt_ms * MS, .datagram = DATAGRAM,
        .window_bytes = 4e6, .begins_ns = begins_s * S, .ends_ns = RSTI_LAB_NEVER,
        .app_rate = app_rate, .nak_delay_ns = 1e5);
}

static void run(const world_t *world)
{
    rsti_lab_traffic_fini(&traffic);
    const int result = rsti_lab_traffic_init(&traffic, world->values, world->count);
    if (result < 0) {
        fprintf(stderr, "%s\n", rst_last_error_text());
        abort();
    }
    rsti_lab_traffic_run(&traffic);
}

static double at(double time_s, int32_t flow, int32_t column)
{
    const int64_t row = (int64_t)(time_s * 100 + 0.5);
    const int64_t offset = column < SENT ? column : column + flow * RSTI_LAB_TRAFFIC_FLOW_WIDTH;
    return traffic.values[row * traffic.row_width + offset];
}

/* Share of the link that the flow had in a time. */
static double share(int32_t flow, double from_s, double to_s)
{
    const double bytes = at(to_s, flow, DELIVERED) - at(from_s, flow, DELIVERED);
    return bytes / (at(from_s, 0, RATE) * (to_s - from_s));
}

static double drops(int32_t flow, double from_s, double to_s)
{
    return (at(to_s, flow, DROPPED) - at(from_s, flow, DROPPED))
        / (at(to_s, flow, SENT) - at(from_s, flow, SENT));
}

TEST(below_the_rate_of_the_link_nothing_waits)
{
    world_t world = {0};
    add_link(&world, 1e6, 10000, 0, 2);
    add_flow(&world, RSTI_LAB_FLOW_FIXED, 10, 0.9e6, 0);
    run(&world);
    for (int32_t i = 1; i <= 20; i++) {
        const double t = i / 10.0;
        CHECK(at(t, 0, QUEUE) <= DATAGRAM);
        CHECK_EQ(at(t, 0, DROPPED), 0);
        const double behind = at(t, 0, SENT) - at(t, 0, DELIVERED); /* 6 ms at 0.9 MB/s */
        CHECK(behind >= 5000 && behind <= 7000);
    }
    CHECK_EQ(at(2, 0, SENT), 1801 * DATAGRAM);
}

TEST(above_it_the_queue_is_full_and_the_rest_is_dropped)
{
    world_t world = {0};
    add_link(&world, 1e6, 10000, 0, 2);
    add_flow(&world, RSTI_LAB_FLOW_FIXED, 10, 1.5e6, 0);
    run(&world);
    CHECK(fabs(share(0, 1, 2) - 1) < 0.002);
    CHECK(fabs(drops(0, 1, 2) - 1.0 / 3) < 0.002);
    CHECK(at(1.5, 0, QUEUE) >= 9000 && at(1.5, 0, QUEUE) <= 10000);
}

TEST(random_loss_and_a_change_of_the_rate)
{
    world_t world = {0};
    add_link(&world, 1e6, 10000, 0.1, 4);
    ADD(&world, change, RSTI_LAB_CHANGE, .at_ns = 2 * S, .rate = 0.5e6);
    add_flow(&world, RSTI_LAB_FLOW_FIXED, 10, 0.8e6, 0);
    run(&world);
    CHECK(fabs(share(0, 0.5, 2) - 0.72) < 0.02);
    CHECK(fabs(share(0, 2.5, 4) - 0.9) < 0.02);
    CHECK_EQ(at(2, 0, DROPPED), 0);
    CHECK(fabs(drops(0, 2.5, 4) - 0.375) < 0.01);
}

/* RFC 9438, 5.1: with a loss of p the mean window is (C (3 + b) / 4 (1 - b))^1/4 (RTT / p)^3/4. */
TEST(the_model_of_cubic_has_the_mean_window_of_its_rfc)
{
    world_t world = {0};
    add_link(&world, 1e8, 1e6, 0, 400);
    world.values[3] = 1e-4; /* loss of data, not of acknowledgements */
    add_flow(&world, RSTI_LAB_FLOW_CUBIC, 200, 0, 0);
    run(&world);
    const double window = pow(0.4 * 3.7 / 1.2, 0.25) * pow(0.2 / 1e-4, 0.75);
    const double found = (at(400, 0, DELIVERED) - at(20, 0, DELIVERED)) / DATAGRAM / 380 * 0.2;
    CHECK(found > 0.8 * window && found < 1.3 * window); /* of random losses, not regular ones */
}

TEST(models_of_tcp_alone)
{
    for (int32_t kind = RSTI_LAB_FLOW_CUBIC; kind <= RSTI_LAB_FLOW_BBR; kind++) {
        world_t world = {0};
        add_link(&world, 40 * MBIT, 100000, 0, 20);
        add_flow(&world, kind, 20, 0, 0);
        run(&world);
        CHECK(share(0, 5, 20) > 0.93);
        CHECK(drops(0, 5, 20) < 0.01);
        world = (world_t){0};
        add_link(&world, 40 * MBIT, 100000, 0.01, 20);
        add_flow(&world, kind, 20, 0, 0);
        run(&world);
        const double lossy = share(0, 5, 20);
        CHECK(kind == RSTI_LAB_FLOW_CUBIC ? lossy < 0.35 : lossy > 0.4);
        world = (world_t){0};
        add_link(&world, 40 * MBIT, 100000, 0, 20);
        add_flow(&world, kind, 20, 1e6, 0); /* what the application writes */
        run(&world);
        CHECK(fabs(at(20, 0, DELIVERED) - 20e6) < 0.05e6);
        CHECK_EQ(at(20, 0, DROPPED), 0);
    }
}

TEST(a_stream_alone_fills_the_link_and_keeps_the_queue_short)
{
    world_t world = {0};
    add_link(&world, 100 * MBIT, 125000, 0, 10);
    add_flow(&world, RSTI_LAB_FLOW_PATH, 10, 0, 0);
    run(&world);
    CHECK(share(0, 5, 10) > 0.95);
    CHECK(drops(0, 5, 10) < 0.001);
    for (int32_t i = 500; i < 1000; i++) {
        CHECK(at(i / 100.0, 0, QUEUE) < 0.005 * 100 * MBIT);
    }
    CHECK_EQ(at(10, 0, REFUSED), 0);
}

TEST(a_stream_survives_loss_and_stalls)
{
    world_t world = {0};
    add_link(&world, 100 * MBIT, 250000, 0.02, 10);
    ADD(&world, flow, RSTI_LAB_FLOW, .kind = RSTI_LAB_FLOW_PATH, .rtt_ns = 40 * MS,
        .datagram = DATAGRAM, .window_bytes = 4e6, .ends_ns = RSTI_LAB_NEVER, .nak_delay_ns = 1e5,
        .stall_every_ns = 500 * MS, .stall_ns = 3 * MS);
    run(&world);
    CHECK(share(0, 5, 10) > 0.75);
    CHECK(at(10, 0, RESENT) > 0.01 * at(10, 0, SENT));
}

/* With a small window the last datagram in it, or the item that tells of it, gets lost soon. Then
 * neither end has anything else to send: real drivers repeat status messages and heartbeats. */
TEST(a_stream_whose_window_is_full_goes_on_after_a_lost_tail)
{
    world_t world = {0};
    add_link(&world, 100 * MBIT, 125000, 0.1, 10);
    for (int32_t flow = 0; flow < 20; flow++) {
        ADD(&world, flow, RSTI_LAB_FLOW, .kind = RSTI_LAB_FLOW_PATH, .rtt_ns = 10 * MS,
            .datagram = DATAGRAM, .window_bytes = 30e3, .ends_ns = RSTI_LAB_NEVER,
            .nak_delay_ns = 1e5);
    }
    run(&world);
    for (int32_t flow = 0; flow < 20; flow++) {
        CHECK(at(10, flow, DELIVERED) - at(9, flow, DELIVERED) >= 30e3);
    }
}

/* A resend beyond what items have told of must not look like a resend of all up to the end: then no
 * loss counts and no round trip is exact, and the start does not end. */
TEST(a_stream_that_resends_leaves_the_start)
{
    for (int32_t seed = 1; seed <= 40; seed++) {
        world_t world = {0};
        add_link(&world, 16.5 * MBIT, 64e3, 0.02, 5);
        world.values[7] = seed;
        ADD(&world, flow, RSTI_LAB_FLOW, .kind = RSTI_LAB_FLOW_PATH, .rtt_ns = 30 * MS,
            .datagram = DATAGRAM, .window_bytes = 524288, .ends_ns = RSTI_LAB_NEVER,
            .nak_delay_ns = 1e5);
        run(&world);
        CHECK(at(5, 0, STATE) != (double)RSTI_PATH_START);
        CHECK(drops(0, 2, 5) < 0.05);
        CHECK(share(0, 2, 5) > 0.75);
    }
}

/* Random loss ends the start at a part of the bandwidth. The rest must be found soon: noise taken
 * for a short queue, there or at the next cut, left the stream at 0.3 for many seconds. */
TEST(a_stream_finds_the_bandwidth_of_a_long_path_that_loses)
{
    for (int32_t seed = 1; seed <= 100; seed++) {
        const double rate = (seed % 2 > 0 ? 20 : 50) * MBIT;
        world_t world = {0};
        add_link(&world, rate, rate / 10, 0.02, 10);
        world.values[7] = seed;
        add_flow(&world, RSTI_LAB_FLOW_PATH, 100, 0, 0);
        run(&world);
        CHECK(share(0, 5, 10) > 0.75);
    }
}

TEST(a_stream_comes_back_when_a_link_that_nearly_stopped_goes_on)
{
    world_t world = {0};
    add_link(&world, 100 * MBIT, 125000, 0, 9);
    ADD(&world, change, RSTI_LAB_CHANGE, .at_ns = 5 * S, .rate = 1e4);
    ADD(&world, change, RSTI_LAB_CHANGE, .at_ns = 7 * S, .rate = 100 * MBIT);
    add_flow(&world, RSTI_LAB_FLOW_PATH, 10, 0, 0);
    run(&world);
    CHECK(at(7, 0, SENT) - at(5, 0, SENT) < 1e6); /* and does not flood it meanwhile */
    CHECK(share(0, 7.5, 9) > 0.9);
}

TEST(a_stream_whose_application_holds_does_not_run_away)
{
    world_t world = {0};
    add_link(&world, 100 * MBIT, 125000, 0, 20);
    add_flow(&world, RSTI_LAB_FLOW_PATH, 10, 2e6, 0);
    run(&world);
    CHECK(fabs(at(20, 0, DELIVERED) - 40e6) < 0.1e6);
    CHECK_EQ(at(20, 0, DROPPED), 0);
    CHECK(at(20, 0, WINDOW) < 4 * 2e6 * 0.010);
}

TEST(two_streams_share_and_a_latecomer_gets_its_part)
{
    world_t world = {0};
    add_link(&world, 100 * MBIT, 125000, 0, 10);
    add_flow(&world, RSTI_LAB_FLOW_PATH, 10, 0, 0);
    add_flow(&world, RSTI_LAB_FLOW_PATH, 10, 0, 4);
    run(&world);
    CHECK(share(0, 2, 4) > 0.93);
    CHECK(share(1, 6, 10) > 0.35 && share(1, 6, 10) < 0.65);
    CHECK(share(0, 6, 10) + share(1, 6, 10) > 0.93);
}

TEST(a_stream_beside_cubic_neither_starves_nor_starves_it)
{
    world_t world = {0};
    add_link(&world, 100 * MBIT, 125000, 0, 40);
    add_flow(&world, RSTI_LAB_FLOW_PATH, 10, 0, 0);
    add_flow(&world, RSTI_LAB_FLOW_CUBIC, 10, 0, 1);
    run(&world);
    CHECK(share(0, 7, 40) > 0.25 && share(0, 7, 40) < 0.75);
    CHECK(share(1, 7, 40) > 0.25 && share(1, 7, 40) < 0.75);
}

/* What was sent was dropped, lost or delivered, or is on its way: at most window and queue. */
TEST(nothing_is_made_and_one_seed_is_one_run)
{
    double *first = NULL;
    size_t size = 0;
    for (int turn = 0; turn < 3; turn++) {
        world_t world = {0};
        add_link(&world, 100 * MBIT, 50000, 0.01, 3);
        world.values[7] = turn < 2 ? 5 : 6; /* the seed */
        for (int32_t kind = 0; kind < 8; kind++) {
            add_flow(&world, kind % 3, 2 + 3 * kind, 0, 0.1 * kind);
        }
        run(&world);
        for (int32_t flow = 0; flow < 8; flow++) {
            const double gone = at(3, flow, DROPPED) + at(3, flow, LOST) + at(3, flow, DELIVERED);
            CHECK(at(3, flow, DELIVERED) > 0);
            CHECK(gone <= at(3, flow, SENT));
            CHECK(gone + 1e6 >= at(3, flow, SENT));
        }
        if (turn == 0) {
            size = (size_t)(traffic.row_count * traffic.row_width) * sizeof(double);
            first = malloc(size);
            CHECK(first != NULL);
            memcpy(first, traffic.values, size);
        }
        CHECK_EQ(memcmp(first, traffic.values, size) == 0, turn < 2);
    }
    free(first);
}

TEST(a_record_that_is_wrong_is_named)
{
    world_t world = {0};
    rsti_lab_traffic_fini(&traffic);
    add_flow(&world, RSTI_LAB_FLOW_PATH, 10, 0, 0);
    CHECK_EQ(rsti_lab_traffic_init(&traffic, world.values, world.count), -RST_EINVAL);
    CHECK(strstr(rst_last_error_text(), "0 records link, must be one, with 1 ... 64 flows")
        != NULL);
    add_link(&world, 1e6, 1499, 0, 1);
    CHECK_EQ(rsti_lab_traffic_init(&traffic, world.values, world.count), -RST_EINVAL);
    CHECK(strstr(rst_last_error_text(), "link 0: queue_bytes is 1499") != NULL);
    world.count = 0;
    add_link(&world, 1e6, 1500, 0, 1);
    for (int i = 0; i < RSTI_LAB_FLOWS_MAX; i++) {
        add_flow(&world, RSTI_LAB_FLOW_PATH, 10, 0, 0);
    }
    CHECK_EQ(rsti_lab_traffic_init(&traffic, world.values, world.count), 0);
    add_flow(&world, RSTI_LAB_FLOW_PATH, 10, 0, 0);
    rsti_lab_traffic_fini(&traffic);
    CHECK_EQ(rsti_lab_traffic_init(&traffic, world.values, world.count), -RST_EINVAL);
    world.count = 0;
    add_link(&world, 1e6, 1500, 0, 1);
    add_flow(&world, RSTI_LAB_FLOW_FIXED, 10, 0, 0);
    CHECK_EQ(rsti_lab_traffic_init(&traffic, world.values, world.count), -RST_EINVAL);
    CHECK(strstr(rst_last_error_text(), "flow 0: fixed, and has no app_rate") != NULL);
}

CHECK_MAIN(RUN(below_the_rate_of_the_link_nothing_waits),
    RUN(above_it_the_queue_is_full_and_the_rest_is_dropped),
    RUN(random_loss_and_a_change_of_the_rate),
    RUN(the_model_of_cubic_has_the_mean_window_of_its_rfc), RUN(models_of_tcp_alone),
    RUN(a_stream_alone_fills_the_link_and_keeps_the_queue_short),
    RUN(a_stream_survives_loss_and_stalls),
    RUN(a_stream_whose_window_is_full_goes_on_after_a_lost_tail),
    RUN(a_stream_that_resends_leaves_the_start),
    RUN(a_stream_finds_the_bandwidth_of_a_long_path_that_loses),
    RUN(a_stream_comes_back_when_a_link_that_nearly_stopped_goes_on),
    RUN(a_stream_whose_application_holds_does_not_run_away),
    RUN(two_streams_share_and_a_latecomer_gets_its_part),
    RUN(a_stream_beside_cubic_neither_starves_nor_starves_it),
    RUN(nothing_is_made_and_one_seed_is_one_run), RUN(a_record_that_is_wrong_is_named))
