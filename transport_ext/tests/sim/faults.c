/* faults.c: generates faults and their times: lossy links, processes that pause or die. */
#include "tests/sim/agenda.h"
#include "tests/sim/generator.h"
#include "tests/sim/links.h"

static void generate_link(sim_link_t *link)
{
    link->delay_ns = skewed(21);
    link->jitter_ns = chance(0.5) ? 0 : skewed(20);
    if (chance(0.3)) {
        link->rate = between(1, 50) * 1000000;
        link->queue_bytes = 2000 + skewed(18);
    }
    link->loss = chance(0.4) ? 0.2 / (double)skewed(6) : 0;
    if (chance(0.15)) {
        link->burst_begin = 0.02;
        link->burst_end = 0.3;
    }
    link->period = chance(0.1) ? (int32_t)between(2, 40) : 0;
    link->gap_stride = chance(0.1) ? (int32_t)between(1, 16) * 1024 : 0;
    link->duplicate = chance(0.25) ? 0.1 : 0;
    link->reorder = chance(0.25) ? 0.1 : 0;
    link->reorder_ns = skewed(22);
    link->corrupt = chance(0.15) ? 0.03 : 0;
    link->forge = chance(0.15) ? 0.03 : 0;
    link->is_data_only = chance(0.2);
    link->is_to_aeron = chance(0.3);
}

static void cut(void *arg, int64_t is_cut)
{
    sim_link_t *link = arg;
    link->is_cut = is_cut != 0 && !world.is_calm;
    sim_event("a link is %s", link->is_cut ? "cut" : "whole");
}

static void pause_process(void *arg, int64_t ns)
{
    sim_process_t **process = arg;
    if (*process != NULL && !world.is_calm) {
        sim_event("%s is paused for %lld us", (*process)->name, (long long)ns / 1000);
        sim_count("fault: paused");
        (*process)->paused_until_ns = world.now_ns + ns;
    }
}

static void start_driver(void *arg, int64_t number)
{
    (void)number;
    sim_driver_start(arg);
}

static void start_client(void *arg, int64_t number)
{
    (void)number;
    sim_client_start(arg);
}

static void kill_driver(void *arg, int64_t restart_after_ns)
{
    sim_driver_t *driver = arg;
    const int32_t deaths = driver->deaths;
    if (!world.is_calm) {
        sim_driver_kill(driver);
    }
    if (driver->deaths > deaths) {
        sim_agenda_add(world.now_ns + restart_after_ns, start_driver, driver, 0);
    }
}

void sim_client_kill_for(sim_client_t *client, int64_t restart_after_ns)
{
    const int32_t deaths = client->deaths;
    if (!world.is_calm) {
        sim_client_kill(client);
    }
    if (client->deaths > deaths) {
        sim_agenda_add(world.now_ns + restart_after_ns, start_client, client, 0);
    }
}

static void kill_client(void *arg, int64_t restart_after_ns)
{
    sim_client_kill_for(arg, restart_after_ns);
}

void sim_scenario_on_turn(const sim_fiber_t *fiber)
{
    sim_dead_claim_on_turn(fiber);
    if (fiber->activity == ACTIVITY_NONE || fiber->state != FIBER_READY || world.is_calm) {
        return;
    }
    for (int32_t i = 0; i < actors.client_count; i++) {
        sim_client_t *client = &actors.clients[i];
        if (client->process == fiber->process && client->dies_in == fiber->activity
            && client->dies_after_turns-- == 0) {
            sim_count(client->dies_in == ACTIVITY_COMMAND ? "fault: client killed in a command"
                    : client->dies_in == ACTIVITY_PUBLISH ? "fault: client killed while publishing"
                                                          : "fault: client killed while polling");
            client->dies_in = ACTIVITY_NONE;
            sim_client_kill_for(client, SIM_S);
            return;
        }
    }
}

void sim_generate_faults(void)
{
    const int64_t end_ns = actors.calm_ns - SIM_S;
    if (chance(0.7)) {
        for (int32_t from = 0; from < actors.driver_count; from++) {
            for (int32_t to = 0; to < actors.driver_count; to++) {
                generate_link(sim_link(actors.drivers[from].host, actors.drivers[to].host));
            }
        }
    }
    for (int64_t i = chance(0.3) ? between(1, 3) : 0; i > 0; i--) {
        sim_link_t *link = sim_link(sim_generate_any_driver()->host,
            sim_generate_any_driver()->host);
        const int64_t at_ns = SIM_S + between(0, end_ns);
        sim_agenda_add(at_ns, cut, link, 1);
        sim_agenda_add(at_ns + between(0, actors.is_gentle ? 300 * SIM_MS : end_ns), cut, link, 0);
    }
    for (int64_t i = chance(0.3) ? between(1, 4) : 0; i > 0; i--) {
        sim_process_t **process = chance(0.5)
            ? &sim_generate_any_driver()->process
            : &actors.clients[between(0, actors.client_count - 1)].process;
        sim_agenda_add(SIM_S + between(0, end_ns), pause_process, process,
            between(0, actors.is_gentle ? 300 * SIM_MS : 2500 * SIM_MS));
    }
    if (actors.is_gentle) {
        return;
    }
    for (int64_t i = between(0, 2); i > 0; i--) {
        sim_client_t *client = &actors.clients[between(0, actors.client_count - 1)];
        sim_agenda_add(SIM_S + between(0, end_ns), kill_client, client, between(0, SIM_S));
    }
    for (int32_t i = 0; i < actors.client_count; i++) {
        if (chance(0.5)) {
            actors.clients[i].dies_in = chance(0.5)
                ? ACTIVITY_PUBLISH
                : (sim_activity_t)between(ACTIVITY_COMMAND, ACTIVITY_POLL);
            actors.clients[i].dies_after_turns = actors.clients[i].dies_in == ACTIVITY_COMMAND
                ? between(0, 30)
                : skewed(6);
        }
    }
    const bool has_rejects = chance(0.4);
    for (int32_t i = 0; has_rejects && i < actors.subscriber_count; i++) {
        actors.subscribers[i].reject_chance = chance(0.6) ? 0.1 / (double)skewed(6) : 0;
    }
    /* Some publish until their rejected image has ended and cools down. */
    for (int32_t i = 0; has_rejects && i < actors.publisher_count; i++) {
        if (chance(0.3)) {
            actors.publishers[i].pause_ns_max = 20 * SIM_MS;
        }
    }
    if (chance(0.4)) {
        sim_agenda_add(SIM_S + between(0, end_ns), kill_driver, sim_generate_any_driver(),
            between(0, SIM_S));
    }
}
