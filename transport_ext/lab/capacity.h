/* capacity.h: how much a consumer can take, over time: levels and pauses of the scenario, a factor
 * of noise that stays for noise_ns, and the end of it when it hangs or dies.
 *
 *     bytes in a step = level(t) * factor * step      0 in a pause, after a hang or a death
 *     factor          = max(0.05, 1 + noise * g)      g normal, its own dice for each consumer
 *
 * A pause or a change inside of a step counts from the step's beginning. */
#ifndef RSTI_LAB_CAPACITY_H
#define RSTI_LAB_CAPACITY_H

#include "lab/spec.h"
#include "util/rng.h"

typedef struct rsti_lab_capacity_t {
    const rsti_lab_spec_t *spec;
    int32_t consumer;
    int32_t next_level; /* first record that may be one of ours in the future */
    double level;
    double factor;
    int64_t factor_due_ns;
    int64_t paused_until_ns;
    int64_t next_pause_ns; /* from then on the pauses must be looked at again */
    rsti_rng_t dice;
} rsti_lab_capacity_t;

void rsti_lab_capacity_init(rsti_lab_capacity_t *capacity, const rsti_lab_spec_t *spec,
    int32_t consumer);
/* Bytes per second in the step that begins at now_ns; times do not go back. */
double rsti_lab_capacity_at(rsti_lab_capacity_t *capacity, int64_t now_ns);

#endif
