/* fc_min.c: the slowest receiver sets the pace. Law: fc_receivers.h; every receiver counts. */
#include "flow/fc_receivers.h"

static int64_t on_status_message(rsti_flow_control_t *flow, const rsti_sm_facts_t *sm,
    int64_t limit, int64_t now_ns)
{
    return rsti_flow_group_on_sm(flow, sm, true, limit, now_ns);
}

static void on_setup_elicited(rsti_flow_control_t *flow, const rsti_sm_facts_t *sm, int64_t now_ns)
{
    (void)sm;
    (void)now_ns;
    ((rsti_flow_group_t *)flow->state)->is_elicited = true;
}

const rsti_flow_strategy_t rsti_flow_min = {
    .name = "min",
    .has_receivers = true,
    .init = rsti_flow_group_init,
    .fini = rsti_flow_group_fini,
    .on_status_message = on_status_message,
    .on_idle = rsti_flow_group_on_idle,
    .on_setup_elicited = on_setup_elicited,
    .on_setup = rsti_flow_group_on_setup,
    .on_error = rsti_flow_group_on_error,
    .has_required_receivers = rsti_flow_group_has_required,
};
