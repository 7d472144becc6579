/* misuse_flood.c: two invalid requests: more commands at once than the ring to the driver holds,
 * and a request to terminate the driver without its token. */
#include "tests/sim/side_roles.h"
#include "tests/sim/world.h"

#include <stdio.h>
#include <string.h>

#define COMMANDS_MAX 400
#define STREAM_ID 9300
#define TOKEN_TOO_LONG 385

/* Commands beyond the ring's capacity wait in the client. Each is executed or refused, none is
 * lost, and a cancelled one is undone (run.c counts). */
void sim_misuse_flood(const sim_side_role_t *self)
{
    int64_t ids[COMMANDS_MAX];
    char channel[SIM_CHANNEL_MAX];
    rst_client_t *client = self->client->client;
    const int32_t count = (int32_t)sim_between(RNG_ACTOR, COMMANDS_MAX / 2, COMMANDS_MAX);
    snprintf(channel, sizeof channel, "aeron:ipc?alias=%0200d", 0);
    for (int32_t i = 0; i < count; i++) {
        ids[i] = rst_client_add_subscription(client, channel, STREAM_ID);
        if (ids[i] < 0 && rst_last_error_code() != RST_EFULL
            && rst_client_state(client) == RST_CLIENT_OPEN) {
            sim_fail("side role %d: command %d of many: %s", self->index, i, rst_last_error_text());
        }
    }
    sim_count_many("misuse: commands at once", count);
    const int32_t kept = (int32_t)sim_below(RNG_ACTOR, (uint64_t)count);
    for (int32_t i = 0; i < count; i++) {
        if (ids[i] > 0 && i != kept) {
            rst_client_cancel(client, ids[i]);
        }
    }
    if (ids[kept] > 0 && sim_side_role_await(self, ids[kept], "one command of many")) {
        rst_subscription_close(rst_client_take_subscription(client, ids[kept]));
        sim_count("misuse: one of many commands answered");
    }
}

void sim_misuse_terminate(const sim_side_role_t *self)
{
    static const char token[TOKEN_TOO_LONG] = "not the word";
    const sim_driver_t *driver = self->client->driver;
    const rst_driver_t *before = driver->driver;
    if (rst_tool_terminate(driver->params.dir, token, sizeof token) != -RST_EINVAL
        || rst_tool_terminate(driver->params.dir, NULL, 1) != -RST_EINVAL) {
        sim_fail("side role %d: an invalid token is accepted", self->index);
    }
    if (rst_tool_terminate(driver->params.dir, token, strlen(token)) == 0) {
        sim_count("misuse: a driver is asked to end");
    }
    sim_fiber_sleep(sim_between(RNG_ACTOR, 0, 50) * SIM_MS);
    if (before != NULL && driver->driver == before && rst_driver_is_terminated(before)) {
        sim_fail("side role %d ends a driver without its token", self->index);
    }
}
