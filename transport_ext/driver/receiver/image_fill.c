/* image_fill.c: see image_fill.h. */
#include "driver/receiver/image_fill.h"

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
    if (!items->has_fill || items->fill.is_clear) {
        return false;
    }
    rsti_store_relaxed_i64(&state->heard_allowed, items->fill.allowed);
    rsti_store_release_i64(&state->heard_count, rsti_load_relaxed_i64(&state->heard_count) + 1);
    return true;
}

bool rsti_image_fill_is_look_due(const rsti_image_fill_t *state, int64_t hwm, int64_t now_ns)
{
    return hwm >= rsti_load_relaxed_i64(&state->wake_position)
        && now_ns >= rsti_load_relaxed_i64(&state->wake_ns);
}

bool rsti_image_fill_pending(rsti_image_fill_t *state, rsti_fill_item_t *item)
{
    /* When it is half written, the next pass reads it again. */
    return RSTI_MAILBOX_READ_NEW(&state->mailbox, &state->seen, item);
}
