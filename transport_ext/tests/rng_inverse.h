/* rng_inverse.h: computes back what a generator of util/rng.h began with, from its first number.
 * Both steps are bijections, so it takes no search. Tests try it on numbers that strangers see. */
#ifndef RSTI_TESTS_RNG_INVERSE_H
#define RSTI_TESTS_RNG_INVERSE_H

#include <stdint.h>

/* x in x * odd = product (mod 2^64), by Newton's iteration. */
static inline uint64_t undo_product(uint64_t product, uint64_t odd)
{
    uint64_t inverse = odd;
    for (int i = 0; i < 6; i++) {
        inverse *= 2 - odd * inverse;
    }
    return product * inverse;
}

/* x in x ^ (x >> bits) = mixed. */
static inline uint64_t undo_shift(uint64_t mixed, int bits)
{
    uint64_t value = mixed;
    for (int done = bits; done < 64; done += bits) {
        value = mixed ^ (value >> bits);
    }
    return value;
}

/* The seed of the generator whose first number this is. */
static inline uint64_t seed_of_first(uint64_t number)
{
    const uint64_t turned = undo_product(number, 9);
    const uint64_t word = undo_product(turned >> 7 | turned << 57, 5); /* the second of the state */
    uint64_t z = undo_product(undo_shift(word, 31), UINT64_C(0x94d049bb133111eb));
    z = undo_product(undo_shift(z, 27), UINT64_C(0xbf58476d1ce4e5b9));
    return undo_shift(z, 30) - 2 * UINT64_C(0x9e3779b97f4a7c15);
}

#endif
