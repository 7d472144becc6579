/* test_auto.c: the automatic window in a small world: one sender without end, a link with a rate, a
 * path with a delay, and a reader. It must find the window that keeps the slowest of them busy,
 * keep the queue of a slow reader short, stay within its bounds, and recover after pauses. */
#include "flow/congestion.h"
#include "flow/sm_due.h"
#include "tests/check.h"
#include "util/rng.h"

#define MTU 1408
#define US INT64_C(1000)
#define MS INT64_C(1000000)
#define SECOND INT64_C(1000000000)
#define FLIGHT_MAX 65536

typedef struct event_t {
    int64_t at_ns;
    int64_t value;
} event_t;

/* In order of time. */
typedef struct flight_t {
    event_t events[FLIGHT_MAX];
    uint32_t head, tail;
} flight_t;

typedef struct world_t {
    int64_t rtt_ns, link_bytes_per_s, reader_bytes_per_s, poll_gap_ns, supply_bytes_per_s;
    int32_t max_window;
    int64_t step_ns;
    rsti_congestion_t congestion;
    int64_t now_ns, sent, limit, hwm, consumed, link_free_ns, polled_ns;
    int64_t sm_position;
    int32_t sm_window;
    int64_t sm_sent_ns, rtt_smoothed_ns, rtt_least_ns, rtt_sampled_ns;
    int64_t queue_most; /* received and not consumed, since it was last set to 0 */
    int64_t supplied;
    bool is_reader_paused, is_sender_paused;
    int failures; /* before this world began */
    flight_t data, messages;
} world_t;

static void fly(flight_t *flight, int64_t at_ns, int64_t value)
{
    if (flight->tail - flight->head == FLIGHT_MAX) {
        fprintf(stderr, "too much under way\n");
        exit(1);
    }
    flight->events[flight->tail++ % FLIGHT_MAX] = (event_t){at_ns, value};
}

static bool land(flight_t *flight, int64_t now_ns, int64_t *value)
{
    if (flight->head == flight->tail || flight->events[flight->head % FLIGHT_MAX].at_ns > now_ns) {
        return false;
    }
    *value = flight->events[flight->head++ % FLIGHT_MAX].value;
    return true;
}

static void world_init(world_t *w)
{
    const rsti_congestion_params_t params = {
        .cc_text = "auto",
        .default_text = "static",
        .window = w->max_window,
        .term_length = 64 * 1024 * 1024,
        .mtu = MTU,
    };
    if (rsti_congestion_init(&w->congestion, &params) < 0) {
        exit(1);
    }
    w->failures = check_failures;
    w->sm_sent_ns = -SECOND;
    w->rtt_sampled_ns = -SECOND;
    const int64_t reach_ns = w->rtt_ns + w->poll_gap_ns;
    w->step_ns = reach_ns / 40 < US ? US : reach_ns / 40 > MS / 4 ? MS / 4 : reach_ns / 40;
}

static void send(world_t *w)
{
    int64_t value = 0;
    while (land(&w->messages, w->now_ns, &value)) {
        w->limit = value > w->limit ? value : w->limit;
    }
    w->supplied = w->supply_bytes_per_s == 0
        ? INT64_MAX
        : (int64_t)((double)w->supply_bytes_per_s * (double)w->now_ns / 1e9);
    while (!w->is_sender_paused && w->sent + MTU <= w->limit && w->sent + MTU <= w->supplied) {
        w->sent += MTU;
        w->link_free_ns = (w->link_free_ns > w->now_ns ? w->link_free_ns : w->now_ns)
            + MTU * SECOND / w->link_bytes_per_s;
        fly(&w->data, w->link_free_ns + w->rtt_ns / 2, w->sent);
    }
}

static void read(world_t *w)
{
    int64_t value = 0;
    while (land(&w->data, w->now_ns, &value)) {
        w->hwm = value;
    }
    const int64_t passed_ns = w->now_ns - w->polled_ns;
    if (passed_ns >= w->poll_gap_ns) {
        const int64_t most = (int64_t)((double)w->reader_bytes_per_s * (double)passed_ns / 1e9) / 32
            * 32;
        const int64_t there = w->hwm - w->consumed;
        if (!w->is_reader_paused && most > 0) {
            w->consumed += there < most ? there : most;
        }
        if (there <= most || w->is_reader_paused || w->poll_gap_ns > 0) {
            w->polled_ns = w->now_ns;
        } else {
            w->polled_ns += most * SECOND / w->reader_bytes_per_s; /* no rate lost by rounding */
        }
    }
    w->queue_most = w->hwm - w->consumed > w->queue_most ? w->hwm - w->consumed : w->queue_most;
}

