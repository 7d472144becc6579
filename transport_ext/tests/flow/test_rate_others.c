/* test_rate_others.c: all laws but the adaptive one, step by step in virtual time. */
#include "flow/rate.h"
#include "tests/check.h"
#include "util/clock.h"

#define MS RSTI_NS_PER_MS
#define MB 1000000

static rsti_rate_params_t params_of(double initial)
{
    rsti_rate_params_t params = rsti_rate_defaults();
    params.initial = initial;
    return params;
}

/* Sends at the rate, or at the application's rate if that is less. */
static void pass(rsti_rate_t *rate, int64_t ms, double most)
{
    for (int64_t i = 0; i < ms; i++) {
        const double used = rate->bytes_per_s < most ? rate->bytes_per_s : most;
        (void)rsti_rate_on_cycle(rate,
            &(rsti_rate_use_t){
                rate->now_ns + MS, rate->sent_bytes + (int64_t)(used / 1000), MS, 0});
    }
}

/* These laws do not use the rate that a report asks for. */
static void hear(rsti_rate_t *rate, double fill)
{
    const rsti_fill_report_t report = {.receiver_id = 1, .fill = fill, .allowed = 1};
    rsti_rate_on_report(rate, &report, rate->now_ns);
}

static void hear_clear(rsti_rate_t *rate)
{
    const rsti_fill_report_t clear = {.receiver_id = 1, .is_clear = true, .fill = 1.0};
    rsti_rate_on_report(rate, &clear, rate->now_ns);
}

static int64_t mb_per_s(const rsti_rate_t *rate)
{
    return (int64_t)(rate->bytes_per_s / MB + 0.5);
}

TEST(nak_cuts_by_the_highest_trigger_of_a_window)
{
    static const struct {
        int64_t wait_ms;
        double fill;
        int64_t mb_per_s;
    } steps[] = {
        {1, 0.49, 200},
        {1, 0.5, 180},
        {1, 0.6, 180},
        {1, 0.75, 150},
        {1, 0.5, 150},
        {1, 0.87, 100},
        {1, 0.99, 100},
        {1, 1.0, 50},
        {1, 2.0, 50},
        {20, 0.5, 50},
        {30, 0.5, 45}, /* the window of 50 ms is over: the next one */
    };
    rsti_rate_t rate;
    const rsti_rate_params_t params = params_of(200 * MB);
    rsti_rate_init(&rate, &rsti_rate_nak, &params);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        pass(&rate, steps[i].wait_ms, 1e12);
        hear(&rate, steps[i].fill);
        CHECK_EQ(mb_per_s(&rate), steps[i].mb_per_s);
    }
}

TEST(nak_steps_grow_with_the_time_since_the_last_one)
{
    rsti_rate_t rate;
    const rsti_rate_params_t params = params_of(200 * MB);
    rsti_rate_init(&rate, &rsti_rate_nak, &params);
    hear(&rate, 1.0);
    CHECK_EQ(mb_per_s(&rate), 50);
    static const int64_t expected[] = {52, 56, 62, 70, 80}; /* 1 % of 200, times 1, 2, 3 ... */
    for (size_t i = 0; i < 5; i++) {
        pass(&rate, 50, 1e12);
        CHECK_EQ(mb_per_s(&rate), expected[i]);
    }
    hear(&rate, 0.5);
    CHECK_EQ(mb_per_s(&rate), 72);
    hear_clear(&rate); /* the next step comes as without it */
    CHECK_EQ(mb_per_s(&rate), 72);
    pass(&rate, 50, 1e12);
    CHECK_EQ(mb_per_s(&rate), 74);
    pass(&rate, 500, 30 * MB); /* the application has less than half of it */
    CHECK_EQ(mb_per_s(&rate), 74);
}

