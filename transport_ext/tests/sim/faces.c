/* faces.c: rolls what applications do besides publishing and reading in the plain way: in a share
 * of the worlds, which are else as they were. */
#include "tests/sim/rolls.h"

#include <stdio.h>

static bool maybe(double probability)
{
    return sim_chance(DICE_FACES, probability);
}

static void roll_readings(void)
{
    for (int32_t i = 0; i < cast.subscriber_count; i++) {
        if (maybe(0.7)) {
            cast.subscribers[i].reading = maybe(0.5) ? READING_WHOLE : READING_RAW;
        }
    }
}

/* Nobody else turns the log while it holds a claim. */
static bool is_alone(const sim_publisher_t *publisher)
{
    bool is_alone = true;
    for (int32_t i = 0; i < cast.publisher_count; i++) {
        const sim_publisher_t *other = &cast.publishers[i];
        is_alone = is_alone
            && (other == publisher || other->stream_id != publisher->stream_id
                || publisher->is_exclusive || other->is_exclusive);
    }
    return is_alone;
}

static void roll_publishing(void)
{
    for (int32_t i = 0; i < cast.publisher_count; i++) {
        sim_publisher_t *publisher = &cast.publishers[i];
        publisher->uses_waiter = maybe(0.5);
        publisher->has_more_ways = publisher->is_exclusive && maybe(0.6);
        publisher->abandons_claim = maybe(0.5) && is_alone(publisher);
    }
}

static sim_client_t *pick_client(void)
{
    return &cast.clients[sim_below(DICE_FACES, (uint64_t)cast.client_count)];
}

/* One of a kind in a client: whoever looks at its events takes them from the others. */
static void roll_bystanders(void)
{
    for (int32_t i = 0; i < cast.driver_count; i++) {
        rst_driver_params_t *params = &cast.drivers[i].params;
        params->termination = maybe(0.5);
        snprintf(params->termination_token, sizeof params->termination_token, "open sesame");
    }
    for (int64_t i = sim_between(DICE_FACES, 1, 3); i > 0; i--) {
        sim_bystander_t rolled = {
            .index = cast.bystander_count,
            .kind = (sim_bystander_kind_t)sim_below(DICE_FACES, BYSTANDER_KINDS),
            .client = pick_client(),
            .start_ns = SIM_S + sim_between(DICE_FACES, 0, 100 * SIM_MS),
            .pause_ns_max = sim_between(DICE_FACES, 1, 20) * SIM_MS,
            .rounds = (int32_t)sim_between(DICE_FACES, 1, 4),
        };
        bool is_there = false;
        for (int32_t k = 0; k < cast.bystander_count; k++) {
            is_there = is_there
                || (cast.bystanders[k].kind == rolled.kind
                    && cast.bystanders[k].client == rolled.client);
        }
        if (!is_there) {
            cast.bystanders[cast.bystander_count++] = rolled;
        }
    }
}

void sim_roll_faces(void)
{
    if (maybe(0.15)) {
        sim_count("run: readers read in other ways");
        roll_readings();
    }
    if (maybe(0.15)) {
        sim_count("run: publishers have more ways");
        roll_publishing();
    }
    if (maybe(0.15)) {
        sim_count("run: with bystanders");
        roll_bystanders();
    }
}
