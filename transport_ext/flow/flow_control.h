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
typedef struct rsti_flow_params_t rsti_flow_params_t;

typedef struct rsti_flow_strategy_t {
    const char *name;
    bool has_receivers;   /* it keeps a list of receivers */
    bool reads_group_tag; /* report a status message whose tail is unknown */
    int (*init)(rsti_flow_control_t *flow, const rsti_flow_params_t *params); /* NULL: no state */
    void (*fini)(rsti_flow_control_t *flow);                                  /* NULL: no state */
    int64_t (*on_status_message)(rsti_flow_control_t *flow, const rsti_sm_facts_t *sm,
        int64_t limit, int64_t now_ns);                       /* new limit */
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
    bool has_receivers;     /* the counter fc-receivers shows receiver_count */
    int32_t receiver_count; /* written by strategies that have receivers */
    int64_t refused_count;  /* receivers that found the list full */
    void *state;
};

extern const rsti_flow_strategy_t rsti_flow_unicast;
extern const rsti_flow_strategy_t rsti_flow_max;
extern const rsti_flow_strategy_t rsti_flow_min;
extern const rsti_flow_strategy_t rsti_flow_tagged;
extern const rsti_flow_strategy_t rsti_flow_custom; /* adapter to a registered strategy */

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

/* The channel's text, and the driver's defaults for missing options. */
struct rsti_flow_params_t {
    const char *fc_text;      /* NULL or "": default_name; unicast never reads it */
    bool is_group;            /* multicast, or several destinations */
    const char *default_name; /* for this kind of channel */
    int32_t default_multiple;
    int64_t group_tag;
    int32_t group_min_size;
    int64_t receiver_timeout_ns;
    const char *channel; /* for registered strategies */
    int32_t stream_id;
    int32_t session_id;
};
/* 0; -RST_ECHANNEL naming fc, or -RST_EINVAL naming the driver's option, with the value; or what a
 * registered strategy's init returns. */
int rsti_flow_control_init(rsti_flow_control_t *flow, const rsti_flow_params_t *params);
void rsti_flow_control_fini(rsti_flow_control_t *flow);

/* Whether that kind of channel has a strategy of that name. */
bool rsti_flow_is_known(const char *name, bool is_group);
/* NULL: there is none of that name. */
const rsti_flow_strategy_t *rsti_flow_find_builtin(const char *name, bool is_group);
/* NULL: not registered. */
const rst_flow_strategy_t *rsti_flow_find_registered(const char *name);

/* min(length, term_length - term_offset, window * multiple) with
 * window = min(131072, term_length / 2). */
int32_t rsti_retransmit_length(const rsti_flow_control_t *flow, int32_t term_length,
    int32_t term_offset, int32_t length);

#endif
