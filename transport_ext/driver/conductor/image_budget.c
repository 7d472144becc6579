/* image_budget.c: see image_budget.h. */
#include "driver/conductor/image_budget.h"

#include "concurrent/sequence.h"
#include "driver/base/counters.h"
#include "driver/base/driver_state.h"
#include "driver/conductor/image_reader.h"
#include "driver/receiver/image.h"
#include "flow/budget.h"
#include "util/alloc.h"
#include "util/netaddr.h"

#include <unistd.h>

static int64_t memory_of(const rst_driver_params_t *params)
{
    return params->budget_memory > 0
        ? params->budget_memory
        : (int64_t)sysconf(_SC_PHYS_PAGES) * (int64_t)sysconf(_SC_PAGESIZE);
}

static rsti_budget_policy_t policy_of(const rst_driver_t *driver)
{
    const rst_driver_params_t *params = &driver->params;
    return (rsti_budget_policy_t){
        .kind = (rsti_budget_kind_t)params->budget,
        .bytes = params->budget_bytes,
        .memory_bytes = memory_of(params),
        .least = params->budget_min,
        .most = params->budget_max,
        .new_share = params->budget_share,
        .threshold = params->budget_threshold,
        .all_share = params->budget_total_share,
    };
}

static void grant(rst_driver_t *driver, rsti_budget_connection_t *connection, int64_t bytes)
{
    connection->granted_bytes = bytes;
    rsti_counter_store(driver, connection->counter_id, bytes);
}

/* Some policies divide the memory again when a connection comes or goes. The images send the new
 * grants in their next check. */
static void share(rst_driver_t *driver, const rsti_budget_policy_t *policy)
{
    const rsti_ptr_array_t *connections = &driver->conductor->budget_connections;
    if (!rsti_budget_is_shared(policy)) {
        return;
    }
    const int64_t bytes = rsti_budget_grant(policy, (int64_t)connections->count, 0);
    for (size_t i = 0; i < connections->count; i++) {
        grant(driver, connections->items[i], bytes);
    }
}

static int64_t granted_to_all(const rst_driver_t *driver)
{
    const rsti_ptr_array_t *connections = &driver->conductor->budget_connections;
    int64_t bytes = 0;
    for (size_t i = 0; i < connections->count; i++) {
        bytes += ((const rsti_budget_connection_t *)connections->items[i])->granted_bytes;
    }
    return bytes;
}

static rsti_budget_connection_t *find(const rst_driver_t *driver,
    const rsti_receive_endpoint_t *endpoint, const struct sockaddr_storage *source)
{
    const rsti_ptr_array_t *connections = &driver->conductor->budget_connections;
    for (size_t i = 0; i < connections->count; i++) {
        rsti_budget_connection_t *connection = connections->items[i];
        if (connection->endpoint == endpoint && rsti_netaddr_equal(&connection->source, source)) {
            return connection;
        }
    }
    return NULL;
}

static void destroy(rst_driver_t *driver, rsti_budget_connection_t *connection)
{
    rsti_counter_release(driver, &connection->counter_id);
    rsti_free(connection);
}

