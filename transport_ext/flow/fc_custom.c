/* fc_custom.c: user-written strategies: their registry, and the adapter from our table of functions
 * to theirs. The contract is in rstream/flow.h. */
#include "flow/strategy.h"

#include "concurrent/atomics.h"
#include "util/alloc.h"
#include "util/bits.h"
#include "util/error.h"

#include <string.h>

#define STATE_BYTES_MAX (1024 * 1024)

typedef struct registered_t {
    rst_flow_strategy_t strategy;
    char name[RSTI_FLOW_NAME_MAX];
} registered_t;

/* Append only: an entry is written before the count includes it. */
static registered_t registry[RSTI_FLOW_STRATEGIES_MAX];
static int32_t registry_count; /* atomic */

typedef struct custom_t {
    const rst_flow_strategy_t *strategy;
    void *state;
} custom_t;

const rst_flow_strategy_t *rsti_flow_find_registered(const char *name)
{
    const int32_t count = rsti_load_acquire_i32(&registry_count);
    for (int32_t i = 0; i < count; i++) {
        if (strcmp(registry[i].name, name) == 0) {
            return &registry[i].strategy;
        }
    }
    return NULL;
}

static bool is_name(const char *name)
{
    const size_t length = name == NULL ? 0 : strlen(name);
    return length > 0 && length < RSTI_FLOW_NAME_MAX
        && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == length;
}

int rst_flow_strategy_register(const rst_flow_strategy_t *strategy)
{
    if (strategy == NULL || strategy->struct_size != sizeof *strategy) {
        return RST_SET_ERR(RST_EINVAL, "flow strategy: struct_size is not that of this library");
    }
    if (!is_name(strategy->name)) {
        return RST_SET_ERR(RST_EINVAL, "flow strategy \"%s\": a name is 1 to %d of a-z 0-9 - _ .",
            strategy->name == NULL ? "" : strategy->name, RSTI_FLOW_NAME_MAX - 1);
    }
    if (rsti_flow_find_builtin(strategy->name, true) != NULL
        || rsti_flow_find_builtin(strategy->name, false) != NULL
        || rsti_flow_find_registered(strategy->name) != NULL) {
        return RST_SET_ERR(RST_EINVAL, "flow strategy \"%s\": the name exists", strategy->name);
    }
    if (strategy->on_status_message == NULL || strategy->state_bytes > STATE_BYTES_MAX) {
        return RST_SET_ERR(RST_EINVAL,
            "flow strategy \"%s\": needs on_status_message and at most %d bytes of state",
            strategy->name, STATE_BYTES_MAX);
    }
    const int32_t count = rsti_load_acquire_i32(&registry_count);
    if (count == RSTI_FLOW_STRATEGIES_MAX) {
        return RST_SET_ERR(RST_EFULL, "flow strategy \"%s\": %d are registered, there is no room",
            strategy->name, RSTI_FLOW_STRATEGIES_MAX);
    }
    registered_t *entry = &registry[count];
    entry->strategy = *strategy;
    memcpy(entry->name, strategy->name, strlen(strategy->name) + 1);
    entry->strategy.name = entry->name;
    rsti_store_release_i32(&registry_count, count + 1);
    return 0;
}

static void update_count(rsti_flow_control_t *flow)
{
    const custom_t *custom = flow->state;
    if (custom->strategy->receiver_count != NULL) {
        flow->receiver_count = custom->strategy->receiver_count(custom->state);
    }
}

static void fini(rsti_flow_control_t *flow)
{
    custom_t *custom = flow->state;
    if (custom != NULL) {
        if (custom->strategy->fini != NULL) {
            custom->strategy->fini(custom->state);
        }
        rsti_free(custom->state);
        rsti_free(custom);
    }
}

