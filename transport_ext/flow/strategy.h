/* strategy.h: a strategy of flow control: one constant table of functions, its state, and the lists
 * of strategies. flow_control.h chooses the strategy of a channel. */
#ifndef RSTI_FLOW_STRATEGY_H
#define RSTI_FLOW_STRATEGY_H

#include "rstream/flow.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most receivers of one group that min and tagged track. A further receiver gets data but does
 * not slow the sender, like one that is too far behind to join. It counts in refused_count. */
#define RSTI_FLOW_RECEIVERS_MAX 256
/* Strategies that can be registered in one process. */
#define RSTI_FLOW_STRATEGIES_MAX 16
#define RSTI_FLOW_NAME_MAX 32 /* with the terminator */

typedef struct rsti_sm_facts_t {
    int64_t position; /* consumption position */
    int32_t window;
    int64_t receiver_id;
    bool is_eos;
    bool has_group_tag;
    int64_t group_tag;
} rsti_sm_facts_t;

typedef struct rsti_flow_control_t rsti_flow_control_t;

/* The channel's text, and the driver's defaults for missing options. */
typedef struct rsti_flow_params_t {
    const char *fc_text; /* NULL or "": default_name; unicast never reads it */
    bool is_group; /* multicast, or several destinations */
    const char *default_name; /* for this kind of channel */
    int32_t default_multiple;
    int64_t group_tag;
    int32_t group_min_size;
    int64_t receiver_timeout_ns;
    const char *channel; /* for registered strategies */
    int32_t stream_id;
    int32_t session_id;
} rsti_flow_params_t;

typedef struct rsti_flow_strategy_t {
    const char *name;
    bool has_receivers; /* it keeps a list of receivers */
    bool reads_group_tag; /* report a status message whose tail is unknown */
    int (*init)(rsti_flow_control_t *flow, const rsti_flow_params_t *params); /* NULL: no state */
    void (*fini)(rsti_flow_control_t *flow); /* NULL: no state */
    int64_t (*on_status_message)(rsti_flow_control_t *flow, const rsti_sm_facts_t *sm,
        int64_t limit, int64_t now_ns); /* new limit */
    int64_t (*on_idle)(rsti_flow_control_t *flow, int64_t limit, int64_t now_ns);
    /* on_setup_elicited: a receiver asked for a SETUP. on_setup: the SETUP is about to be sent. */
    void (*on_setup_elicited)(rsti_flow_control_t *flow, const rsti_sm_facts_t *sm, int64_t now_ns);
    void (*on_setup)(rsti_flow_control_t *flow, int64_t limit, int64_t now_ns);
    void (*on_error)(rsti_flow_control_t *flow, int64_t receiver_id, int64_t now_ns);
    bool (*has_required_receivers)(const rsti_flow_control_t *flow);
} rsti_flow_strategy_t;

struct rsti_flow_control_t {
    const rsti_flow_strategy_t *strategy;
    int32_t retransmit_window_multiple; /* 16 unicast, 4 groups */
    bool has_receivers; /* the counter fc-receivers shows receiver_count */
    int32_t receiver_count; /* written by strategies that have receivers */
    int64_t refused_count; /* receivers that found the list full */
    void *state;
};

extern const rsti_flow_strategy_t rsti_flow_unicast;
extern const rsti_flow_strategy_t rsti_flow_max;
extern const rsti_flow_strategy_t rsti_flow_min;
extern const rsti_flow_strategy_t rsti_flow_tagged;
extern const rsti_flow_strategy_t rsti_flow_custom; /* adapter to a registered strategy */

/* NULL: there is none of that name. */
const rsti_flow_strategy_t *rsti_flow_find_builtin(const char *name, bool is_group);
/* NULL: not registered. */
const rst_flow_strategy_t *rsti_flow_find_registered(const char *name);

#endif
