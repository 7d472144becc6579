/* parts.c: runs roles with files of their own, from the opening of their client until they are
 * done. */
#include "tests/sim/actors.h"
#include "tests/sim/world.h"

#include <stdio.h>

#define AWAIT_NS (2 * SIM_S)
#define RETRY_NS (20 * SIM_MS)

static void *part_main(void *arg)
{
    sim_part_t *self = arg;
    sim_fiber_sleep_until(self->start_ns);
    self->is_done = self->kind->play(self);
    self->is_running = false;
    sim_fibers_count_up(&self->client->roles_ended);
    return NULL;
}

void sim_part_start(sim_part_t *part)
{
    char name[24];
    snprintf(name, sizeof name, "%.14s%d", part->kind->name, part->number);
    part->is_running = true;
    sim_fiber_start(part->client->process, name, part_main, part)->nervous_in = part->client
                                                                                    ->dies_in;
}

bool sim_parts_start(sim_client_t *client)
{
    bool has_any = false;
    for (int32_t i = 0; i < actors.part_count; i++) {
        if (actors.parts[i].client == client && !actors.parts[i].is_done) {
            sim_part_start(&actors.parts[i]);
            has_any = true;
        }
    }
    return has_any;
}

void sim_parts_on_death(const sim_client_t *client)
{
    for (int32_t i = 0; i < actors.part_count; i++) {
        if (actors.parts[i].client == client) {
            actors.parts[i].is_running = false;
        }
    }
}

bool sim_parts_run(const sim_client_t *client)
{
    for (int32_t i = 0; i < actors.part_count; i++) {
        if (actors.parts[i].client == client && actors.parts[i].is_running) {
            return true;
        }
    }
    return false;
}

bool sim_parts_have_published(void)
{
    for (int32_t i = 0; i < actors.part_count; i++) {
        const sim_part_t *part = &actors.parts[i];
        if (part->kind->is_source && (!part->is_done || part->is_running)) {
            return false;
        }
    }
    return true;
}

/* ---- commands ---- */

int sim_part_await(const sim_part_t *part, int64_t correlation_id)
{
    rst_client_t *client = part->client->client;
    if (correlation_id >= 0) {
        sim_fiber_set_activity(ACTIVITY_COMMAND);
        const int result = rst_client_await(client, correlation_id, AWAIT_NS);
        sim_fiber_set_activity(ACTIVITY_NONE);
        if (result == 1) {
            return 1;
        }
        sim_event("%s %d is refused: %s", part->kind->name, part->number, rst_last_error_text());
        const bool is_timed_out = rst_last_error_code() == RST_ETIMEDOUT;
        rst_client_cancel(client, correlation_id);
        if (is_timed_out) {
            return -1;
        }
    }
    return rst_client_state(client) == RST_CLIENT_OPEN ? 0 : -1;
}

rst_publication_t *sim_part_publish(const sim_part_t *part, const char *channel, int32_t stream_id,
    bool is_exclusive)
{
    rst_client_t *client = part->client->client;
    while (rst_client_state(client) == RST_CLIENT_OPEN) {
        const int64_t id = rst_client_add_publication(client, channel, stream_id, is_exclusive);
        if (sim_part_await(part, id) == 1) {
            return rst_client_take_publication(client, id);
        }
        sim_fiber_sleep(RETRY_NS);
    }
    return NULL;
}

rst_subscription_t *sim_part_subscribe(const sim_part_t *part, const char *channel,
    int32_t stream_id)
{
    rst_client_t *client = part->client->client;
    while (rst_client_state(client) == RST_CLIENT_OPEN) {
        const int64_t id = rst_client_add_subscription(client, channel, stream_id);
        if (sim_part_await(part, id) == 1) {
            return rst_client_take_subscription(client, id);
        }
        sim_fiber_sleep(RETRY_NS);
    }
    return NULL;
}
