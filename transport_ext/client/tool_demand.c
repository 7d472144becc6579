/* tool_demand.c: how many messages the readers of a publication still want, for tools. The values
 * come from other processes: they are shown as they are. */
#include "client/tool.h"

#include "concurrent/sequence.h"
#include "concurrent/wake.h"
#include "protocol/command.h"
#include "util/error.h"
#include "util/int_math.h"

#define LOOKS_MAX 100

typedef struct local_t {
    const rsti_counters_t *counters;
    int64_t registration_id; /* of the publication */
    int64_t least;
    bool is_found;
} local_t;

static bool look_at_reader(void *arg, const rsti_counter_view_t *view)
{
    local_t *local = arg;
    const rsti_counter_value_t *value = &local->counters->values[view->counter_id];
    if (view->type_id != RSTI_COUNTER_SUBSCRIBER_POSITION
        || rsti_load_acquire_i64(&value->reference_id) != local->registration_id) {
        return true;
    }
    const rsti_position_ext_t *ext = (const void *)value->spare;
    local->is_found = true;
    if (rsti_load_acquire_i32(&ext->version) != 0) {
        local->least = rsti_min_i64(local->least,
            rsti_max_i64(rsti_load_relaxed_i64(&ext->remaining), 0));
    }
    return true;
}

/* What the sender's status messages told: of one reader, behind its position. */
static int64_t look_at_log(const rsti_log_ext_t *ext)
{
    rsti_log_demand_t told;
    for (int32_t i = 0; i < LOOKS_MAX; i++) {
        const int64_t change = RSTI_MAILBOX_READ(&ext->demand, &told);
        if (change != RSTI_MAILBOX_TORN) {
            return change != 0 && told.messages >= 0 ? told.messages : INT64_MAX;
        }
        rsti_cpu_pause();
    }
    return INT64_MAX;
}

RST_API int64_t rst_tool_demand(rst_tool_t *tool, int64_t registration_id)
{
    if (tool == NULL) {
        return RST_SET_ERR(RST_EINVAL, "tool is NULL");
    }
    local_t local = {.counters = rsti_tool_counters(tool),
        .registration_id = registration_id,
        .least = INT64_MAX};
    rsti_counters_for_each(local.counters, look_at_reader, &local);
    if (local.is_found) {
        return local.least;
    }
    rsti_log_file_t file;
    const int result = rsti_tool_open_log(tool, registration_id, &file);
    if (result < 0) {
        return result;
    }
    const rsti_log_ext_t *ext = &file.log.metadata->ext;
    const int64_t wanted = ext->magic == RSTI_EXT_MAGIC ? look_at_log(ext) : INT64_MAX;
    (void)rsti_log_file_close(&file, false);
    return wanted;
}
