/* tool.c: looking into a directory, be its driver alive, dead or Aeron's. Maps read-only. */
#include "client/internal.h"

#include "concurrent/error_log.h"
#include "util/alloc.h"
#include "util/error.h"

#include <stdio.h>

struct rst_tool_t {
    rsti_cnc_t cnc;
    rsti_counters_t counters;
    rsti_mpsc_rb_t to_driver;
};

RST_API int rst_tool_open(rst_tool_t **tool, const char *dir)
{
    char default_dir[RSTI_PATH_MAX];
    if (tool == NULL) {
        return RST_SET_ERR(RST_EINVAL, "tool is NULL");
    }
    *tool = NULL;
    if (dir == NULL) {
        const int found = rsti_driver_dir_default(default_dir, sizeof default_dir);
        if (found < 0) {
            return found;
        }
        dir = default_dir;
    }
    rst_tool_t *opened = rsti_alloc(sizeof *opened);
    if (opened == NULL) {
        return -RST_ENOMEM;
    }
    int result = rsti_cnc_open(&opened->cnc, dir, true);
    if (result < 0) {
        rsti_free(opened);
        return result;
    }
    result = rsti_counters_init(&opened->counters, opened->cnc.counter_values,
        opened->cnc.counter_values_length, opened->cnc.counter_metadata,
        opened->cnc.counter_metadata_length);
    if (result == 0) {
        result = rsti_mpsc_rb_init(&opened->to_driver, opened->cnc.to_driver,
            opened->cnc.to_driver_length);
    }
    if (result < 0) {
        rst_tool_close(opened);
        return result;
    }
    *tool = opened;
    return 0;
}

RST_API void rst_tool_close(rst_tool_t *tool)
{
    if (tool != NULL) {
        rsti_cnc_close(&tool->cnc);
        rsti_free(tool);
    }
}

typedef struct collect_t {
    rst_counter_t *counters;
    int capacity;
    int count;
} collect_t;

static bool collect(void *arg, const rsti_counter_view_t *view)
{
    collect_t *collected = arg;
    if (collected->count >= collected->capacity) {
        return false;
    }
    rst_counter_t *counter = &collected->counters[collected->count++];
    *counter = (rst_counter_t){
        .id = view->counter_id,
        .type_id = view->type_id,
        .value = view->value,
        .registration_id = view->registration_id,
        .owner_id = view->owner_id,
        .reference_id = view->reference_id,
    };
    _Static_assert(sizeof view->label == sizeof counter->label, "labels have one size");
    memcpy(counter->label, view->label, sizeof counter->label);
    return true;
}

RST_API int rst_tool_counters(rst_tool_t *tool, rst_counter_t *counters, int capacity)
{
    if (tool == NULL || capacity < 0 || (counters == NULL && capacity > 0)) {
        return RST_SET_ERR(RST_EINVAL, "a tool and room for counters are wanted");
    }
    collect_t collected = {.counters = counters, .capacity = capacity};
    rsti_counters_for_each(&tool->counters, collect, &collected);
    return collected.count;
}

RST_API int64_t rst_tool_heartbeat_age_ms(rst_tool_t *tool)
{
    if (tool == NULL) {
        return RST_SET_ERR(RST_EINVAL, "tool is NULL");
    }
    const rsti_clock_t clock = rsti_clock_system();
    const int64_t heartbeat_ms = rsti_mpsc_rb_heartbeat(&tool->to_driver);
    return heartbeat_ms < 0 ? -1
                            : rsti_max_i64(rsti_clock_epoch_ms(&clock) - heartbeat_ms, 0);
}

RST_API int64_t rst_tool_pid(rst_tool_t *tool)
{
    return tool != NULL ? tool->cnc.header->pid : RST_SET_ERR(RST_EINVAL, "tool is NULL");
}

typedef void (*on_error_t)(void *arg, int32_t observations, int64_t first_ms, int64_t last_ms,
    const char *text);
typedef struct report_t {
    on_error_t on_error;
    void *arg;
} report_t;

static void report(void *arg, int32_t observations, int64_t first_ms, int64_t last_ms,
    const char *text, size_t text_length)
{
    char copy[RSTI_ERROR_TEXT_MAX + 1];
    const report_t *to = arg;
    if (text_length >= sizeof copy) {
        text_length = sizeof copy - 1;
    }
    memcpy(copy, text, text_length);
    copy[text_length] = '\0';
    to->on_error(to->arg, observations, first_ms, last_ms, copy);
}

RST_API int rst_tool_errors(rst_tool_t *tool, void (*on_error)(void *arg, int32_t observations,
    int64_t first_ms, int64_t last_ms, const char *text), void *arg)
{
    if (tool == NULL || on_error == NULL) {
        return RST_SET_ERR(RST_EINVAL, "a tool and a function are wanted");
    }
    report_t to = {.on_error = on_error, .arg = arg};
    return (int)rsti_error_log_read(tool->cnc.error_log, tool->cnc.error_log_length, report, &to);
}
