/* test_fill_truth.c: honest receivers are believed, whatever happens to them; a receiver that
 * contradicts its own status messages is detected within a second. */
#include "flow/fill.h"
#include "flow/fill_truth.h"
#include "tests/check.h"
#include "util/clock.h"
#include "util/rng.h"

#define MS RSTI_NS_PER_MS
#define BUFFER (4 * 1024 * 1024)
#define MTU 1408
#define WINDOW BUFFER

typedef struct world_t {
    rsti_fill_truth_t truth;
    int64_t now_ns;
    int64_t sent, consumed;
} world_t;

static void world_init(world_t *w)
{
    *w = (world_t){0};
    rsti_fill_truth_init(&w->truth);
}

static bool say(world_t *w, double strength, double fill, double drain)
{
    const rsti_fill_report_t report = {.receiver_id = 7,
        .strength = strength,
        .fill = fill,
        .drain = drain,
        .buffer_bytes = BUFFER};
    rsti_fill_truth_on_status(&w->truth, 7, w->consumed, WINDOW, w->now_ns);
    return rsti_fill_truth_is_believed(&w->truth, &report, w->sent, MTU, w->now_ns);
}

/* 100 MB/s sent, all but one millisecond of it consumed; a report every 10 ms. Returns when it is
 * no longer believed; 0: always believed. */
static int64_t known_after_ns(world_t *w, double strength, double fill, double drain)
{
    const int64_t began_ns = w->now_ns;
    for (int i = 0; i < 300; i++) {
        w->now_ns += 10 * MS;
        w->sent += 1000000;
        w->consumed = w->sent - 100000;
        if (!say(w, strength, fill, drain)) {
            return w->now_ns - began_ns;
        }
    }
    return 0;
}

TEST(liars_are_known_within_a_second)
{
    static const struct {
        double strength, fill, drain;
        bool is_liar;
    } claims[] = {
        {1.0, 1.0, 100e6, true},    /* full, and nothing is there */
        {1.0, 0.05, 100e6, true},   /* 200 KB of 100 KB */
        {0.5, 0.02, 100e6, true},   /* overloaded, and empty */
        {0.5, 0.051, 100e6, true},
        {0.0, 0.02, 100e6, false},
        {0.0, 0.02, 20e6, true},    /* a fifth of what it consumes */
        {0.0, 0.02, 30e6, false},
        {0.0, 0.02, 0, false},      /* an unknown value is no lie */
    };
    for (size_t i = 0; i < sizeof claims / sizeof claims[0]; i++) {
        world_t w;
        world_init(&w);
        const int64_t after_ns = known_after_ns(&w, claims[i].strength, claims[i].fill,
            claims[i].drain);
        CHECK_EQ(after_ns > 0, claims[i].is_liar);
        CHECK(after_ns <= 1000 * MS);
        CHECK_EQ(rsti_fill_truth_is_liar(&w.truth, 7), claims[i].is_liar);
        CHECK(!rsti_fill_truth_is_liar(&w.truth, 8));
    }
}

TEST(a_liar_is_forgiven_after_a_while)
{
    world_t w;
    world_init(&w);
    CHECK(known_after_ns(&w, 1.0, 1.0, 0) > 0);
    CHECK(!say(&w, 0.0, 0.0, 0)); /* one true report is not enough */
    CHECK_EQ(w.truth.ignored_count, 2);
    w.now_ns += RSTI_TRUTH_IGNORED_NS - 1;
    CHECK(rsti_fill_truth_is_liar(&w.truth, 7));
    w.now_ns += 1;
    CHECK(say(&w, 0.0, 0.0, 0));
    CHECK(!rsti_fill_truth_is_liar(&w.truth, 7));
}

TEST(a_few_lies_or_a_truth_between_prove_nothing)
{
    world_t w;
    world_init(&w);
    for (int i = 0; i < 100; i++) {
        w.now_ns += 300 * MS;
        CHECK(say(&w, 1.0, 1.0, 0));
        w.now_ns += 300 * MS;
        CHECK(say(&w, 1.0, 1.0, 0));
        CHECK(say(&w, 0.0, 0.0, 0));
    }
    world_init(&w);
    CHECK(say(&w, 1.0, 1.0, 0));
    w.now_ns += 10 * RSTI_TRUTH_PATIENCE_NS;
    CHECK(say(&w, 1.0, 1.0, 0));
    CHECK(say(&w, 1.0, 1.0, 0));
    CHECK(!say(&w, 1.0, 1.0, 0)); /* the fourth */
}

