/* image_noop.c: see image_noop.h. */
#include "driver/receiver/image_noop.h"

#include "concurrent/atomics.h"

bool rsti_image_noop_is_new(const rsti_image_noop_t *state, int64_t number)
{
    /* A lower number is new too: otherwise one forged high number would hide all later NOOPs. */
    return number != rsti_load_relaxed_i64(&state->heard);
}

bool rsti_image_noop_pending(rsti_image_noop_t *state)
{
    const int64_t change = rsti_load_acquire_i64(&state->change);
    const bool is_new = change != state->seen;
    state->seen = change;
    return is_new;
}
