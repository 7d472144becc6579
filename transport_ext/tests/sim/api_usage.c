/* api_usage.c: generates optional API calls of applications beside plain publishing and reading, in
 * a share of the worlds. The other worlds stay as they were. */
#include "tests/sim/generator.h"

#include <stdio.h>

static bool maybe(double probability)
{
    return sim_chance(RNG_API_USAGE, probability);
}

static void generate_readings(void)
{
    for (int32_t i = 0; i < actors.subscriber_count; i++) {
        if (maybe(0.7)) {
            actors.subscribers[i].reading = maybe(0.5) ? READING_WHOLE : READING_RAW;
        }
    }
}

/* True when no other publisher rotates the log while this one holds a claim. */
static bool is_alone(const sim_publisher_t *publisher)
{
    bool is_alone = true;
    for (int32_t i = 0; i < actors.publisher_count; i++) {
        const sim_publisher_t *other = &actors.publishers[i];
        is_alone = is_alone
            && (other == publisher || other->stream_id != publisher->stream_id
                || publisher->is_exclusive || other->is_exclusive);
    }
    return is_alone;
}

static void generate_publishing(void)
{
    for (int32_t i = 0; i < actors.publisher_count; i++) {
        sim_publisher_t *publisher = &actors.publishers[i];
        publisher->uses_waiter = maybe(0.5);
        publisher->has_more_methods = publisher->is_exclusive && maybe(0.6);
        publisher->abandons_claim = maybe(0.5) && is_alone(publisher);
    }
}

static sim_client_t *pick_client(void)
{
    return &actors.clients[sim_below(RNG_API_USAGE, (uint64_t)actors.client_count)];
}

/* At most one of each kind in a client: two would take each other's events. */
static void generate_side_roles(void)
{
    for (int32_t i = 0; i < actors.driver_count; i++) {
        rst_driver_params_t *params = &actors.drivers[i].params;
        params->termination = maybe(0.5);
        snprintf(params->termination_token, sizeof params->termination_token, "open sesame");
    }
    for (int64_t i = sim_between(RNG_API_USAGE, 1, 3); i > 0; i--) {
        sim_side_role_t drawn = {
            .index = actors.side_role_count,
            .kind = (sim_side_role_kind_t)sim_below(RNG_API_USAGE, SIDE_ROLE_KINDS),
            .client = pick_client(),
            .start_ns = SIM_S + sim_between(RNG_API_USAGE, 0, 100 * SIM_MS),
            .pause_ns_max = sim_between(RNG_API_USAGE, 1, 20) * SIM_MS,
            .rounds = (int32_t)sim_between(RNG_API_USAGE, 1, 4),
        };
        bool is_there = false;
        for (int32_t k = 0; k < actors.side_role_count; k++) {
            is_there = is_there
                || (actors.side_roles[k].kind == drawn.kind
                    && actors.side_roles[k].client == drawn.client);
        }
        if (!is_there) {
            actors.side_roles[actors.side_role_count++] = drawn;
        }
    }
}

void sim_generate_api_usage(void)
{
    if (maybe(0.15)) {
        sim_count("run: readers read by other polls");
        generate_readings();
    }
    if (maybe(0.15)) {
        sim_count("run: publishers use more methods");
        generate_publishing();
    }
    if (maybe(0.15)) {
        sim_count("run: with side roles");
        generate_side_roles();
    }
}