/* A real receiver (fill.h) with pauses and a capacity that jumps; its status messages are late. */
TEST(honest_receivers_are_believed)
{
    world_t w;
    world_init(&w);
    rsti_rng_t rng;
    rsti_rng_init(&rng, check_seed());
    rsti_fill_t fill;
    rsti_fill_init(&fill, 0);
    int64_t received[10] = {0};
    int64_t told = 0;
    double capacity = 100e3; /* per ms */
    double rate = 90e3;
    for (int ms = 0; ms < 20000; ms++) {
        w.now_ns += MS;
        if (ms % 100 == 0) {
            const uint64_t roll = rsti_rng_below(&rng, 4);
            capacity = roll == 0 ? 0 : (double)roll * 50e3;
            rate = 20e3 + (double)rsti_rng_below(&rng, 150000);
        }
        received[ms % 10] = w.sent;
        w.sent += w.sent - w.consumed < BUFFER ? (int64_t)rate : 0;
        const int64_t there = received[(ms + 5) % 10]; /* 5 ms under way */
        const int64_t most = w.consumed + (int64_t)capacity;
        w.consumed = rsti_max_i64(w.consumed, there < most ? there : most);
        const bool is_due = rsti_fill_update(&fill,
            &(rsti_fill_facts_t){w.now_ns, there, w.consumed, BUFFER, 10 * MS, 0});
        if (ms % 10 == 0) {
            told = w.consumed; /* the last plain one, which the fill NAK repeats */
        }
        CHECK(rsti_fill_truth_on_status(&w.truth, 1, told, WINDOW, w.now_ns));
        if (is_due) {
            rsti_fill_report_t report;
            rsti_fill_report(&fill, &report);
            report.receiver_id = 1;
            CHECK(rsti_fill_truth_is_believed(&w.truth, &report, w.sent, MTU, w.now_ns));
            rsti_fill_on_told(&fill, fill.strength);
        }
    }
}

/* A true report carries the position of its time. */
TEST(a_replay_is_no_news)
{
    world_t w;
    world_init(&w);
    CHECK(rsti_fill_truth_on_status(&w.truth, 1, 5000, WINDOW, w.now_ns));
    CHECK(rsti_fill_truth_on_status(&w.truth, 1, 5000, WINDOW,
        w.now_ns)); /* repeated in a fill NAK */
    CHECK(rsti_fill_truth_on_status(&w.truth, 1, 9000, WINDOW, w.now_ns));
    CHECK(!rsti_fill_truth_on_status(&w.truth, 1, 8999, WINDOW, w.now_ns));
    CHECK(rsti_fill_truth_on_status(&w.truth, 2, 100, WINDOW, w.now_ns)); /* another receiver */
    CHECK(rsti_fill_truth_on_status(&w.truth, 1, 9000, WINDOW, w.now_ns));
    CHECK(!rsti_fill_truth_is_liar(&w.truth, 1));
}

TEST(the_table_is_bounded_and_keeps_liars)
{
    world_t w;
    world_init(&w);
    CHECK(known_after_ns(&w, 1.0, 1.0, 0) > 0);
    for (int64_t id = 100; id < 400; id++) {
        rsti_fill_truth_on_status(&w.truth, id, INT64_MIN + id, WINDOW, w.now_ns + id);
    }
    CHECK_EQ(w.truth.source_count, RSTI_TRUTH_SOURCES);
    CHECK(rsti_fill_truth_is_liar(&w.truth, 7));
    const rsti_fill_report_t report = {.receiver_id = INT64_MIN, .buffer_bytes = INT64_MAX};
    CHECK(rsti_fill_truth_is_believed(&w.truth, &report, INT64_MAX, INT32_MIN, INT64_MAX));
    rsti_fill_truth_on_status(&w.truth, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MIN);
}

CHECK_MAIN(RUN(liars_are_known_within_a_second), RUN(a_liar_is_forgiven_after_a_while),
    RUN(a_few_lies_or_a_truth_between_prove_nothing), RUN(honest_receivers_are_believed),
    RUN(a_replay_is_no_news), RUN(the_table_is_bounded_and_keeps_liars))
