/* image_noop.c: see image_noop.h. */
#include "driver/conductor/image_noop.h"

#include "driver/base/driver_state.h"
#include "driver/base/tether.h"
#include "driver/conductor/clients.h"
#include "driver/conductor/subscription.h"

/* True when this reader has to answer NOOPs. Another process writes these words. */
static bool must_answer(rst_driver_t *driver, const rsti_subscriber_t *subscriber)
{
    const rsti_counter_value_t *value = (const void *)subscriber->position;
    const rsti_position_ext_t *ext = (const void *)value->spare;
    return rsti_tether_is_working(&subscriber->tether)
        && rsti_client_is_rstream(driver, subscriber->subscription->client_id)
        && (rsti_load_acquire_i32(&ext->version) == 0
            || rsti_load_relaxed_i64(&ext->remaining) > 0);
}

static bool have_all_answered(rst_driver_t *driver, const rsti_image_t *image, int64_t heard)
{
    for (int32_t i = 0; i < image->subscribers.count; i++) {
        const rsti_subscriber_t *subscriber = &image->subscribers.items[i];
        const rsti_counter_value_t *value = (const void *)subscriber->position;
        const rsti_position_ext_t *ext = (const void *)value->spare;
        if (must_answer(driver, subscriber)
            && rsti_load_acquire_i64(&ext->noop_answered) != heard) {
            return false;
        }
    }
    return true;
}

int64_t rsti_image_noop_look(rst_driver_t *driver, rsti_image_t *image, int64_t hwm, int64_t now_ns)
{
    rsti_image_noop_t *state = &image->noop;
    const int64_t heard = rsti_load_acquire_i64(&state->heard);
    if (heard == 0) {
        return RSTI_NO_DEADLINE;
    }
    const bool is_answered = rsti_load_relaxed_i64(&state->answered) != heard
        && have_all_answered(driver, image, heard);
    if (is_answered) {
        rsti_store_release_i64(&state->answered, heard);
    }
    if (rsti_retell_look(&state->retell, is_answered, hwm, now_ns)) {
        rsti_store_release_i64(&state->change, rsti_load_relaxed_i64(&state->change) + 1);
        rsti_driver_wake_agent(driver, RSTI_AGENT_RECEIVER);
    }
    return state->retell.due_ns;
}
