/* budgets.c: drivers that let only so much be under way to them, and such that ask whether a reader
 * is alive, in a share of the worlds, with dice of their own, so that all else is as it was. Small
 * ones: most of a message, a few of them, a good part of a window. */
#include "flow/budget.h"

#include "tests/sim/rolls.h"

static bool maybe(double probability)
{
    return sim_chance(DICE_BUDGETS, probability);
}

static int64_t roll_bytes(void)
{
    return INT64_C(1) << sim_between(DICE_BUDGETS, 8, 17);
}

static void roll_driver(rst_driver_params_t *params)
{
    params->budget = sim_between(DICE_BUDGETS, RSTI_BUDGET_NONE, RSTI_BUDGET_AGGRESSIVE);
    params->budget_bytes = roll_bytes();
    params->budget_memory = 16 * roll_bytes();
    params->budget_min = 256;
    params->budget_max = roll_bytes();
    if (maybe(0.4)) {
        params->stream_budget = roll_bytes();
    }
    if (maybe(0.4)) {
        params->noop_interval_ns = sim_between(DICE_BUDGETS, 50, 3000) * SIM_MS;
    }
}

void sim_roll_budgets(void)
{
    if (!maybe(0.25)) {
        return;
    }
    sim_count("run: budgets");
    for (int32_t i = 0; i < cast.driver_count; i++) {
        if (maybe(0.7)) {
            roll_driver(&cast.drivers[i].params);
        }
    }
}
