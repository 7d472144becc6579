/* flow_control.c: chooses the strategy of a channel and reads its options
 * (docs/reference/aeron/wire.md 10.1, 10.4). */
#include "flow/flow_control.h"

#include "util/error.h"
#include "util/int_math.h"
#include "util/parse.h"

#include <string.h>

#define RETRANSMIT_MULTIPLE_GROUP 4
#define RETRANSMIT_WINDOW_BYTES 131072
#define OPTION_TEXT_MAX 64

static const rsti_flow_strategy_t *find(const char *name, bool is_group)
{
    const rsti_flow_strategy_t *builtin = rsti_flow_find_builtin(name, is_group);
    if (builtin != NULL) {
        return builtin;
    }
    return rsti_flow_find_registered(name) == NULL ? NULL : &rsti_flow_custom;
}

bool rsti_flow_is_known(const char *name, bool is_group)
{
    return find(name, is_group) != NULL;
}

static int refuse(const char *fc_text, const char *what, const char *which)
{
    return RST_SET_ERR(RST_ECHANNEL, "fc=%s: %s%s", fc_text, what, which);
}

/* "TAG", "TAG/N" or "/N". */
static bool parse_group(char *value, rsti_flow_options_t *options)
{
    char *slash = strchr(value, '/');
    if (slash != NULL) {
        *slash = '\0';
        if (!rsti_parse_i32(slash + 1, &options->group_min_size) || options->group_min_size < 0) {
            return false;
        }
        options->has_group_min_size = true;
    }
    if (slash != NULL && *value == '\0') {
        return true;
    }
    options->has_group_tag = rsti_parse_i64(value, &options->group_tag);
    return options->has_group_tag;
}

static bool parse_option(char *option, rsti_flow_options_t *options)
{
    const bool is_group_strategy = strcmp(options->name, rsti_flow_max.name) != 0;
    if (strncmp(option, "rrwm:", 5) == 0) {
        options->has_multiple = true;
        return rsti_parse_i32(option + 5, &options->retransmit_window_multiple)
            && options->retransmit_window_multiple >= 1;
    }
    if (is_group_strategy && strncmp(option, "t:", 2) == 0) {
        options->has_timeout = rsti_parse_duration_ns(option + 2, &options->timeout_ns);
        return options->has_timeout;
    }
    return is_group_strategy && strncmp(option, "g:", 2) == 0 && parse_group(option + 2, options);
}

int rsti_flow_options_parse(const char *fc_text, rsti_flow_options_t *options)
{
    *options = (rsti_flow_options_t){.retransmit_window_multiple = RETRANSMIT_MULTIPLE_GROUP};
    size_t length = strcspn(fc_text, ",");
    if (length < sizeof options->name) {
        memcpy(options->name, fc_text, length);
    }
    if (find(options->name, true) == NULL) {
        return refuse(fc_text, "unknown strategy, there are max, min, tagged and registered ones",
            "");
    }
    const char *rest = fc_text + length;
    while (*rest == ',') {
        rest++;
        length = strcspn(rest, ",");
        char option[OPTION_TEXT_MAX];
        char named[OPTION_TEXT_MAX];
        if (length >= sizeof option) {
            return refuse(fc_text, "option too long: ", rest);
        }
        memcpy(option, rest, length);
        option[length] = '\0';
        memcpy(named, option, length + 1);
        if (!parse_option(option, options)) {
            return refuse(fc_text, "bad option: ", named);
        }
        rest += length;
    }
    return 0;
}

int rsti_flow_control_init(rsti_flow_control_t *flow, const rsti_flow_params_t *params)
{
    const bool is_given = params->is_group && params->fc_text != NULL && params->fc_text[0] != '\0';
    rsti_flow_options_t options = {0};
    *flow = (rsti_flow_control_t){0};
    if (is_given) {
        const int result = rsti_flow_options_parse(params->fc_text, &options);
        if (result < 0) {
            return result;
        }
    }
    rsti_flow_params_t resolved = *params;
    resolved.default_name = is_given ? options.name : params->default_name;
    const rsti_flow_strategy_t *strategy = find(resolved.default_name, params->is_group);
    if (strategy == NULL) {
        return RST_SET_ERR(RST_EINVAL, "%s=%s: no such strategy",
            params->is_group ? "multicast-flow-control" : "unicast-flow-control",
            params->default_name);
    }
    resolved.group_tag = options.has_group_tag ? options.group_tag : params->group_tag;
    resolved.group_min_size = options.has_group_min_size ? options.group_min_size
                                                         : params->group_min_size;
    resolved.receiver_timeout_ns = options.has_timeout ? options.timeout_ns
                                                       : params->receiver_timeout_ns;
    flow->strategy = strategy;
    flow->retransmit_window_multiple = options.has_multiple ? options.retransmit_window_multiple
                                                            : params->default_multiple;
    flow->has_receivers = strategy->has_receivers;
    return strategy->init == NULL ? 0 : strategy->init(flow, &resolved);
}

void rsti_flow_control_fini(rsti_flow_control_t *flow)
{
    if (flow->state != NULL) {
        flow->strategy->fini(flow);
        flow->state = NULL;
    }
}

int32_t rsti_retransmit_length(const rsti_flow_control_t *flow, int32_t term_length,
    int32_t term_offset, int32_t length)
{
    const int64_t window = rsti_min_i32(RETRANSMIT_WINDOW_BYTES, term_length / 2);
    const int64_t limit = rsti_min_i64(window * flow->retransmit_window_multiple,
        (int64_t)term_length - term_offset);
    return (int32_t)rsti_min_i64(length, limit);
}
