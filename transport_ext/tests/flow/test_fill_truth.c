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

static bool say(world_t *w, const rsti_fill_report_t *claim)
{
    rsti_fill_report_t report = *claim;
    report.receiver_id = 7;
    report.buffer_bytes = BUFFER;
    rsti_fill_truth_on_status(&w->truth, 7, w->consumed, WINDOW, w->now_ns);
    return rsti_fill_truth_is_believed(&w->truth, &report, w->sent, MTU, w->now_ns);
}

/* 100 MB/s sent, all but one millisecond of it consumed; a report every 10 ms. Returns when it is
 * no longer believed; 0: always believed. */
static int64_t known_after_ns(world_t *w, const rsti_fill_report_t *claim)
{
    const int64_t began_ns = w->now_ns;
    for (int i = 0; i < 300; i++) {
        w->now_ns += 10 * MS;
        w->sent += 1000000;
        w->consumed = w->sent - 100000;
        if (!say(w, claim)) {
            return w->now_ns - began_ns;
        }
    }
    return 0;
}

static const rsti_fill_report_t lie = {.fill = 1.0, .allowed = 100e6};
static const rsti_fill_report_t truth = {.fill = 0.0, .allowed = 100e6};

TEST(liars_are_known_within_a_second)
{
    static const struct {
        rsti_fill_report_t claim;
        bool is_liar;
    } rows[] = {
        {{.fill = 1.0, .drain = 100e6, .allowed = 50e6}, true},  /* full, and nothing is there */
        {{.fill = 0.05, .drain = 100e6, .allowed = 50e6}, true}, /* 200 KB of 100 KB */
        {{.fill = 0.041, .drain = 100e6, .allowed = 50e6}, true},
        {{.fill = 0.039, .drain = 100e6, .allowed = 50e6}, false}, /* rounded, and one MTU */
        {{.fill = 0.02, .drain = 20e6, .allowed = 50e6}, true}, /* a fifth of what it consumes */
        {{.fill = 0.02, .drain = 30e6, .allowed = 50e6}, false},
        {{.fill = 0.02, .drain = 0, .allowed = 50e6}, false}, /* an unknown value is no lie */
        {{.fill = 0.0, .drain = 100e6, .allowed = 24e6}, true}, /* too little for an empty queue */
        {{.fill = 0.0, .drain = 100e6, .allowed = 26e6}, false},
        {{.fill = 0.02, .drain = 100e6, .allowed = 14e6}, true}, /* and for a short one */
        {{.fill = 0.02, .drain = 100e6, .allowed = 15e6}, false},
        {{.fill = 0.02, .drain = 100e6, .allowed = 0}, true},
        {{.is_clear = true, .fill = 0.02, .drain = 20e6, .allowed = 0}, false}, /* asks for none */
        {{.is_clear = true, .fill = 1.0, .drain = 100e6}, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        world_t w;
        world_init(&w);
        const int64_t after_ns = known_after_ns(&w, &rows[i].claim);
        if ((after_ns > 0) != rows[i].is_liar || after_ns > 1000 * MS) {
            CHECK_FAIL("row %zu: after %" PRId64 " ns", i, after_ns);
        }
        CHECK_EQ(rsti_fill_truth_is_liar(&w.truth, 7), rows[i].is_liar);
        CHECK(!rsti_fill_truth_is_liar(&w.truth, 8));
    }
}

TEST(progress_is_known_after_its_time)
{
    rsti_fill_truth_t known;
    rsti_fill_truth_init(&known);
    rsti_fill_truth_on_status(&known, 7, 1000, WINDOW, 0);
    rsti_fill_truth_on_status(&known, 7, 3000, WINDOW, RSTI_TRUTH_PROGRESS_NS - 1);
    CHECK_EQ(rsti_fill_truth_find(&known, 7)->progress, -1);
    rsti_fill_truth_on_status(&known, 7, 5000, WINDOW, RSTI_TRUTH_PROGRESS_NS);
    CHECK_EQ(rsti_fill_truth_find(&known, 7)->progress, 4000 * 5);
}

/* A receiver that stopped has no progress: it may ask for nothing. */
TEST(a_receiver_that_stands_may_ask_for_no_data)
{
    world_t w;
    world_init(&w);
    const rsti_fill_report_t stop = {.fill = 0.02, .drain = 100e6, .allowed = 0};
    CHECK_EQ(known_after_ns(&w, &truth), 0);
    for (int i = 0; i < 1000; i++) {
        w.now_ns += 10 * MS;
        CHECK(say(&w, &stop));
    }
}

TEST(a_liar_is_forgiven_after_a_while)
{
    world_t w;
    world_init(&w);
    CHECK(known_after_ns(&w, &lie) > 0);
    CHECK(!say(&w, &truth)); /* one true report is not enough */
    CHECK_EQ(w.truth.ignored_count, 2);
    w.now_ns += RSTI_TRUTH_IGNORED_NS - 1;
    CHECK(rsti_fill_truth_is_liar(&w.truth, 7));
    w.now_ns += 1;
    CHECK(say(&w, &truth));
    CHECK(!rsti_fill_truth_is_liar(&w.truth, 7));
}

TEST(a_few_lies_or_a_truth_between_prove_nothing)
{
    world_t w;
    world_init(&w);
    for (int i = 0; i < 100; i++) {
        w.now_ns += 300 * MS;
        CHECK(say(&w, &lie));
        w.now_ns += 300 * MS;
        CHECK(say(&w, &lie));
        CHECK(say(&w, &truth));
    }
    CHECK(known_after_ns(&w, &lie) > 0); /* its lies of before protect it as little */
    world_init(&w);
    CHECK(say(&w, &lie));
    w.now_ns += 10 * RSTI_TRUTH_PATIENCE_NS;
    CHECK(say(&w, &lie));
    CHECK(say(&w, &lie));
    CHECK(!say(&w, &lie)); /* the fourth */
}

/* A real receiver (fill.h) of a random kind: its consumer takes all the time or in batches, at a
 * capacity that jumps and is 0 at times. Its messages are under way for half a round trip, and its
 * sender follows them or ignores them. */
typedef struct honest_t {
    world_t world;
    rsti_fill_t fill;
    rsti_rng_t rng;
    int64_t rtt_ns, buffer, received[512]; /* sent, at the last passes */
    int64_t told; /* consumption position of the last plain status message */
    double rate, capacity, due; /* per pass; what the consumer may take and has not */
    bool follows;
    int64_t pass, batch_passes;
    int32_t report_count;
} honest_t;

#define PASS_NS (MS / 5)

static int64_t one_of(honest_t *h, const int64_t *values, uint64_t count)
{
    return values[rsti_rng_below(&h->rng, count)];
}

static void honest_init(honest_t *h, uint64_t seed)
{
    static const int64_t round_trips_ns[] = {0, MS / 5, MS, 10 * MS, 40 * MS};
    static const int64_t buffers[] = {65536, 524288, BUFFER};
    static const int64_t targets_ns[] = {MS, 10 * MS, 50 * MS};
    static const int64_t batches[] = {1, 1, 25, 100};
    *h = (honest_t){0};
    world_init(&h->world);
    rsti_rng_init(&h->rng, seed);
    h->rtt_ns = one_of(h, round_trips_ns, 5);
    h->buffer = one_of(h, buffers, 3);
    h->batch_passes = one_of(h, batches, 4);
    h->follows = rsti_rng_below(&h->rng, 2) == 0;
    rsti_fill_init(&h->fill, one_of(h, targets_ns, 3));
}

static void consume(honest_t *h, int64_t there)
{
    if (h->pass % 500 == 0) { /* 100 ms */
        const int64_t roll = (int64_t)rsti_rng_below(&h->rng, 4);
        h->capacity = (double)roll * 10e3;
        h->rate = h->follows ? h->rate : 4e3 + (double)rsti_rng_below(&h->rng, 30000);
    }
    h->due += h->capacity;
    if (h->pass % h->batch_passes == 0) {
        const int64_t most = h->world.consumed + (int64_t)h->due;
        h->world.consumed = rsti_max_i64(h->world.consumed, there < most ? there : most);
        h->due = 0;
    }
}

/* False: the report that is due was not believed. */
static bool honest_pass(honest_t *h)
{
    world_t *w = &h->world;
    const int64_t under_way = rsti_min_i64(h->rtt_ns / 2 / PASS_NS + 1, 500);
    w->now_ns += PASS_NS;
    h->pass++;
    h->received[h->pass % 512] = w->sent;
    w->sent += w->sent - w->consumed < h->buffer ? (int64_t)h->rate : 0;
    const int64_t there = h->received[(h->pass + 512 - under_way) % 512];
    consume(h, there);
    const rsti_fill_due_t due = rsti_fill_update(&h->fill,
        &(rsti_fill_facts_t){.now_ns = w->now_ns,
            .received = there,
            .consumed = w->consumed,
            .buffer_bytes = h->buffer,
            .rtt_ns = h->rtt_ns,
            .mtu = MTU});
    h->told = h->pass % 50 == 0 ? w->consumed : h->told;
    (void)rsti_fill_truth_on_status(&w->truth, 1, h->told, WINDOW, w->now_ns);
    if (due == RSTI_FILL_QUIET) {
        return true;
    }
    rsti_fill_report_t report;
    rsti_fill_report(&h->fill, h->fill.drain, due == RSTI_FILL_CLEAR, &report);
    report.receiver_id = 1;
    rsti_fill_on_sent(&h->fill);
    h->report_count++;
    if (h->follows) {
        h->rate = due == RSTI_FILL_CLEAR ? 30e3 : report.allowed * PASS_NS / 1e9;
    }
    return rsti_fill_truth_is_believed(&w->truth, &report, w->sent, MTU, w->now_ns);
}

TEST(honest_receivers_are_believed)
{
    int32_t reporting = 0;
    for (uint64_t run = 0; run < 200; run++) {
        honest_t h;
        honest_init(&h, check_seed() + run);
        h.rate = 30e3;
        while (h.pass < 20000) {
            if (!honest_pass(&h)) {
                CHECK_FAIL("run %" PRIu64 ": after %" PRId64 " ms", run, h.pass / 5);
            }
        }
        reporting += h.report_count > 100;
    }
    CHECK(reporting > 100);
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

TEST(after_a_truth_lies_count_anew)
{
    world_t w;
    world_init(&w);
    CHECK(say(&w, &lie));
    CHECK(say(&w, &truth));
    const int64_t known_ns = known_after_ns(&w, &lie);
    CHECK(known_ns >= RSTI_TRUTH_PATIENCE_NS);
    CHECK(known_ns <= RSTI_NS_PER_S);
}

TEST(the_table_is_bounded_and_keeps_liars)
{
    world_t w;
    world_init(&w);
    CHECK(known_after_ns(&w, &lie) > 0);
    for (int64_t id = 100; id < 400; id++) {
        rsti_fill_truth_on_status(&w.truth, id, INT64_MIN + id, WINDOW, w.now_ns + id);
    }
    CHECK_EQ(w.truth.source_count, RSTI_TRUTH_SOURCES);
    CHECK(rsti_fill_truth_is_liar(&w.truth, 7));
    const rsti_fill_report_t report = {.receiver_id = INT64_MIN, .buffer_bytes = INT64_MAX};
    CHECK(rsti_fill_truth_is_believed(&w.truth, &report, INT64_MAX, INT32_MIN, INT64_MAX));
    rsti_fill_truth_on_status(&w.truth, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MIN);
}

CHECK_MAIN(RUN(liars_are_known_within_a_second), RUN(progress_is_known_after_its_time),
    RUN(a_receiver_that_stands_may_ask_for_no_data), RUN(a_liar_is_forgiven_after_a_while),
    RUN(a_few_lies_or_a_truth_between_prove_nothing), RUN(after_a_truth_lies_count_anew),
    RUN(honest_receivers_are_believed), RUN(a_replay_is_no_news),
    RUN(the_table_is_bounded_and_keeps_liars))
