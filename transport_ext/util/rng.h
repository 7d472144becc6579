/* rng.h: seeded generator (xoshiro256**, seeded by splitmix64). Code that needs random numbers
 * takes one as an argument. Who sees its numbers can compute its seed and all other numbers:
 * secrets and ids come from secret.h. */
#ifndef RSTI_UTIL_RNG_H
#define RSTI_UTIL_RNG_H

#include <stdint.h>

typedef struct rsti_rng_t {
    uint64_t state[4];
} rsti_rng_t;

void rsti_rng_init(rsti_rng_t *rng, uint64_t seed);
uint64_t rsti_rng_next(rsti_rng_t *rng);
double rsti_rng_unit(rsti_rng_t *rng); /* [0, 1) */
uint64_t rsti_rng_below(rsti_rng_t *rng, uint64_t limit); /* [0, limit), limit >= 1 */
uint64_t rsti_rng_entropy(void); /* 64 secret bits from the operating system (getrandom) */

#endif
