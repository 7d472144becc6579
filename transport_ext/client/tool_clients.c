/* tool_clients.c: the clients of a directory. */
#include "client/tool.h"
#include "concurrent/client_name.h"
#include "protocol/command.h"
#include "util/error.h"

typedef struct walk_t {
    const rsti_counters_t *counters;
    void (*on_client)(void *arg, const rst_client_facts_t *client);
    void *arg;
    int count;
} walk_t;

static rst_client_facts_t facts_of(const rsti_counters_t *counters, const rsti_counter_view_t *view)
{
    rst_client_facts_t client = {
        .client_id = view->registration_id,
        .pid = rsti_client_pid_of(counters, view->counter_id),
        .heartbeat_ms = view->value,
    };
    rsti_client_name_of(view->label, client.name, sizeof client.name);
    return client;
}

static bool look(void *arg, const rsti_counter_view_t *view)
{
    walk_t *walk = arg;
    if (view->type_id == RSTI_COUNTER_CLIENT_HEARTBEAT) {
        const rst_client_facts_t client = facts_of(walk->counters, view);
        walk->count++;
        walk->on_client(walk->arg, &client);
    }
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

typedef struct search_t {
    int64_t registration_id;
    bool is_reader;
    int64_t client_id; /* 0: not found */
} search_t;

static bool is_owned(void *arg, const rsti_counter_view_t *view)
{
    search_t *search = arg;
    const bool is_it = search->is_reader ? view->type_id == RSTI_COUNTER_SUBSCRIBER_POSITION
            && view->reference_id == search->registration_id
                                         : view->type_id == RSTI_COUNTER_PUBLISHER_POSITION
            && view->registration_id == search->registration_id;
    if (is_it) {
        search->client_id = view->owner_id;
    }
    return !is_it;
}

RST_API int rst_tool_client_at(rst_tool_t *tool, int64_t registration_id, int32_t is_reader,
    rst_client_facts_t *client)
{
    if (tool == NULL || client == NULL) {
        return RST_SET_ERR(RST_EINVAL, "tool or the room for the client is NULL");
    }
    const rsti_counters_t *counters = rsti_tool_counters(tool);
    search_t search = {.registration_id = registration_id, .is_reader = is_reader != 0};
    *client = (rst_client_facts_t){0};
    rsti_counters_for_each(counters, is_owned, &search);
    const int32_t id = rsti_counters_find(counters, RSTI_COUNTER_CLIENT_HEARTBEAT,
        search.client_id);
    rsti_counter_view_t view;
    if (search.client_id == 0 || id < 0 || !rsti_counters_view(counters, id, &view)) {
        return 0;
    }
    *client = facts_of(counters, &view);
    return 1;
}
