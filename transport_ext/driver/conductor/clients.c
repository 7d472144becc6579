/* conductor_clients.c: clients, their liveness and their own counters (memory reference 21). */
#include "driver/internal.h"

#include "util/alloc.h"
#include "util/error.h"

#include <inttypes.h>
#include <stdio.h>

rsti_driver_client_t *rsti_client_find(rst_driver_t *driver, int64_t client_id)
{
    const rsti_ptr_array_t *clients = &driver->conductor.clients;
    for (size_t i = 0; i < clients->count; i++) {
        rsti_driver_client_t *client = clients->items[i];
        if (client->client_id == client_id) {
            return client;
        }
    }
    return NULL;
}

bool rsti_client_is_rstream(rst_driver_t *driver, int64_t client_id)
{
    const rsti_driver_client_t *client = rsti_client_find(driver, client_id);
    if (client == NULL) {
        return false;
    }
    const rsti_heartbeat_ext_t *ext = (const rsti_heartbeat_ext_t *)(const void *)
                                          driver->counters.counters.values[client->heartbeat_id]
                                              .spare;
    return rsti_load_acquire_i32(&ext->magic) == RSTI_EXT_MAGIC;
}

static int32_t allocate_heartbeat(rst_driver_t *driver, int64_t client_id)
{
    char label[64];
    const int length = snprintf(label, sizeof label, "client-heartbeat: id=%" PRId64, client_id);
    const int32_t id = rsti_counters_allocate(&driver->counters, RSTI_COUNTER_CLIENT_HEARTBEAT,
        &client_id, sizeof client_id, label, (size_t)length, driver->conductor.epoch.now_ms);
    if (id >= 0) {
        memset(driver->counters.counters.values[id].spare, 0,
            sizeof driver->counters.counters.values[id].spare);
        rsti_counter_store(driver, id, driver->conductor.epoch.now_ms);
        rsti_counters_set_ids(&driver->counters, id, client_id, client_id, 0);
    }
    return id;
}

rsti_driver_client_t *rsti_client_get(rst_driver_t *driver, int64_t client_id)
{
    rsti_driver_client_t *client = rsti_client_find(driver, client_id);
    if (client != NULL) {
        return client;
    }
    client = rsti_alloc(sizeof *client);
    if (client == NULL) {
        return NULL;
    }
    client->client_id = client_id;
    client->heartbeat_changed_ns = driver->conductor.now_ns;
    client->heartbeat_id = allocate_heartbeat(driver, client_id);
    if (client->heartbeat_id < 0 || rsti_ptr_array_add(&driver->conductor.clients, client) < 0) {
        rsti_counter_release(driver, &client->heartbeat_id);
        rsti_free(client);
        return NULL;
    }
    rsti_store_relaxed_i32(&driver->is_idle, 0);
    rsti_respond_counter(driver, RSTI_RSP_COUNTER_READY, client_id, client->heartbeat_id);
    driver->conductor.clients_check_due_ns = driver->conductor.now_ns;
    return client;
}

int rsti_client_reserve_link(rsti_driver_client_t *client)
{
    if (client->publication_count == client->publication_capacity) {
        const int32_t capacity = client->publication_capacity * 2 + 4;
        rsti_publication_link_t *links = rsti_realloc(client->publications,
            (size_t)client->publication_capacity * sizeof *links, (size_t)capacity * sizeof *links);
        if (links == NULL) {
            return -RST_ENOMEM;
        }
        client->publications = links;
        client->publication_capacity = capacity;
    }
    return 0;
}

void rsti_client_link_publication(rsti_driver_client_t *client, int64_t registration_id,
    rsti_publication_t *publication)
{
    RST_ASSERT(client->publication_count < client->publication_capacity);
    client->publications[client->publication_count++] = (rsti_publication_link_t){
        registration_id, publication};
    publication->ref_count++;
}

static int link_counter(rsti_driver_client_t *client, int64_t registration_id, int32_t counter_id)
{
    if (client->counter_count == client->counter_capacity) {
        const int32_t capacity = client->counter_capacity * 2 + 4;
        rsti_counter_link_t *links = rsti_realloc(client->counters,
            (size_t)client->counter_capacity * sizeof *links, (size_t)capacity * sizeof *links);
        if (links == NULL) {
            return -RST_ENOMEM;
        }
        client->counters = links;
        client->counter_capacity = capacity;
    }
    client->counters[client->counter_count++] = (rsti_counter_link_t){registration_id, counter_id};
    return 0;
}

void rsti_client_destroy(rsti_driver_client_t *client)
{
    rsti_free(client->publications);
    rsti_free(client->counters);
    rsti_free(client);
}