static rsti_budget_connection_t *make(rst_driver_t *driver, const rsti_image_t *image,
    const struct sockaddr_storage *source)
{
    const rsti_budget_policy_t policy = policy_of(driver);
    rsti_ptr_array_t *connections = &driver->conductor->budget_connections;
    rsti_budget_connection_t *made = rsti_alloc(sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    *made = (rsti_budget_connection_t){.endpoint = image->endpoint, .source = *source};
    made->counter_id = rsti_channel_counter_allocate(driver, RSTI_COUNTER_RECEIVER_BUDGET,
        "rcv-budget", image->source, image->endpoint->registration_id, -1);
    if (made->counter_id < 0 || rsti_ptr_array_add(connections, made) < 0) {
        destroy(driver, made);
        return NULL;
    }
    grant(driver, made,
        rsti_budget_grant(&policy, (int64_t)connections->count, granted_to_all(driver)));
    share(driver, &policy);
    return made;
}

static void publish(rst_driver_t *driver, rsti_image_t *image, const rsti_sm_budget_t *budget)
{
    RSTI_MAILBOX_WRITE(&image->budget.mailbox, budget);
    rsti_driver_wake_agent(driver, RSTI_AGENT_RECEIVER);
}

static rsti_sm_budget_t granted_now(const rsti_image_budget_t *state, int64_t consumed)
{
    return (rsti_sm_budget_t){
        .position = consumed,
        .connection_bytes = state->connection != NULL ? state->connection->granted_bytes : 0,
        .stream_bytes = state->stream_bytes,
    };
}

static void tell(rst_driver_t *driver, rsti_image_t *image, const rsti_sm_budget_t *budget,
    int64_t step, int64_t now_ns)
{
    publish(driver, image, budget);
    image->budget.last = *budget;
    image->budget.last_ns = now_ns;
    image->budget.wake_position = budget->position + step;
}

static int join_connection(rst_driver_t *driver, rsti_image_t *image,
    const rsti_image_facts_t *facts)
{
    if (driver->params.budget == RSTI_BUDGET_NONE) {
        return 0;
    }
    rsti_budget_connection_t *connection = find(driver, image->endpoint, facts->source);
    if (connection == NULL) {
        connection = make(driver, image, facts->source);
    }
    if (connection == NULL) {
        return -rst_last_error_code();
    }
    connection->image_count++;
    image->budget.connection = connection;
    return 0;
}

int rsti_image_budget_join(rst_driver_t *driver, rsti_image_t *image,
    const rsti_image_facts_t *facts)
{
    rsti_image_budget_t *state = &image->budget;
    state->wake_position = INT64_MAX;
    if (image->file.log.metadata->group != 0) {
        return 0;
    }
    state->stream_bytes = facts->subscription->budget_bytes;
    if (join_connection(driver, image, facts) < 0) {
        return -rst_last_error_code();
    }
    /* The budget must exist before the first status message, which would otherwise allow a whole
     * window. */
    const rsti_sm_budget_t budget = granted_now(state, image->join_position);
    const int64_t step = rsti_budget_ack_step(budget.connection_bytes, budget.stream_bytes);
    if (step != INT64_MAX && (facts->setup->frame.flags & RSTI_SETUP_FLAG_RSTREAM) != 0) {
        tell(driver, image, &budget, step, driver->conductor->now_ns);
    }
    return 0;
}

void rsti_image_budget_leave(rst_driver_t *driver, rsti_image_t *image)
{
    rsti_ptr_array_t *connections = &driver->conductor->budget_connections;
    rsti_budget_connection_t *connection = image->budget.connection;
    image->budget.connection = NULL;
    if (connection == NULL || --connection->image_count > 0) {
        return;
    }
    for (size_t i = 0; i < connections->count; i++) {
        if (connections->items[i] == connection) {
            rsti_ptr_array_remove_at(connections, i);
            break;
        }
    }
    destroy(driver, connection);
    const rsti_budget_policy_t policy = policy_of(driver);
    share(driver, &policy);
}

int64_t rsti_image_budget_look(rst_driver_t *driver, rsti_image_t *image, int64_t hwm,
    int64_t consumed, int64_t now_ns)
{
    rsti_image_budget_t *state = &image->budget;
    const rsti_sm_budget_t budget = granted_now(state, consumed);
    const int64_t step = rsti_budget_ack_step(budget.connection_bytes, budget.stream_bytes);
    if (step == INT64_MAX || !rsti_image_tells_words(image)) {
        return RSTI_NO_DEADLINE;
    }
    const bool is_first = rsti_load_relaxed_i64(&state->mailbox.begin) == 0;
    const int64_t freed = is_first ? 0 : consumed - state->last.position;
    const bool has_changed = is_first || freed >= step
        || (freed > 0 && now_ns >= state->last_ns + RSTI_BUDGET_ACK_NS)
        || budget.connection_bytes != state->last.connection_bytes;
    if (rsti_retell_look(&state->retell, has_changed, hwm, now_ns)) {
        tell(driver, image, &budget, step, now_ns);
        rsti_image_wake_at(image, image->sm_wake_position, state->wake_position);
    }
    return consumed != state->last.position
        ? rsti_min_i64(state->retell.due_ns, state->last_ns + RSTI_BUDGET_ACK_NS)
        : state->retell.due_ns;
}

void rsti_image_wake_at(rsti_image_t *image, int64_t sm_position, int64_t budget_position)
{
    image->sm_wake_position = sm_position;
    image->budget.wake_position = budget_position;
    rsti_store_release_i64(&image->file.log.metadata->ext.conductor_position,
        rsti_min_i64(rsti_min_i64(sm_position, budget_position),
            rsti_image_reader_wake_position(image)));
}
