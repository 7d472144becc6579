/* extras.c: what only some worlds have. It is rolled after all else, so that those without it are
 * as they were. */
#include "tests/sim/rolls.h"

#define FIRST_NUMBER 20 /* of their streams */

void sim_roll_part(const sim_part_kind_t *kind, int32_t number, sim_driver_t *driver)
{
    if (cast.part_count == SIM_PARTS_MAX) {
        sim_fail("more than %d parts", SIM_PARTS_MAX);
    }
    cast.parts[cast.part_count++] = (sim_part_t){
        .kind = kind,
        .number = number,
        .client = sim_roll_client(driver),
        .start_ns = SIM_S + between(0, 5 * SIM_MS),
    };
}

void sim_roll_extras(void)
{
    if (chance(0.08)) {
        sim_roll_service();
    }
    if (chance(0.06)) {
        sim_roll_refusals();
    }
    if (chance(0.06)) {
        sim_roll_named_stream(FIRST_NUMBER);
    }
    if (chance(0.25)) {
        static void (*const rolls[])(int32_t number) = {sim_roll_any_ports, sim_roll_session_stream,
            sim_roll_tagged_streams, sim_roll_control_stream, sim_roll_local_destinations,
            sim_roll_spied_stream, sim_roll_custom_group};
        rolls[between(0, sizeof rolls / sizeof rolls[0] - 1)](FIRST_NUMBER + 1);
    }
    if (chance(0.03)) {
        sim_roll_session_limit();
    }
    if (chance(0.03)) {
        sim_roll_long_way();
    }
}
