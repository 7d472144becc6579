#include "tests/sim/process.h"

#include "tests/sim/fibers.h"
#include "tests/sim/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static sim_process_t processes[SIM_PROCESSES_MAX];
static int32_t process_count;

void sim_processes_init(void)
{
    process_count = 0;
    (void)sim_process_start("simulator", -1);
}

sim_process_t *sim_process_start(const char *name, int32_t host)
{
    if (process_count == SIM_PROCESSES_MAX) {
        sim_fail("more than %d processes", SIM_PROCESSES_MAX);
    }
    sim_process_t *process = &processes[process_count];
    *process = (sim_process_t){.id = process_count, .host = host, .is_alive = true};
    snprintf(process->name, sizeof process->name, "%s", name);
    process_count++;
    return process;
}

void sim_process_kill(sim_process_t *process)
{
    sim_event("%s is killed", process->name);
    process->is_alive = false;
    sim_fibers_drop(process);
    sim_network_forget_process(process->id);
    sim_handles_close_all(process->id);
    sim_memory_free_all(process->id);
}

void sim_process_exit(sim_process_t *process)
{
    char held[256];
    const int64_t blocks = sim_memory_held(process->id);
    if (blocks != 0) {
        sim_fail("%s ended and left %" PRId64 " blocks of memory", process->name, blocks);
    }
    if (sim_handles_held(process->id, held, sizeof held) != 0) {
        sim_fail("%s ended and left open: %s", process->name, held);
    }
    process->is_alive = false;
    sim_network_forget_process(process->id);
    sim_event("%s ended", process->name);
}

sim_process_t *sim_process_current(void)
{
    const sim_fiber_t *fiber = sim_fiber_current();
    return fiber == NULL ? &processes[0] : fiber->process;
}
