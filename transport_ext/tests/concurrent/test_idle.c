#include "concurrent/idle.h"

#include "tests/check.h"
#include "util/clock.h"

TEST(spinning_yields_with_too_few_cores)
{
    static const struct {
        int32_t cores;
        int32_t spinners;
        bool yields;
    } rows[] = {{1, 1, true}, {2, 1, true}, {3, 1, false}, {4, 3, true}, {5, 3, false},
        {2, 0, false}, {1, 0, true}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CHECK_EQ(rsti_spin_yields(rows[i].cores, rows[i].spinners), rows[i].yields);
    }
    CHECK(rsti_usable_cores() >= 1);
}

TEST(names_of_three_worlds)
{
    static const struct {
        const char *name;
        rsti_idle_kind_t kind;
    } rows[] = {
        {"block", RSTI_IDLE_BLOCK},
        {"spin", RSTI_IDLE_SPIN},
        {"spinning", RSTI_IDLE_SPIN},
        {"org.agrona.concurrent.BusySpinIdleStrategy", RSTI_IDLE_SPIN},
        {"noop", RSTI_IDLE_NOOP},
        {"org.agrona.concurrent.NoOpIdleStrategy", RSTI_IDLE_NOOP},
        {"yield", RSTI_IDLE_YIELD},
        {"yielding", RSTI_IDLE_YIELD},
        {"org.agrona.concurrent.YieldingIdleStrategy", RSTI_IDLE_YIELD},
        {"backoff", RSTI_IDLE_BACKOFF},
        {"org.agrona.concurrent.BackoffIdleStrategy", RSTI_IDLE_BACKOFF},
        {"sleep", RSTI_IDLE_SLEEP},
        {"sleeping", RSTI_IDLE_SLEEP},
        {"sleep-ns", RSTI_IDLE_SLEEP},
        {"org.agrona.concurrent.SleepingIdleStrategy", RSTI_IDLE_SLEEP},
        {"controllable", RSTI_IDLE_CONTROLLABLE},
        {"org.agrona.concurrent.ControllableIdleStrategy", RSTI_IDLE_CONTROLLABLE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rsti_idle_kind_t kind = RSTI_IDLE_BLOCK;
        CHECK(rsti_idle_parse_kind(rows[i].name, &kind));
        CHECK_EQ(kind, rows[i].kind);
    }
    rsti_idle_kind_t kind = RSTI_IDLE_SPIN;
    CHECK(!rsti_idle_parse_kind("", &kind));
    CHECK(!rsti_idle_parse_kind("Spin", &kind));
    CHECK(!rsti_idle_parse_kind("com.example.BackoffIdleStrategy", &kind));
    CHECK(!rsti_idle_parse_kind("org.agrona.concurrent.", &kind));
    CHECK_EQ(kind, RSTI_IDLE_SPIN);
}

TEST(arguments)
{
    rsti_idle_params_t params;
    rsti_idle_params_init(&params, RSTI_IDLE_BACKOFF);
    CHECK_EQ(params.spins_max, 10);
    CHECK_EQ(params.yields_max, 20);
    CHECK_EQ(params.park_min_ns, 1000);
    CHECK_EQ(params.park_max_ns, RSTI_NS_PER_MS);
    CHECK(rsti_idle_parse_args(&params, ""));
    CHECK_EQ(params.spins_max, 10);
    CHECK(rsti_idle_parse_args(&params, "0-5-2us-500000"));
    CHECK_EQ(params.spins_max, 0);
    CHECK_EQ(params.yields_max, 5);
    CHECK_EQ(params.park_min_ns, 2000);
    CHECK_EQ(params.park_max_ns, 500000);
    static const char *const wrong[] = {"1", "1-2", "1-2-1us", "1-2-1us-1ms-", "1-2-1us-1ms-4", "-",
        "a-2-1us-1ms", "1-2-0-1ms", "1-2-2ms-1ms", "1-2-1us-2s", "1--1us-1ms", " 1-2-1us-1ms",
        "1-2-1us-11111111111111111111111111111111111111111"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CHECK(!rsti_idle_parse_args(&params, wrong[i]));
        CHECK_EQ(params.park_min_ns, 2000);
    }
    rsti_idle_params_init(&params, RSTI_IDLE_SLEEP);
    CHECK_EQ(params.sleep_ns, RSTI_NS_PER_MS);
    CHECK(rsti_idle_parse_args(&params, "50us"));
    CHECK_EQ(params.sleep_ns, 50000);
    CHECK(!rsti_idle_parse_args(&params, "0"));
    CHECK(!rsti_idle_parse_args(&params, "10-20-1us-1ms"));
    CHECK_EQ(params.sleep_ns, 50000);
    rsti_idle_params_init(&params, RSTI_IDLE_SPIN);
    CHECK(rsti_idle_parse_args(&params, ""));
    CHECK(!rsti_idle_parse_args(&params, "1us"));
}

CHECK_MAIN(RUN(spinning_yields_with_too_few_cores), RUN(names_of_three_worlds), RUN(arguments))
