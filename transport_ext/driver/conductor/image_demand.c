/* image_demand.c: see image_demand.h. */
#include "driver/conductor/image_demand.h"

#include "concurrent/sequence.h"
#include "driver/base/driver_state.h"
#include "driver/base/tether.h"
#include "driver/receiver/image.h"

/* Combines the demand of the readers that report it: the lowest position, and the fewest messages.
 * Another process writes these words, so an impossible value counts as 0. The position is read
 * before the number of messages, see rsti_position_ext_t. Returns a number that changes when a
 * reader requests more, or 0 when no reader reports demand. */
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
        demand->position = rsti_min_i64(demand->position,
            rsti_load_acquire_i64(subscriber->position));
        demand->messages = rsti_min_i64(demand->messages,
            rsti_max_i64(rsti_load_relaxed_i64(&ext->remaining), 0));
        requested = (int64_t)(((uint64_t)requested * 31 + asked + 1) | 1U << 31);
    }
    return requested;
}

static void publish(rst_driver_t *driver, rsti_image_demand_t *state,
    const rsti_sm_demand_t *demand)
{
    RSTI_MAILBOX_WRITE(&state->mailbox, demand);
    rsti_driver_wake_agent(driver, RSTI_AGENT_RECEIVER);
}

int64_t rsti_image_demand_look(rst_driver_t *driver, rsti_image_t *image, int64_t hwm,
    int64_t now_ns)
{
    rsti_image_demand_t *state = &image->demand;
    if (!rsti_image_tells_words(image)) {
        return RSTI_NO_DEADLINE;
    }
    rsti_sm_demand_t demand;
    const int64_t requested = demand_of(image, &demand);
    if (requested == 0) {
        return RSTI_NO_DEADLINE;
    }
    const bool has_changed = requested != state->requested;
    if (rsti_retell_look(&state->retell, has_changed, hwm, now_ns)) {
        publish(driver, state, &demand);
    }
    state->requested = requested;
    /* No limit changes no more, so an idle stream does not tell it for ever. */
    if (demand.messages == INT64_MAX && state->retell.interval_ns == RSTI_RETELL_MAX_NS) {
        state->retell.due_ns = RSTI_NO_DEADLINE;
    }
    return state->retell.due_ns;
}
