/* The window towards a reader of few or small items (flow/reader_window.h): readers of many kinds
 * in virtual time, a chain of them, and hostile numbers. */
#include "flow/reader_window.h"
#include "tests/check.h"
#include "util/clock.h"
#include "util/int_math.h"
#include "util/rng.h"

#include <inttypes.h>

#define ITEM 224
#define W (512 * 1024)
#define MS RSTI_NS_PER_MS
#define STEP_NS (MS / 10)

/* A publisher that writes when it may, and a reader of it. */
typedef struct hop_t {
    rsti_reader_window_t law;
    int64_t window, produced, consumed;
} hop_t;

static void look_at(hop_t *hop, int64_t now_ns, bool is_blocked)
{
    hop->window = rsti_reader_window_update(&hop->law,
        &(rsti_reader_window_facts_t){
            .now_ns = now_ns,
            .produced = hop->produced,
            .consumed = hop->consumed,
            .window = W,
            .stopped = W,
            .largest = ITEM - 32,
            .first = 1408,
            .is_blocked = is_blocked,
        });
}

static void look(hop_t *hop, int64_t now_ns)
{
    look_at(hop, now_ns, false);
}

static bool has_room(const hop_t *hop)
{
    return hop->produced < hop->consumed + hop->window;
}

/* The reader takes so many items, or all, each period, from a publisher that is never idle. Returns
 * the items taken in the last second of three. */
static int64_t taken_per_s(hop_t *hop, int64_t period_ns, int64_t items)
{
    int64_t at_ns = period_ns, before = 0;
    for (int64_t now_ns = 0; now_ns < 3000 * MS; now_ns += STEP_NS) {
        before = now_ns == 2000 * MS ? hop->consumed : before;
        look(hop, now_ns);
        while (has_room(hop)) {
            hop->produced += ITEM;
        }
        if (now_ns >= at_ns) {
            at_ns += period_ns;
            hop->consumed = rsti_min_i64(hop->produced, hop->consumed + items * ITEM);
            look(hop, now_ns);
        }
    }
    return (hop->consumed - before) / ITEM;
}

TEST(a_reader_gets_this_taking_and_the_next_one)
{
    static const struct {
        int64_t period_ns, items; /* INT32_MAX: all that is there */
        int64_t least, most; /* of the window, in items */
    } rows[] = {
        {200 * MS, 1, 2, 2}, /* five a second, one by one */
        {5 * MS, 1, 3, 7},
        {100 * MS, 1000, 1000, 2400},
        {500 * MS, INT32_MAX, 100, INT32_MAX}, /* it grows with each taking */
        {900 * MS, 1, 2, 2}, /* its pauses are usual ones */
        {MS, 100, 1800, 2400}, /* W is 2 340 items */
        {STEP_NS, INT32_MAX, 2300, 2400},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        hop_t hop = {0};
        const int64_t taken = taken_per_s(&hop, rows[i].period_ns, rows[i].items);
        fprintf(stderr, "%g ms, %" PRId64 ": window %" PRId64 " items, %" PRId64 " taken per s\n",
            (double)rows[i].period_ns / 1e6, rows[i].items, hop.window / ITEM, taken);
        CHECK(hop.window >= rsti_min_i64(rows[i].least * ITEM, W));
        CHECK(hop.window <= (rows[i].most + 1) * ITEM);
        if (rows[i].items < INT32_MAX) {
            CHECK(taken >= 1000 * MS / rows[i].period_ns * rows[i].items / 100 * 97);
        }
    }
}

TEST(a_reader_of_one_s_own_gets_all_until_it_takes_and_when_it_has_stopped)
{
    rsti_reader_window_t law;
    rsti_reader_window_init(&law);
    rsti_reader_window_facts_t facts = {
        .window = W, .stopped = W / 4, .largest = ITEM, .first = 1408, .may_fill = true};
    CHECK_EQ(rsti_reader_window_update(&law, &facts), W);
    facts.produced = W;
    CHECK_EQ(rsti_reader_window_update(&law, &facts), W);
    for (int i = 0; i < 5; i++) {
        facts.consumed += ITEM;
        (void)rsti_reader_window_update(&law, &facts);
        facts.now_ns += 200 * MS;
        (void)rsti_reader_window_update(&law, &facts);
    }
    CHECK_EQ(rsti_reader_window_update(&law, &facts), 2 * ITEM);
    facts.now_ns += 50 * MS; /* 250 ms behind the last taking */
    CHECK_EQ(rsti_reader_window_update(&law, &facts), W);
    facts.may_fill = false;
    facts.consumed += ITEM;
    (void)rsti_reader_window_update(&law, &facts);
    facts.now_ns += 20 * MS;
    CHECK_EQ(rsti_reader_window_update(&law, &facts), 2 * ITEM);
}

