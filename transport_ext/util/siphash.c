/* siphash.c: see siphash.h. Source: J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast
 * short-input PRF", 2012. */
#include "util/siphash.h"

typedef struct state_t {
    uint64_t a, b, c, d;
} state_t;

static uint64_t rotate(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

static void mix(state_t *s, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        s->a += s->b;
        s->b = rotate(s->b, 13) ^ s->a;
        s->a = rotate(s->a, 32);
        s->c += s->d;
        s->d = rotate(s->d, 16) ^ s->c;
        s->a += s->d;
        s->d = rotate(s->d, 21) ^ s->a;
        s->c += s->b;
        s->b = rotate(s->b, 17) ^ s->c;
        s->c = rotate(s->c, 32);
    }
}

/* Up to eight bytes, little-endian. */
static uint64_t word_of(const uint8_t *bytes, size_t length)
{
    uint64_t word = 0;
    for (size_t i = 0; i < length; i++) {
        word |= (uint64_t)bytes[i] << (8 * i);
    }
    return word;
}

uint64_t rsti_siphash(const uint64_t key[2], const void *data, size_t length)
{
    const uint8_t *bytes = data;
    state_t s = {
        .a = key[0] ^ 0x736f6d6570736575u,
        .b = key[1] ^ 0x646f72616e646f6du,
        .c = key[0] ^ 0x6c7967656e657261u,
        .d = key[1] ^ 0x7465646279746573u,
    };
    const size_t whole = length - length % 8;
    for (size_t i = 0; i < whole; i += 8) {
        const uint64_t word = word_of(bytes + i, 8);
        s.d ^= word;
        mix(&s, 2);
        s.a ^= word;
    }
    const uint64_t last = word_of(bytes + whole, length % 8) | (uint64_t)length << 56;
    s.d ^= last;
    mix(&s, 2);
    s.a ^= last;
    s.c ^= 0xff;
    mix(&s, 4);
    return s.a ^ s.b ^ s.c ^ s.d;
}
