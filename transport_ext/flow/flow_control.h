/* flow_control.h: how far a network publication may send (wire reference 10). Pure: positions and
 * now_ns are arguments. A strategy is one constant table of functions; multicast strategies join
 * later. Law of unicast and max:  limit = max over status messages of (position + window), never
 * falling. */
#ifndef RSTI_FLOW_FLOW_CONTROL_H
#define RSTI_FLOW_FLOW_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rsti_sm_facts_t {
    int64_t position; /* consumption position */
    int32_t window;
    int64_t receiver_id;
    bool is_eos;
    bool has_group_tag;
    int64_t group_tag;
} rsti_sm_facts_t;

#define RSTI_FLOW_STATE_BYTES 64

typedef struct rsti_flow_control_t rsti_flow_control_t;

typedef struct rsti_flow_strategy_t {
    const char *name;
    int64_t (*on_status_message)(rsti_flow_control_t *flow, const rsti_sm_facts_t *sm,
        int64_t limit, int64_t now_ns);                       /* new limit */
    int64_t (*on_idle)(rsti_flow_control_t *flow, int64_t limit, int64_t now_ns);
    void (*on_setup)(rsti_flow_control_t *flow, int64_t limit, int64_t now_ns);
    void (*on_error)(rsti_flow_control_t *flow, int64_t receiver_id, int64_t now_ns);
    bool (*has_required_receivers)(const rsti_flow_control_t *flow);
} rsti_flow_strategy_t;

struct rsti_flow_control_t {
    const rsti_flow_strategy_t *strategy;
    int32_t retransmit_window_multiple; /* 16 unicast, 4 groups */
    void *state;                        /* of strategies with receivers */
};

extern const rsti_flow_strategy_t rsti_flow_unicast;
extern const rsti_flow_strategy_t rsti_flow_max;

/* The fc text of a group channel, taken apart. */
typedef struct rsti_flow_options_t {
    const char *name; /* "max", "min" or "tagged" */
    bool has_group_tag;
    bool has_group_min_size;
    bool has_timeout;
    int64_t group_tag;
    int64_t timeout_ns;
    int32_t group_min_size;
    int32_t retransmit_window_multiple;
} rsti_flow_options_t;
/* 0 or -RST_ECHANNEL. */
int rsti_flow_options_parse(const char *fc_text, rsti_flow_options_t *options);

/* Strategy for a channel: fc text ("" = default), group semantics. 0 or -RST_ECHANNEL /
 * -RST_ENOTSUP naming fc. */
int rsti_flow_control_init(rsti_flow_control_t *flow, const char *fc_text, bool is_group);
void rsti_flow_control_fini(rsti_flow_control_t *flow);

/* min(length, term_length - term_offset, window * multiple), window = min(131072, term_length/2). */
int32_t rsti_retransmit_length(const rsti_flow_control_t *flow, int32_t term_length,
    int32_t term_offset, int32_t length);

#endif