/* The result of RTTM, ten times a second and at the start. */
static void measure(world_t *w)
{
    const int64_t waiting_ns = w->link_free_ns > w->now_ns ? w->link_free_ns - w->now_ns : 0;
    const int64_t sample_ns = w->rtt_ns + waiting_ns;
    if (w->now_ns < w->rtt_sampled_ns + 100 * MS) {
        return;
    }
    w->rtt_sampled_ns = w->now_ns;
    w->rtt_smoothed_ns = w->rtt_smoothed_ns == 0
        ? sample_ns
        : w->rtt_smoothed_ns + (sample_ns - w->rtt_smoothed_ns) / 8;
    w->rtt_least_ns = w->rtt_least_ns == 0 || sample_ns < w->rtt_least_ns ? sample_ns
                                                                          : w->rtt_least_ns;
}

static void rebuild(world_t *w)
{
    const rsti_rebuild_facts_t facts = {
        .now_ns = w->now_ns,
        .consumed = w->consumed,
        .last_sm_position = w->sm_position,
        .hwm = w->hwm,
        .from = w->hwm,
        .to = w->hwm,
        .rtt_ns = w->rtt_smoothed_ns,
        .rtt_least_ns = w->rtt_least_ns,
    };
    rsti_sm_due_t due = {
        .consumed = w->consumed,
        .position = w->sm_position,
        .last_window = w->sm_window,
        .position_bits = 26,
    };
    due.window = w->congestion.law->on_rebuild(&w->congestion, &facts, &due.is_forced);
    const int32_t least = 4 * MTU < w->congestion.max_window ? 4 * MTU : w->congestion.max_window;
    CHECK(due.window >= least && due.window <= w->congestion.max_window);
    if (rsti_sm_is_due(&due) || w->now_ns > w->sm_sent_ns + 200 * MS) {
        w->sm_position = w->consumed > w->sm_position ? w->consumed : w->sm_position;
        w->sm_window = due.window;
        w->sm_sent_ns = w->now_ns;
        fly(&w->messages, w->now_ns + w->rtt_ns / 2, w->sm_position + w->sm_window);
    }
}

static void run(world_t *w, int64_t ns)
{
    const int64_t end_ns = w->now_ns + ns;
    while (w->now_ns < end_ns && check_failures == w->failures) {
        w->now_ns += w->step_ns;
        send(w);
        read(w);
        measure(w);
        rebuild(w);
    }
}

/* Bytes per second consumed in the next ns. */
static double rate_over(world_t *w, int64_t ns)
{
    const int64_t before = w->consumed, from_ns = w->now_ns;
    w->queue_most = 0;
    run(w, ns);
    return (double)(w->consumed - before) * 1e9 / (double)(w->now_ns - from_ns);
}

static double least_of(double a, double b)
{
    return a < b ? a : b;
}

/* The upper bound: the link, the reader, and the largest window per round trip. */
static double capacity(const world_t *w)
{
    const double by_window = 0.75 * w->max_window
        / ((double)(w->rtt_ns + w->poll_gap_ns + 2 * w->step_ns) / 1e9);
    const double by_rate = least_of((double)w->link_bytes_per_s, (double)w->reader_bytes_per_s);
    return least_of(by_rate, by_window);
}

static const int64_t ways_ns[] = {50 * US, MS, 20 * MS, 100 * MS};
static const int64_t links[] = {12500000, 125000000, 500000000};
static const int64_t gaps_ns[] = {0, 5 * MS};

static int64_t settle_ns(const world_t *w)
{
    return 60 * (w->rtt_ns + w->poll_gap_ns + MS) + 500 * MS;
}

TEST(the_window_fills_the_path)
{
    static world_t w;
    for (size_t i = 0; i < 24 && check_failures == 0; i++) {
        w = (world_t){
            .rtt_ns = ways_ns[i % 4],
            .link_bytes_per_s = links[i / 4 % 3],
            .reader_bytes_per_s = 2000000000,
            .poll_gap_ns = gaps_ns[i / 12],
            .max_window = 16 * 1024 * 1024,
        };
        world_init(&w);
        run(&w, settle_ns(&w));
        const double rate = rate_over(&w, settle_ns(&w) / 2);
        if (rate < 0.9 * capacity(&w)) {
            CHECK_FAIL("way %" PRId64 " us, link %" PRId64 ", gap %" PRId64
                       " us: %.0f of %.0f B/s, window %d",
                w.rtt_ns / US, w.link_bytes_per_s, w.poll_gap_ns / US, rate, capacity(&w),
                w.congestion.window);
        }
        /* The window is not much larger than needed: twice the product, and twice again since a
         * quarter is announced late. */
        const double product = capacity(&w) * (double)(w.rtt_ns + w.poll_gap_ns + 4 * w.step_ns)
            / 1e9;
        if (w.congestion.window > 6 * product + 8 * MTU) {
            CHECK_FAIL("way %" PRId64 " us, link %" PRId64 ", gap %" PRId64
                       " us: window %d for a product of %.0f",
                w.rtt_ns / US, w.link_bytes_per_s, w.poll_gap_ns / US, w.congestion.window,
                product);
        }
    }
}

