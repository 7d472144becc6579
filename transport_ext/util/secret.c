#include "util/secret.h"

#include "util/rng.h"
#include "util/siphash.h"

rsti_secret_t rsti_secret_random(void)
{
    return (rsti_secret_t){{rsti_rng_entropy(), rsti_rng_entropy()}};
}

rsti_secret_t rsti_secret_of_seed(uint64_t seed)
{
    rsti_rng_t rng;
    rsti_rng_init(&rng, seed);
    rsti_secret_t secret;
    secret.words[0] = rsti_rng_next(&rng);
    secret.words[1] = rsti_rng_next(&rng);
    return secret;
}

void rsti_secret_key(const rsti_secret_t *secret, rsti_purpose_t purpose, uint64_t key[2])
{
    for (uint64_t i = 0; i < 2; i++) {
        const uint64_t input[2] = {(uint64_t)purpose, i};
        key[i] = rsti_siphash(secret->words, input, sizeof input);
    }
}

void rsti_ids_init(rsti_ids_t *ids, const rsti_secret_t *secret)
{
    rsti_secret_key(secret, RSTI_PURPOSE_IDS, ids->key);
    ids->count = 0;
}

uint64_t rsti_ids_next(rsti_ids_t *ids)
{
    const uint64_t count = ids->count++;
    return rsti_siphash(ids->key, &count, sizeof count);
}
