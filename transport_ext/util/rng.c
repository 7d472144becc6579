#include "util/rng.h"

#include "util/bits.h"
#include "util/clock.h"
#include "util/siphash.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <unistd.h>

static uint64_t splitmix64(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t rotate_left(uint64_t value, int bits)
{
    return (value << bits) | (value >> (64 - bits));
}

void rsti_rng_init(rsti_rng_t *rng, uint64_t seed)
{
    uint64_t state = seed;
    for (int i = 0; i < 4; i++) {
        rng->state[i] = splitmix64(&state);
    }
}

uint64_t rsti_rng_next(rsti_rng_t *rng)
{
    uint64_t *s = rng->state;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

double rsti_rng_unit(rsti_rng_t *rng)
{
    return (double)(rsti_rng_next(rng) >> 11) * 0x1.0p-53;
}

uint64_t rsti_rng_below(rsti_rng_t *rng, uint64_t limit)
{
    RST_ASSERT(limit >= 1);
    /* The lowest 2^64 mod limit values are drawn again, so that all remainders are equally likely.
     * There are fewer of them than limit: nearly always one division is enough. */
    uint64_t value = rsti_rng_next(rng);
    if (value < limit) {
        const uint64_t uneven = (UINT64_C(0) - limit) % limit;
        while (value < uneven) {
            value = rsti_rng_next(rng);
        }
    }
    return value % limit;
}

/* Without getrandom (in a sandbox): the kernel gives each program 16 random bytes when it starts.
 * The time, the thread's stack and a count make each result another one. */
static uint64_t entropy_of_process(void)
{
    static _Thread_local int64_t count;
    const void *random_bytes = (const void *)(uintptr_t)getauxval(AT_RANDOM);
    const rsti_clock_t clock = rsti_clock_system();
    uint64_t key[2] = {0};
    const int64_t input[] = {rsti_clock_nano_time(&clock), rsti_clock_epoch_ms(&clock), getpid(),
        (int64_t)(uintptr_t)&key, ++count};
    if (random_bytes != NULL) {
        memcpy(key, random_bytes, sizeof key);
    }
    return rsti_siphash(key, input, sizeof input);
}

uint64_t rsti_rng_entropy(void)
{
    uint64_t bits = 0;
    ssize_t got;
    do {
        got = getrandom(&bits, sizeof bits, 0);
    } while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof bits ? bits : entropy_of_process();
}
