/* image_budget.c: see image_budget.h. */
#include "driver/receiver/image_budget.h"

#include "concurrent/sequence.h"

bool rsti_image_budget_pending(rsti_image_budget_t *state)
{
    const int64_t change = rsti_load_acquire_i64(&state->end);
    if (change == state->seen) {
        return false;
    }
    const rsti_sm_budget_t budget = {
        .position = rsti_load_relaxed_i64(&state->position),
        .connection_bytes = rsti_load_relaxed_i64(&state->connection_bytes),
        .stream_bytes = rsti_load_relaxed_i64(&state->granted_bytes),
    };
    if (!rsti_sequence_is_whole(&state->begin, change)) {
        return false; /* torn: the next pass sees it whole */
    }
    state->seen = change;
    state->told = budget;
    return true;
}
