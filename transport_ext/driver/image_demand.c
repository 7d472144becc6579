/* image_demand.c: see image_demand.h. */
#include "driver/internal.h"

#define REPEAT_MIN_NS (10 * RSTI_NS_PER_MS)
#define REPEAT_MAX_NS RSTI_NS_PER_S

/* The readers that tell, as one: behind all of them, and wanting no more than any. Another process's
 * words: what is impossible counts as nothing. The position first, see rsti_position_ext_t. Returns a
 * number that differs when one of them has asked for more; 0: nobody tells. */
static int64_t demand_of(const rsti_image_t *image, rsti_sm_demand_t *demand)
{
    int64_t requested = 0;
    *demand = (rsti_sm_demand_t){.position = INT64_MAX, .messages = INT64_MAX};
    for (int32_t i = 0; i < image->subscribers.count; i++) {
        const rsti_subscriber_t *subscriber = &image->subscribers.items[i];
        const rsti_counter_value_t *value = (const void *)subscriber->position;
        const rsti_position_ext_t *ext = (const void *)value->spare;
        if (!rsti_tether_is_working(&subscriber->tether)
            || rsti_load_acquire_i32(&ext->version) == 0) {
            continue;
        }
        const uint64_t asked = (uint64_t)rsti_load_acquire_i64(&ext->requested);
        demand->position =
            rsti_min_i64(demand->position, rsti_load_acquire_i64(subscriber->position));
        demand->messages = rsti_min_i64(
            demand->messages, rsti_max_i64(rsti_load_relaxed_i64(&ext->remaining), 0));
        requested = (int64_t)(((uint64_t)requested * 31 + asked + 1) | 1U << 31);
    }
    return requested;
}

/* Sequence lock, writer's side: begin, fields, end. */
static void publish(rst_driver_t *driver, rsti_image_demand_t *state,
    const rsti_sm_demand_t *demand)
{
    const int64_t change = rsti_load_relaxed_i64(&state->begin) + 1;
    rsti_store_release_i64(&state->begin, change);
    rsti_fence();
    rsti_store_relaxed_i64(&state->position, demand->position);
    rsti_store_relaxed_i64(&state->messages, demand->messages);
    rsti_store_release_i64(&state->end, change);
    rsti_driver_wake_agent(driver, RSTI_AGENT_RECEIVER);
}

int64_t rsti_image_demand_look(
    rst_driver_t *driver, rsti_image_t *image, int64_t hwm, int64_t now_ns)
{
    rsti_image_demand_t *state = &image->demand;
    if (image->file.log.metadata->group != 0 || !rsti_load_acquire_i32(&state->is_wanted)) {
        return RSTI_NO_DEADLINE;
    }
    rsti_sm_demand_t demand;
    const int64_t requested = demand_of(image, &demand);
    const bool has_changed = requested != state->requested;
    if (requested == 0 || (!has_changed && now_ns < state->due_ns)) {
        return requested == 0 ? RSTI_NO_DEADLINE : state->due_ns;
    }
    const bool has_data = hwm != state->told_hwm;
    if (has_changed || !has_data) {
        publish(driver, state, &demand);
    }
    state->repeat_ns = has_changed || has_data
        ? REPEAT_MIN_NS
        : rsti_min_i64(2 * state->repeat_ns, REPEAT_MAX_NS);
    state->requested = requested;
    state->told_hwm = hwm;
    state->due_ns =
        demand.messages == INT64_MAX ? RSTI_NO_DEADLINE : now_ns + state->repeat_ns;
    return state->due_ns;
}

void rsti_image_demand_on_setup(rsti_image_t *image)
{
    int32_t is_wanted = 0;
    for (int32_t i = 0; i < image->connection_capacity; i++) {
        is_wanted |= image->connections[i].transport != NULL && image->connections[i].is_rstream;
    }
    if (rsti_load_relaxed_i32(&image->demand.is_wanted) != is_wanted) {
        rsti_store_release_i32(&image->demand.is_wanted, is_wanted);
    }
}

void rsti_image_demand_pending(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns)
{
    rsti_image_demand_t *state = &image->demand;
    const int64_t change = rsti_load_acquire_i64(&state->end);
    if (change == state->seen) {
        return;
    }
    const rsti_sm_demand_t demand = {
        .position = rsti_load_relaxed_i64(&state->position),
        .messages = rsti_load_relaxed_i64(&state->messages),
    };
    rsti_acquire_fence();
    if (change != rsti_load_acquire_i64(&state->begin)) {
        return; /* torn: the next pass sees it whole */
    }
    state->seen = change;
    state->told = demand;
    if (!rsti_load_acquire_i32(&image->is_rejected)) {
        rsti_image_send_items(receiver, image, NULL, now_ns);
    }
}
