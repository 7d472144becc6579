#include "tests/sim/scarcity.h"

#include "tests/sim/agenda.h"
#include "tests/sim/rolls.h"

#include <string.h>

#define WORLDS 0.1
#define CALLS_MAX 12 /* of that kind, before the first one that fails */

/* One process has too little of one thing at a time. */
typedef struct spell_t {
    const sim_process_t *process; /* NULL: none */
    sim_scarce_t kind;
    int64_t calls_before;
    int64_t calls_failing;
} spell_t;

static spell_t spell;
static bool has_struck;

static const char *const names[SCARCE_KINDS] = {"fault: no memory", "fault: no storage",
    "fault: no descriptor", "fault: no mapping", "fault: a file stays"};

static int64_t roll(int64_t least, int64_t most)
{
    return sim_between(DICE_MISHAP, least, most);
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
    spell = (spell_t){
        .process = driver->process,
        .kind = (sim_scarce_t)kind,
        .calls_before = roll(0, 2) == 0 ? 0 : roll(0, CALLS_MAX),
        .calls_failing = INT64_C(1) << roll(0, 3),
    };
}

bool sim_scarcity_strikes(sim_scarce_t kind)
{
    if (spell.process != sim_process_current() || spell.kind != kind || spell.calls_failing == 0
        || world.is_calm || spell.calls_before-- > 0) {
        return false;
    }
    spell.calls_failing--;
    has_struck = true;
    sim_count(names[kind]);
    sim_event("%s: %s", spell.process->name, names[kind]);
    return true;
}

void sim_scarcity_judge(const char *error_text)
{
    static const char *const reasons[] = {"cannot allocate", "Cannot allocate memory", "usable in",
        "File too large", "Too many open files"};
    if (rst_last_error_code() == 0 || error_text[0] == '\0') {
        sim_fail("a command is refused without a reason");
    }
    for (size_t i = 0; has_struck && i < sizeof reasons / sizeof reasons[0]; i++) {
        if (strstr(error_text, reasons[i]) != NULL) {
            sim_count("client: told of scarcity");
        }
    }
}

/* Some count on an answer of a certain kind to each of their commands. */
static bool has_strict_commands(void)
{
    return cast.part_count > 0 || cast.bystander_count > 0 || cast.clients[0].claim_deaths > 0;
}

void sim_roll_scarcity(void)
{
    if (!sim_chance(DICE_MISHAP, WORLDS) || has_strict_commands()) {
        return;
    }
    for (int64_t i = roll(1, 4); i > 0; i--) {
        sim_driver_t *driver = &cast.drivers[roll(0, cast.driver_count - 1)];
        /* Most commands come soon after the start. */
        const int64_t at_ns = SIM_S + (roll(0, 1) == 0 ? 0 : roll(0, cast.calm_ns - SIM_S));
        sim_agenda_add(at_ns, begin, driver, roll(0, SCARCE_KINDS - 1));
    }
    sim_count("run: scarcity");
}
