/* test_path.c: the law of the path, round by round. Each round is played by hand: so many datagrams
 * are sent, and three items tell of them after the round trip that the test wants. Whole links are
 * in tests/lab/test_traffic.c. */
#include "flow/path.h"
#include "tests/check.h"
#include "util/clock.h"
#include "util/rng.h"

#include <math.h>

#define US INT64_C(1000)
#define MS INT64_C(1000000)
#define DATAGRAM 1000
#define RTT (10 * MS)

static rsti_path_t path;
static rsti_path_item_t told;
static int64_t now_ns;

static void begin_with(int32_t datagram, int64_t rtt_ns)
{
    const rsti_path_params_t params = {.datagram = datagram, .rtt_ns = rtt_ns, .now_ns = 0};
    rsti_path_fini(&path);
    if (rsti_path_init(&path, &params) != 0) {
        abort();
    }
    told = (rsti_path_item_t){0};
    now_ns = 0;
}

static void begin(void)
{
    begin_with(DATAGRAM, RTT);
}

static void send(int64_t bytes)
{
    rsti_path_on_sent(&path, path.track.position + bytes, bytes, now_ns);
}

/* An item about everything sent, of which so many bytes got lost. */
static void answer(int64_t position, int64_t lost)
{
    const int64_t bytes = position - told.highest;
    told.highest = told.contiguous = position;
    told.received += bytes - lost;
    told.missing += lost;
    told.clock_ns = now_ns;
    (void)rsti_path_on_item(&path, &told, now_ns);
}

/* A round trip in which the sender sends so much, and loses a part of it. */
static void play(int64_t rtt_ns, int64_t bytes, int64_t lost)
{
    const int64_t begins = path.track.position;
    send(bytes);
    now_ns += rtt_ns;
    answer(begins + bytes / 3, 0);
    answer(begins + bytes / 3 * 2, 0);
    answer(begins + bytes, lost);
}

static void play_full(int64_t rtt_ns, int64_t lost_share)
{
    const int64_t bytes = (int64_t)path.window + DATAGRAM;
    play(rtt_ns, bytes, lost_share > 0 ? bytes / lost_share : 0);
}

/* As if it had found its window some time ago. */
static void begin_alone_on(int64_t rtt_ns, double window)
{
    begin_with(DATAGRAM, rtt_ns);
    for (int i = 0; i < 3; i++) {
        play_full(rtt_ns, 0);
    }
    path.state = RSTI_PATH_ALONE;
    path.window = window;
    path.bandwidths[0] = window / ((double)rtt_ns / 1e9);
    path.cut_round = path.round_count - 10;
    path.lost = path.judged = 0;
}

static void begin_alone(double window)
{
    begin_alone_on(RTT, window);
}

static bool is_near(double value, double expected)
{
    return fabs(value - expected) <= 1e-6 * expected + 1.0;
}

TEST(the_start_grows_by_what_arrives_while_the_path_holds)
{
    begin();
    CHECK_EQ(path.window, 10 * DATAGRAM);
    CHECK_EQ(rsti_path_pace(&path), 1300000); /* 1.3 W / RTT */
    play_full(RTT, 0);
    CHECK(is_near(path.window, 16.6 * DATAGRAM));
    const double window = path.window;
    play(RTT, 5 * DATAGRAM, 0); /* the application holds */
    CHECK(is_near(path.window, window));
    CHECK_EQ(path.state, RSTI_PATH_START);
    CHECK_EQ(rsti_path_least_ns(&path), RTT);
}

TEST(the_start_ends_at_the_bandwidth_when_a_queue_grows)
{
    begin();
    for (int i = 0; i < 4; i++) {
        play_full(RTT, 0);
    }
    const double bandwidth = (double)rsti_path_bandwidth(&path);
    CHECK(bandwidth > 0);
    play_full(RTT + 3 * MS, 0); /* three samples above least / 8 */
    CHECK_EQ(path.state, RSTI_PATH_ALONE);
    CHECK(path.window <= 1.001 * (double)rsti_path_bandwidth(&path) * 0.010);
    CHECK_EQ(path.shallow, 1.0);
}

TEST(the_start_ends_at_heavy_loss_and_notes_a_short_queue)
{
    begin();
    play_full(RTT, 0);
    play_full(RTT, 0);
    play_full(RTT + 1 * MS, 0);
    CHECK_EQ(path.state, RSTI_PATH_START);
    play_full(RTT + 1 * MS, 10);
    CHECK_EQ(path.state, RSTI_PATH_ALONE);
    CHECK(path.shallow > 0 && path.shallow < 1.0);
    CHECK(path.loss_ns == now_ns);
}