/* A publisher that writes what it may, to a reader that takes nothing. Returns the window. */
static int64_t run_without_taking(hop_t *hop, int64_t *now_ns, int64_t for_ns)
{
    for (const int64_t end_ns = *now_ns + for_ns; *now_ns < end_ns; *now_ns += STEP_NS) {
        look(hop, *now_ns);
        while (has_room(hop)) {
            hop->produced += ITEM;
        }
    }
    return hop->window;
}

TEST(a_reader_that_took_nothing_yet_gets_all_after_a_moment)
{
    hop_t hop = {0};
    int64_t now_ns = 0;
    (void)run_without_taking(&hop, &now_ns, 1000 * MS);
    hop = (hop_t){0};
    CHECK_EQ(run_without_taking(&hop, &now_ns, 249 * MS), 1408);
    CHECK_EQ(rsti_reader_window_due_ns(&hop.law), 1250 * MS + STEP_NS); /* since it saw data */
    CHECK_EQ(run_without_taking(&hop, &now_ns, 3 * MS), W);
}

/* What one took says nothing of the next one, whose position is lower. */
TEST(another_reader_gets_all_after_a_moment_too)
{
    hop_t hop = {.produced = 6 * ITEM};
    look(&hop, 0);
    hop.consumed = ITEM;
    look(&hop, 10 * MS);
    hop.consumed = 0;
    look(&hop, 20 * MS);
    look(&hop, 269 * MS);
    CHECK_EQ(hop.window, 1408);
    look(&hop, 270 * MS);
    CHECK_EQ(hop.window, W);
}

/* A reader takes ten items, and then nothing more in this turn. Returns the window after it. */
static int64_t window_with_left(int64_t left)
{
    rsti_reader_window_t law;
    rsti_reader_window_init(&law);
    rsti_reader_window_facts_t facts = {.window = W,
        .stopped = W,
        .largest = ITEM,
        .first = 100 * ITEM,
        .produced = 10 * ITEM + left};
    (void)rsti_reader_window_update(&law, &facts);
    facts.consumed = 10 * ITEM;
    (void)rsti_reader_window_update(&law, &facts);
    facts.now_ns = RSTI_READER_TURN_NS;
    return rsti_reader_window_update(&law, &facts);
}

TEST(a_reader_keeps_up_if_it_leaves_less_than_it_takes)
{
    CHECK_EQ(window_with_left(10 * ITEM - 1), 100 * ITEM);
    CHECK_EQ(window_with_left(10 * ITEM), 20 * ITEM);
}

/* What it was given counts as taken when it asks for more. */
TEST(a_reader_at_work_on_its_first_item_has_not_stopped_soon)
{
    rsti_reader_window_t law;
    rsti_reader_window_init(&law);
    rsti_reader_window_facts_t facts = {.window = W,
        .stopped = W,
        .largest = ITEM,
        .first = 1408,
        .produced = 1408,
        .has_read = true};
    CHECK_EQ(rsti_reader_window_update(&law, &facts), 1408);
    for (; facts.now_ns < 999 * MS; facts.now_ns += MS) {
        CHECK_EQ(rsti_reader_window_update(&law, &facts), 1408);
    }
    facts.now_ns += 260 * MS;
    CHECK_EQ(rsti_reader_window_update(&law, &facts), 2 * 1408);
}

/* Each stop gives twice as much as the one before. */
TEST(a_reader_that_stops_for_longer_than_usual_gets_more_and_more)
{
    static const struct {
        int64_t gap_ns, stop_ns;
    } rows[] = {{20 * MS, 250 * MS}, {200 * MS, 800 * MS}, {1000 * MS, 4000 * MS}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        hop_t hop = {0};
        int64_t now_ns = 0;
        (void)run_without_taking(&hop, &now_ns, MS);
        for (int taking = 0; taking < 20; taking++) {
            hop.consumed += ITEM;
            (void)run_without_taking(&hop, &now_ns, rows[i].gap_ns);
        }
        CHECK_EQ(hop.window, 2 * ITEM);
        CHECK_EQ(run_without_taking(&hop, &now_ns, rows[i].stop_ns - rows[i].gap_ns - MS),
            2 * ITEM);
        CHECK_EQ(run_without_taking(&hop, &now_ns, 2 * MS), 1408);
        CHECK_EQ(run_without_taking(&hop, &now_ns, rows[i].stop_ns), 2 * 1408);
        CHECK_EQ(run_without_taking(&hop, &now_ns, 10 * rows[i].stop_ns), W);
        CHECK_EQ(rsti_reader_window_due_ns(&hop.law), RSTI_NO_DEADLINE);
        hop.consumed += ITEM;
        (void)run_without_taking(&hop, &now_ns, 20 * MS);
        CHECK_EQ(hop.window, 2 * ITEM);
    }
}

