/* Secrets and shown ids. Must hold: no id, and no key, follows from the ids that were shown. The
 * test computes back each of 10 000 ids as if it were the first number of a generator: that is what
 * gave away the seed of a driver, and with it every key, before ids were hashed. */
#include "tests/check.h"
#include "tests/rng_inverse.h"
#include "util/rng.h"
#include "util/secret.h"

#include <stdlib.h>

#define IDS 10000

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* The attack itself works, so that the tests below can fail. */
TEST(a_generator_is_computed_back)
{
    for (uint64_t seed = 0; seed < 1000; seed++) {
        rsti_rng_t rng;
        rsti_rng_init(&rng, seed * UINT64_C(0x9e3779b97f4a7c15) ^ seed);
        CHECK_EQ(seed_of_first(rsti_rng_next(&rng)), seed * UINT64_C(0x9e3779b97f4a7c15) ^ seed);
    }
}

TEST(nothing_follows_from_shown_ids)
{
    static uint64_t shown[IDS + 1];
    const rsti_secret_t secret = rsti_secret_random();
    rsti_ids_t ids;
    rsti_ids_init(&ids, &secret);
    for (int i = 0; i <= IDS; i++) {
        shown[i] = rsti_ids_next(&ids);
    }
    uint64_t keys[RSTI_PURPOSE_DELAYS + 1][2] = {{secret.words[0], secret.words[1]}};
    for (int purpose = RSTI_PURPOSE_IDS; purpose <= RSTI_PURPOSE_DELAYS; purpose++) {
        rsti_secret_key(&secret, (rsti_purpose_t)purpose, keys[purpose]);
    }
    for (int i = 0; i < IDS; i++) {
        const uint64_t seed = seed_of_first(shown[i]);
        rsti_rng_t rng, other;
        rsti_rng_init(&rng, seed);
        rsti_rng_init(&other, ~seed);
        CHECK_EQ(rsti_rng_next(&rng), shown[i]); /* as the attack must find */
        for (int n = 0; n < 4; n++) {
            const uint64_t guess = rsti_rng_next(&rng), key = rsti_rng_next(&other);
            CHECK(guess != shown[i + 1] && (uint32_t)guess != (uint32_t)shown[i + 1]);
            for (int purpose = 0; purpose <= RSTI_PURPOSE_DELAYS; purpose++) {
                for (int word = 0; word < 2; word++) {
                    const uint64_t held = keys[purpose][word];
                    CHECK(held != seed && held != ~seed && held != guess && held != key);
                    CHECK(held != shown[i]);
                }
            }
        }
    }
    qsort(shown, IDS, sizeof shown[0], compare);
    for (int i = 1; i < IDS; i++) {
        CHECK(shown[i] != shown[i - 1]);
    }
}

TEST(a_seed_repeats_and_another_differs)
{
    const rsti_secret_t one = rsti_secret_of_seed(1), again = rsti_secret_of_seed(1);
    const rsti_secret_t two = rsti_secret_of_seed(2), random = rsti_secret_random();
    rsti_ids_t a, b, c;
    rsti_ids_init(&a, &one);
    rsti_ids_init(&b, &again);
    rsti_ids_init(&c, &two);
    const uint64_t first = rsti_ids_next(&a);
    CHECK_EQ(first, rsti_ids_next(&b));
    CHECK(first != rsti_ids_next(&c));
    CHECK(random.words[0] != random.words[1]);
    uint64_t sender[2], receiver[2];
    rsti_secret_key(&one, RSTI_PURPOSE_SENDER, sender);
    rsti_secret_key(&one, RSTI_PURPOSE_RECEIVER, receiver);
    CHECK(sender[0] != receiver[0] && sender[1] != receiver[1] && sender[0] != sender[1]);
}

CHECK_MAIN(RUN(a_generator_is_computed_back), RUN(nothing_follows_from_shown_ids),
    RUN(a_seed_repeats_and_another_differs))
