/* capacity.h: how much a consumer can take, over time. The scenario gives levels and pauses. A
 * factor of noise stays the same for noise_ns. A consumer that hangs or dies takes nothing more.
 *
 *     bytes in a step = level(t) * factor * step      0 in a pause, after a hang or a death
 *     factor          = max(0.05, 1 + noise * g)      g normal, own random numbers per consumer
 *
 * A pause or a change inside of a step counts from the step's beginning. */
#ifndef RSTI_LAB_CAPACITY_H
#define RSTI_LAB_CAPACITY_H

#include "lab/spec.h"
#include "util/rng.h"

typedef struct rsti_lab_capacity_t {
    const rsti_lab_spec_t *spec;
    int32_t consumer;
    int32_t next_level; /* first later record that may be for this consumer */
    double level;
    double factor;
    int64_t factor_due_ns;
    int64_t paused_until_ns;
    int64_t next_pause_ns; /* when the pauses must be checked again */
    rsti_rng_t dice;
} rsti_lab_capacity_t;

void rsti_lab_capacity_init(rsti_lab_capacity_t *capacity, const rsti_lab_spec_t *spec,
    int32_t consumer);
/* Bytes per second in the step that begins at now_ns, which must not go back. */
double rsti_lab_capacity_at(rsti_lab_capacity_t *capacity, int64_t now_ns);

#endif
