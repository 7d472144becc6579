/* context.c: options by name. */
#include "driver/base/context.h"

#include "channel/channel.h"
#include "flow/budget.h"
#include "flow/rate_text.h"
#include "util/alloc.h"
#include "util/bits.h"
#include "util/error.h"
#include "util/format.h"
#include "util/int_math.h"
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
    KIND_BUDGET,
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

/* Two tables from one list: the one that users see, and the one with the storage of each value. */
static const rst_driver_option_t option_list[] = {
    {"dir", "", "driver directory; empty: $RSTREAM_DIR or /dev/shm/rstream-<user>"},
#define OPTION_ENTRY(kind, field, name, value, least, most, help) {name, value, help},
    RSTI_DRIVER_OPTIONS(OPTION_ENTRY)
#undef OPTION_ENTRY
        {NULL, NULL, NULL},
};

static const option_row_t option_rows[] = {
    {KIND_TEXT, offsetof(struct rst_driver_params_t, dir), 0, RSTI_PATH_MAX - 1},
#define OPTION_ROW(kind, field, name, value, least, most, help)                                    \
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

/* The names of idle strategies in output; rsti_idle_parse_kind accepts more names. */
static const named_value_t idle_names[] = {
    {"default", RSTI_IDLE_AS_ALL},
    {"block", RSTI_IDLE_BLOCK},
    {"spin", RSTI_IDLE_SPIN},
    {"noop", RSTI_IDLE_NOOP},
    {"yield", RSTI_IDLE_YIELD},
    {"backoff", RSTI_IDLE_BACKOFF},
    {"sleep", RSTI_IDLE_SLEEP},
    {"controllable", RSTI_IDLE_CONTROLLABLE},
    {NULL, 0},
};

static const named_value_t bool_names[] = {{"true", 1}, {"false", 0}, {NULL, 0}};

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

static const named_value_t budget_names[] = {
    {"none", RSTI_BUDGET_NONE},
    {"static", RSTI_BUDGET_STATIC},
    {"dynamic", RSTI_BUDGET_DYNAMIC},
    {"aggressive", RSTI_BUDGET_AGGRESSIVE},
    {NULL, 0},
};

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

/* The list of names for a kind; NULL for kinds that are not names. */
static const named_value_t *names_of(option_kind_t kind)
{
    return kind == KIND_THREADING  ? threading_names
        : kind == KIND_IDLE        ? idle_names
        : kind == KIND_TRISTATE    ? tristate_names
        : kind == KIND_NAMING      ? naming_names
        : kind == KIND_TERMINATION ? termination_names
        : kind == KIND_BUDGET      ? budget_names
        : kind == KIND_BOOL        ? bool_names
                                   : NULL;
}

static bool parse_number(option_kind_t kind, const char *text, int64_t *value)
{
    switch (kind) {
    case KIND_IDLE:
        return parse_idle(text, value);
    case KIND_SIZE:
        return rsti_parse_size(text, value);
    case KIND_DURATION:
        return rsti_parse_duration_ns(text, value);
    case KIND_NUMBER:
    case KIND_SEED:
        return rsti_parse_i64(text, value);
    default:
        return parse_name(names_of(kind), text, value);
    }
}

static bool has_limits(option_kind_t kind)
{
    return kind == KIND_SIZE || kind == KIND_DURATION || kind == KIND_NUMBER;
}

static int refuse(size_t index, const char *text)
{
    const option_row_t *row = &option_rows[index];
    const rst_driver_option_t *option = &option_list[index];
    if (!has_limits(row->kind)) {
        return RST_SET_ERR(RST_EINVAL, "%s=%s: allowed: %s", option->name, text,
            row->kind == KIND_BOOL ? "true | false" : option->help);
    }
    return RST_SET_ERR(RST_EINVAL, "%s=%s: must be a %s from %" PRId64 " to %" PRId64, option->name,
        text,
        row->kind == KIND_SIZE           ? "size (k, m, g)"
            : row->kind == KIND_DURATION ? "duration (ns, us, ms, s), in ns"
                                         : "number",
        row->least, row->most);
}

static int set_text(char *field, size_t index, const char *text)
{
    const option_row_t *row = &option_rows[index];
    if (row->kind == KIND_UNIT) {
        double unit;
        if (!rsti_parse_unit(text, &unit)) {
            return RST_SET_ERR(RST_EINVAL, "%s=%s: must be a number from 0 to 1",
                option_list[index].name, text);
        }
        memcpy(field, &unit, sizeof unit);
        return 0;
    }
    if (strlen(text) > (size_t)row->most) {
        return RST_SET_ERR(RST_EINVAL, "%s=%.60s…: longer than %" PRId64 " bytes",
            option_list[index].name, text, row->most);
    }
    memcpy(field, text, strlen(text) + 1);
    return 0;
}

/* clamp: NULL to refuse a number out of range. */
static int set_option(rst_driver_params_t *params, size_t index, const char *text,
    rsti_clamp_t *clamp)
{
    const option_row_t *row = &option_rows[index];
    char *field = (char *)params + row->offset;
    int64_t value = 0;
    if (row->kind == KIND_TEXT || row->kind == KIND_UNIT) {
        return set_text(field, index, text);
    }
    if (!parse_number(row->kind, text, &value)) {
        return refuse(index, text);
    }
    if (has_limits(row->kind)) {
        const int64_t least = clamp != NULL && clamp->least != 0
            ? rsti_max_i64(clamp->least, row->least)
            : row->least;
        const int64_t most = clamp != NULL && clamp->most != 0
            ? rsti_min_i64(clamp->most, row->most)
            : row->most;
        const int64_t within = rsti_max_i64(rsti_min_i64(value, most), least);
        if (within != value && clamp == NULL) {
            return refuse(index, text);
        }
        if (within != value) {
            clamp->is_clamped = true;
            clamp->value = within;
        }
        value = within;
    }
    memcpy(field, &value, sizeof value);
    return 0;
}

void rsti_driver_params_init(rst_driver_params_t *params)
{
    memset(params, 0, sizeof *params);
    for (size_t i = 0; option_list[i].name != NULL; i++) {
        const int result = set_option(params, i, option_list[i].default_text, NULL);
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

/* Index of the option, or negative with a trail. */
static int find_option(const char *name, const char *value)
{
    for (int i = 0; option_list[i].name != NULL; i++) {
        if (strcmp(option_list[i].name, name) == 0) {
            return i;
        }
    }
    return RST_SET_ERR(RST_EINVAL, "unknown driver option %s (value %s)", name, value);
}

int rst_driver_params_set(rst_driver_params_t *params, const char *name, const char *value)
{
    if (params == NULL || name == NULL || value == NULL) {
        return RST_SET_ERR(RST_EINVAL, "driver option: name and value must not be null");
    }
    const int index = find_option(name, value);
    return index < 0 ? index : set_option(params, (size_t)index, value, NULL);
}

int rsti_driver_params_set_clamped(rst_driver_params_t *params, const char *name, const char *value,
    rsti_clamp_t *clamp)
{
    const int index = find_option(name, value);
    return index < 0 ? index : set_option(params, (size_t)index, value, clamp);
}

static void format_number(option_kind_t kind, int64_t value, char *text, size_t size)
{
    const named_value_t *names = names_of(kind);
    for (; names != NULL && names->name != NULL; names++) {
        if (names->value == value) {
            (void)snprintf(text, size, "%s", names->name);
            return;
        }
    }
    if (kind == KIND_DURATION) {
        rsti_format_duration(text, size, value);
    } else {
        (void)snprintf(text, size, "%" PRId64, value);
    }
}

int rst_driver_params_get(const rst_driver_params_t *params, const char *name, char *text,
    size_t size)
{
    const int index = find_option(name, "asked for");
    if (index < 0) {
        return index;
    }
    const option_row_t *row = &option_rows[index];
    const char *field = (const char *)params + row->offset;
    double unit;
    int64_t value;
    if (row->kind == KIND_TEXT) {
        (void)snprintf(text, size, "%s", field);
    } else if (row->kind == KIND_UNIT) {
        memcpy(&unit, field, sizeof unit);
        (void)snprintf(text, size, "%.15g", unit);
    } else {
        memcpy(&value, field, sizeof value);
        format_number(row->kind, value, text, size);
    }
    return 0;
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
        if (value != NULL && set_option(params, i, value, NULL) < 0) {
            RST_APPEND_ERR("from the environment variable %s", variable);
            return -RST_EINVAL;
        }
    }
    return 0;
}
