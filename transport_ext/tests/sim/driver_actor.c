/* driver_actor.c: a media driver's process. */
#include "tests/sim/actors.h"
#include "tests/sim/keys.h"
#include "tests/sim/names.h"
#include "tests/sim/world.h"

#include <stdio.h>

#define INVOKER_SLEEP_NS_MAX (2 * SIM_MS)

static void run_invoked(sim_driver_t *self)
{
    self->is_serving = true;
    while (!self->should_stop) {
        int64_t deadline_ns;
        const int64_t work = rst_driver_do_work(self->driver, &deadline_ns);
        if (work > 0) {
            sim_fiber_yield();
            continue;
        }
        const int64_t latest_ns = world.now_ns + sim_between(RNG_SCHEDULE, 1, INVOKER_SLEEP_NS_MAX);
        sim_fiber_sleep_until(deadline_ns < latest_ns ? deadline_ns : latest_ns);
    }
}

static void run_threads(sim_driver_t *self)
{
    if (rst_driver_start(self->driver) < 0) {
        sim_fail("driver %d does not start: %s", self->index, rst_last_error_text());
    }
    self->is_serving = true;
    while (!self->should_stop) {
        sim_fiber_sleep(20 * SIM_MS);
    }
}

static void *driver_main(void *arg)
{
    sim_driver_t *self = arg;
    const rsti_clock_t clock = rsti_clock_system();
    rsti_media_t media = sim_keys_media(self->host, &clock);
    rst_driver_t *opened = NULL;
    sim_options_read(self);
    const rsti_secret_t secret = rsti_secret_of_seed(rsti_rng_next(&world.rngs[RNG_PRODUCT]));
    if (rsti_driver_open_with(&opened, &self->params, &clock, &media, &secret) < 0) {
        sim_fail("driver %d does not open: %s", self->index, rst_last_error_text());
    }
    sim_keys_leave(self->params.dir);
    self->counters_at_start = sim_driver_counter_count(opened);
    self->driver = opened;
    sim_names_on_open(self);
    sim_event("driver %d is open", self->index);
    if (self->params.threading == RSTI_THREADING_INVOKER) {
        run_invoked(self);
    } else {
        run_threads(self);
    }
    sim_event("driver %d closes", self->index);
    self->driver = NULL;
    rst_driver_close(opened);
    sim_keys_media_close(&media);
    self->has_ended = true;
    return NULL;
}

void sim_driver_start(sim_driver_t *driver)
{
    char name[24];
    snprintf(name, sizeof name, "driver%d.%d", driver->index, driver->deaths);
    driver->process = sim_process_start(name, driver->host);
    driver->driver = NULL;
    driver->is_serving = false;
    driver->has_ended = false;
    (void)sim_fiber_start(driver->process, "main", driver_main, driver);
}

void sim_driver_kill(sim_driver_t *driver)
{
    if (driver->process == NULL || !driver->process->is_alive || driver->has_ended) {
        return;
    }
    sim_process_kill(driver->process);
    sim_count("fault: driver killed");
    driver->driver = NULL;
    driver->deaths++;
    for (int32_t i = 0; i < actors.publisher_count; i++) {
        sim_publisher_t *publisher = &actors.publishers[i];
        if (publisher->client->driver == driver && publisher->writer != NULL) {
            sim_writer_lost(publisher->writer);
        }
    }
}
