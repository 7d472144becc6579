/* fc_max.c: unicast and max. Law:  limit' = max(limit, position + window). Idle time changes
 * nothing, and no receiver is required, so there is no state. */
#include "flow/strategy.h"

#include "util/int_math.h"

static int64_t on_status_message(rsti_flow_control_t *flow, const rsti_sm_facts_t *sm,
    int64_t limit, int64_t now_ns)
{
    (void)flow;
    (void)now_ns;
    return rsti_max_i64(limit, rsti_saturating_add_i64(sm->position, sm->window));
}

static int64_t on_idle(rsti_flow_control_t *flow, int64_t limit, int64_t now_ns)
{
    (void)flow;
    (void)now_ns;
    return limit;
}

static void on_setup_elicited(rsti_flow_control_t *flow, const rsti_sm_facts_t *sm, int64_t now_ns)
{
    (void)flow;
    (void)sm;
    (void)now_ns;
}

static void on_setup(rsti_flow_control_t *flow, int64_t limit, int64_t now_ns)
{
    (void)flow;
    (void)limit;
    (void)now_ns;
}

static void on_error(rsti_flow_control_t *flow, int64_t receiver_id, int64_t now_ns)
{
    (void)flow;
    (void)receiver_id;
    (void)now_ns;
}

static bool has_required_receivers(const rsti_flow_control_t *flow)
{
    (void)flow;
    return true;
}

const rsti_flow_strategy_t rsti_flow_unicast = {
    .name = "unicast",
    .on_status_message = on_status_message,
    .on_idle = on_idle,
    .on_setup_elicited = on_setup_elicited,
    .on_setup = on_setup,
    .on_error = on_error,
    .has_required_receivers = has_required_receivers,
};

const rsti_flow_strategy_t rsti_flow_max = {
    .name = "max",
    .on_status_message = on_status_message,
    .on_idle = on_idle,
    .on_setup_elicited = on_setup_elicited,
    .on_setup = on_setup,
    .on_error = on_error,
    .has_required_receivers = has_required_receivers,
};
