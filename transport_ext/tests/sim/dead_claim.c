/* dead_claim.c: clients that die after they claimed a record in the ring to the driver and before
 * they committed it. All later commands wait behind the dead claim until the driver turns it into
 * padding; then each of them must be answered. */
#include "concurrent/atomics.h"
#include "tests/sim/generator.h"

/* each death delays commands by up to the client liveness timeout */
#define PATIENCE_NS (8 * SIM_S)
#define DEATHS_MAX 2

static int64_t seen_tail;
static sim_fiber_t const *claimer; /* the fiber that moved the tail and will be killed */
static int64_t turns_left;

/* ---- the actors ---- */

void sim_generate_dead_claim(void)
{
    sim_driver_t *driver = sim_generate_driver(0);
    seen_tail = 0;
    claimer = NULL;
    for (int64_t i = between(4, 6); i > 0; i--) {
        sim_publisher_t *publisher = sim_generate_publisher(driver, "aeron:ipc", 10, true, false);
        publisher->total = (int32_t)between(1, 20);
        publisher->asks_session = publisher->is_exclusive;
        publisher->start_ns = SIM_S + between(0, SIM_S);
    }
    sim_subscriber_t *subscriber = sim_generate_subscriber(driver, "aeron:ipc", 10, true, true);
    subscriber->leave_ns = INT64_MAX;
    actors.clients[0].dies_in = ACTIVITY_COMMAND;
    actors.clients[0].dies_after_turns = INT64_MAX; /* never by its number of turns */
    actors.clients[0].claim_deaths = (int32_t)between(1, DEATHS_MAX);
    for (int32_t i = 1; i < actors.client_count; i++) {
        actors.clients[i].command_patience_ns = PATIENCE_NS;
    }
    actors.calm_ns = 4 * SIM_S;
    sim_fibers_set_preemption(between(2, 30));
    sim_count("run: a death in the ring");
}

/* ---- the deaths ---- */

static void die(sim_client_t *client)
{
    claimer = NULL;
    client->claim_deaths--;
    sim_count("fault: client killed in a claim");
    sim_client_kill_for(client, between(0, SIM_S));
}

void sim_dead_claim_on_turn(const sim_fiber_t *fiber)
{
    sim_client_t *client = &actors.clients[0];
    if (client->claim_deaths == 0 || client->driver->driver == NULL) {
        return;
    }
    const rsti_rb_trailer_t *trailer = client->driver->driver->to_driver.rb.trailer;
    const int64_t tail = rsti_load_relaxed_i64(&trailer->tail_position);
    const bool has_claimed = tail != seen_tail;
    seen_tail = tail;
    if (fiber->process != client->process || fiber->activity != ACTIVITY_COMMAND
        || fiber->state != FIBER_READY) {
        return;
    }
    if (has_claimed && chance(0.7)) {
        claimer = fiber;
        turns_left = between(0, 3);
    }
    if (fiber == claimer && turns_left-- == 0) {
        die(client);
    }
}