/* f after a start that heavy loss ended, in a round whose greatest queueing delay was this. */
static double shallow_after_start(int64_t rtt_ns, int64_t queue_ns)
{
    begin_with(DATAGRAM, rtt_ns);
    for (int i = 0; i < 3; i++) {
        play_full(rtt_ns, 0);
    }
    play_full(rtt_ns + queue_ns, 10);
    return path.state == RSTI_PATH_ALONE && path.loss_ns == now_ns ? path.shallow : -1.0;
}

/* Random loss ends a start as well, and on a long path each round has samples above least. */
TEST(the_start_takes_no_noise_for_a_short_queue)
{
    CHECK_EQ(1000 * shallow_after_start(100 * MS, 310 * US), 1000);
    CHECK_EQ(1000 * shallow_after_start(100 * MS, 6240 * US), 1000); /* least / 16 is 6.25 ms */
    const double seen = shallow_after_start(100 * MS, 6260 * US);
    CHECK(seen > 0.5 && seen < 1.0);
    CHECK_EQ(1000 * shallow_after_start(1 * MS, 290 * US), 1000); /* and 0.3 ms on a short one */
    const double short_path = shallow_after_start(1 * MS, 310 * US);
    CHECK(short_path > 0.05 && short_path < 0.5);
}

TEST(alone_it_grows_while_the_queue_is_short_and_the_path_holds)
{
    begin_alone(100e3); /* r is 10 MB/s */
    const double step = 2e-3 * pow(1.25, 0.25) / 8 * pow(12.5e6, 0.75) * pow(10e6, 0.25);
    play_full(RTT, 0);
    CHECK(is_near(path.window, 100e3 + step));
    play(RTT, 50000, 0);
    CHECK(is_near(path.window, 100e3 + step)); /* the application holds */
    CHECK(!path.was_held);
    for (int i = 0; i < 8; i++) {
        play_full(RTT, 0);
    }
    const double window = path.window;
    play_full(RTT, 0);
    CHECK(path.window > window + 1.4 * step); /* nobody else is there: faster and faster */
    begin_alone(1000); /* one datagram: by a quarter of it */
    play_full(RTT, 0);
    CHECK(is_near(path.window, 1250));
}

TEST(alone_it_cuts_to_what_empties_the_queue)
{
    begin_alone(100e3);
    play_full(RTT + 3 * MS, 0);
    CHECK_EQ(path.state, RSTI_PATH_ALONE);
    CHECK(is_near(path.window, 100e3 * 0.97 * 10.2 / 13.0));
    CHECK(path.queue_s < 0.2e-3); /* and counts on that */
    CHECK_EQ(path.fails, 1);
    const double window = path.window;
    play_full(RTT, 0);
    play_full(RTT, 0);
    CHECK(is_near(path.window, window)); /* the cut shows in the third round */
    CHECK_EQ(path.fails, 0); /* it emptied the queue */
    play_full(RTT, 0);
    CHECK(path.window > window);
}

/* By 0.15, but not below what came through. */
static double after_heavy(double share)
{
    const int64_t last = (path.round_count - 1) % RSTI_PATH_ROUNDS;
    return share * fmax(85e3, fmin(100e3, 0.97 * path.bandwidths[last] * 0.010));
}

TEST(loss_is_congestion_only_if_it_is_more_than_usual)
{
    begin_alone(100e3);
    play_full(RTT, 101); /* under 2 % */
    CHECK(path.window > 100e3);
    begin_alone(100e3);
    for (int i = 0; i < 60; i++) { /* 5 % that do not end after a cut: usual in the end */
        path.window = 100e3;
        play_full(RTT, 20);
    }
    CHECK(rsti_path_loss(&path) == RSTI_PATH_USUAL_MOST); /* but not more than that */
    CHECK(fabs(rsti_path_lost_share(&path) - 0.05) < 0.005); /* what tools are told */
    path.window = 100e3;
    play_full(RTT, 20);
    CHECK(path.window > 100e3);
    path.cut_round = 0;
    path.window = 100e3;
    play_full(RTT, 10);
    CHECK(path.window < 100e3);
    begin_alone(100e3);
    play_full(RTT, 25);
    CHECK(is_near(path.window, after_heavy(1.0)));
    begin_alone(100e3);
    play_full(RTT, 5); /* more than a tenth */
    CHECK(is_near(path.window, after_heavy(0.7)));
    CHECK_EQ(path.loss_window, 100e3);
    const double window = path.window;
    play_full(RTT, 5); /* not twice for what was lost before the cut */
    CHECK(is_near(path.window, window));
}

