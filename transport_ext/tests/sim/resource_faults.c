#include "tests/sim/resource_faults.h"

#include "tests/sim/agenda.h"
#include "tests/sim/generator.h"

#include <string.h>

#define WORLDS 0.1
#define CALLS_MAX 12 /* of that kind, before the first failing one */

/* At any time one process lacks one kind of resource. */
typedef struct shortage_t {
    const sim_process_t *process; /* NULL: none */
    sim_resource_t kind;
    int64_t calls_before;
    int64_t calls_failing;
} shortage_t;

static shortage_t shortage;
static bool has_failed_call;

static const char *const names[RESOURCE_KINDS] = {"fault: no memory", "fault: no storage",
    "fault: no descriptor", "fault: no mapping", "fault: a file stays"};

static int64_t draw(int64_t least, int64_t most)
{
    return sim_between(RNG_FAULTS, least, most);
}

static void begin(void *arg, int64_t kind)
{
    const sim_driver_t *driver = arg;
    if (world.is_calm) {
        return;
    }
    if (driver->driver == NULL || !driver->is_serving) {
        sim_agenda_add(world.now_ns + SIM_MS / 4, begin, arg, kind);
        return;
    }
    shortage = (shortage_t){
        .process = driver->process,
        .kind = (sim_resource_t)kind,
        .calls_before = draw(0, 2) == 0 ? 0 : draw(0, CALLS_MAX),
        .calls_failing = INT64_C(1) << draw(0, 3),
    };
}

bool sim_resource_fails(sim_resource_t kind)
{
    if (shortage.process != sim_process_current() || shortage.kind != kind
        || shortage.calls_failing == 0 || world.is_calm || shortage.calls_before-- > 0) {
        return false;
    }
    shortage.calls_failing--;
    has_failed_call = true;
    sim_count(names[kind]);
    sim_event("%s: %s", shortage.process->name, names[kind]);
    return true;
}

void sim_resource_check_refusal(const char *error_text)
{
    static const char *const reasons[] = {"cannot allocate", "Cannot allocate memory", "usable in",
        "File too large", "Too many open files"};
    if (rst_last_error_code() == 0 || error_text[0] == '\0') {
        sim_fail("a command is refused without a reason");
    }
    for (size_t i = 0; has_failed_call && i < sizeof reasons / sizeof reasons[0]; i++) {
        if (strstr(error_text, reasons[i]) != NULL) {
            sim_count("client: told of a missing resource");
        }
    }
}

/* Some roles require a certain answer to each of their commands. */
static bool has_strict_commands(void)
{
    return actors.part_count > 0 || actors.side_role_count > 0
        || actors.clients[0].claim_deaths > 0;
}

void sim_generate_resource_faults(void)
{
    if (!sim_chance(RNG_FAULTS, WORLDS) || has_strict_commands()) {
        return;
    }
    for (int64_t i = draw(1, 4); i > 0; i--) {
        sim_driver_t *driver = &actors.drivers[draw(0, actors.driver_count - 1)];
        /* Most commands come soon after the start. */
        const int64_t at_ns = SIM_S + (draw(0, 1) == 0 ? 0 : draw(0, actors.calm_ns - SIM_S));
        sim_agenda_add(at_ns, begin, driver, draw(0, RESOURCE_KINDS - 1));
    }
    sim_count("run: resource faults");
}
