/* flow_control.c: which strategy a channel gets, and its options (wire reference 10.1, 10.4). */
#include "flow/flow_control.h"

#include "util/alloc.h"
#include "util/error.h"
#include "util/int_math.h"
#include "util/parse.h"

#include <string.h>

#define RETRANSMIT_MULTIPLE_UNICAST 16
#define RETRANSMIT_MULTIPLE_GROUP 4
#define RETRANSMIT_WINDOW_BYTES 131072
#define OPTION_TEXT_MAX 64

static int refuse(const char *fc_text, const char *what)
{
    return RST_SET_ERR(RST_ECHANNEL, "fc=%s: %s", fc_text, what);
}

/* "TAG", "TAG/N" or "/N". */
static bool parse_group(char *value, rsti_flow_options_t *options)
{
    char *slash = strchr(value, '/');
    if (slash != NULL) {
        *slash = '\0';
        if (!rsti_parse_i32(slash + 1, &options->group_min_size)
            || options->group_min_size < 0) {
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
    const bool is_group_strategy = strcmp(options->name, "max") != 0;
    if (strncmp(option, "rrwm:", 5) == 0) {
        return rsti_parse_i32(option + 5, &options->retransmit_window_multiple)
               && options->retransmit_window_multiple >= 1;
    }
    if (is_group_strategy && strncmp(option, "t:", 2) == 0) {
        options->has_timeout = rsti_parse_duration_ns(option + 2, &options->timeout_ns);
        return options->has_timeout;
    }
    return is_group_strategy && strncmp(option, "g:", 2) == 0
           && parse_group(option + 2, options);
}

int rsti_flow_options_parse(const char *fc_text, rsti_flow_options_t *options)
{
    static const char *const names[] = {"max", "min", "tagged"};
    *options = (rsti_flow_options_t){.retransmit_window_multiple = RETRANSMIT_MULTIPLE_GROUP};
    size_t length = strcspn(fc_text, ",");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strlen(names[i]) == length && strncmp(fc_text, names[i], length) == 0) {
            options->name = names[i];
        }
    }
    if (options->name == NULL) {
        return refuse(fc_text, "unknown strategy, there are max, min and tagged");
    }
    const char *rest = fc_text + length;
    while (*rest == ',') {
        rest++;
        length = strcspn(rest, ",");
        char option[OPTION_TEXT_MAX];
        if (length >= sizeof option) {
            return refuse(fc_text, "option too long");
        }
        memcpy(option, rest, length);
        option[length] = '\0';
        if (!parse_option(option, options)) {
            return refuse(fc_text, "bad option");
        }
        rest += length;
    }
    return 0;
}

int rsti_flow_control_init(rsti_flow_control_t *flow, const char *fc_text, bool is_group)
{
    if (!is_group) {
        *flow = (rsti_flow_control_t){
            .strategy = &rsti_flow_unicast,
            .retransmit_window_multiple = RETRANSMIT_MULTIPLE_UNICAST,
        };
        return 0;
    }
    rsti_flow_options_t options;
    const int result = rsti_flow_options_parse(
        fc_text == NULL || *fc_text == '\0' ? "max" : fc_text, &options);
    if (result < 0) {
        return result;
    }
    if (strcmp(options.name, "max") != 0) {
        return RST_SET_ERR(RST_ENOTSUP, "fc=%s: only max is there so far", fc_text);
    }
    *flow = (rsti_flow_control_t){
        .strategy = &rsti_flow_max,
        .retransmit_window_multiple = options.retransmit_window_multiple,
    };
    return 0;
}

void rsti_flow_control_fini(rsti_flow_control_t *flow)
{
    rsti_free(flow->state);
    flow->state = NULL;
}

int32_t rsti_retransmit_length(
    const rsti_flow_control_t *flow, int32_t term_length, int32_t term_offset, int32_t length)
{
    const int64_t window = rsti_min_i32(RETRANSMIT_WINDOW_BYTES, term_length / 2);
    const int64_t limit = rsti_min_i64(
        window * flow->retransmit_window_multiple, (int64_t)term_length - term_offset);
    return (int32_t)rsti_min_i64(length, limit);
}