static void clear_wake_slots(rst_driver_t *driver, int64_t client_id)
{
    const rsti_conductor_t *conductor = &driver->conductor;
    const rsti_ptr_array_t *const lists[] = {
        &conductor->ipc_publications, &conductor->publications};
    for (size_t l = 0; l < 2; l++) {
        for (size_t i = 0; i < lists[l]->count; i++) {
            rsti_publication_t *publication = lists[l]->items[i];
            rsti_wake_slots_clear_client(&publication->file.log.metadata->ext, client_id);
        }
    }
    for (size_t i = 0; i < conductor->images.count; i++) {
        rsti_image_t *image = conductor->images.items[i];
        rsti_wake_slots_clear_client(&image->file.log.metadata->ext, client_id);
    }
}

static void remove_client(rst_driver_t *driver, rsti_driver_client_t *client)
{
    rsti_conductor_t *conductor = &driver->conductor;
    const int64_t client_id = client->client_id;
    if (!client->is_closed) {
        const rsti_response_t response = {
            .type = RSTI_RSP_CLIENT_TIMEOUT,
            .correlation_id = client_id,
        };
        rsti_respond(driver, &response);
        rsti_driver_count(driver, RSTI_SYSTEM_CLIENT_TIMEOUTS, 1);
    }
    for (int32_t i = 0; i < client->publication_count; i++) {
        rsti_publication_release(driver, client->publications[i].publication, false);
    }
    for (size_t i = conductor->subscriptions.count; i > 0; i--) {
        rsti_subscription_t *subscription = conductor->subscriptions.items[i - 1];
        if (subscription->client_id == client_id) {
            rsti_subscription_remove(driver, subscription);
        }
    }
    for (int32_t i = 0; i < client->counter_count; i++) {
        rsti_respond_counter(driver, RSTI_RSP_UNAVAILABLE_COUNTER,
            client->counters[i].registration_id, client->counters[i].counter_id);
        rsti_counter_release(driver, &client->counters[i].counter_id);
    }
    rsti_respond_counter(driver, RSTI_RSP_UNAVAILABLE_COUNTER, client_id, client->heartbeat_id);
    rsti_responses_wake(driver); /* while the dead client's words can still be found */
    rsti_counter_release(driver, &client->heartbeat_id);
    clear_wake_slots(driver, client_id);
    rsti_wake_fifo_remove_client(driver->dir, client_id);
    rsti_ptr_array_remove(&conductor->clients, client);
    rsti_client_destroy(client);
    if (conductor->clients.count == 0) {
        conductor->clientless_since_ns = conductor->now_ns;
    }
}

void rsti_clients_check(rst_driver_t *driver, int64_t now_ns)
{
    rsti_conductor_t *conductor = &driver->conductor;
    for (size_t i = conductor->clients.count; i > 0; i--) {
        rsti_driver_client_t *client = conductor->clients.items[i - 1];
        const int64_t heartbeat_ms = rsti_load_acquire_i64(rsti_counter_address(&driver->counters
                                                                                    .counters,
            client->heartbeat_id));
        /* Only that it moves counts: a step of the wall clock, or a sleep of the machine, kills
         * nobody, and a time in the far future does not keep a dead client. */
        if (heartbeat_ms != client->heartbeat_ms) {
            client->heartbeat_ms = heartbeat_ms;
            client->heartbeat_changed_ns = now_ns;
        }
        if (client->is_closed
            || now_ns > client->heartbeat_changed_ns + driver->params.client_liveness_ns) {
            remove_client(driver, client);
        }
    }
    const bool is_idle = driver->params.idle_exit_ns > 0 && conductor->clients.count == 0
        && conductor->publications.count == 0
        && now_ns - conductor->clientless_since_ns > driver->params.idle_exit_ns;
    rsti_store_relaxed_i32(&driver->is_idle, is_idle);
}

/* Clients that never wake us (Aeron's) bound every agent's sleep. A new client of ours shows itself
 * within milliseconds, so one that did not is looked at again soon. */
