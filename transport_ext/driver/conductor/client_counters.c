/* client_counters.c: see client_counters.h. */
#include "driver/conductor/client_counters.h"

#include "driver/base/counters.h"
#include "driver/conductor/clients.h"
#include "driver/conductor/responses.h"
#include "util/alloc.h"

#include <inttypes.h>
#include <stdio.h>

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

void rsti_on_add_counter(rst_driver_t *driver, const rsti_command_t *command)
{
    rsti_driver_client_t *client = rsti_client_get(driver, command->client_id);
    const int32_t id = client == NULL
        ? -1
        : rsti_counters_allocate(&driver->counters, command->counter_type_id, command->key.text,
              (size_t)command->key.length, command->label.text, (size_t)command->label.length,
              driver->epoch.now_ms);
    if (id < 0) {
        rsti_respond_trail(driver, command->correlation_id);
        return;
    }
    rsti_counters_set_ids(&driver->counters, id, command->correlation_id, command->client_id, 0);
    if (link_counter(client, command->correlation_id, id) < 0) {
        rsti_counters_free(&driver->counters, id, driver->epoch.now_ms);
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
            driver->epoch.now_ms);
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
            rsti_counter_release_written(driver, &id);
            return;
        }
    }
    char text[96];
    snprintf(text, sizeof text, "unknown counter, registration id %" PRId64,
        command->registration_id);
    rsti_respond_error(driver, command->correlation_id, RSTI_DRIVER_UNKNOWN_COUNTER, text);
}
