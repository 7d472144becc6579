/* image_fill.c: see image_fill.h. */
#include "driver/receiver/image_fill.h"

#include "concurrent/sequence.h"
#include "util/bits.h"

#include <string.h>

void rsti_image_fill_set_wanted(rsti_image_fill_t *state, int32_t is_wanted)
{
    if (rsti_load_relaxed_i32(&state->is_wanted) != is_wanted) {
        rsti_store_release_i32(&state->is_wanted, is_wanted);
    }
}

bool rsti_image_fill_on_items(rsti_image_fill_t *state, const rsti_sm_items_t *items)
{
    const int64_t target_ns = rsti_clamp_i64(items->target_ns, 0, RSTI_REPORT_RTT_MAX_NS);
    if (target_ns > 0) {
        rsti_store_relaxed_i64(&state->target_ns, target_ns);
    }
    if (!items->has_fill || items->fill.strength <= 0) {
        return false;
    }
    int64_t bits;
    memcpy(&bits, &items->fill.strength, sizeof bits);
    rsti_store_relaxed_i64(&state->heard_bits, bits);
    rsti_store_release_i64(&state->heard_count, rsti_load_relaxed_i64(&state->heard_count) + 1);
    return true;
}

bool rsti_image_fill_is_look_due(const rsti_image_fill_t *state, int64_t hwm, int64_t now_ns)
{
    return hwm >= rsti_load_relaxed_i64(&state->wake_position)
        && now_ns >= rsti_load_relaxed_i64(&state->wake_ns);
}

bool rsti_image_fill_pending(rsti_image_fill_t *state, uint8_t value[RSTI_SM_FILL_LENGTH])
{
    const int64_t change = rsti_load_acquire_i64(&state->end);
    if (change == state->seen) {
        return false;
    }
    for (size_t i = 0; i < RSTI_SM_FILL_WORDS; i++) {
        rsti_put_i64(value + 8 * i, rsti_load_relaxed_i64(&state->words[i]));
    }
    if (!rsti_sequence_is_whole(&state->begin, change)) {
        return false; /* torn: the next pass sees it whole */
    }
    state->seen = change;
    return true;
}
