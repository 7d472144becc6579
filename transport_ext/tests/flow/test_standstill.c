/* test_standstill.c: when a receiver's own window limits a stream under a rate, and for how long at
 * most. The random sequences are those of tests/unit/test_flow_models.py. */
#include "flow/reaction.h"
#include "flow/standstill.h"
#include "tests/check.h"
#include "util/clock.h"

#define MS RSTI_NS_PER_MS
#define BUFFER (1024 * 1024)
#define TARGET RSTI_TARGET_DELAY_NS
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

static void report(world_t *w, int64_t id, double strength)
{
    const rsti_fill_report_t report = {.receiver_id = id,
        .strength = strength,
        .fill = 0.5,
        .drain = DRAIN,
        .drain_all = DRAIN,
        .sender_count = 1,
        .buffer_bytes = BUFFER,
        .rtt_ns = RTT};
    CHECK(rsti_fill_truth_is_believed(&w->truth, &report, SENT, MTU, w->now_ns));
    rsti_standstill_on_report(&w->standstill, &w->truth, &report, TARGET, w->now_ns);
}

static int64_t limit(world_t *w, int64_t position)
{
    return rsti_standstill_limit(&w->standstill, &w->truth, position, FAR, MTU, w->now_ns);
}

static int64_t reach(void)
{
    return rsti_reaction(TARGET, RSTI_DETECT_NS, BUFFER, RTT, DRAIN, DRAIN, DRAIN).reach_ns;
}

/* Receiver 1 has stood still for long and reports it. */
static world_t standing(void)
{
    world_t w = begin();
    w.now_ns += reach();
    status(&w, 2, SENT - BUFFER / 4);
    status(&w, 1, SENT - BUFFER / 2);
    report(&w, 1, 1.0);
    return w;
}

TEST(its_window_counts_after_a_reaction_time)
{
    world_t w = begin();
    w.now_ns += reach() - 1;
    status(&w, 2, SENT - BUFFER / 4);
    status(&w, 1, SENT - BUFFER / 2);
    report(&w, 1, 1.0);
    CHECK_EQ(limit(&w, SENT), FAR);
    w.now_ns++;
    report(&w, 1, 0.99); /* overloaded, but it does not stand */
    CHECK_EQ(limit(&w, SENT), FAR);
    report(&w, 1, 1.0);
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
    return rsti_max_i64(2 * reach(), RSTI_STANDSTILL_HELD_NS);
}

TEST(it_ends_when_the_reports_do)
{
    world_t w = standing();
    CHECK_EQ(limit(&w, SENT), SENT + BUFFER / 2);
    status(&w, 1, SENT - BUFFER / 2 + MTU); /* it advances, and has no more room than that */
    CHECK_EQ(limit(&w, SENT), SENT + BUFFER / 2 + MTU);
    w.now_ns += reach() - 1;
    report(&w, 1, 1.0); /* full, but it does not stand */
    w.now_ns += held() - reach() + 1;
    CHECK_EQ(limit(&w, SENT), FAR);

    w = standing();
    w.now_ns += held() - 1;
    CHECK_EQ(limit(&w, SENT), SENT + BUFFER / 2);
    CHECK_EQ(rsti_standstill_due_ns(&w.standstill), w.now_ns + 1);
    w.now_ns++; /* it may have died */
    CHECK_EQ(limit(&w, SENT), FAR);
}

TEST(unmoved_or_unknown_receivers_hold_nothing)
{
    world_t w = begin();
    status(&w, 3, 0);
    w.now_ns += 100 * reach();
    status(&w, 3, 0);
    report(&w, 3, 1.0);
    CHECK_EQ(limit(&w, SENT), FAR);
    const rsti_fill_report_t stranger = {.receiver_id = 4, .strength = 1.0, .buffer_bytes = BUFFER};
    rsti_standstill_on_report(&w.standstill, &w.truth, &stranger, TARGET, w.now_ns);
    CHECK_EQ(limit(&w, SENT), FAR);
}

/* It heard an equally strong report of another receiver, and stayed silent. */
TEST(of_two_that_stand_the_fuller_one_counts)
{
    world_t w = begin();
    const int64_t until_ns = w.now_ns + RSTI_STANDSTILL_HEARD_NS;
    status(&w, 3, 0);
    status(&w, 3, SENT - BUFFER + MTU);
    w.now_ns += 2 * reach();
    report(&w, 1, 1.0);
    CHECK_EQ(limit(&w, SENT), SENT + MTU);
    /* Unless it has not been heard for long. */
    while (w.now_ns < until_ns) {
        CHECK_EQ(limit(&w, SENT), SENT + MTU);
        w.now_ns += reach() / 2;
        report(&w, 1, 1.0);
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
        report(&w, 1, 1.0);
    }
    CHECK_EQ(first_ns, RSTI_STANDSTILL_MOST_NS);
    CHECK(held_ns >= RSTI_NS_PER_S);
    CHECK(held_ns <= RSTI_NS_PER_S + RSTI_STANDSTILL_MOST_NS + MS);
}

CHECK_MAIN(RUN(its_window_counts_after_a_reaction_time), RUN(it_ends_when_the_reports_do),
    RUN(unmoved_or_unknown_receivers_hold_nothing), RUN(of_two_that_stand_the_fuller_one_counts),
    RUN(it_holds_for_a_quarter_of_a_second_and_then_for_a_sixth_of_the_time))
