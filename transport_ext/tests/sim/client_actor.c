/* client_actor.c: a client process: connects, runs its roles, and starts again when its driver is
 * lost. */
#include "tests/sim/actors.h"
#include "tests/sim/resource_faults.h"
#include "tests/sim/world.h"

#include <stdio.h>

#define RETRY_NS (5 * SIM_MS)
#define DRIVER_TIMEOUT_MS 1000
#define KEEPALIVE_NS (100 * SIM_MS)
#define AWAIT_NS (2 * SIM_S)

int sim_client_await(const sim_client_t *client, int64_t correlation_id)
{
    const int64_t patience_ns = client->command_patience_ns;
    if (correlation_id < 0) {
        return -1;
    }
    const int result = rst_client_await(client->client, correlation_id,
        patience_ns > 0 ? patience_ns : AWAIT_NS);
    if (result < 0) {
        sim_resource_check_refusal(rst_last_error_text());
    }
    if (patience_ns > 0 && result != 1) {
        sim_fail("a command of client %d is not answered: %s", client->index,
            rst_last_error_text());
    }
    return result;
}

static bool has_running_roles(const sim_client_t *client)
{
    for (int32_t i = 0; i < actors.publisher_count; i++) {
        if (actors.publishers[i].client == client && actors.publishers[i].is_running) {
            return true;
        }
    }
    for (int32_t i = 0; i < actors.subscriber_count; i++) {
        if (actors.subscribers[i].client == client && actors.subscribers[i].is_running) {
            return true;
        }
    }
    for (int32_t i = 0; i < actors.side_role_count; i++) {
        if (actors.side_roles[i].client == client && actors.side_roles[i].is_running) {
            return true;
        }
    }
    return sim_parts_run(client);
}

static bool start_roles(sim_client_t *client)
{
    bool has_any = sim_parts_start(client);
    for (int32_t i = 0; i < actors.publisher_count; i++) {
        if (actors.publishers[i].client == client && !actors.publishers[i].is_done) {
            sim_publisher_start(&actors.publishers[i]);
            has_any = true;
        }
    }
    for (int32_t i = 0; i < actors.subscriber_count; i++) {
        if (actors.subscribers[i].client == client && !actors.subscribers[i].is_done) {
            sim_subscriber_start(&actors.subscribers[i]);
            has_any = true;
        }
    }
    for (int32_t i = 0; i < actors.side_role_count; i++) {
        if (actors.side_roles[i].client == client && !actors.side_roles[i].is_done) {
            sim_side_role_start(&actors.side_roles[i]);
            has_any = true;
        }
    }
    return has_any;
}

static void *client_main(void *arg)
{
    sim_client_t *self = arg;
    for (bool has_work = true; has_work;) {
        rst_client_params_t params;
        rst_client_params_init(&params);
        params.dir = self->driver->params.dir;
        params.name = self->index % 2 == 0 ? "sim" : NULL;
        params.driver_timeout_ms = self->command_patience_ns > 0
            ? self->command_patience_ns / SIM_MS
            : DRIVER_TIMEOUT_MS;
        params.keepalive_interval_ns = KEEPALIVE_NS;
        rst_client_t *opened;
        if (rst_client_open(&opened, &params) < 0) {
            sim_count("client: no driver");
            sim_fiber_sleep(RETRY_NS);
            continue;
        }
        sim_event("client %d is open", self->index);
        self->client = opened;
        has_work = start_roles(self);
        while (has_running_roles(self)) {
            (void)sim_fiber_wait(&self->roles_ended, -1, INT64_MAX);
        }
        sim_event("client %d closes", self->index);
        self->client = NULL;
        rst_client_close(opened);
    }
    self->has_ended = true;
    return NULL;
}

void sim_client_start(sim_client_t *client)
{
    char name[24];
    snprintf(name, sizeof name, "client%d.%d", client->index, client->deaths);
    client->process = sim_process_start(name, client->driver->host);
    client->client = NULL;
    client->has_ended = false;
    (void)sim_fiber_start(client->process, "main", client_main, client);
}

void sim_client_kill(sim_client_t *client)
{
    if (client->process == NULL || !client->process->is_alive || client->has_ended) {
        return;
    }
    sim_process_kill(client->process);
    sim_count("fault: client killed");
    client->client = NULL;
    client->deaths++;
    for (int32_t i = 0; i < actors.publisher_count; i++) {
        if (actors.publishers[i].client == client) {
            sim_publisher_on_death(&actors.publishers[i]);
        }
    }
    for (int32_t i = 0; i < actors.subscriber_count; i++) {
        if (actors.subscribers[i].client == client) {
            sim_subscriber_on_death(&actors.subscribers[i]);
        }
    }
    for (int32_t i = 0; i < actors.side_role_count; i++) {
        if (actors.side_roles[i].client == client) {
            sim_side_role_on_death(&actors.side_roles[i]);
        }
    }
    sim_parts_on_death(client);
}
