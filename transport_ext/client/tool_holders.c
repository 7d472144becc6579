/* tool_holders.c: the readers that hold back the publications of a directory. The values come from
 * another process: they are copied and shown as they are. */
#include "client/tool.h"

#include "client/held_by.h"
#include "cnc/cnc_file.h"
#include "concurrent/client_name.h"
#include "concurrent/holder.h"
#include "protocol/command.h"
#include "util/error.h"
#include "util/netaddr.h"

#include <stdio.h>
#include <string.h>

typedef struct walk_t {
    const rsti_counters_t *counters;
    void (*on_holder)(void *arg, const rst_holder_t *holder);
    void *arg;
    int count;
} walk_t;

static int64_t pid_of(const rsti_counters_t *counters, int64_t client_id)
{
    const int32_t id = rsti_counters_find(counters, RSTI_COUNTER_CLIENT_HEARTBEAT, client_id);
    return id < 0 ? 0 : rsti_client_pid_of(counters, id);
}

static void format_source(const rsti_holder_t *told, char *text, size_t size)
{
    const rsti_packed_address_t packed = rsti_holder_address(told);
    const struct sockaddr_storage address = rsti_netaddr_unpack(&packed);
    char buffer[RSTI_NETADDR_TEXT_MAX];
    rsti_netaddr_format(&address, buffer, sizeof buffer);
    (void)snprintf(text, size, "%s", packed.family == AF_UNSPEC ? "" : buffer);
}

static bool look(void *arg, const rsti_counter_view_t *view)
{
    walk_t *walk = arg;
    const bool is_report = view->type_id == RSTI_COUNTER_RATE;
    rsti_holder_t told;
    if ((!is_report && view->type_id != RSTI_COUNTER_PUBLISHER_LIMIT
            && view->type_id != RSTI_COUNTER_SENDER_CONSUMED)
        || !rsti_holder_read(&walk->counters->values[view->counter_id], &told)) {
        return true;
    }
    const bool is_local = view->type_id == RSTI_COUNTER_PUBLISHER_LIMIT
        || (is_report && told.client_id >= 0);
    rst_holder_t holder = {
        .registration_id = view->registration_id,
        .is_report = is_report,
        .is_local = is_local,
        .id = told.id,
        .client_id = told.client_id,
        .pid = is_local ? pid_of(walk->counters, told.client_id) : 0,
        .since_ms = told.since_ms,
        .position = is_report ? 0
            : is_local        ? told.position
                              : view->value,
        .window = is_report ? 0 : told.window,
        .gap = is_local ? 0 : told.gap,
        .allowed = is_report ? told.position : 0,
        .drain = is_report ? told.window : 0,
    };
    if (!is_local) {
        format_source(&told, holder.source, sizeof holder.source);
    }
    walk->count++;
    walk->on_holder(walk->arg, &holder);
    return true;
}

RST_API int rst_tool_holders(rst_tool_t *tool,
    void (*on_holder)(void *arg, const rst_holder_t *holder), void *arg)
{
    if (tool == NULL || on_holder == NULL) {
        return RST_SET_ERR(RST_EINVAL, "tool or function is NULL");
    }
    walk_t walk = {.counters = rsti_tool_counters(tool), .on_holder = on_holder, .arg = arg};
    rsti_counters_for_each(walk.counters, look, &walk);
    return walk.count;
}

RST_API int64_t rst_tool_held_by(rst_tool_t *tool, int64_t registration_id, rst_storage_t *storage)
{
    if (tool == NULL) {
        return RST_SET_ERR(RST_EINVAL, "tool is NULL");
    }
    if (storage != NULL) {
        *storage = (rst_storage_t){0};
    }
    rsti_log_file_t file;
    const int result = rsti_tool_open_log(tool, registration_id, &file);
    if (result < 0) {
        return result;
    }
    const rsti_log_metadata_t *metadata = file.log.metadata;
    const bool has_ended = rsti_load_acquire_i64(&metadata->end_of_stream_position) != INT64_MAX;
    const rsti_log_ext_t *ext = &metadata->ext;
    const int64_t held_by = has_ended  ? RST_HELD_BY_ENDED
        : ext->magic == RSTI_EXT_MAGIC ? rsti_held_by_told(ext, storage)
                                       : RST_HELD_BY_WINDOW;
    (void)rsti_log_file_close(&file, false);
    return held_by;
}

RST_API int rst_tool_last_reader(rst_tool_t *tool, int64_t registration_id, rst_last_reader_t *last)
{
    if (tool == NULL || last == NULL) {
        return RST_SET_ERR(RST_EINVAL, "tool or the room for the last reader is NULL");
    }
    *last = (rst_last_reader_t){0};
    rsti_log_file_t file;
    const int result = rsti_tool_open_log(tool, registration_id, &file);
    if (result < 0) {
        return result;
    }
    const rsti_log_ext_t *ext = &file.log.metadata->ext;
    rsti_log_left_t left;
    rsti_log_left_why_t why;
    rsti_log_left_who_t who;
    if (ext->magic == RSTI_EXT_MAGIC && RSTI_MAILBOX_READ(&ext->left, &left) > 0
        && left.joined < 0) {
        last->left_ms = left.left_ms;
        if (RSTI_MAILBOX_READ(&ext->left_why, &why) > 0 && why.count == left.count) {
            _Static_assert(sizeof why.text == sizeof last->why, "one size");
            memcpy(last->why, why.text, sizeof last->why - 1);
        }
        if (RSTI_MAILBOX_READ(&ext->left_who, &who) > 0 && who.count == left.count) {
            _Static_assert(sizeof who.name == sizeof last->name, "one size");
            last->pid = who.pid;
            memcpy(last->name, who.name, sizeof last->name - 1);
        }
    }
    (void)rsti_log_file_close(&file, false);
    return 0;
}