TEST(few_datagrams_that_a_cut_answered_are_not_cut_for_again)
{
    begin_alone(10e3);
    play(RTT, 11000, 2000);
    const double window = path.window;
    CHECK(window < 10e3);
    for (int i = 0; i < 3; i++) {
        play(RTT, 3000, 0);
        CHECK(path.window >= window);
    }
}

TEST(a_queue_that_overflows_lowers_the_target_for_a_while)
{
    begin_alone(100e3);
    play_full(RTT + 1500 * US, 0);
    play_full(RTT + 1500 * US, 20);
    const double wanted = 0.5 * 1.5e-3 / (2e-3 * pow(12.5e6 / (path.loss_window / 11.5e-3), 0.25));
    CHECK(fabs(path.shallow - wanted) < 0.01);
    for (int i = 0; i < 29; i++) {
        play(RTT, 10000, 0);
    }
    CHECK(fabs(path.shallow - wanted) < 0.01);
    play(RTT, 10000, 0);
    play(RTT, 10000, 0);
    CHECK(path.shallow > 1.9 * wanted || path.shallow == 1.0);
}

static double shallow_alone(int64_t rtt_ns, int64_t queue_ns)
{
    begin_alone_on(rtt_ns, 100e3);
    play_full(rtt_ns + queue_ns, 20);
    return path.loss_ns == now_ns ? path.shallow : -1.0;
}

/* A longer round trip is not known as exactly. */
TEST(a_cut_takes_no_noise_for_a_short_queue)
{
    CHECK_EQ(1000 * shallow_alone(100 * MS, 310 * US), 1000);
    CHECK_EQ(1000 * shallow_alone(100 * MS, 780 * US), 1000); /* least / 128 is 0.78125 ms */
    const double seen = shallow_alone(100 * MS, 783 * US);
    CHECK(seen > 0.05 && seen < 0.5);
    CHECK_EQ(1000 * shallow_alone(10 * MS, 290 * US), 1000); /* and 0.3 ms on a short path */
    const double short_path = shallow_alone(10 * MS, 310 * US);
    CHECK(short_path > 0.05 && short_path < 0.5);
}

/* Twice more: a cut shows in the third round. */
static void fail_thrice(int64_t queue_ns)
{
    for (int i = 0; i < 6 && path.state == RSTI_PATH_ALONE; i++) {
        play_full(RTT + queue_ns, 0);
    }
}

TEST(after_three_cuts_without_an_empty_queue_it_competes)
{
    begin_alone(100e3);
    play_full(RTT + 8 * MS, 0);
    CHECK_EQ(path.before, 100e3);
    fail_thrice(8 * MS);
    CHECK_EQ(path.state, RSTI_PATH_COMPETE);
    CHECK_EQ(path.window, 100e3); /* as before the first of them */
    play_full(RTT + 8 * MS, 0);
    CHECK(is_near(path.window, 110e3)); /* no loss yet: by a tenth */
    begin_alone(100e3);
    path.loss_ns = now_ns;
    path.loss_window = 300e3;
    play_full(RTT + 8 * MS, 0);
    fail_thrice(8 * MS);
    CHECK_EQ(path.window, 210e3); /* 0.7 of W at a recent loss */
}

static void compete(void)
{
    begin_alone(100e3);
    play_full(RTT + 8 * MS, 0);
    fail_thrice(8 * MS);
    play_full(RTT + 8 * MS, 0);
    play_full(RTT + 8 * MS, 0);
}

TEST(competing_it_is_cubic_and_every_second_loss_is_a_test)
{
    compete();
    double window = path.window;
    play_full(RTT + 8 * MS, 200); /* any loss with a queue counts */
    CHECK(is_near(path.window, 0.75 * window));
    play_full(RTT + 8 * MS, 200); /* but not what was lost before the cut */
    CHECK(path.window >= 0.75 * window);
    play_full(RTT + 8 * MS, 0);
    play_full(RTT + 8 * MS, 0);
    CHECK(path.window > 0.75 * window && path.window < window);
    window = path.window;
    play_full(RTT + 8 * MS, 200);
    CHECK_EQ(path.state, RSTI_PATH_TEST);
    CHECK(is_near(path.window, 0.95 * 10.0 / 18.0 * window));
    play_full(RTT + 8 * MS, 0);
    play_full(RTT + 8 * MS, 0);
    CHECK_EQ(path.state, RSTI_PATH_TEST);
    play_full(RTT + 8 * MS, 0); /* the others hold the queue */
    CHECK_EQ(path.state, RSTI_PATH_COMPETE);
    CHECK(is_near(path.window, 0.75 * window));
}

