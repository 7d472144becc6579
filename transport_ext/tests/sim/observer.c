/* observer.c: observes a driver's directory as the command line tools do, while the driver works,
 * dies, and restarts. */
#include "rstream/driver.h"
#include "tests/sim/side_roles.h"
#include "tests/sim/world.h"

#include <inttypes.h>
#include <string.h>

#define COUNTERS_MAX 2048
#define HEARTBEAT_MS_MAX 20000

typedef struct look_t {
    const sim_side_role_t *self;
    int32_t entries;
} look_t;

static void on_error(void *arg, int32_t observations, int64_t first_ms, int64_t last_ms,
    const char *text)
{
    look_t *look = arg;
    look->entries++;
    sim_count("observer: distinct errors seen");
    if (observations < 1 || last_ms < first_ms || text[0] == '\0'
        || last_ms > SIM_EPOCH_MS + world.now_ns / SIM_MS) {
        sim_fail("side role %d: the error log says \"%s\", %d times, from %" PRId64 " to %" PRId64,
            look->self->index, text, observations, first_ms, last_ms);
    }
}

static void on_loss(void *arg, const rst_loss_t *loss)
{
    look_t *look = arg;
    look->entries++;
    sim_count("observer: losses seen");
    if (loss->observations < 1 || loss->bytes_lost < 1 || loss->last_ms < loss->first_ms
        || loss->stream_id < 10 || loss->channel[0] == '\0' || loss->source[0] == '\0') {
        sim_fail("side role %d: the loss report says stream %d, \"%s\" from \"%s\", %" PRId64
                 " times %" PRId64 " bytes",
            look->self->index, loss->stream_id, loss->channel, loss->source, loss->observations,
            loss->bytes_lost);
    }
}

/* several may observe at once */
static rst_counter_t counters_of[SIM_SIDE_ROLES_MAX][COUNTERS_MAX];

static void look_at_counters(const sim_side_role_t *self, rst_tool_t *tool)
{
    rst_counter_t *counters = counters_of[self->index];
    const int few = rst_tool_counters(tool, counters, 3);
    const int count = rst_tool_counters(tool, counters, COUNTERS_MAX);
    if (few != 3 || count < RSTI_SYSTEM_COUNTER_COUNT || count == COUNTERS_MAX) {
        sim_fail("side role %d sees %d and %d counters", self->index, few, count);
    }
    for (int32_t i = 0; i < count; i++) {
        const bool is_system = counters[i].id < RSTI_SYSTEM_COUNTER_COUNT;
        if ((i > 0 && counters[i].id <= counters[i - 1].id) || counters[i].label[0] == '\0'
            || is_system != (counters[i].type_id == RSTI_COUNTER_SYSTEM)) {
            sim_fail("side role %d: counter %d of type %d, \"%s\"", self->index, counters[i].id,
                counters[i].type_id, counters[i].label);
        }
    }
}

/* The live driver may be another incarnation than the one whose file was opened. */
static void look_at_life(const sim_side_role_t *self, rst_tool_t *tool)
{
    const int64_t pid = rst_tool_pid(tool);
    const int64_t age_ms = rst_tool_heartbeat_age_ms(tool);
    if (pid < 1000 || pid > 1000 + self->client->driver->process->id || age_ms < -1
        || age_ms > HEARTBEAT_MS_MAX) {
        sim_fail("side role %d: driver %" PRId64 " is %" PRId64 " ms old", self->index, pid,
            age_ms);
    }
    if (age_ms < 0) {
        sim_count("observer: a driver that ended");
    }
}

static void look_for_life(const sim_side_role_t *self, const char *dir)
{
    const sim_driver_t *driver = self->client->driver;
    const rst_driver_t *before = driver->driver;
    const int life = rst_driver_probe(dir);
    sim_count(life == 2 ? "observer: a driver lives" : "observer: no driver lives");
    if (life < 0 || life > 2 || (before != NULL && before == driver->driver && life != 2)) {
        sim_fail("side role %d: the probe of a driver returns %d", self->index, life);
    }
}

void sim_observer_round(sim_side_role_t *self)
{
    rst_tool_t *tool;
    look_t look = {.self = self};
    const char *dir = self->client->driver->params.dir;
    char token[64];
    look_for_life(self, dir);
    if (rst_host_token(dir, token, sizeof token) == 0 && token[0] == '\0') {
        sim_fail("side role %d: an empty token of a host", self->index);
    }
    const int opened = rst_tool_open(&tool, dir);
    if (opened < 0) {
        sim_count("observer: no driver files");
        return;
    }
    look_at_life(self, tool);
    sim_side_role_pause(self);
    look_at_counters(self, tool);
    sim_side_role_pause(self);
    const int errors = rst_tool_errors(tool, on_error, &look);
    if (errors != look.entries) {
        sim_fail("side role %d: %d errors were listed, %d reported", self->index, look.entries,
            errors);
    }
    look.entries = 0;
    const int since = rst_tool_errors_since(tool, INT64_MAX, on_error, &look);
    if (since != 0 || look.entries != 0) {
        sim_fail("side role %d: errors with a future time", self->index);
    }
    const int losses = rst_tool_losses(tool, on_loss, &look);
    if (losses != look.entries) {
        sim_fail("side role %d: %d losses were listed, %d reported", self->index, look.entries,
            losses);
    }
    rst_tool_close(tool);
}
