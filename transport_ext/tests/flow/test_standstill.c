/* test_standstill.c: when a receiver's own window limits a stream under a rate, and for how long at
 * most. The random sequences are those of tests/unit/test_flow_models.py. */
#include "flow/fill.h"
#include "flow/standstill.h"
#include "tests/check.h"
#include "util/clock.h"

#define MS RSTI_NS_PER_MS
#define BUFFER (1024 * 1024)
#define DRAIN 1e8
#define RTT MS
#define MTU 1408
#define SENT (10 * BUFFER)
#define FAR (100 * BUFFER)

typedef struct world_t {
    rsti_fill_truth_t truth;
    rsti_standstill_t standstill;
    int64_t now_ns;
} world_t;

static void status(world_t *w, int64_t id, int64_t consumed)
{
    (void)rsti_fill_truth_on_status(&w->truth, id, consumed, BUFFER, w->now_ns);
}

/* Two receivers whose positions have both advanced. */
static world_t begin(void)
{
    world_t w = {.now_ns = MS};
    rsti_fill_truth_init(&w.truth);
    rsti_standstill_init(&w.standstill, 0);
    for (int64_t id = 1; id <= 2; id++) {
        status(&w, id, 0);
        status(&w, id, SENT - BUFFER / 2);
    }
    return w;
}

static void report(world_t *w, int64_t id, double allowed)
{
    const rsti_fill_report_t report = {.receiver_id = id,
        .fill = 0.5,
        .drain = DRAIN,
        .allowed = allowed,
        .buffer_bytes = BUFFER,
        .rtt_ns = RTT};
    CHECK(rsti_fill_truth_is_believed(&w->truth, &report, SENT, MTU, w->now_ns));
    rsti_standstill_on_report(&w->standstill, &w->truth, &report, w->now_ns);
}

static int64_t limit(world_t *w, int64_t position)
{
    return rsti_standstill_limit(&w->standstill, &w->truth, position, FAR, MTU, w->now_ns);
}

/* T = RTT + P */
#define REACH (RTT + RSTI_FILL_PERIOD_NS)

/* Receiver 1 has stood still for long and reports it. */
static world_t standing(void)
{
    world_t w = begin();
    w.now_ns += REACH;
    status(&w, 2, SENT - BUFFER / 4);
    status(&w, 1, SENT - BUFFER / 2);
    report(&w, 1, 0);
    return w;
}

TEST(its_window_counts_after_a_reaction_time)
{
    world_t w = begin();
    w.now_ns += REACH - 1;
    status(&w, 2, SENT - BUFFER / 4);
    status(&w, 1, SENT - BUFFER / 2);
    report(&w, 1, 0);
    CHECK_EQ(limit(&w, SENT), FAR);
    w.now_ns++;
    report(&w, 1, 1.0); /* overloaded, but it does not stand: it takes some data */
    CHECK_EQ(limit(&w, SENT), FAR);
    report(&w, 1, 0);
    CHECK_EQ(limit(&w, SENT), SENT + BUFFER / 2);
    CHECK(!w.standstill.is_holding);
    CHECK_EQ(limit(&w, SENT + BUFFER / 2 - MTU), SENT + BUFFER / 2);
    CHECK(!w.standstill.is_holding);
    CHECK_EQ(limit(&w, SENT + BUFFER / 2 - MTU + 1),
        SENT + BUFFER / 2 - MTU + 1); /* no datagram fits */
    CHECK(w.standstill.is_holding);
    CHECK_EQ(limit(&w, SENT + BUFFER), SENT + BUFFER); /* what was sent was sent */
}

/* After the last report. */
static int64_t held(void)
{
    return rsti_max_i64(2 * REACH, RSTI_STANDSTILL_HELD_NS);
}

TEST(it_ends_when_the_reports_do)
{
    world_t w = standing();
    CHECK_EQ(limit(&w, SENT), SENT + BUFFER / 2);
    status(&w, 1, SENT - BUFFER / 2 + MTU); /* it advances, and has no more room than that */
    CHECK_EQ(limit(&w, SENT), SENT + BUFFER / 2 + MTU);
    w.now_ns += REACH - 1;
    report(&w, 1, 0); /* full, but it does not stand */
    w.now_ns += held() - REACH + 1;
    CHECK_EQ(limit(&w, SENT), FAR);

    w = standing();
    w.now_ns += held() - 1;
    CHECK_EQ(limit(&w, SENT), SENT + BUFFER / 2);
    CHECK_EQ(rsti_standstill_due_ns(&w.standstill), w.now_ns + 1);
    w.now_ns++; /* it may have died */
    CHECK_EQ(limit(&w, SENT), FAR);
}

