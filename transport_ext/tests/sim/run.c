/* run.c: one run: the actors work, the faults end, every actor must finish, and nothing may be
 * left. */
#include "tests/sim/actors.h"
#include "tests/sim/agenda.h"
#include "tests/sim/links.h"
#include "tests/sim/wire_invariants.h"
#include "tests/sim/world.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PUBLISHING_NS_MAX (100 * SIM_S)
#define READING_NS_MAX (60 * SIM_S)
#define SETTLING_NS_MAX (30 * SIM_S)
#define QUIET_NS (200 * SIM_MS)
#define TURNS_PER_LOOK 6

sim_actors_t actors;

pid_t __real_getpid(void);

static void become_calm(void *arg, int64_t number)
{
    (void)arg;
    (void)number;
    sim_event("calm");
    world.is_calm = true;
    sim_links_heal();
    for (int32_t i = 0; i < actors.driver_count; i++) {
        if (actors.drivers[i].process != NULL) {
            actors.drivers[i].process->paused_until_ns = 0;
        }
    }
    for (int32_t i = 0; i < actors.client_count; i++) {
        if (actors.clients[i].process != NULL) {
            actors.clients[i].process->paused_until_ns = 0;
        }
    }
    sim_fibers_look_again();
}

/* ---- when a phase is over ---- */

static void look(void)
{
    static uint64_t turns;
    if (turns++ % TURNS_PER_LOOK == 0) {
        sim_driver_invariants_check();
    }
}

static bool has_published(void)
{
    look();
    for (int32_t i = 0; i < actors.publisher_count; i++) {
        if (!actors.publishers[i].is_done || actors.publishers[i].is_running) {
            return false;
        }
    }
    return world.is_calm && sim_parts_have_published();
}

static bool has_read(void)
{
    look();
    for (int32_t i = 0; i < actors.client_count; i++) {
        if (!actors.clients[i].has_ended) {
            return false;
        }
    }
    return true;
}

static bool is_settled(void)
{
    static int64_t next_ns;
    look();
    if (world.now_ns < next_ns) {
        return false; /* counting all counters at each turn would dominate the run */
    }
    next_ns = world.now_ns + 20 * SIM_MS;
    for (int32_t i = 0; i < actors.driver_count; i++) {
        const sim_driver_t *driver = &actors.drivers[i];
        if (driver->driver == NULL
            || sim_driver_counter_count(driver->driver) - sim_user_counters_static(driver)
                > driver->counters_at_start
            || sim_driver_log_count(driver->driver) > 0) {
            return false;
        }
    }
    return true;
}

static bool never(void)
{
    return false;
}

static bool has_stopped(void)
{
    for (int32_t i = 0; i < actors.driver_count; i++) {
        if (!actors.drivers[i].has_ended || sim_fibers_alive(actors.drivers[i].process)) {
            return false; /* a name look-up may still be in progress */
        }
    }
    return true;
}

/* ---- what is wrong when it does not end ---- */

static void tell_clients(void)
{
    for (int32_t i = 0; i < actors.publisher_count; i++) {
        const sim_publisher_t *p = &actors.publishers[i];
        if (p->is_running || !p->is_done) {
            fprintf(stderr, "  publisher %d (client %d, %s, stream %d) sent %d of %d\n", i,
                p->client->index, p->channel, p->stream_id, p->sent, p->total);
        }
    }
    for (int32_t i = 0; i < actors.subscriber_count; i++) {
        const sim_subscriber_t *s = &actors.subscribers[i];
        if (s->is_running || !s->is_done) {
            fprintf(stderr, "  subscriber %d (client %d, %s, stream %d) has %d images\n", i,
                s->client->index, s->channel, s->stream_id, s->view_count);
        }
    }
    for (int32_t i = 0; i < actors.part_count; i++) {
        const sim_part_t *p = &actors.parts[i];
        if (p->is_running || !p->is_done) {
            fprintf(stderr, "  %s %d (client %d)\n", p->kind->name, p->number, p->client->index);
        }
    }
}

static void tell_counters(void)
{
    for (int32_t i = 0; i < actors.driver_count; i++) {
        const rsti_counters_t *counters = &actors.drivers[i].driver->counters.counters;
        for (int32_t id = 0; id <= counters->max_counter_id; id++) {
            const rsti_counter_metadata_t *metadata = &counters->metadata[id];
            if (metadata->state == RSTI_COUNTER_ALLOCATED
                && metadata->type_id != RSTI_COUNTER_SYSTEM) {
                fprintf(stderr, "  driver %d: counter %d \"%.*s\"\n", i, id, metadata->label_length,
                    (const char *)metadata->label);
            }
        }
    }
}

