/* fc_tagged.c: the slowest receiver with the group's tag sets the pace. Law: fc_receivers.h. A
 * status message of another receiver only makes the sender compute the minimum again. While no
 * receiver has the tag, the others count as in max, so that the stream can flow. */
#include "flow/fc_receivers.h"

static bool matches(const rsti_flow_control_t *flow, const rsti_sm_facts_t *sm)
{
    return sm->has_group_tag
        && sm->group_tag == ((const rsti_flow_group_t *)flow->state)->group_tag;
}

static int64_t on_status_message(rsti_flow_control_t *flow, const rsti_sm_facts_t *sm,
    int64_t limit, int64_t now_ns)
{
    return rsti_flow_group_on_sm(flow, sm, matches(flow, sm), limit, now_ns);
}

static void on_setup_elicited(rsti_flow_control_t *flow, const rsti_sm_facts_t *sm, int64_t now_ns)
{
    (void)now_ns;
    rsti_flow_group_t *group = flow->state;
    group->is_elicited = group->is_elicited || matches(flow, sm);
}

const rsti_flow_strategy_t rsti_flow_tagged = {
    .name = "tagged",
    .has_receivers = true,
    .reads_group_tag = true,
    .init = rsti_flow_group_init,
    .fini = rsti_flow_group_fini,
    .on_status_message = on_status_message,
    .on_idle = rsti_flow_group_on_idle,
    .on_setup_elicited = on_setup_elicited,
    .on_setup = rsti_flow_group_on_setup,
    .on_error = rsti_flow_group_on_error,
    .has_required_receivers = rsti_flow_group_has_required,
};
