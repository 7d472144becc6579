/* extra_streams.c: streams of a share of the worlds. They are generated after all else, so that the
 * other worlds stay as they were. */
#include "tests/sim/generator.h"

#define FIRST_NUMBER 20 /* of their streams */

void sim_generate_part(const sim_part_kind_t *kind, int32_t number, sim_driver_t *driver)
{
    if (actors.part_count == SIM_PARTS_MAX) {
        sim_fail("more than %d parts", SIM_PARTS_MAX);
    }
    actors.parts[actors.part_count++] = (sim_part_t){
        .kind = kind,
        .number = number,
        .client = sim_generate_client(driver),
        .start_ns = SIM_S + between(0, 5 * SIM_MS),
    };
}

void sim_generate_extra_streams(void)
{
    if (chance(0.08)) {
        sim_generate_service();
    }
    if (chance(0.06)) {
        sim_generate_refusals();
    }
    if (chance(0.06)) {
        sim_generate_named_stream(FIRST_NUMBER);
    }
    if (chance(0.25)) {
        static void (*const generators[])(int32_t number) = {sim_generate_any_ports,
            sim_generate_session_stream, sim_generate_tagged_streams, sim_generate_control_stream,
            sim_generate_local_destinations, sim_generate_spied_stream, sim_generate_custom_group};
        generators[between(0, sizeof generators / sizeof generators[0] - 1)](FIRST_NUMBER + 1);
    }
    if (chance(0.03)) {
        sim_generate_session_limit();
    }
    if (chance(0.03)) {
        sim_generate_long_delay();
    }
}
