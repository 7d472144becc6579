/* destinations.c: destinations of publications and subscriptions, which are added and removed. */
#include "tests/sim/actors.h"
#include "tests/sim/world.h"

#define AWAIT_NS (2 * SIM_S)
#define RETRY_NS (200 * SIM_MS)

static bool is_done(const sim_channel_t *channel, int64_t id)
{
    if (id >= 0 && rst_client_await(channel->client, id, AWAIT_NS) == 1) {
        return true;
    }
    sim_event("a destination is refused: %s", rst_last_error_text());
    if (id >= 0) {
        rst_client_cancel(channel->client, id);
    }
    return false;
}

/* It is refused while the address is still held by a killed client. */
static void add(sim_destination_t *destination, const sim_channel_t *channel)
{
    const int64_t id = channel->publication != NULL
        ? rst_publication_add_destination(channel->publication, destination->channel)
        : rst_subscription_add_destination(channel->subscription, destination->channel);
    if (is_done(channel, id)) {
        sim_count("destination: added");
        destination->id = id;
    } else {
        sim_count("destination: refused");
    }
}

static void drop(sim_destination_t *destination, const sim_channel_t *channel)
{
    const bool by_id = sim_chance(RNG_ACTOR, 0.5);
    int64_t id;
    if (channel->publication != NULL) {
        id = by_id ? rst_publication_remove_destination_by_id(channel->publication, destination->id)
                   : rst_publication_remove_destination(channel->publication, destination->channel);
    } else {
        id = by_id
            ? rst_subscription_remove_destination_by_id(channel->subscription, destination->id)
            : rst_subscription_remove_destination(channel->subscription, destination->channel);
    }
    destination->id = 0;
    if (is_done(channel, id)) {
        sim_count(by_id ? "destination: removed by id" : "destination: removed by channel");
    }
}

void sim_destinations_forget(sim_destinations_t *destinations)
{
    for (int32_t i = 0; i < destinations->count; i++) {
        destinations->items[i].id = 0;
    }
}

void sim_destinations_add(sim_destinations_t *destinations, const sim_channel_t *channel)
{
    for (int32_t i = 0; i < destinations->count; i++) {
        if (destinations->items[i].id == 0
            && rst_client_state(channel->client) == RST_CLIENT_OPEN) {
            add(&destinations->items[i], channel);
        }
    }
}

void sim_destinations_churn(sim_destinations_t *destinations, const sim_channel_t *channel)
{
    if (destinations->count == 0 || rst_client_state(channel->client) != RST_CLIENT_OPEN) {
        return;
    }
    if (world.is_calm) {
        if (world.now_ns < destinations->retry_ns) {
            return;
        }
        destinations->retry_ns = world.now_ns + RETRY_NS;
        sim_destinations_add(destinations, channel);
    } else if (sim_chance(RNG_ACTOR, destinations->churn)) {
        sim_destination_t *one = &destinations
                                      ->items[sim_below(RNG_ACTOR, (uint64_t)destinations->count)];
        if (one->id != 0) {
            drop(one, channel);
        } else {
            add(one, channel);
        }
    }
}