TEST(it_is_alone_again_when_the_queue_empties)
{
    compete();
    path.cuts = 1;
    play_full(RTT + 8 * MS, 200);
    CHECK_EQ(path.state, RSTI_PATH_TEST);
    play_full(RTT, 0);
    CHECK_EQ(path.state, RSTI_PATH_ALONE);
    compete();
    play_full(RTT, 0);
    play_full(RTT, 0);
    CHECK_EQ(path.state, RSTI_PATH_COMPETE);
    play_full(RTT, 0);
    CHECK_EQ(path.state, RSTI_PATH_ALONE);
    CHECK_STR(rsti_path_state_name(path.state), "alone");
}

TEST(limits_of_window_pace_and_run)
{
    begin_alone(100e3);
    const int64_t heard_ns = path.track.heard_ns;
    CHECK_EQ(rsti_path_limit(&path, heard_ns - 5), 100000);
    CHECK_EQ(rsti_path_limit(&path, heard_ns + 1 * MS), 110000); /* r x age */
    CHECK_EQ(rsti_path_limit(&path, heard_ns + 9 * MS), 125000); /* at most a period */
    CHECK_EQ(rsti_path_pace(&path), 10500000);
    CHECK_EQ(rsti_path_run(&path), 2625); /* a quarter of a millisecond */
    send(104000);
    CHECK_EQ(rsti_path_room(&path, heard_ns), 0);
    const int64_t room_ns = rsti_path_room_ns(&path, 1000, heard_ns);
    CHECK(room_ns >= heard_ns + 500 * US && room_ns <= heard_ns + 501 * US);
    CHECK(rsti_path_room(&path, room_ns) >= 1000);
    CHECK_EQ(rsti_path_room_ns(&path, 30000, heard_ns), RSTI_NO_DEADLINE);
    path.window = 20e3; /* a pace of 2.1 MB/s: two datagrams in a millisecond */
    CHECK_EQ(rsti_path_run(&path), 2 * DATAGRAM);
    path.window = 19e3;
    CHECK_EQ(rsti_path_run(&path), DATAGRAM);
    path.window = 20e3;
    path.least_s = path.newest_s = 1e-6; /* fast and short: an eighth of W */
    CHECK_EQ(rsti_path_run(&path), 2500);
    path.window = 1e9;
    CHECK_EQ(rsti_path_run(&path), RSTI_PATH_RUN_MOST);
    CHECK_EQ(rsti_path_pace(&path), RSTI_PATH_BANDWIDTH_MAX);
    path.window = 1;
    CHECK_EQ(rsti_path_limit(&path, now_ns), DATAGRAM); /* one datagram always */
    begin_with(1, 0);
    CHECK_EQ(path.datagram, 64);
    CHECK_EQ(rsti_path_pace(&path), 83200); /* 1.3 x 640 in the first guess of 10 ms */
    begin_with(1 << 20, INT64_MAX);
    CHECK_EQ(path.datagram, 65536);
    CHECK_EQ(path.newest_s, 10);
}