TEST(a_slow_reader_has_a_short_queue)
{
    static world_t w;
    for (size_t i = 0; i < 4 && check_failures == 0; i++) {
        w = (world_t){
            .rtt_ns = ways_ns[i],
            .link_bytes_per_s = 125000000,
            .reader_bytes_per_s = 5000000,
            .max_window = 4 * 1024 * 1024,
        };
        world_init(&w);
        run(&w, settle_ns(&w) + 2 * SECOND);
        const double rate = rate_over(&w, SECOND);
        CHECK(rate > 0.9 * capacity(&w));
        const double product = 5000000.0 * (double)(w.rtt_ns + MS) / 1e9;
        if ((double)w.queue_most > 6 * product + 8 * MTU) {
            CHECK_FAIL("way %" PRId64 " us: queue %" PRId64 " window %d for a product of %.0f",
                w.rtt_ns / US, w.queue_most, w.congestion.window, product);
        }
    }
}

static void settle(world_t *w)
{
    *w = (world_t){
        .rtt_ns = 20 * MS,
        .link_bytes_per_s = 125000000,
        .reader_bytes_per_s = 2000000000,
        .max_window = 16 * 1024 * 1024,
    };
    world_init(w);
    run(w, settle_ns(w));
}

TEST(a_pause_of_the_reader_changes_nothing)
{
    static world_t w;
    settle(&w);
    const int32_t window = w.congestion.window;
    CHECK(window > 2 * 1024 * 1024);
    for (int i = 0; i < 12; i++) {
        w.is_reader_paused = true;
        run(&w, 700 * MS);
        w.is_reader_paused = false;
        CHECK_EQ(w.congestion.window, window);
        run(&w, 300 * MS);
        CHECK(w.congestion.window > window / 2);
        w.congestion.window = window; /* each pause separately */
    }
    CHECK(rate_over(&w, SECOND) > 0.9 * capacity(&w));
}

TEST(a_quiet_publisher_finds_its_window_again)
{
    static world_t w;
    settle(&w);
    const int32_t window = w.congestion.window;
    w.is_sender_paused = true;
    run(&w, 30 * SECOND);
    CHECK_EQ(w.congestion.window, window);
    w.is_sender_paused = false;
    CHECK(rate_over(&w, SECOND) > 0.85 * capacity(&w));
    /* A little traffic for a long time: the credit is not used, so it is not withdrawn. */
    w.supply_bytes_per_s = (int64_t)((double)w.sent * 1e9 / (double)w.now_ns) + 1000;
    const int32_t before = w.congestion.window;
    w.sent = (int64_t)((double)w.supply_bytes_per_s * (double)w.now_ns / 1e9) / MTU * MTU;
    run(&w, 20 * SECOND);
    CHECK(w.congestion.window >= before / 2);
}

TEST(the_window_follows_changes)
{
    static world_t w;
    settle(&w);
    w.reader_bytes_per_s = 2000000;
    run(&w, 5 * SECOND);
    CHECK(w.congestion.window < 512 * 1024);
    w.reader_bytes_per_s = 2000000000;
    run(&w, 3 * SECOND);
    CHECK(rate_over(&w, SECOND) > 0.9 * capacity(&w));
    w.rtt_ns = 60 * MS; /* a longer path: the old minimum of the round trip delays the growth */
    run(&w, 2 * SECOND);
    w.rtt_least_ns = w.rtt_ns; /* forgotten, see rtt.h */
    run(&w, 5 * SECOND);
    CHECK(rate_over(&w, SECOND) > 0.9 * capacity(&w));
}

/* A reader of 100 MB/s at a round trip of 1 ms, behind gaps that hold back so many bytes: the
 * window has room for them, up to six times the bytes of a round trip, and shrinks again when the
 * path loses no more. */
static int32_t window_behind_gaps(int64_t behind, rsti_congestion_t *congestion)
{
    const rsti_congestion_params_t params = {.cc_text = "auto",
        .default_text = "static",
        .window = 8 * 1024 * 1024,
        .term_length = 64 * 1024 * 1024,
        .mtu = MTU};
    if (congestion->law == NULL) {
        (void)rsti_congestion_init(congestion, &params);
    }
    const int64_t begin_ns = congestion->state.automatic.consumed * 10;
    int32_t window = 0;
    for (int64_t us = 0; us < 40000; us += 50) {
        const int64_t now_ns = begin_ns + us * US;
        const int64_t consumed = now_ns / 10; /* 100 MB/s */
        bool is_forced;
        window = congestion->law->on_rebuild(congestion,
            &(rsti_rebuild_facts_t){.now_ns = now_ns,
                .consumed = consumed,
                .last_sm_position = consumed,
                .hwm = consumed + (us % 1000 < 500 ? behind : 0),
                .from = consumed,
                .to = consumed,
                .rtt_ns = MS,
                .rtt_least_ns = MS},
            &is_forced);
    }
    return window;
}

