/* tool_clients.c: the clients of a directory. Other processes write what is read here: it is copied
 * with bounds and shown as it is. */
#include "client/tool.h"
#include "concurrent/wake.h"
#include "protocol/command.h"
#include "util/error.h"

#include <stdio.h>
#include <string.h>

typedef struct walk_t {
    const rsti_counters_t *counters;
    void (*on_client)(void *arg, const rst_client_facts_t *client);
    void *arg;
    int count;
} walk_t;

int64_t rsti_tool_pid_of(const rsti_counters_t *counters, int32_t heartbeat_id)
{
    const rsti_heartbeat_ext_t
        *ext = (const rsti_heartbeat_ext_t *)(const void *)counters->values[heartbeat_id].spare;
    return rsti_load_acquire_i32(&ext->magic) == RSTI_EXT_MAGIC ? rsti_load_relaxed_i64(&ext->pid)
                                                                : 0;
}

/* Clients of Aeron and of rstream append " name=… version=… commit=…" to the label. A name may hold
 * blanks, so its end is the last " version=". */
static void copy_name(const char *label, char *name, size_t size)
{
    const char *begin = strstr(label, " name=");
    name[0] = '\0';
    if (begin == NULL) {
        return;
    }
    begin += sizeof " name=" - 1;
    const char *end = begin + strlen(begin);
    for (const char *at = begin - 1; (at = strstr(at, " version=")) != NULL; at++) {
        end = at;
    }
    (void)snprintf(name, size, "%.*s", (int)(end > begin ? end - begin : 0), begin);
}

static bool look(void *arg, const rsti_counter_view_t *view)
{
    walk_t *walk = arg;
    if (view->type_id != RSTI_COUNTER_CLIENT_HEARTBEAT) {
        return true;
    }
    rst_client_facts_t client = {
        .client_id = view->registration_id,
        .pid = rsti_tool_pid_of(walk->counters, view->counter_id),
        .heartbeat_ms = view->value,
    };
    copy_name(view->label, client.name, sizeof client.name);
    walk->count++;
    walk->on_client(walk->arg, &client);
    return true;
}

RST_API int rst_tool_clients(rst_tool_t *tool,
    void (*on_client)(void *arg, const rst_client_facts_t *client), void *arg)
{
    if (tool == NULL || on_client == NULL) {
        return RST_SET_ERR(RST_EINVAL, "tool or function is NULL");
    }
    walk_t walk = {.counters = rsti_tool_counters(tool), .on_client = on_client, .arg = arg};
    rsti_counters_for_each(walk.counters, look, &walk);
    return walk.count;
}
