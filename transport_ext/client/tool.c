/* tool.c: looks into a directory whose driver may be alive, dead or Aeron's. Maps the files
 * read-only. */
#include "client/tool.h"

#include "cnc/cnc_file.h"
#include "cnc/driver_dir.h"
#include "cnc/files.h"
#include "cnc/loss_report_file.h"
#include "cnc/wake_fifo.h"
#include "concurrent/error_log.h"
#include "concurrent/loss_report.h"
#include "protocol/command.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/int_math.h"

#include <stdio.h>
#include <string.h>

struct rst_tool_t {
    rsti_cnc_t cnc;
    rsti_counters_t counters;
    rsti_mpsc_rb_t to_driver;
    char dir[RSTI_PATH_MAX];
};

#define TOKEN_LENGTH_MAX 384 /* Aeron's limit */

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
    /* a path that is too long does not open */
    (void)snprintf(opened->dir, sizeof opened->dir, "%s", dir);
    int result = rsti_cnc_open(&opened->cnc, dir, true);
    if (result < 0) {
        rsti_free(opened);
        return result;
    }
    result = rsti_counters_init(&opened->counters, opened->cnc.counter_values,
        opened->cnc.counter_values_length, opened->cnc.counter_metadata,
        opened->cnc.counter_metadata_length);
    if (result == 0) {
        result = rsti_rb_init(&opened->to_driver.rb, opened->cnc.to_driver,
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

const rsti_counters_t *rsti_tool_counters(const rst_tool_t *tool)
{
    return &tool->counters;
}

int rsti_tool_open_log(const rst_tool_t *tool, int64_t registration_id, rsti_log_file_t *file)
{
    char path[RSTI_PATH_MAX];
    const int result = rsti_path_format(path, sizeof path, "%s/publications/%lld.logbuffer",
        tool->dir, (long long)registration_id);
    return result < 0 ? result : rsti_log_file_open(file, tool->dir, path, strlen(path));
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
        return RST_SET_ERR(RST_EINVAL, "tool or counters is NULL, or capacity is negative");
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
    return heartbeat_ms < 0 ? -1 : rsti_max_i64(rsti_clock_epoch_ms(&clock) - heartbeat_ms, 0);
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

RST_API int rst_tool_errors_since(rst_tool_t *tool, int64_t since_ms,
    void (*on_error)(void *arg, int32_t observations, int64_t first_ms, int64_t last_ms,
        const char *text),
    void *arg)
{
    if (tool == NULL || on_error == NULL) {
        return RST_SET_ERR(RST_EINVAL, "tool or function is NULL");
    }
    report_t to = {.on_error = on_error, .arg = arg};
    return (int)rsti_error_log_read_since(tool->cnc.error_log, tool->cnc.error_log_length, since_ms,
        report, &to);
}

RST_API int rst_tool_errors(rst_tool_t *tool,
    void (*on_error)(void *arg, int32_t observations, int64_t first_ms, int64_t last_ms,
        const char *text),
    void *arg)
{
    return rst_tool_errors_since(tool, INT64_MIN, on_error, arg);
}

typedef struct losses_t {
    void (*on_loss)(void *arg, const rst_loss_t *loss);
    void *arg;
} losses_t;

static void copy_text(char *to, size_t size, const char *from, size_t length)
{
    (void)snprintf(to, size, "%.*s", (int)rsti_min_i64((int64_t)length, (int64_t)size), from);
}

static void on_loss(void *arg, const rsti_loss_view_t *view)
{
    const losses_t *to = arg;
    rst_loss_t loss = {
        .observations = view->observation_count,
        .bytes_lost = view->bytes_lost,
        .first_ms = view->first_ms,
        .last_ms = view->last_ms,
        .session_id = view->session_id,
        .stream_id = view->stream_id,
    };
    copy_text(loss.channel, sizeof loss.channel, view->channel, view->channel_length);
    copy_text(loss.source, sizeof loss.source, view->source, view->source_length);
    to->on_loss(to->arg, &loss);
}

RST_API int rst_tool_losses(rst_tool_t *tool, void (*on_entry)(void *arg, const rst_loss_t *loss),
    void *arg)
{
    if (tool == NULL || on_entry == NULL) {
        return RST_SET_ERR(RST_EINVAL, "tool or function is NULL");
    }
    rsti_loss_report_file_t file;
    const int opened = rsti_loss_report_file_open(&file, tool->dir);
    if (opened == -RST_ENODRIVER) {
        rsti_error_clear();
        return 0; /* no loss was ever reported, or the directory is of an older driver */
    }
    if (opened < 0) {
        return opened;
    }
    losses_t to = {.on_loss = on_entry, .arg = arg};
    const size_t count = rsti_loss_report_read(file.base, file.length, on_loss, &to);
    rsti_loss_report_file_close(&file);
    return (int)count;
}

static int write_terminate(const rsti_cnc_t *cnc, const void *token, size_t length)
{
    uint8_t buffer[TOKEN_LENGTH_MAX + 64];
    rsti_mpsc_rb_t ring;
    const int result = rsti_rb_init(&ring.rb, cnc->to_driver, cnc->to_driver_length);
    if (result < 0) {
        return result;
    }
    const int64_t id = rsti_mpsc_rb_next_correlation_id(&ring);
    const rsti_command_t command = {
        .type = RSTI_CMD_TERMINATE_DRIVER,
        .client_id = id,
        .correlation_id = rsti_mpsc_rb_next_correlation_id(&ring),
        .channel = {token, (int32_t)length},
    };
    const int64_t encoded = rsti_command_encode(&command, buffer, sizeof buffer);
    if (encoded < 0) {
        return (int)encoded;
    }
    if (rsti_mpsc_rb_write(&ring, command.type, buffer, (size_t)encoded) != RSTI_RB_OK) {
        return RST_SET_ERR(RST_EFULL, "the media driver's ring of commands is full");
    }
    return 0;
}

/* Wakes an rstream driver that sleeps. Without it the driver looks a moment later. */
static void wake_conductor(const rsti_cnc_t *cnc, const char *dir)
{
    rsti_waker_t *waker = NULL;
    if (rsti_cnc_is_rstream(cnc)
        && rsti_wake_take_word(&cnc->ext->agent_armed[RSTI_AGENT_CONDUCTOR])
        && rsti_waker_create(&waker, dir) == 0) {
        rsti_waker_wake(waker, 0,
            rsti_load_relaxed_i32(&cnc->ext->agent_fifo[RSTI_AGENT_CONDUCTOR]));
        rsti_waker_destroy(waker);
    }
}

RST_API int rst_tool_terminate(const char *dir, const void *token, size_t length)
{
    char default_dir[RSTI_PATH_MAX];
    rsti_cnc_t cnc;
    if (length > TOKEN_LENGTH_MAX || (token == NULL && length > 0)) {
        return RST_SET_ERR(RST_EINVAL, "a token of %zu bytes: at most %d are allowed", length,
            TOKEN_LENGTH_MAX);
    }
    int result = dir == NULL ? rsti_driver_dir_default(default_dir, sizeof default_dir) : 0;
    if (result == 0) {
        result = rsti_cnc_open(&cnc, dir == NULL ? default_dir : dir, false);
    }
    if (result < 0) {
        return result;
    }
    const int32_t version = cnc.header->cnc_version;
    if (((version >> 8) & 0xFF) < 2) {
        result = RST_SET_ERR(RST_EVERSION,
            "%s/cnc.dat has version %d.%d.%d: 0.2.0 is the first "
            "whose driver can be asked to end",
            dir == NULL ? default_dir : dir, version >> 16, (version >> 8) & 0xFF, version & 0xFF);
    } else {
        result = write_terminate(&cnc, token, length);
    }
    if (result == 0) {
        wake_conductor(&cnc, dir == NULL ? default_dir : dir);
    }
    rsti_cnc_close(&cnc);
    return result;
}