/* A host stood still for 0.5 ms: the queue is empty, and W is made for a full one. */
TEST(a_queue_that_has_gone_is_not_filled_far_faster_than_the_link)
{
    begin_alone(112.5e3);
    const int64_t heard_ns = path.track.heard_ns;
    path.least_s = 0.1e-3;
    path.queue_s = 0.8e-3;
    for (int32_t i = 0; i < RSTI_PATH_ROUNDS; i++) {
        path.bandwidths[i] = 0;
    }
    path.bandwidths[3] = 125e6; /* r is as much */
    path.round.bandwidth = 1e6;
    path.newest_s = 0.1e-3; /* no queue: 1.05 W over that would be 1.18 GB/s */
    CHECK(is_near((double)rsti_path_pace(&path), 156.25e6));
    path.newest_s = 0.85e-3; /* a little less: no bound is in the way */
    CHECK(is_near((double)rsti_path_pace(&path), 1.05 * 112.5e3 / 0.85e-3));
    path.newest_s = 0.9e-3; /* the queue again */
    CHECK(is_near((double)rsti_path_pace(&path), 1.05 * 125e6));
    path.newest_s = 2e-3;
    CHECK(is_near((double)rsti_path_pace(&path), 1.05 * 125e6));
    path.bandwidths[3] = 50e6; /* never below 1.05 r */
    path.newest_s = 0.1e-3;
    CHECK(is_near((double)rsti_path_pace(&path), 1.05 * 125e6));

    path.bandwidths[3] = 125e6;
    path.queue_s = 0; /* a round later: W over the round trip is 1.125 GB/s */
    CHECK(is_near((double)rsti_path_limit(&path, heard_ns + 200 * US), 137.5e3));
    CHECK(is_near((double)rsti_path_limit(&path, heard_ns + 1 * MS), 143.75e3)); /* a period */
    send(122500);
    const int64_t room_ns = rsti_path_room_ns(&path, DATAGRAM, heard_ns);
    CHECK(room_ns >= heard_ns + 88 * US && room_ns <= heard_ns + 89 * US);
    CHECK(rsti_path_room(&path, room_ns) >= DATAGRAM);
    CHECK_EQ(rsti_path_room(&path, room_ns - 1 * US), 875);
    CHECK_EQ(rsti_path_room_ns(&path, 22000, heard_ns), RSTI_NO_DEADLINE);

    path.bandwidths[3] = path.round.bandwidth = 0; /* unknown: no bound */
    CHECK(is_near((double)rsti_path_limit(&path, heard_ns + 100 * US), 225e3));
    path.queue_s = 0.8e-3;
    CHECK(is_near((double)rsti_path_pace(&path), 1.05 * 112.5e3 / 0.1e-3));
    path.bandwidths[3] = 125e6;
    path.queue_s = 0;
    path.state = RSTI_PATH_START; /* it looks for the bandwidth, which may be more than b */
    CHECK(is_near((double)rsti_path_limit(&path, heard_ns + 100 * US), 225e3));
    CHECK(is_near((double)rsti_path_pace(&path), 1.3 * 112.5e3 / 0.1e-3));
}

TEST(silence_halves_the_window_from_the_second_time_on)
{
    begin();
    send(DATAGRAM);
    CHECK_EQ(rsti_path_due_ns(&path) / MS, 999); /* a second, while no round trip is known */
    begin_alone(100e3);
    CHECK_EQ(rsti_path_due_ns(&path), RSTI_NO_DEADLINE);
    send(50000);
    CHECK_EQ(rsti_path_due_ns(&path), now_ns + 3 * RTT);
    now_ns += 3 * RTT;
    rsti_path_on_silence(&path, now_ns);
    CHECK_EQ(rsti_path_under_way(&path.track), 0);
    CHECK_EQ(path.window, 100e3); /* a host may have stood still */
    for (int i = 0; i < 20; i++) {
        send(1000);
        now_ns = rsti_path_due_ns(&path);
        rsti_path_on_silence(&path, now_ns);
        CHECK(i > 0 || path.window == 50e3);
    }
    CHECK_EQ(path.window, DATAGRAM / 2); /* the least */
}

/* After a receiver that stood still the queue is not as long as it was. */
TEST(silence_empties_the_queue)
{
    begin_alone(100e3);
    play(2000 * MS, 100000, 0);
    CHECK(rsti_path_pace(&path) < 100000);
    send(1000);
    now_ns = rsti_path_due_ns(&path);
    rsti_path_on_silence(&path, now_ns);
    CHECK_EQ(path.queue_s, 0);
    CHECK(rsti_path_pace(&path) >= (int64_t)(path.window / 0.01));
}

/* Resends alone move the law on: rounds end, and the round trip is known again. */
TEST(resends_alone_make_rounds)
{
    begin_alone(100e3);
    play_full(RTT, 0);
    play_full(RTT + 9 * MS, 0);
    CHECK(path.newest_s > 0.018);
    const int64_t rounds = path.round_count;
    for (int i = 0; i < 20; i++) { /* no new data; each takes the least round trip */
        rsti_path_on_sent(&path, path.track.position, DATAGRAM, now_ns);
        now_ns += RTT;
        told.received += DATAGRAM;
        told.since += DATAGRAM;
        told.clock_ns = now_ns;
        CHECK(rsti_path_on_item(&path, &told, now_ns));
    }
    CHECK(path.newest_s < 0.0101);
    CHECK(path.round_count >= rounds + 5);
    for (int i = 0; i < 20; i++) { /* one that seems to take a second may be another one */
        rsti_path_on_sent(&path, path.track.position, DATAGRAM, now_ns);
        now_ns += 1000 * MS;
        told.received += DATAGRAM;
        told.since += DATAGRAM;
        told.clock_ns = now_ns;
        CHECK(rsti_path_on_item(&path, &told, now_ns));
        CHECK(path.newest_s < 0.0101);
    }
    CHECK_EQ(rsti_path_least_ns(&path), RTT);
}