static int init(rsti_flow_control_t *flow, const rsti_flow_params_t *params)
{
    const rst_flow_strategy_t *strategy = rsti_flow_find_registered(params->default_name);
    RST_ASSERT(strategy != NULL);
    custom_t *custom = rsti_alloc(sizeof *custom);
    if (custom == NULL) {
        return -RST_ENOMEM;
    }
    custom->strategy = strategy;
    custom->state = strategy->state_bytes == 0 ? NULL : rsti_alloc(strategy->state_bytes);
    const rst_flow_facts_t facts = {
        .channel = params->channel == NULL ? "" : params->channel,
        .stream_id = params->stream_id,
        .session_id = params->session_id,
        .is_group = params->is_group,
        .group_min_size = params->group_min_size,
        .group_tag = params->group_tag,
        .receiver_timeout_ns = params->receiver_timeout_ns,
    };
    int result = strategy->state_bytes > 0 && custom->state == NULL ? -RST_ENOMEM : 0;
    if (result == 0 && strategy->init != NULL && strategy->init(custom->state, &facts) < 0) {
        result = RST_SET_ERR(RST_ECHANNEL, "flow control %s refused channel \"%s\" stream %d",
            strategy->name, facts.channel, facts.stream_id);
    }
    if (result < 0) {
        rsti_free(custom->state);
        rsti_free(custom);
        return result;
    }
    flow->state = custom;
    flow->has_receivers = strategy->receiver_count != NULL;
    update_count(flow);
    return 0;
}

static rst_flow_message_t message_of(const rsti_sm_facts_t *sm)
{
    return (rst_flow_message_t){
        .position = sm->position,
        .window = sm->window,
        .is_eos = sm->is_eos,
        .receiver_id = sm->receiver_id,
        .group_tag = sm->group_tag,
        .has_group_tag = sm->has_group_tag,
    };
}

static int64_t on_status_message(rsti_flow_control_t *flow, const rsti_sm_facts_t *sm,
    int64_t limit, int64_t now_ns)
{
    const custom_t *custom = flow->state;
    const rst_flow_message_t message = message_of(sm);
    const int64_t result = custom->strategy->on_status_message(custom->state, &message, limit,
        now_ns);
    update_count(flow);
    return result;
}

static int64_t on_idle(rsti_flow_control_t *flow, int64_t limit, int64_t now_ns)
{
    const custom_t *custom = flow->state;
    if (custom->strategy->on_idle == NULL) {
        return limit;
    }
    const int64_t result = custom->strategy->on_idle(custom->state, limit, now_ns);
    update_count(flow);
    return result;
}

static void on_setup_elicited(rsti_flow_control_t *flow, const rsti_sm_facts_t *sm, int64_t now_ns)
{
    const custom_t *custom = flow->state;
    if (custom->strategy->on_setup_elicited != NULL) {
        const rst_flow_message_t message = message_of(sm);
        custom->strategy->on_setup_elicited(custom->state, &message, now_ns);
    }
}

static void on_setup(rsti_flow_control_t *flow, int64_t limit, int64_t now_ns)
{
    const custom_t *custom = flow->state;
    if (custom->strategy->on_setup != NULL) {
        custom->strategy->on_setup(custom->state, limit, now_ns);
    }
}

static void on_error(rsti_flow_control_t *flow, int64_t receiver_id, int64_t now_ns)
{
    const custom_t *custom = flow->state;
    if (custom->strategy->on_error != NULL) {
        custom->strategy->on_error(custom->state, receiver_id, now_ns);
        update_count(flow);
    }
}

static bool has_required_receivers(const rsti_flow_control_t *flow)
{
    const custom_t *custom = flow->state;
    return custom->strategy->has_required_receivers == NULL
        || custom->strategy->has_required_receivers(custom->state) != 0;
}

const rsti_flow_strategy_t rsti_flow_custom = {
    .name = "custom",
    .init = init,
    .fini = fini,
    .on_status_message = on_status_message,
    .on_idle = on_idle,
    .on_setup_elicited = on_setup_elicited,
    .on_setup = on_setup,
    .on_error = on_error,
    .has_required_receivers = has_required_receivers,
};
