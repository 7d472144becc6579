/* refusal.h: what a socket says of datagrams that it does not open. The answer is plain, shorter
 * than what it answers, and a hint for people: anybody can forge it, and it changes nothing else.
 *
 *      0  frame header   i32 RSTI_REFUSAL_BYTES, u8 version 0, u8 0, i16 RSTI_SEALED_TYPE
 *      8  key id         u32, of the key that the sender of the refusal seals with; 0: none
 *     12  zero           20 bytes
 *
 * Law: at most one answer for each RSTI_REFUSAL_INTERVAL_NS and socket, none to a refusal, none
 * that is longer than its cause. Numbers are little-endian. Pure. */
#ifndef RSTI_SEAL_REFUSAL_H
#define RSTI_SEAL_REFUSAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RSTI_REFUSAL_BYTES 32
#define RSTI_REFUSAL_INTERVAL_NS INT64_C(100000000)

typedef enum rsti_refused_t {
    RSTI_REFUSED_NOT,
    RSTI_REFUSED_PLAIN,  /* a plain datagram came to a socket with keys */
    RSTI_REFUSED_KEY,    /* it is sealed with another key */
    RSTI_REFUSED_SEALED, /* a sealed one came to a plain socket */
    RSTI_REFUSED_FORGED, /* it claims a key of ours, and was altered or forged */
    RSTI_REFUSED_SOURCE, /* its source is not among those that are taken (the driver's agents) */
    RSTI_REFUSED_BY_PEER /* a refusal came */
} rsti_refused_t;

typedef struct rsti_refusal_t {
    rsti_refused_t why;
    uint32_t key_id; /* of the refused datagram, or of a peer that refuses; 0: none */
} rsti_refusal_t;

void rsti_refusal_encode(uint32_t key_id, uint8_t data[RSTI_REFUSAL_BYTES]);
/* Untrusted. Whether it is a refusal. */
bool rsti_refusal_decode(uint32_t *key_id, const uint8_t *data, size_t length);

#endif
