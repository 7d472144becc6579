/* budgets.c: in a share of the worlds, drivers with a connection budget, and drivers that check
 * whether a reader is alive. The random numbers are its own, so all else stays as it was. Budgets
 * are small: most of a message, a few messages, a good part of a window. */
#include "flow/budget.h"

#include "tests/sim/generator.h"

static bool maybe(double probability)
{
    return sim_chance(RNG_BUDGETS, probability);
}

static int64_t generate_bytes(void)
{
    return INT64_C(1) << sim_between(RNG_BUDGETS, 8, 17);
}

static void generate_driver(rst_driver_params_t *params)
{
    params->budget = sim_between(RNG_BUDGETS, RSTI_BUDGET_NONE, RSTI_BUDGET_AGGRESSIVE);
    params->budget_bytes = generate_bytes();
    params->budget_memory = 16 * generate_bytes();
    params->budget_min = 256;
    params->budget_max = generate_bytes();
    if (maybe(0.4)) {
        params->stream_budget = generate_bytes();
    }
    if (maybe(0.4)) {
        params->noop_interval_ns = sim_between(RNG_BUDGETS, 50, 3000) * SIM_MS;
    }
}

void sim_generate_budgets(void)
{
    if (!maybe(0.25)) {
        return;
    }
    sim_count("run: budgets");
    for (int32_t i = 0; i < actors.driver_count; i++) {
        if (maybe(0.7)) {
            generate_driver(&actors.drivers[i].params);
        }
    }
}
