/* main.c: the simulator's command line.
 *
 *   sim --seed N [--quiet]     one run with its chronicle; prints the hash of all events
 *   sim --seeds N [--from M]   N runs, each in a process of its own, spread over the cores; prints
 *                              what failed and how to see it again, and what the runs exercised
 *
 * --keys always|never: which of the runs have keys; else the seed says it.
 */
#include "tests/sim/actors.h"
#include "tests/sim/keys.h"
#include "tests/sim/runner.h"
#include "tests/sim/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int usage(void)
{
    fprintf(stderr,
        "usage: sim --seed N [--quiet] | sim --seeds N [--from M] [--jobs J] "
        "[--stop-at F]; both with [--keys always|never]\n");
    return 2;
}

static int play_one(uint64_t seed, bool is_quiet)
{
    sim_run(seed, !is_quiet);
    printf("seed %" PRIu64 ": %" PRIu64 " events, hash %016" PRIx64 "\n", seed, world.event_count,
        world.hash);
    return 0;
}

int main(int argc, char **argv)
{
    sim_runner_params_t params = {.from = 1, .jobs = 2, .failures_max = 20};
    uint64_t seed = 0;
    bool has_seed = false, is_quiet = false;
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i];
        if (strcmp(name, "--quiet") == 0) {
            is_quiet = true;
            continue;
        }
        if (i + 1 == argc) {
            return usage();
        }
        const char *text = argv[++i];
        const uint64_t value = strtoull(text, NULL, 0);
        if (strcmp(name, "--seed") == 0) {
            seed = value;
            has_seed = true;
        } else if (strcmp(name, "--seeds") == 0) {
            params.count = value;
        } else if (strcmp(name, "--from") == 0) {
            params.from = value;
        } else if (strcmp(name, "--jobs") == 0) {
            params.jobs = (int)value;
        } else if (strcmp(name, "--stop-at") == 0) {
            params.failures_max = (int)value;
        } else if (strcmp(name, "--keys") == 0 && strcmp(text, "always") == 0) {
            sim_keys_choose(SIM_KEYS_ALWAYS);
        } else if (strcmp(name, "--keys") == 0 && strcmp(text, "never") == 0) {
            sim_keys_choose(SIM_KEYS_NEVER);
        } else {
            return usage();
        }
    }
    if (has_seed) {
        return play_one(seed, is_quiet);
    }
    return params.count > 0 ? sim_run_many(&params) : usage();
}