/* A publisher of few items at a time does not make the window grow. */
TEST(a_window_with_room_stays_as_it_is)
{
    hop_t hop = {.produced = 3 * ITEM};
    for (int64_t now_ns = 0; now_ns < 5000 * MS; now_ns += MS) {
        look(&hop, now_ns);
    }
    CHECK_EQ(hop.window, 1408);
    CHECK_EQ(rsti_reader_window_due_ns(&hop.law), RSTI_NO_DEADLINE);
    hop.produced += ITEM; /* half of it: the next message may not fit */
    look(&hop, 5000 * MS);
    CHECK_EQ(hop.window, W);
}

/* Looks cost passes of the conductor. */
TEST(it_looks_while_something_moves_and_then_at_the_next_taking)
{
    hop_t hop = {0};
    look(&hop, 0);
    CHECK_EQ(rsti_reader_window_due_ns(&hop.law), RSTI_NO_DEADLINE);
    CHECK_EQ(rsti_reader_window_wake_position(&hop.law), 1);
    hop.produced = 5 * ITEM;
    hop.consumed = ITEM;
    look(&hop, MS);
    CHECK_EQ(rsti_reader_window_due_ns(&hop.law), MS + RSTI_READER_TURN_NS);
    CHECK_EQ(rsti_reader_window_wake_position(&hop.law), INT64_MAX);
    look(&hop, 11 * MS);
    CHECK_EQ(rsti_reader_window_due_ns(&hop.law), 251 * MS); /* it may have stopped */
    CHECK_EQ(rsti_reader_window_wake_position(&hop.law), ITEM + 1);
    hop.consumed = 4 * ITEM;
    look(&hop, 12 * MS);
    look(&hop, 22 * MS);
    CHECK_EQ(rsti_reader_window_due_ns(&hop.law), RSTI_NO_DEADLINE);
}

/* Of many slow streams each look would cost a pass over all of them. */
TEST(a_reader_that_always_keeps_up_has_all_and_is_seldom_looked_at)
{
    hop_t hop = {0};
    int64_t now_ns = 0;
    for (int i = 0; i < 33; i++) {
        CHECK(hop.window < W);
        now_ns += 50 * MS;
        hop.produced += ITEM;
        hop.consumed += ITEM;
        look(&hop, now_ns);
        look(&hop, now_ns + 10 * MS);
    }
    CHECK_EQ(hop.window, W);
    now_ns += 50 * MS;
    hop.produced = hop.consumed += ITEM;
    look(&hop, now_ns);
    CHECK_EQ(rsti_reader_window_due_ns(&hop.law), now_ns + 1000 * MS);
    CHECK_EQ(rsti_reader_window_wake_position(&hop.law), INT64_MAX);
    hop.produced += 20 * ITEM; /* in the next second it takes one of twenty */
    hop.consumed += ITEM;
    look(&hop, now_ns + 1000 * MS);
    hop.consumed += ITEM;
    look(&hop, now_ns + 1010 * MS);
    CHECK(hop.window < 32 * ITEM);
}

/* Each reader but the last hands on what it takes, at once. What lies between the ends is what an
 * item waits for. */
#define HOPS 4

