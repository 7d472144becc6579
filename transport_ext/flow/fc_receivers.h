/* fc_receivers.h: what min and tagged have in common: receivers, the group's size, and the guard
 * of a set-up (docs/reference/aeron/wire.md 10.3). With R the receivers that have not ended, g the
 * guard and T the timeout:
 *
 *     least = min(g, edges of R);  fewer than group_min_size: the limit stays
 *     a status message:  limit' = max(limit, least), never falling
 *     idle:              limit' = least, which may fall, and rises when the slowest has left
 *
 * Who has not been heard for longer than T is not in R. The guard is the limit at the time when a
 * SETUP went to one that wants to join; it ends when somebody joins, or after T. Without it the
 * sender would be far away before the joiner's first status message. */
#ifndef RSTI_FLOW_FC_RECEIVERS_H
#define RSTI_FLOW_FC_RECEIVERS_H

#include "flow/flow_control.h"

typedef struct rsti_flow_receiver_t {
    int64_t receiver_id;
    int64_t position; /* highest consumption position */
    int64_t edge;     /* position + window of the last status message: may fall */
    int64_t last_sm_ns;
    bool is_eos;
} rsti_flow_receiver_t;

typedef struct rsti_flow_group_t {
    int64_t timeout_ns;
    int64_t group_tag;     /* tagged */
    int64_t guard;         /* -1: none */
    int64_t guard_set_ns;
    int32_t group_min_size;
    bool is_elicited; /* by one whom this group would take */
    rsti_flow_receiver_t receivers[RSTI_FLOW_RECEIVERS_MAX];
} rsti_flow_group_t;

int rsti_flow_group_init(rsti_flow_control_t *flow, const rsti_flow_params_t *params);
void rsti_flow_group_fini(rsti_flow_control_t *flow);
/* matches: whether the receiver is one of those that count. */
int64_t rsti_flow_group_on_sm(rsti_flow_control_t *flow, const rsti_sm_facts_t *sm, bool matches,
    int64_t limit, int64_t now_ns);
int64_t rsti_flow_group_on_idle(rsti_flow_control_t *flow, int64_t limit, int64_t now_ns);
void rsti_flow_group_on_setup(rsti_flow_control_t *flow, int64_t limit, int64_t now_ns);
void rsti_flow_group_on_error(rsti_flow_control_t *flow, int64_t receiver_id, int64_t now_ns);
bool rsti_flow_group_has_required(const rsti_flow_control_t *flow);

#endif