TEST(data_behind_gaps_have_room)
{
    rsti_congestion_t congestion = {0};
    const int32_t calm = window_behind_gaps(0, &congestion);
    CHECK(calm > 170000 && calm < 230000);
    const int32_t one = window_behind_gaps(120000, &congestion);
    CHECK(one > calm + 130000 && one < calm + 190000);
    const int32_t most = window_behind_gaps(4000000, &congestion);
    CHECK(most > 540000 && most < 660000);
    CHECK(window_behind_gaps(0, &congestion) < 1.2 * calm);
}

/* More than half a window lies unread for that time, then all is taken: the window after it. */
static int32_t window_after_wait(int64_t wait_ns)
{
    const rsti_congestion_params_t params = {
        .cc_text = "auto", .window = 8 * 1024 * 1024, .term_length = 64 * 1024 * 1024, .mtu = MTU};
    rsti_congestion_t congestion;
    if (rsti_congestion_init(&congestion, &params) < 0) {
        return -1;
    }
    rsti_rebuild_facts_t facts = {.rtt_ns = 10 * MS, .rtt_least_ns = 10 * MS};
    bool is_forced;
    (void)congestion.law->on_rebuild(&congestion, &facts, &is_forced);
    facts.now_ns = MS;
    facts.to = facts.hwm = 100000;
    (void)congestion.law->on_rebuild(&congestion, &facts, &is_forced);
    facts.now_ns += wait_ns;
    facts.consumed = 100000;
    return congestion.law->on_rebuild(&congestion, &facts, &is_forced);
}

TEST(a_wait_of_a_tenth_of_a_second_is_no_pause_yet)
{
    CHECK(window_after_wait(100 * MS) > 200000);
    CHECK_EQ(window_after_wait(100 * MS + 1), 131072); /* as it was */
}

TEST(nothing_moves_it_out_of_its_bounds)
{
    rsti_rng_t rng;
    rsti_rng_init(&rng, check_seed());
    for (int round = 0; round < 200 && check_failures == 0; round++) {
        const int32_t mtu = 64 + 32 * (int32_t)rsti_rng_below(&rng, 2046);
        const int32_t term = 65536 << rsti_rng_below(&rng, 15);
        const rsti_congestion_params_t params = {
            .cc_text = "auto",
            .window = 256 + (int32_t)rsti_rng_below(&rng, 1 << 30),
            .term_length = term,
            .mtu = mtu,
        };
        rsti_congestion_t congestion;
        CHECK_EQ(rsti_congestion_init(&congestion, &params), 0);
        rsti_rebuild_facts_t facts = {.now_ns = (int64_t)rsti_rng_below(&rng, 100)};
        for (int i = 0; i < 400; i++) {
            const uint64_t scale = UINT64_C(1) << rsti_rng_below(&rng, 40);
            facts.now_ns += (int64_t)rsti_rng_below(&rng, scale);
            facts.to += (int64_t)rsti_rng_below(&rng, (uint64_t)term);
            facts.hwm = facts.to + (int64_t)rsti_rng_below(&rng, (uint64_t)term);
            facts.consumed += (int64_t)rsti_rng_below(&rng,
                (uint64_t)(facts.to - facts.consumed) + 1);
            facts.rtt_ns = (int64_t)rsti_rng_below(&rng, scale);
            facts.rtt_least_ns = facts.rtt_ns / (1 + (int64_t)rsti_rng_below(&rng, 9));
            bool force_sm = true;
            const int32_t window = congestion.law->on_rebuild(&congestion, &facts, &force_sm);
            facts.last_sm_position = facts.consumed;
            const int32_t least = 4 * mtu < congestion.max_window ? 4 * mtu : congestion.max_window;
            CHECK(window <= congestion.max_window && window <= term / 2);
            CHECK(window >= (least < 131072 ? least : 131072));
            CHECK(!force_sm);
        }
    }
}

CHECK_MAIN(RUN(the_window_fills_the_path), RUN(a_slow_reader_has_a_short_queue),
    RUN(a_pause_of_the_reader_changes_nothing), RUN(a_quiet_publisher_finds_its_window_again),
    RUN(the_window_follows_changes), RUN(data_behind_gaps_have_room),
    RUN(a_wait_of_a_tenth_of_a_second_is_no_pause_yet), RUN(nothing_moves_it_out_of_its_bounds))