TEST(a_chain_does_not_fill_before_its_slowest_reader_is_known)
{
    static const int64_t periods_ns[] = {50 * MS, 5 * MS, MS};
    for (size_t i = 0; i < sizeof periods_ns / sizeof periods_ns[0]; i++) {
        hop_t hops[HOPS] = {0};
        int64_t at_ns = 0, most = 0, last = 0;
        for (int64_t now_ns = 0; now_ns < 10000 * MS; now_ns += STEP_NS) {
            for (int hop = HOPS - 1; hop >= 0; hop--) {
                look_at(&hops[hop], now_ns, hop + 1 < HOPS && !has_room(&hops[hop + 1]));
                const bool has_data = hop == 0 || hops[hop - 1].produced > hops[hop - 1].consumed;
                for (int n = 0; n < 100 && has_data && has_room(&hops[hop]); n++) {
                    if (hop > 0 && hops[hop - 1].produced == hops[hop - 1].consumed) {
                        break;
                    }
                    hops[hop].produced += ITEM;
                    hops[hop > 0 ? hop - 1 : 0].consumed += hop > 0 ? ITEM : 0;
                }
            }
            if (now_ns >= at_ns && hops[HOPS - 1].produced > hops[HOPS - 1].consumed) {
                hops[HOPS - 1].consumed += ITEM;
                at_ns = now_ns + periods_ns[i];
            }
            last = (hops[0].produced - hops[HOPS - 1].consumed) / ITEM;
            most = rsti_max_i64(most, last);
        }
        fprintf(stderr,
            "%g ms a item: most %" PRId64 " items in the chain, at the end %" PRId64 "\n",
            (double)periods_ns[i] / 1e6, most, last);
        /* Each takes at first twice what the one behind it took, 1 + 2 + 4 + 8 first windows, and
         * more until a turn has shown it. */
        CHECK(most <= 20 * (1408 / ITEM + 1) + HOPS * 60 * MS / periods_ns[i]);
        CHECK(last <= HOPS * rsti_max_i64(3, 45 * MS / periods_ns[i]));
    }
}

TEST(of_another_reader_no_slowness_is_known)
{
    hop_t hop = {0};
    (void)taken_per_s(&hop, 500 * MS, 1);
    hop.produced += ITEM;
    hop.consumed += ITEM;
    look(&hop, 3000 * MS);
    CHECK(hop.law.opens_ns > 3000 * MS + 3 * RSTI_READER_STOP_NS);
    hop.consumed -= 2 * ITEM; /* the slowest is another one now */
    look(&hop, 3001 * MS);
    CHECK_EQ(hop.law.opens_ns, 3001 * MS + RSTI_READER_STOP_NS);
}

TEST(any_numbers_give_a_window_within_the_configured_one)
{
    rsti_rng_t rng;
    rsti_rng_init(&rng, 7);
    for (int round = 0; round < 200; round++) {
        rsti_reader_window_t law;
        rsti_reader_window_init(&law);
        for (int i = 0; i < 200; i++) {
            const int shift = (int)(rsti_rng_next(&rng) % 64);
            rsti_reader_window_facts_t facts = {
                .now_ns = (int64_t)rsti_rng_next(&rng) >> shift,
                .produced = (int64_t)rsti_rng_next(&rng) >> shift,
                .consumed = (int64_t)rsti_rng_next(&rng) >> shift,
                .window = (int64_t)rsti_rng_next(&rng) >> shift,
                .stopped = (int64_t)rsti_rng_next(&rng) >> shift,
                .largest = (int64_t)rsti_rng_next(&rng) >> shift,
                .first = (int64_t)rsti_rng_next(&rng) >> shift,
                .turn_ns = (int64_t)rsti_rng_next(&rng) >> shift,
                .may_fill = rsti_rng_next(&rng) % 2,
                .is_blocked = rsti_rng_next(&rng) % 2,
            };
            const int64_t window = rsti_reader_window_update(&law, &facts);
            CHECK(window >= 0);
            CHECK(window <= rsti_max_i64(facts.window, 0));
        }
    }
}

CHECK_MAIN(RUN(a_reader_gets_this_taking_and_the_next_one),
    RUN(a_reader_of_one_s_own_gets_all_until_it_takes_and_when_it_has_stopped),
    RUN(a_reader_that_took_nothing_yet_gets_all_after_a_moment),
    RUN(another_reader_gets_all_after_a_moment_too),
    RUN(a_reader_keeps_up_if_it_leaves_less_than_it_takes),
    RUN(a_reader_at_work_on_its_first_item_has_not_stopped_soon),
    RUN(a_reader_that_stops_for_longer_than_usual_gets_more_and_more),
    RUN(a_window_with_room_stays_as_it_is),
    RUN(a_reader_that_always_keeps_up_has_all_and_is_seldom_looked_at),
    RUN(it_looks_while_something_moves_and_then_at_the_next_taking),
    RUN(a_chain_does_not_fill_before_its_slowest_reader_is_known),
    RUN(of_another_reader_no_slowness_is_known),
    RUN(any_numbers_give_a_window_within_the_configured_one))