TEST(nak_steps_grow_twenty_times)
{
    rsti_rate_t rate;
    rsti_rate_params_t params = params_of(200 * MB);
    params.step_share = 0.0001;
    rsti_rate_init(&rate, &rsti_rate_nak, &params);
    double before = 0;
    for (int i = 1; i <= 25; i++) {
        before = rate.bytes_per_s;
        pass(&rate, 50, 1e12);
        const double step = (rate.bytes_per_s - before) / (0.0001 * rsti_rate_highest(&rate));
        CHECK_EQ((int64_t)(step + 0.5), i < 20 ? i : 20);
    }
}

TEST(nak_law_begins_unlimited_and_cuts_the_sent_rate)
{
    rsti_rate_t rate;
    const rsti_rate_params_t params = params_of(0);
    rsti_rate_init(&rate, &rsti_rate_nak, &params);
    CHECK(rate.bytes_per_s >= RSTI_RATE_MAX);
    pass(&rate, 60, 100 * MB);
    hear(&rate, 0.5);
    CHECK_EQ(mb_per_s(&rate), 90);
    CHECK_EQ((int64_t)rsti_rate_highest(&rate), 100 * MB);
}

TEST(nak_triggers_are_the_users)
{
    rsti_rate_t rate;
    rsti_rate_params_t params = params_of(100 * MB);
    params.trigger_count = 1;
    params.triggers[0] = 0.3;
    params.cuts[0] = 0.5;
    rsti_rate_init(&rate, &rsti_rate_nak, &params);
    hear(&rate, 0.29);
    CHECK_EQ(mb_per_s(&rate), 100);
    hear(&rate, 0.3);
    CHECK_EQ(mb_per_s(&rate), 50);
    params.trigger_count = 1000; /* clamped */
    rsti_rate_init(&rate, &rsti_rate_nak, &params);
    CHECK_EQ(rate.params.trigger_count, RSTI_RATE_TRIGGERS_MAX);
    params.trigger_count = -1;
    rsti_rate_init(&rate, &rsti_rate_nak, &params);
    hear(&rate, 2.0);
    CHECK_EQ(mb_per_s(&rate), 100);
}

static void ask(rsti_rate_t *rate, int64_t receiver_id, double allowed, bool is_clear)
{
    const rsti_fill_report_t report = {
        .receiver_id = receiver_id, .is_clear = is_clear, .fill = 1.0, .allowed = allowed};
    rsti_rate_on_report(rate, &report, rate->now_ns);
}

TEST(the_receiver_that_asks_for_the_least_is_the_one_that_the_rate_follows)
{
    rsti_rate_t rate;
    const rsti_rate_params_t params = params_of(0);
    rsti_rate_init(&rate, &rsti_rate_adaptive, &params);
    CHECK(rsti_rate_governor(&rate) == NULL);
    ask(&rate, 1, 10 * MB, false);
    CHECK_EQ(rsti_rate_governor(&rate)->receiver_id, 1);
    ask(&rate, 2, 20 * MB, false);
    CHECK_EQ(rsti_rate_governor(&rate)->receiver_id, 1);
    ask(&rate, 3, 5 * MB, false);
    ask(&rate, 1, 5 * MB, false); /* as little: the former one */
    CHECK_EQ(rsti_rate_governor(&rate)->receiver_id, 3);
    CHECK_EQ((int64_t)rsti_rate_governor(&rate)->allowed, 5 * MB);
    ask(&rate, 3, 5 * MB, true);
    CHECK_EQ(rsti_rate_governor(&rate)->receiver_id, 1);
    pass(&rate, 100, 1e12); /* longer than a report is fresh */
    ask(&rate, 2, 20 * MB, false);
    CHECK_EQ(rsti_rate_governor(&rate)->receiver_id, 2);
    ask(&rate, 2, 20 * MB, true); /* the way back: still because of it */
    CHECK_EQ(rsti_rate_governor(&rate)->receiver_id, 2);
    pass(&rate, RSTI_RATE_SOURCE_LIFE_NS / MS - 1, 1e12);
    CHECK_EQ(rsti_rate_governor(&rate)->receiver_id, 2);
    pass(&rate, 1, 1e12); /* forgotten */
    CHECK(rsti_rate_governor(&rate) == NULL);
}

