/* context.c: options by name. */
#include "driver/context.h"

#include "channel/channel.h"
#include "concurrent/agent.h"
#include "util/alloc.h"
#include "util/bits.h"
#include "util/error.h"
#include "util/parse.h"

#include <ctype.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum option_kind_t {
    KIND_TEXT,
    KIND_THREADING,
    KIND_IDLE,
    KIND_TRISTATE,
    KIND_NAMING,
    KIND_TERMINATION,
    KIND_SIZE,
    KIND_DURATION,
    KIND_NUMBER,
    KIND_BOOL,
    KIND_UNIT,
    KIND_SEED
} option_kind_t;

typedef struct option_row_t {
    option_kind_t kind;
    size_t offset;
    int64_t least;
    int64_t most;
} option_row_t;

/* Two tables from one list: what users see, and how it is stored. */
static const rst_driver_option_t option_list[] = {
    {"dir", "", "driver directory; empty: $RSTREAM_DIR or /dev/shm/rstream-<user>"},
#define OPTION_ENTRY(kind, field, name, value, least, most, help) {name, value, help},
    RSTI_DRIVER_OPTIONS(OPTION_ENTRY)
#undef OPTION_ENTRY
    {NULL, NULL, NULL},
};

static const option_row_t option_rows[] = {
    {KIND_TEXT, offsetof(struct rst_driver_params_t, dir), 0, RSTI_PATH_MAX - 1},
#define OPTION_ROW(kind, field, name, value, least, most, help)                                   \
    {KIND_##kind, offsetof(struct rst_driver_params_t, field), least, most},
    RSTI_DRIVER_OPTIONS(OPTION_ROW)
#undef OPTION_ROW
};

typedef struct named_value_t {
    const char *name;
    int64_t value;
} named_value_t;

static const named_value_t threading_names[] = {
    {"auto", RSTI_THREADING_AUTO},
    {"shared", RSTI_THREADING_SHARED},
    {"shared-network", RSTI_THREADING_SHARED_NETWORK},
    {"dedicated", RSTI_THREADING_DEDICATED},
    {"invoker", RSTI_THREADING_INVOKER},
    {NULL, 0},
};

static const named_value_t tristate_names[] = {
    {"true", RSTI_TRUE},
    {"false", RSTI_FALSE},
    {"infer", RSTI_INFER},
    {NULL, 0},
};

static const named_value_t naming_names[] = {
    {"rstream", RSTI_NAMING_RSTREAM},
    {"classic", RSTI_NAMING_CLASSIC},
    {"new", RSTI_NAMING_NEW},
    {NULL, 0},
};

static const named_value_t termination_names[] = {{"deny", 0}, {"allow", 1}, {NULL, 0}};

const rst_driver_option_t *rst_driver_option_list(void)
{
    return option_list;
}

static bool parse_name(const named_value_t *names, const char *text, int64_t *value)
{
    for (; names->name != NULL; names++) {
        if (strcmp(names->name, text) == 0) {
            *value = names->value;
            return true;
        }
    }
    return false;
}

static bool parse_idle(const char *text, int64_t *value)
{
    rsti_idle_kind_t kind = RSTI_IDLE_BLOCK;
    if (strcmp(text, "default") == 0) {
        *value = RSTI_IDLE_AS_ALL;
        return true;
    }
    if (!rsti_idle_parse_kind(text, &kind)) {
        return false;
    }
    *value = kind;
    return true;
}

static bool parse_number(const option_row_t *row, const char *text, int64_t *value)
{
    bool flag;
    switch (row->kind) {
    case KIND_THREADING:
        return parse_name(threading_names, text, value);
    case KIND_IDLE:
        return parse_idle(text, value);
    case KIND_TRISTATE:
        return parse_name(tristate_names, text, value);
    case KIND_NAMING:
        return parse_name(naming_names, text, value);
    case KIND_TERMINATION:
        return parse_name(termination_names, text, value);
    case KIND_BOOL:
        if (!rsti_parse_bool(text, &flag)) {
            return false;
        }
        *value = flag;
        return true;
    case KIND_SIZE:
        return rsti_parse_size(text, value) && *value >= row->least && *value <= row->most;
    case KIND_DURATION:
        return rsti_parse_duration_ns(text, value) && *value >= row->least && *value <= row->most;
    case KIND_NUMBER:
        return rsti_parse_i64(text, value) && *value >= row->least && *value <= row->most;
    case KIND_SEED:
        return rsti_parse_i64(text, value);
    default:
        return false;
    }
}

static int set_option(rst_driver_params_t *params, size_t index, const char *text)
{
    const option_row_t *row = &option_rows[index];
    const rst_driver_option_t *option = &option_list[index];
    char *field = (char *)params + row->offset;
    if (row->kind == KIND_TEXT) {
        if (strlen(text) > (size_t)row->most) {
            return RST_SET_ERR(RST_EINVAL, "%s=%.60s…: longer than %" PRId64 " bytes",
                option->name, text, row->most);
        }
        memcpy(field, text, strlen(text) + 1);
        return 0;
    }
    if (row->kind == KIND_UNIT) {
        double unit;
        if (!rsti_parse_unit(text, &unit)) {
            return RST_SET_ERR(RST_EINVAL, "%s=%s: must be a number from 0 to 1", option->name,
                text);
        }
        memcpy(field, &unit, sizeof unit);
        return 0;
    }
    int64_t value = 0;
    if (!parse_number(row, text, &value)) {
        if (row->kind == KIND_SIZE || row->kind == KIND_DURATION || row->kind == KIND_NUMBER) {
            return RST_SET_ERR(RST_EINVAL, "%s=%s: must be a %s from %" PRId64 " to %" PRId64,
                option->name, text,
                row->kind == KIND_SIZE ? "size (k, m, g)"
                    : row->kind == KIND_DURATION ? "duration (ns, us, ms, s), in ns"
                                                 : "number",
                row->least, row->most);
        }
        return RST_SET_ERR(RST_EINVAL, "%s=%s: allowed: %s", option->name, text,
            row->kind == KIND_BOOL ? "true | false" : option->help);
    }
    memcpy(field, &value, sizeof value);
    return 0;
}

void rsti_driver_params_init(rst_driver_params_t *params)
{
    memset(params, 0, sizeof *params);
    for (size_t i = 0; option_list[i].name != NULL; i++) {
        const int result = set_option(params, i, option_list[i].default_text);
        RST_ASSERT(result == 0);
        (void)result;
    }
}

int rst_driver_params_create(rst_driver_params_t **params)
{
    rst_driver_params_t *made = rsti_alloc(sizeof *made);
    if (made == NULL) {
        return -RST_ENOMEM;
    }
    rsti_driver_params_init(made);
    *params = made;
    return 0;
}

void rst_driver_params_destroy(rst_driver_params_t *params)
{
    rsti_free(params);
}

int rst_driver_params_set(rst_driver_params_t *params, const char *name, const char *value)
{
    if (params == NULL || name == NULL || value == NULL) {
        return RST_SET_ERR(RST_EINVAL, "driver option: name and value must not be null");
    }
    for (size_t i = 0; option_list[i].name != NULL; i++) {
        if (strcmp(option_list[i].name, name) == 0) {
            return set_option(params, i, value);
        }
    }
    return RST_SET_ERR(RST_EINVAL, "unknown driver option %s (value %s)", name, value);
}

int rst_driver_params_from_environment(rst_driver_params_t *params)
{
    for (size_t i = 0; option_list[i].name != NULL; i++) {
        char variable[96];
        snprintf(variable, sizeof variable, "RSTREAM_%s", option_list[i].name);
        for (char *c = variable; *c != '\0'; c++) {
            *c = (char)(*c == '-' ? '_' : toupper((unsigned char)*c));
        }
        const char *value = getenv(variable);
        if (value != NULL && set_option(params, i, value) < 0) {
            RST_APPEND_ERR("from the environment variable %s", variable);
            return -RST_EINVAL;
        }
    }
    return 0;
}

int rsti_driver_params_idle(const rst_driver_params_t *params, rsti_idle_option_t option,
    rsti_idle_params_t *idle)
{
    const struct {
        const char *name;
        int64_t kind;
        const char *args;
    } rows[] = {
        [RSTI_IDLE_OF_CONDUCTOR] = {"conductor-idle-strategy", params->conductor_idle,
            params->conductor_idle_args},
        [RSTI_IDLE_OF_SENDER] = {"sender-idle-strategy", params->sender_idle,
            params->sender_idle_args},
        [RSTI_IDLE_OF_RECEIVER] = {"receiver-idle-strategy", params->receiver_idle,
            params->receiver_idle_args},
        [RSTI_IDLE_OF_NETWORK] = {"sharednetwork-idle-strategy", params->network_idle,
            params->network_idle_args},
        [RSTI_IDLE_OF_SHARED] = {"shared-idle-strategy", params->shared_idle,
            params->shared_idle_args},
    };
    const bool is_own = rows[option].kind != RSTI_IDLE_AS_ALL;
    const char *name = is_own ? rows[option].name : "idle";
    const int64_t kind = is_own ? rows[option].kind : params->idle;
    const char *args = is_own || rows[option].args[0] != '\0' ? rows[option].args
                                                              : params->idle_args;
    rsti_idle_params_init(
        idle, kind == RSTI_IDLE_AS_ALL ? RSTI_IDLE_BLOCK : (rsti_idle_kind_t)kind);
    if (!rsti_idle_parse_args(idle, args)) {
        return RST_SET_ERR(RST_EINVAL, "%s-init-args=%s: backoff takes spins-yields-min-max as "
            "10-20-1us-1ms, sleep a duration (both up to 1s), other strategies nothing", name,
            args);
    }
    return 0;
}

int rsti_driver_params_validate(const rst_driver_params_t *params)
{
    if (params->mtu % 32 != 0 || params->ipc_mtu % 32 != 0) {
        return RST_SET_ERR(RST_EINVAL, "mtu=%" PRId64 ", ipc-mtu=%" PRId64
            ": must be multiples of 32", params->mtu, params->ipc_mtu);
    }
    const struct { const char *name; int64_t value; } powers[] = {
        {"term-buffer-length", params->term_length},
        {"ipc-term-buffer-length", params->ipc_term_length},
        {"file-page-size", params->page_size},
        {"conductor-buffer-length", params->to_driver_length},
        {"clients-buffer-length", params->to_clients_length},
    };
    for (size_t i = 0; i < sizeof powers / sizeof powers[0]; i++) {
        if (!rsti_is_power_of_two(powers[i].value)) {
            return RST_SET_ERR(RST_EINVAL, "%s=%" PRId64 ": must be a power of two",
                powers[i].name, powers[i].value);
        }
    }
    if (params->unblock_timeout_ns <= params->client_liveness_ns) {
        return RST_SET_ERR(RST_EINVAL, "publication-unblock-timeout=%" PRId64
            "ns: must be longer than client-liveness-timeout=%" PRId64 "ns",
            params->unblock_timeout_ns, params->client_liveness_ns);
    }
    if (params->client_liveness_ns <= params->timer_interval_ns) {
        return RST_SET_ERR(RST_EINVAL, "client-liveness-timeout=%" PRId64
            "ns: must be longer than timer-interval=%" PRId64 "ns",
            params->client_liveness_ns, params->timer_interval_ns);
    }
    if (params->reserved_session_high - params->reserved_session_low > INT32_MAX) {
        return RST_SET_ERR(RST_EINVAL, "publication-reserved-session-id-high=%" PRId64
            ": must leave half of all session ids from publication-reserved-session-id-low=%" PRId64,
            params->reserved_session_high, params->reserved_session_low);
    }
    if (params->so_rcvbuf > 0 && params->initial_window > params->so_rcvbuf) {
        return RST_SET_ERR(RST_EINVAL, "initial-window-length=%" PRId64
            ": must not be longer than so-rcvbuf=%" PRId64, params->initial_window,
            params->so_rcvbuf);
    }
    if (params->so_sndbuf > 0 && params->mtu > params->so_sndbuf) {
        return RST_SET_ERR(RST_EINVAL, "mtu=%" PRId64
            ": must not be longer than so-sndbuf=%" PRId64, params->mtu, params->so_sndbuf);
    }
    if (params->mtu > params->initial_window) {
        return RST_SET_ERR(RST_EINVAL, "mtu=%" PRId64
            ": must not be longer than initial-window-length=%" PRId64, params->mtu,
            params->initial_window);
    }
    return 0;
}
