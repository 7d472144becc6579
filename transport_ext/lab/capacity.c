/* capacity.c: see the header for the law. */
#include "lab/capacity.h"

#include "util/clock.h"
#include "util/int_math.h"

#include <math.h>

#define FACTOR_LEAST 0.05
#define TWO_PI 6.283185307179586

void rsti_lab_capacity_init(rsti_lab_capacity_t *capacity, const rsti_lab_spec_t *spec,
    int32_t consumer)
{
    *capacity = (rsti_lab_capacity_t){.spec = spec, .consumer = consumer, .factor = 1.0};
    /* Own random numbers for each consumer: a further receiver does not change the others. */
    rsti_rng_init(&capacity->dice,
        (uint64_t)spec->run->seed * UINT64_C(0x9E3779B97F4A7C15) + (uint64_t)consumer + 1);
}

static double normal(rsti_rng_t *dice)
{
    const double radius = sqrt(-2.0 * log(1.0 - rsti_rng_unit(dice)));
    return radius * cos(TWO_PI * rsti_rng_unit(dice));
}

static void follow_levels(rsti_lab_capacity_t *capacity, int64_t now_ns)
{
    const rsti_lab_spec_t *spec = capacity->spec;
    while (capacity->next_level < spec->counts[RSTI_LAB_LEVEL]) {
        const rsti_lab_level_spec_t *level = &spec->level[capacity->next_level];
        if ((int32_t)level->consumer == capacity->consumer) {
            if (level->at_ns > (double)now_ns) {
                return;
            }
            capacity->level = level->bytes_per_s;
        }
        capacity->next_level++;
    }
}

/* The end of the current pauses, and the time of the next check. */
static void follow_pauses(rsti_lab_capacity_t *capacity, int64_t now_ns)
{
    const rsti_lab_spec_t *spec = capacity->spec;
    capacity->next_pause_ns = RSTI_NO_DEADLINE;
    for (int32_t i = 0; i < spec->counts[RSTI_LAB_PAUSE]; i++) {
        const rsti_lab_pause_spec_t *pause = &spec->pause[i];
        const int64_t at_ns = (int64_t)pause->at_ns;
        if ((int32_t)pause->consumer != capacity->consumer) {
            continue;
        }
        if (at_ns > now_ns) {
            capacity->next_pause_ns = rsti_min_i64(capacity->next_pause_ns, at_ns);
        } else {
            capacity->paused_until_ns = rsti_max_i64(capacity->paused_until_ns,
                at_ns + (int64_t)pause->length_ns);
        }
    }
}

double rsti_lab_capacity_at(rsti_lab_capacity_t *capacity, int64_t now_ns)
{
    const rsti_lab_consumer_spec_t *consumer = &capacity->spec->consumer[capacity->consumer];
    follow_levels(capacity, now_ns);
    if (now_ns >= capacity->next_pause_ns) {
        follow_pauses(capacity, now_ns);
    }
    if (now_ns >= capacity->factor_due_ns && consumer->noise > 0) {
        const double factor = 1.0 + consumer->noise * normal(&capacity->dice);
        capacity->factor = factor > FACTOR_LEAST ? factor : FACTOR_LEAST;
        capacity->factor_due_ns += (int64_t)consumer->noise_ns;
    }
    const double at_ns = (double)now_ns;
    if (now_ns < capacity->paused_until_ns || at_ns >= consumer->hangs_ns
        || at_ns >= consumer->dies_ns) {
        return 0;
    }
    return capacity->level * capacity->factor;
}
