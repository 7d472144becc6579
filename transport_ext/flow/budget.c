/* budget.c: see budget.h. */
#include "flow/budget.h"

#include "flow/saturate.h"

static int64_t share_of(const rsti_budget_policy_t *policy, double share)
{
    const double bytes = share * (double)policy->memory_bytes;
    return rsti_clamp_i64((int64_t)rsti_clamp_double(bytes, 0.0, (double)RSTI_COUNT_MAX),
        policy->least, policy->most);
}

int64_t rsti_budget_grant(const rsti_budget_policy_t *policy, int64_t connection_count,
    int64_t granted)
{
    switch (policy->kind) {
    case RSTI_BUDGET_STATIC:
        return policy->bytes;
    case RSTI_BUDGET_DYNAMIC:
        return (double)granted > policy->threshold * (double)policy->memory_bytes
            ? policy->least
            : share_of(policy, policy->new_share);
    case RSTI_BUDGET_AGGRESSIVE:
        return share_of(policy, policy->all_share / (double)rsti_max_i64(connection_count, 1));
    case RSTI_BUDGET_NONE:
    default:
        return 0;
    }
}

bool rsti_budget_is_shared(const rsti_budget_policy_t *policy)
{
    return policy->kind == RSTI_BUDGET_AGGRESSIVE;
}

int64_t rsti_budget_room(int64_t granted, int64_t unacknowledged)
{
    return granted <= 0 ? INT64_MAX : rsti_max_i64(granted - unacknowledged, 0);
}

int64_t rsti_budget_room_of_stream(int64_t room, int64_t unacknowledged, int64_t stream_count)
{
    if (room == INT64_MAX || stream_count <= 1) {
        return room;
    }
    const int64_t spare = room - unacknowledged;
    return spare <= 0 ? 0 : spare - spare / 2;
}

int64_t rsti_budget_ack_step(int64_t connection_bytes, int64_t stream_bytes)
{
    const int64_t connection = connection_bytes > 0 ? connection_bytes : INT64_MAX;
    const int64_t least = rsti_min_i64(connection, stream_bytes > 0 ? stream_bytes : INT64_MAX);
    return least == INT64_MAX ? INT64_MAX
                              : rsti_max_i64(rsti_min_i64(RSTI_BUDGET_ACK_BYTES, least / 5), 1);
}
