/* feedback_delay.h: how long a receiver waits before it asks for missing data. Unicast: constants.
 * Group: random (docs/reference/aeron/wire.md 9.2; the law is in feedback_delay.c). Pure. */
#ifndef RSTI_LOSS_FEEDBACK_DELAY_H
#define RSTI_LOSS_FEEDBACK_DELAY_H

#include "util/rng.h"

#include <stdbool.h>
#include <stdint.h>

/* The wait before the first NAK and between NAKs. */
typedef struct rsti_feedback_delay_t {
    bool is_group;
    int64_t delay_ns;
    int64_t retry_ns;
    double max_backoff_ns; /* group */
    double group_size;
} rsti_feedback_delay_t;

void rsti_feedback_delay_unicast(rsti_feedback_delay_t *delay, int64_t delay_ns, int64_t ratio);
void rsti_feedback_delay_group(rsti_feedback_delay_t *delay, int64_t max_backoff_ns,
    double group_size);
int64_t rsti_feedback_delay_next(const rsti_feedback_delay_t *delay, bool is_retry,
    rsti_rng_t *rng);
/* The group formula alone, u in [0, 1). */
int64_t rsti_feedback_delay_at(const rsti_feedback_delay_t *delay, double u);

#endif
