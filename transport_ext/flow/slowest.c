/* slowest.c: the law of the reader that holds a stream back. */
#include "flow/slowest.h"

void rsti_slowest_see(const rsti_slowest_t *slowest, rsti_slowest_round_t *round, int64_t id,
    int64_t position, int32_t index)
{
    const bool is_holder = slowest->is_known && id == slowest->id;
    if (!round->is_any || position < round->position
        || (position == round->position && is_holder)) {
        *round = (rsti_slowest_round_t){true, id, position, index};
    }
}

bool rsti_slowest_close(rsti_slowest_t *slowest, const rsti_slowest_round_t *round, int64_t now_ns)
{
    const bool has_changed = slowest->is_known != round->is_any
        || (round->is_any && slowest->id != round->id);
    if (has_changed) {
        slowest->since_ns = now_ns;
    }
    slowest->is_known = round->is_any;
    slowest->id = round->id;
    slowest->position = round->position;
    return has_changed;
}
