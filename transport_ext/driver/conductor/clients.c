/* clients.c: see clients.h. */
#include "driver/conductor/clients.h"

#include "driver/base/counters.h"
#include "driver/conductor/responses.h"
#include "logbuffer/rebuilder.h"
#include "util/alloc.h"

#include <inttypes.h>
#include <stdio.h>

rsti_driver_client_t *rsti_client_find(rst_driver_t *driver, int64_t client_id)
{
    const rsti_ptr_array_t *clients = &driver->conductor->clients;
    for (size_t i = 0; i < clients->count; i++) {
        rsti_driver_client_t *client = clients->items[i];
        if (client->client_id == client_id) {
            return client;
        }
    }
    return NULL;
}

rsti_heartbeat_ext_t *rsti_client_ext(rst_driver_t *driver, const rsti_driver_client_t *client)
{
    rsti_heartbeat_ext_t *ext = (rsti_heartbeat_ext_t *)(void *)driver->counters.counters
                                    .values[client->heartbeat_id]
                                    .spare;
    return rsti_load_acquire_i32(&ext->magic) == RSTI_EXT_MAGIC ? ext : NULL;
}

bool rsti_client_is_rstream(rst_driver_t *driver, int64_t client_id)
{
    const rsti_driver_client_t *client = rsti_client_find(driver, client_id);
    return client != NULL && rsti_client_ext(driver, client) != NULL;
}

static int32_t allocate_heartbeat(rst_driver_t *driver, int64_t client_id)
{
    char label[64];
    const int length = snprintf(label, sizeof label, "client-heartbeat: id=%" PRId64, client_id);
    const int32_t id = rsti_counters_allocate(&driver->counters, RSTI_COUNTER_CLIENT_HEARTBEAT,
        &client_id, sizeof client_id, label, (size_t)length, driver->epoch.now_ms);
    if (id >= 0) {
        memset(driver->counters.counters.values[id].spare, 0,
            sizeof driver->counters.counters.values[id].spare);
        rsti_counter_store(driver, id, driver->epoch.now_ms);
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
    client->watch_fd = -1;
    client->made_ns = driver->conductor->now_ns;
    client->heartbeat_changed_ns = driver->conductor->now_ns;
    client->heartbeat_id = allocate_heartbeat(driver, client_id);
    if (client->heartbeat_id < 0 || rsti_ptr_array_add(&driver->conductor->clients, client) < 0) {
        rsti_counter_release(driver, &client->heartbeat_id);
        rsti_free(client);
        return NULL;
    }
    rsti_store_relaxed_i32(&driver->is_idle, 0);
    rsti_respond_counter(driver, RSTI_RSP_COUNTER_READY, client_id, client->heartbeat_id);
    driver->conductor->clients_check_due_ns = driver->conductor->now_ns;
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
    const uint8_t owner = rsti_claim_owner(client->client_id);
    publication->dead_owners[owner / 64] &= ~(UINT64_C(1) << owner % 64);
}

void rsti_client_destroy(rst_driver_t *driver, rsti_driver_client_t *client)
{
    rsti_death_watch_remove(&driver->conductor->deaths, &client->watch_fd);
    rsti_free(client->publications);
    rsti_free(client->counters);
    rsti_free(client);
}

void rsti_clients_wake(rst_driver_t *driver)
{
    rsti_conductor_t *conductor = driver->conductor;
    if (!conductor->has_responses) {
        return;
    }
    conductor->has_responses = false;
    for (size_t i = 0; i < conductor->clients.count; i++) {
        const rsti_driver_client_t *client = conductor->clients.items[i];
        rsti_heartbeat_ext_t *ext = rsti_client_ext(driver, client);
        if (ext != NULL && rsti_wake_take_word(&ext->conductor_armed)) {
            rsti_waker_wake(driver->waker, client->client_id, 0);
        }
    }
}
