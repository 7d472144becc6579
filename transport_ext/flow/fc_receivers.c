/* fc_receivers.c: see the header for the law. */
#include "flow/fc_receivers.h"

#include "util/alloc.h"
#include "util/error.h"
#include "util/int_math.h"

#define NO_GUARD (-1)

int rsti_flow_group_init(rsti_flow_control_t *flow, const rsti_flow_params_t *params)
{
    rsti_flow_group_t *group = rsti_alloc(sizeof *group);
    if (group == NULL) {
        return -RST_ENOMEM;
    }
    group->timeout_ns = params->receiver_timeout_ns;
    group->group_tag = params->group_tag;
    group->group_min_size = params->group_min_size;
    group->guard = NO_GUARD;
    flow->state = group;
    return 0;
}

void rsti_flow_group_fini(rsti_flow_control_t *flow)
{
    rsti_free(flow->state);
}

static int64_t guard_at(rsti_flow_group_t *group, int64_t now_ns)
{
    if (group->guard == NO_GUARD) {
        return INT64_MAX;
    }
    if (now_ns > rsti_saturating_add_i64(group->guard_set_ns, group->timeout_ns)) {
        group->guard = NO_GUARD;
        return INT64_MAX;
    }
    return group->guard;
}

/* The newest edge counts, even if an older one was higher. So a status message that arrives out of
 * order may lower the limit at the next idle pass, as in Aeron. */
static void update(rsti_flow_receiver_t *receiver, const rsti_sm_facts_t *sm, int64_t edge,
    int64_t now_ns)
{
    receiver->is_eos = sm->is_eos;
    receiver->position = rsti_max_i64(receiver->position, sm->position);
    receiver->edge = edge;
    receiver->last_sm_ns = now_ns;
}

static bool join(rsti_flow_control_t *flow, const rsti_sm_facts_t *sm, int64_t edge, int64_t now_ns)
{
    rsti_flow_group_t *group = flow->state;
    if (flow->receiver_count == RSTI_FLOW_RECEIVERS_MAX) {
        flow->refused_count++;
        return false;
    }
    group->receivers[flow->receiver_count++] = (rsti_flow_receiver_t){
        .receiver_id = sm->receiver_id,
        .position = sm->position,
        .edge = edge,
        .last_sm_ns = now_ns,
    };
    group->guard = NO_GUARD;
    return true;
}

int64_t rsti_flow_group_on_sm(rsti_flow_control_t *flow, const rsti_sm_facts_t *sm, bool matches,
    int64_t limit, int64_t now_ns)
{
    rsti_flow_group_t *group = flow->state;
    const int64_t edge = rsti_saturating_add_i64(sm->position, sm->window);
    int64_t least = guard_at(group, now_ns);
    bool is_known = false;
    for (int32_t i = 0; i < flow->receiver_count; i++) {
        rsti_flow_receiver_t *receiver = &group->receivers[i];
        if (matches && receiver->receiver_id == sm->receiver_id) {
            update(receiver, sm, edge, now_ns);
            is_known = true;
        }
        least = rsti_min_i64(least, receiver->edge);
    }
    /* A receiver that is more than its window behind the group counts once it has caught up. */
    if (!is_known && !sm->is_eos && matches
        && (flow->receiver_count == 0
            || edge >= rsti_saturating_add_i64(least, -(int64_t)sm->window))
        && join(flow, sm, edge, now_ns)) {
        least = rsti_min_i64(least, edge);
    }
    if (flow->receiver_count < group->group_min_size) {
        return limit;
    }
    return rsti_max_i64(limit, flow->receiver_count == 0 ? edge : least);
}

int64_t rsti_flow_group_on_idle(rsti_flow_control_t *flow, int64_t limit, int64_t now_ns)
{
    rsti_flow_group_t *group = flow->state;
    int64_t least = guard_at(group, now_ns);
    for (int32_t i = flow->receiver_count; i > 0; i--) {
        const rsti_flow_receiver_t *receiver = &group->receivers[i - 1];
        if (receiver->is_eos
            || now_ns > rsti_saturating_add_i64(receiver->last_sm_ns, group->timeout_ns)) {
            group->receivers[i - 1] = group->receivers[--flow->receiver_count];
        } else {
            least = rsti_min_i64(least, receiver->edge);
        }
    }
    return flow->receiver_count == 0 || flow->receiver_count < group->group_min_size ? limit
                                                                                     : least;
}

void rsti_flow_group_on_setup(rsti_flow_control_t *flow, int64_t limit, int64_t now_ns)
{
    rsti_flow_group_t *group = flow->state;
    if (group->is_elicited && flow->receiver_count > 0) {
        group->guard = limit;
        group->guard_set_ns = now_ns;
    }
    group->is_elicited = false;
}

void rsti_flow_group_on_error(rsti_flow_control_t *flow, int64_t receiver_id, int64_t now_ns)
{
    rsti_flow_group_t *group = flow->state;
    (void)now_ns;
    for (int32_t i = 0; i < flow->receiver_count; i++) {
        if (group->receivers[i].receiver_id == receiver_id) {
            group->receivers[i].is_eos = true;
        }
    }
}

bool rsti_flow_group_has_required(const rsti_flow_control_t *flow)
{
    const rsti_flow_group_t *group = flow->state;
    return flow->receiver_count >= group->group_min_size;
}
