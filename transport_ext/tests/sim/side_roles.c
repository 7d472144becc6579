/* side_roles.c: runs a side role: some rounds with pauses, then it is done. */
#include "tests/sim/side_roles.h"

#include "tests/sim/world.h"

#include <stdio.h>

#define AWAIT_NS (2 * SIM_S)

void sim_side_role_pause(const sim_side_role_t *self)
{
    if (sim_chance(RNG_ACTOR, 0.5)) {
        sim_fiber_sleep((int64_t)sim_below(RNG_ACTOR, (uint64_t)self->pause_ns_max));
    }
}

int sim_side_role_await(const sim_side_role_t *self, int64_t id, const char *what)
{
    rst_client_t *client = self->client->client;
    const int result = id < 0 ? (int)id : rst_client_await(client, id, AWAIT_NS);
    if (result == 0 || result == -RST_ETIMEDOUT) {
        sim_count("side role: no answer in time");
        rst_client_cancel(client, id);
    } else if (result < 0 && rst_client_state(client) == RST_CLIENT_OPEN) {
        sim_fail("side role %d: %s: %s", self->index, what, rst_last_error_text());
    }
    return result == 1;
}

static void run(sim_side_role_t *self)
{
    static void (*const rounds[])(sim_side_role_t *) = {
        [SIDE_ROLE_COUNTERS] = sim_user_counters_round,
        [SIDE_ROLE_OBSERVER] = sim_observer_round,
        [SIDE_ROLE_MISUSE] = sim_misuse_round,
        [SIDE_ROLE_ECHO] = sim_echo_round,
    };
    sim_fiber_sleep_until(self->start_ns);
    for (; self->rounds > 0; self->rounds--) {
        if (rst_client_state(self->client->client) != RST_CLIENT_OPEN) {
            return; /* the client opens again and the role continues */
        }
        sim_fiber_set_activity(ACTIVITY_COMMAND);
        rounds[self->kind](self);
        sim_fiber_set_activity(ACTIVITY_NONE);
        sim_fiber_sleep((int64_t)sim_below(RNG_ACTOR, (uint64_t)self->pause_ns_max));
    }
    self->is_done = true;
}

static void *side_role_main(void *arg)
{
    sim_side_role_t *self = arg;
    run(self);
    self->is_running = false;
    sim_fibers_count_up(&self->client->roles_ended);
    return NULL;
}

void sim_side_role_start(sim_side_role_t *side_role)
{
    char name[24];
    snprintf(name, sizeof name, "side_role%d", side_role->index);
    side_role->is_running = true;
    sim_fiber_start(side_role->client->process, name, side_role_main, side_role)
        ->nervous_in = side_role->client->dies_in;
}

void sim_side_role_on_death(sim_side_role_t *side_role)
{
    side_role->is_running = false;
}