TEST(fixed_rate_is_the_user_s)
{
    rsti_rate_t rate;
    rsti_rate_params_t params = params_of(1000);
    params.datagrams_per_s = 5000;
    rsti_rate_init(&rate, &rsti_rate_fixed, &params);
    CHECK_EQ((int64_t)rate.bytes_per_s, 1000); /* below what other laws go down to */
    CHECK_EQ((int64_t)rate.datagrams_per_s, 5000);
    hear(&rate, 1.0);
    pass(&rate, 100, 1e12);
    CHECK_EQ((int64_t)rate.bytes_per_s, 1000);
    CHECK_EQ(rate.due_ns, INT64_MAX);
    rsti_rate_change(&rate, 200 * MB, 0, rate.now_ns);
    CHECK_EQ(mb_per_s(&rate), 200);
    CHECK(rate.datagrams_per_s >= RSTI_RATE_MAX);
    rsti_rate_change(&rate, 7, 1, rate.now_ns); /* a floor of 5 % is for laws that hear */
    CHECK_EQ((int64_t)rate.bytes_per_s, 7);
    CHECK_EQ((int64_t)rate.datagrams_per_s, 1);
}

TEST(aimd_halves_once_per_round_and_adds)
{
    rsti_rate_t rate;
    const rsti_rate_params_t params = params_of(100 * MB);
    rsti_rate_init(&rate, &rsti_rate_aimd, &params);
    hear(&rate, 0.3);
    hear(&rate, 0.9);
    CHECK_EQ(mb_per_s(&rate), 50);
    pass(&rate, 9, 1e12);
    hear(&rate, 0.9);
    CHECK_EQ(mb_per_s(&rate), 50);
    pass(&rate, 1, 1e12);
    hear(&rate, 0.9);
    CHECK_EQ(mb_per_s(&rate), 25);
    pass(&rate, 100, 1e12);
    CHECK_EQ(mb_per_s(&rate), 35);
    hear_clear(&rate);
    CHECK_EQ(mb_per_s(&rate), 35);
}

TEST(unlimited_stays_so)
{
    rsti_rate_t rate;
    const rsti_rate_params_t params = params_of(5);
    rsti_rate_init(&rate, &rsti_rate_unlimited, &params);
    hear(&rate, 2.0);
    hear_clear(&rate);
    rsti_rate_change(&rate, 5, 5, 1);
    CHECK(rate.bytes_per_s >= RSTI_RATE_MAX);
}

TEST(an_upper_limit_that_is_lowered_beats_the_floor)
{
    rsti_rate_t rate;
    const rsti_rate_params_t params = params_of(100 * MB);
    rsti_rate_init(&rate, &rsti_rate_aimd, &params);
    rsti_rate_change(&rate, 1 * MB, 0, 1);
    CHECK_EQ(mb_per_s(&rate), 1);
    rsti_rate_change(&rate, 100 * MB, 0, 2); /* it grows from there */
    CHECK_EQ(mb_per_s(&rate), 5);            /* at the floor, 5 % of the highest of late */
    rsti_rate_change(&rate, 1, 0, 3);
    CHECK_EQ((int64_t)rate.bytes_per_s, 4096);
}

CHECK_MAIN(RUN(nak_cuts_by_the_highest_trigger_of_a_window),
    RUN(nak_steps_grow_with_the_time_since_the_last_one), RUN(nak_steps_grow_twenty_times),
    RUN(nak_law_begins_unlimited_and_cuts_the_sent_rate), RUN(nak_triggers_are_the_users),
    RUN(the_receiver_that_asks_for_the_least_is_the_one_that_the_rate_follows),
    RUN(fixed_rate_is_the_user_s), RUN(aimd_halves_once_per_round_and_adds),
    RUN(unlimited_stays_so), RUN(an_upper_limit_that_is_lowered_beats_the_floor))
