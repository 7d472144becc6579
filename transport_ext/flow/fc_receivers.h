/* fc_receivers.h: the common part of min and tagged: receivers, the group's size, and the guard of
 * a set-up (docs/reference/aeron/wire.md 10.3).
 *
 *     least = min(guard, edges of the living receivers)
 *     fewer receivers than group_min_size:  the limit stays
 *     a status message:  limit' = max(limit, least), never falling
 *     idle:              limit' = least, which may fall, and rises when the slowest has left
 *
 * A receiver is living until its stream ends or it is silent for longer than the time-out. The
 * guard is the limit at the time when a SETUP was sent to a receiver that wants to join. It ends
 * when a receiver joins, or after the time-out. Without it the sender would be far ahead before the
 * first status message of the joining receiver arrives. */
#ifndef RSTI_FLOW_FC_RECEIVERS_H
#define RSTI_FLOW_FC_RECEIVERS_H

#include "flow/strategy.h"

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
    bool is_elicited; /* a receiver that belongs to this group asked for a SETUP */
    rsti_flow_receiver_t receivers[RSTI_FLOW_RECEIVERS_MAX];
} rsti_flow_group_t;

int rsti_flow_group_init(rsti_flow_control_t *flow, const rsti_flow_params_t *params);
void rsti_flow_group_fini(rsti_flow_control_t *flow);
/* matches: whether the receiver counts in this group. */
int64_t rsti_flow_group_on_sm(rsti_flow_control_t *flow, const rsti_sm_facts_t *sm, bool matches,
    int64_t limit, int64_t now_ns);
int64_t rsti_flow_group_on_idle(rsti_flow_control_t *flow, int64_t limit, int64_t now_ns);
void rsti_flow_group_on_setup(rsti_flow_control_t *flow, int64_t limit, int64_t now_ns);
void rsti_flow_group_on_error(rsti_flow_control_t *flow, int64_t receiver_id, int64_t now_ns);
bool rsti_flow_group_has_required(const rsti_flow_control_t *flow);

#endif
