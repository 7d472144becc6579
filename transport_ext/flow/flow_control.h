/* flow_control.h: how far a network publication may send (docs/reference/aeron/wire.md 10). Pure:
 * positions and now_ns are arguments. A strategy is one constant table of functions and one small
 * file:
 *
 *   unicast, max   limit' = max(limit, edge), edge = position + window of a status message
 *   min            the least edge of the living receivers
 *   tagged         the same over the receivers that carry the group's tag
 *   (others)       registered by name, rst_flow_strategy_register
 *
 * Owner: the sender; init and fini: the conductor, before and after. */
#ifndef RSTI_FLOW_FLOW_CONTROL_H
#define RSTI_FLOW_FLOW_CONTROL_H

#include "flow/strategy.h"

/* The parsed fc text of a group channel. */
typedef struct rsti_flow_options_t {
    char name[RSTI_FLOW_NAME_MAX];
    bool has_group_tag;
    bool has_group_min_size;
    bool has_timeout;
    bool has_multiple;
    int64_t group_tag;
    int64_t timeout_ns;
    int32_t group_min_size;
    int32_t retransmit_window_multiple;
} rsti_flow_options_t;
/* 0 or -RST_ECHANNEL naming fc and the option. */
int rsti_flow_options_parse(const char *fc_text, rsti_flow_options_t *options);

/* 0; -RST_ECHANNEL naming fc, or -RST_EINVAL naming the driver's option, with the value; or what a
 * registered strategy's init returns. */
int rsti_flow_control_init(rsti_flow_control_t *flow, const rsti_flow_params_t *params);
void rsti_flow_control_fini(rsti_flow_control_t *flow);

/* Whether that kind of channel has a strategy of that name. */
bool rsti_flow_is_known(const char *name, bool is_group);

/* min(length, term_length - term_offset, window * multiple) with
 * window = min(131072, term_length / 2). */
int32_t rsti_retransmit_length(const rsti_flow_control_t *flow, int32_t term_length,
    int32_t term_offset, int32_t length);

#endif