TEST(a_longer_path_is_believed_after_twenty_seconds)
{
    begin();
    play_full(RTT, 0);
    for (int i = 0; i < 99; i++) {
        play(100 * MS, 3000, 0);
    }
    CHECK_EQ(rsti_path_least_ns(&path), RTT);
    for (int i = 0; i < 110; i++) {
        play(100 * MS, 3000, 0);
    }
    CHECK_EQ(rsti_path_least_ns(&path), 100 * MS);
}

/* Whatever the receiver says, the state holds together (rsti_path_check, in debug builds), and the
 * sender may always send something. */
TEST(no_item_breaks_it)
{
    rsti_rng_t rng;
    rsti_rng_init(&rng, check_seed());
    for (int run = 0; run < 20; run++) {
        begin();
        for (int i = 0; i < 3000; i++) {
            now_ns += (int64_t)rsti_rng_below(&rng, 20 * MS);
            const int64_t room = rsti_path_room(&path, now_ns);
            if (room > 0) {
                send((int64_t)rsti_rng_below(&rng, (uint64_t)room) + 1);
            }
            const int64_t open = path.track.position - told.highest;
            const int64_t moved = open > 0 ? (int64_t)rsti_rng_below(&rng, (uint64_t)open + 1) : 0;
            told.highest += moved;
            told.contiguous = told.highest - (int64_t)rsti_rng_below(&rng, 2);
            told.received += (int64_t)rsti_rng_below(&rng, 100000);
            told.since = (int64_t)rsti_rng_below(&rng, (uint64_t)told.received + 1);
            told.missing += (int64_t)rsti_rng_below(&rng, 5000);
            told.clock_ns += (int64_t)rsti_rng_below(&rng, 40 * MS);
            told.hold_ns = (int64_t)rsti_rng_below(&rng, RSTI_PATH_HOLD_MAX_NS);
            (void)rsti_path_on_item(&path, &told, now_ns);
            if (rsti_path_due_ns(&path) <= now_ns) {
                rsti_path_on_silence(&path, now_ns);
            }
            rsti_path_check(&path);
            CHECK(isfinite(path.window));
            CHECK(rsti_path_pace(&path) >= 1);
            CHECK(rsti_path_limit(&path, now_ns) >= DATAGRAM);
            CHECK(rsti_path_run(&path) >= DATAGRAM);
        }
        CHECK(path.track.item_count > 100);
    }
}

CHECK_MAIN(RUN(the_start_grows_by_what_arrives_while_the_path_holds),
    RUN(the_start_ends_at_the_bandwidth_when_a_queue_grows),
    RUN(the_start_ends_at_heavy_loss_and_notes_a_short_queue),
    RUN(the_start_takes_no_noise_for_a_short_queue),
    RUN(alone_it_grows_while_the_queue_is_short_and_the_path_holds),
    RUN(alone_it_cuts_to_what_empties_the_queue),
    RUN(loss_is_congestion_only_if_it_is_more_than_usual),
    RUN(few_datagrams_that_a_cut_answered_are_not_cut_for_again),
    RUN(a_queue_that_overflows_lowers_the_target_for_a_while),
    RUN(a_cut_takes_no_noise_for_a_short_queue),
    RUN(after_three_cuts_without_an_empty_queue_it_competes),
    RUN(competing_it_is_cubic_and_every_second_loss_is_a_test),
    RUN(it_is_alone_again_when_the_queue_empties), RUN(limits_of_window_pace_and_run),
    RUN(a_queue_that_has_gone_is_not_filled_far_faster_than_the_link),
    RUN(silence_halves_the_window_from_the_second_time_on), RUN(silence_empties_the_queue),
    RUN(resends_alone_make_rounds), RUN(a_longer_path_is_believed_after_twenty_seconds),
    RUN(no_item_breaks_it))
