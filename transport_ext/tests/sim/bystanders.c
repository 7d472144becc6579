/* bystanders.c: the life of a bystander: some rounds with pauses, then it is done. */
#include "tests/sim/bystanders.h"

#include "tests/sim/world.h"

#include <stdio.h>

#define AWAIT_NS (2 * SIM_S)

void sim_bystander_dally(const sim_bystander_t *self)
{
    if (sim_chance(DICE_ACTOR, 0.5)) {
        sim_fiber_sleep((int64_t)sim_below(DICE_ACTOR, (uint64_t)self->pause_ns_max));
    }
}

int sim_bystander_await(const sim_bystander_t *self, int64_t id, const char *what)
{
    rst_client_t *client = self->client->client;
    const int result = id < 0 ? (int)id : rst_client_await(client, id, AWAIT_NS);
    if (result == 0 || result == -RST_ETIMEDOUT) {
        sim_count("bystander: no answer in time");
        rst_client_cancel(client, id);
    } else if (result < 0 && rst_client_state(client) == RST_CLIENT_OPEN) {
        sim_fail("bystander %d: %s: %s", self->index, what, rst_last_error_text());
    }
    return result == 1;
}

static void run(sim_bystander_t *self)
{
    static void (*const rounds[])(sim_bystander_t *) = {
        [BYSTANDER_TALLY] = sim_tally_round,
        [BYSTANDER_LOOKER] = sim_looker_round,
        [BYSTANDER_MISUSE] = sim_misuse_round,
        [BYSTANDER_ECHO] = sim_echo_round,
    };
    sim_fiber_sleep_until(self->start_ns);
    for (; self->rounds > 0; self->rounds--) {
        if (rst_client_state(self->client->client) != RST_CLIENT_OPEN) {
            return; /* it is opened again, and goes on */
        }
        sim_fiber_set_activity(ACTIVITY_COMMAND);
        rounds[self->kind](self);
        sim_fiber_set_activity(ACTIVITY_NONE);
        sim_fiber_sleep((int64_t)sim_below(DICE_ACTOR, (uint64_t)self->pause_ns_max));
    }
    self->is_done = true;
}

static void *bystander_main(void *arg)
{
    sim_bystander_t *self = arg;
    run(self);
    self->is_running = false;
    sim_fibers_count_up(&self->client->roles_ended);
    return NULL;
}

void sim_bystander_start(sim_bystander_t *bystander)
{
    char name[24];
    snprintf(name, sizeof name, "bystander%d", bystander->index);
    bystander->is_running = true;
    sim_fiber_start(bystander->client->process, name, bystander_main, bystander)
        ->nervous_in = bystander->client->doom;
}

void sim_bystander_on_death(sim_bystander_t *bystander)
{
    bystander->is_running = false;
}