/* ---- what may be left ---- */

static void check_directory(const sim_driver_t *driver, const char *below)
{
    char path[512];
    snprintf(path, sizeof path, "%.400s%s", driver->params.dir, below);
    DIR *stream = opendir(path);
    const struct dirent *entry;
    while (stream != NULL && (entry = readdir(stream)) != NULL) {
        if (entry->d_name[0] != '.') {
            sim_fail("driver %d leaves the file %s/%s", driver->index, below, entry->d_name);
        }
    }
    if (stream != NULL) {
        closedir(stream);
    }
}

static void end_processes(void)
{
    for (int32_t i = 0; i < actors.client_count; i++) {
        sim_process_exit(actors.clients[i].process);
    }
    for (int32_t i = 0; i < actors.driver_count; i++) {
        check_directory(&actors.drivers[i], "/publications");
        check_directory(&actors.drivers[i], "/images");
    }
    for (int32_t i = 0; i < actors.driver_count; i++) {
        actors.drivers[i].should_stop = true;
    }
    if (!sim_fibers_run(has_stopped, world.now_ns + 5 * SIM_S)) {
        sim_fail("the drivers do not stop");
    }
    for (int32_t i = 0; i < actors.driver_count; i++) {
        sim_process_exit(actors.drivers[i].process);
        if (access(actors.drivers[i].params.dir, F_OK) == 0) {
            check_directory(&actors.drivers[i], "");
        }
    }
    if (sim_network_open_sockets() != 0) {
        sim_fail("%d sockets are left open", sim_network_open_sockets());
    }
}

/* The place of the drivers' directories. */
static void make_home(uint64_t seed)
{
    snprintf(actors.dir, sizeof actors.dir, SIM_HOME, (int)__real_getpid(), seed);
    snprintf(world.home, sizeof world.home, "%s", actors.dir);
    if (mkdir(actors.dir, 0700) != 0) {
        sim_fail("cannot make %s", actors.dir);
    }
}

/* The error log of a dead driver is kept on purpose. */
static void remove_home(void)
{
    static const char kept[] = "-error.log";
    DIR *stream = opendir(actors.dir);
    const struct dirent *entry;
    while (stream != NULL && (entry = readdir(stream)) != NULL) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        const size_t length = strlen(entry->d_name);
        if (length < sizeof kept || strcmp(entry->d_name + length - (sizeof kept - 1), kept) != 0) {
            sim_fail("%s is left", entry->d_name);
        }
        sim_count("driver: error log of a dead one kept");
        (void)unlinkat(dirfd(stream), entry->d_name, 0);
    }
    if (stream != NULL) {
        closedir(stream);
    }
    if (rmdir(actors.dir) != 0) {
        sim_fail("cannot remove %s", actors.dir);
    }
}

void sim_run(uint64_t seed, bool is_traced)
{
    sim_world_init(seed, is_traced);
    memset(&actors, 0, sizeof actors);
    make_home(seed);
    sim_processes_init();
    sim_handles_init();
    sim_fibers_init();
    sim_agenda_init();
    sim_network_init();
    sim_wire_init();
    sim_driver_invariants_init();
    sim_model_init();
    sim_user_counters_init();
    sim_scenario_write();
    sim_fibers_set_on_turn(sim_scenario_on_turn);
    sim_agenda_add(actors.calm_ns, become_calm, NULL, 0);
    if (!sim_fibers_run(has_published, world.now_ns + PUBLISHING_NS_MAX)) {
        tell_clients();
        sim_fail("the publishers do not finish");
    }
    sim_event("all is published");
    actors.is_publishing_over = true;
    if (!sim_fibers_run(has_read, world.now_ns + READING_NS_MAX)) {
        tell_clients();
        sim_fail("the subscribers do not finish");
    }
    if (!sim_fibers_run(is_settled, world.now_ns + SETTLING_NS_MAX)) {
        tell_counters();
        sim_fail("the drivers keep counters of resources that are gone");
    }
    (void)sim_fibers_run(never, world.now_ns + QUIET_NS); /* an agent may be in the middle of it */
    sim_user_counters_check();
    end_processes();
    remove_home();
    sim_model_check(actors.is_gentle);
    sim_count_many("turns", sim_fibers_turns());
    sim_event("end: %" PRId64 " messages delivered", sim_model_delivered());
    /* Two runs may differ without a differing event: then their generators have drawn a different
     * number of values. */
    sim_hash_bytes(world.rngs, sizeof world.rngs);
}