/* T is two round trips where one is longer than P. "Clear" asks for nothing. */
TEST(it_stands_only_if_it_allows_nothing_for_long_enough)
{
    static const struct {
        rsti_fill_report_t report;
        int64_t still_ns;
        bool is_standing;
    } rows[] = {
        {{.rtt_ns = RTT}, REACH, true},
        {{.rtt_ns = RTT}, REACH - 1, false},
        {{.rtt_ns = 10 * MS}, 20 * MS, true},
        {{.rtt_ns = 10 * MS}, 20 * MS - 1, false},
        {{.rtt_ns = 0}, RSTI_FILL_PERIOD_NS, true},
        {{.rtt_ns = RTT, .allowed = 1e-3}, 10 * REACH, false},
        {{.rtt_ns = RTT, .allowed = -1}, REACH, true}, /* cleaned: 0 */
        {{.rtt_ns = RTT, .is_clear = true}, 10 * REACH, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        world_t w = begin();
        rsti_fill_report_t report = rows[i].report;
        report.receiver_id = 1;
        report.buffer_bytes = BUFFER;
        w.now_ns += rows[i].still_ns;
        status(&w, 1, SENT - BUFFER / 2);
        rsti_standstill_on_report(&w.standstill, &w.truth, &report, w.now_ns);
        CHECK_EQ(limit(&w, SENT), rows[i].is_standing ? SENT + BUFFER / 2 : FAR);
    }
}

TEST(unmoved_or_unknown_receivers_hold_nothing)
{
    world_t w = begin();
    status(&w, 3, 0);
    w.now_ns += 100 * REACH;
    status(&w, 3, 0);
    report(&w, 3, 0);
    CHECK_EQ(limit(&w, SENT), FAR);
    const rsti_fill_report_t stranger = {.receiver_id = 4, .buffer_bytes = BUFFER};
    rsti_standstill_on_report(&w.standstill, &w.truth, &stranger, w.now_ns);
    CHECK_EQ(limit(&w, SENT), FAR);
}

/* It heard another receiver ask for no data, and stayed silent. */
TEST(of_two_that_stand_the_fuller_one_counts)
{
    world_t w = begin();
    const int64_t until_ns = w.now_ns + RSTI_STANDSTILL_HEARD_NS;
    status(&w, 3, 0);
    status(&w, 3, SENT - BUFFER + MTU);
    w.now_ns += 2 * REACH;
    report(&w, 1, 0);
    CHECK_EQ(limit(&w, SENT), SENT + MTU);
    /* Unless it has not been heard for long. */
    while (w.now_ns < until_ns) {
        CHECK_EQ(limit(&w, SENT), SENT + MTU);
        w.now_ns += REACH / 2;
        report(&w, 1, 0);
    }
    CHECK_EQ(limit(&w, SENT), SENT + BUFFER / 2);
}

TEST(it_holds_for_a_quarter_of_a_second_and_then_for_a_sixth_of_the_time)
{
    world_t w = standing();
    int64_t held_ns = 0, since_ns = w.now_ns, first_ns = 0;
    while (w.now_ns - since_ns < 6 * RSTI_NS_PER_S) {
        (void)limit(&w, SENT + BUFFER / 2);
        held_ns += w.standstill.is_holding ? MS : 0;
        if (first_ns == 0 && !w.standstill.is_holding) {
            first_ns = w.now_ns - since_ns;
        }
        w.now_ns += MS;
        report(&w, 1, 0);
    }
    CHECK_EQ(first_ns, RSTI_STANDSTILL_MOST_NS);
    CHECK(held_ns >= RSTI_NS_PER_S);
    CHECK(held_ns <= RSTI_NS_PER_S + RSTI_STANDSTILL_MOST_NS + MS);
}

CHECK_MAIN(RUN(its_window_counts_after_a_reaction_time), RUN(it_ends_when_the_reports_do),
    RUN(it_stands_only_if_it_allows_nothing_for_long_enough),
    RUN(unmoved_or_unknown_receivers_hold_nothing), RUN(of_two_that_stand_the_fuller_one_counts),
    RUN(it_holds_for_a_quarter_of_a_second_and_then_for_a_sixth_of_the_time))
