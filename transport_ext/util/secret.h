/* secret.h: what a driver keeps to itself, and what it shows instead. A secret is 16 random bytes.
 * They are used only as the key of a hash (siphash.h):
 *
 *     key of a purpose = H(secret; purpose, 0), H(secret; purpose, 1)
 *     n-th shown id    = H(key of the ids; n)
 *
 * So nobody can compute a key, or an id that is not shown yet, from all the ids that were shown. A
 * generator of rng.h can be computed back from what it returns: use it for delays and for faults,
 * never for a number that a stranger sees. */
#ifndef RSTI_UTIL_SECRET_H
#define RSTI_UTIL_SECRET_H

#include <stdint.h>

typedef struct rsti_secret_t {
    uint64_t words[2];
} rsti_secret_t;

typedef enum rsti_purpose_t {
    RSTI_PURPOSE_IDS = 1,  /* session ids, initial term ids, receiver ids */
    RSTI_PURPOSE_RECEIVER, /* stamps that ask a publisher (receiver/candidates.h) */
    RSTI_PURPOSE_SENDER,   /* stamps that ask a reader (sender/challenge.h) */
    RSTI_PURPOSE_PROVEN,   /* places of proven hosts (sender/proven.h) */
    RSTI_PURPOSE_NAMES,    /* stamps that ask a driver that tells names (base/name_gossip.h) */
    RSTI_PURPOSE_DELAYS    /* seed of the delays of NAKs and status messages */
} rsti_purpose_t;

typedef struct rsti_ids_t {
    uint64_t key[2];
    uint64_t count;
} rsti_ids_t;

rsti_secret_t rsti_secret_random(void); /* from the operating system */
/* Not secret: for tests and simulators, whose runs repeat. */
rsti_secret_t rsti_secret_of_seed(uint64_t seed);
void rsti_secret_key(const rsti_secret_t *secret, rsti_purpose_t purpose, uint64_t key[2]);
void rsti_ids_init(rsti_ids_t *ids, const rsti_secret_t *secret);
uint64_t rsti_ids_next(rsti_ids_t *ids);

#endif
