/* image_demand.c: see image_demand.h. */
#include "driver/receiver/image_demand.h"

#include "concurrent/sequence.h"

bool rsti_image_demand_pending(rsti_image_demand_t *state)
{
    const int64_t change = rsti_load_acquire_i64(&state->end);
    if (change == state->seen) {
        return false;
    }
    const rsti_sm_demand_t demand = {
        .position = rsti_load_relaxed_i64(&state->position),
        .messages = rsti_load_relaxed_i64(&state->messages),
    };
    if (!rsti_sequence_is_whole(&state->begin, change)) {
        return false; /* torn: the next pass sees it whole */
    }
    state->seen = change;
    state->told = demand;
    return true;
}