void rsti_clients_check_foreign(rst_driver_t *driver, int64_t now_ns)
{
    rsti_conductor_t *conductor = &driver->conductor;
    bool has_foreign = false;
    for (size_t i = 0; i < conductor->clients.count; i++) {
        const rsti_driver_client_t *client = conductor->clients.items[i];
        const rsti_heartbeat_ext_t *ext = (const rsti_heartbeat_ext_t *)(const void *)
                                              driver->counters.counters.values[client->heartbeat_id]
                                                  .spare;
        has_foreign = has_foreign || rsti_load_acquire_i32(&ext->magic) != RSTI_EXT_MAGIC;
    }
    for (int32_t i = 0; i < driver->thread_count; i++) {
        const bool has_conductor = &driver->threads[i] == driver->thread_of[RSTI_AGENT_CONDUCTOR];
        const int64_t most = has_foreign ? RSTI_FOREIGN_SLEEP_MAX_NS
            : has_conductor              ? RSTI_CONDUCTOR_SLEEP_MAX_NS
                                         : RSTI_NO_DEADLINE;
        if (rsti_load_relaxed_i64(&driver->threads[i].runner.sleep_ns_max) != most) {
            rsti_store_relaxed_i64(&driver->threads[i].runner.sleep_ns_max, most);
            rsti_driver_wake_agent(driver, driver->threads[i].agents[0]);
        }
    }
    conductor->clients_check_due_ns = has_foreign ? now_ns + 20 * RSTI_NS_PER_MS
                                                  : now_ns + driver->params.timer_interval_ns;
}

void rsti_on_keepalive(rst_driver_t *driver, const rsti_command_t *command)
{
    /* Ours say hello with it, so that they have a heartbeat before the first thing they ask for. */
    const rsti_driver_client_t *client = rsti_client_get(driver, command->client_id);
    if (client != NULL) {
        rsti_counter_store(driver, client->heartbeat_id, driver->conductor.epoch.now_ms);
    }
}

void rsti_on_client_close(rst_driver_t *driver, const rsti_command_t *command)
{
    rsti_driver_client_t *client = rsti_client_find(driver, command->client_id);
    if (client != NULL) {
        client->is_closed = true;
        remove_client(driver, client);
    }
}

void rsti_on_add_counter(rst_driver_t *driver, const rsti_command_t *command)
{
    rsti_driver_client_t *client = rsti_client_get(driver, command->client_id);
    const int32_t id = client == NULL
        ? -1
        : rsti_counters_allocate(&driver->counters, command->counter_type_id, command->key.text,
              (size_t)command->key.length, command->label.text, (size_t)command->label.length,
              driver->conductor.epoch.now_ms);
    if (id < 0) {
        rsti_respond_trail(driver, command->correlation_id);
        return;
    }
    rsti_counters_set_ids(&driver->counters, id, command->correlation_id, command->client_id, 0);
    if (link_counter(client, command->correlation_id, id) < 0) {
        rsti_counters_free(&driver->counters, id, driver->conductor.epoch.now_ms);
        rsti_respond_trail(driver, command->correlation_id);
        return;
    }
    rsti_respond_counter(driver, RSTI_RSP_COUNTER_READY, command->correlation_id, id);
}

void rsti_on_add_static_counter(rst_driver_t *driver, const rsti_command_t *command)
{
    if (rsti_client_get(driver, command->client_id) == NULL) {
        rsti_respond_trail(driver, command->correlation_id);
        return;
    }
    int32_t id = rsti_counters_find(&driver->counters.counters, command->counter_type_id,
        command->registration_id);
    if (id >= 0 && driver->counters.counters.values[id].owner_id != -1) {
        char text[160];
        snprintf(text, sizeof text,
            "counter of type %" PRId32 " with registration id %" PRId64
            " exists and belongs to a client",
            command->counter_type_id, command->registration_id);
        rsti_respond_error(driver, command->correlation_id, RSTI_DRIVER_GENERIC_ERROR, text);
        return;
    }
    if (id < 0) {
        id = rsti_counters_allocate(&driver->counters, command->counter_type_id, command->key.text,
            (size_t)command->key.length, command->label.text, (size_t)command->label.length,
            driver->conductor.epoch.now_ms);
        if (id < 0) {
            rsti_respond_trail(driver, command->correlation_id);
            return;
        }
        rsti_counters_set_ids(&driver->counters, id, command->registration_id, -1, 0);
    }
    rsti_respond_counter(driver, RSTI_RSP_STATIC_COUNTER, command->correlation_id, id);
}

void rsti_on_remove_counter(rst_driver_t *driver, const rsti_command_t *command)
{
    rsti_driver_client_t *client = rsti_client_find(driver, command->client_id);
    for (int32_t i = 0; client != NULL && i < client->counter_count; i++) {
        if (client->counters[i].registration_id == command->registration_id) {
            int32_t id = client->counters[i].counter_id;
            client->counters[i] = client->counters[--client->counter_count];
            rsti_respond_ok(driver, command->correlation_id);
            rsti_respond_counter(driver, RSTI_RSP_UNAVAILABLE_COUNTER, command->registration_id,
                id);
            rsti_counter_release(driver, &id);
            return;
        }
    }
    char text[96];
    snprintf(text, sizeof text, "unknown counter, registration id %" PRId64,
        command->registration_id);
    rsti_respond_error(driver, command->correlation_id, RSTI_DRIVER_UNKNOWN_COUNTER, text);
}
