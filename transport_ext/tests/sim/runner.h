/* runner.h: many seeds, each in a child process. */
#ifndef RSTI_SIM_RUNNER_H
#define RSTI_SIM_RUNNER_H

#include <stdint.h>

typedef struct sim_runner_params_t {
    uint64_t from, count;
    int jobs;
    int failures_max; /* it stops after so many */
} sim_runner_params_t;

/* Exit status: 0 when all runs were clean. */
int sim_run_many(const sim_runner_params_t *params);

#endif
