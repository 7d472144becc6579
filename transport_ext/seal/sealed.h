/* sealed.h: a sealed datagram, as it is on the wire (decision 109). Pure.
 *
 *      0  frame header   i32 length of the datagram, u8 version 0, u8 kind of aead.h, i16 type
 *      8  key id         u32, of the group's key
 *     12  salt           12 bytes, drawn for the socket that sends it
 *     24  counter        u64, of that socket, from 0 on
 *     32  shown          the first RSTI_SEALED_SHOWN bytes of the frame: its header, session,
 *                        stream, term id and offset
 *     56  hidden         the rest of the datagram, encrypted
 *      …  tag            RSTI_AEAD_TAG bytes
 *
 *     AEAD key = HKDF-SHA256(secret of the group; salt; RSTI_SEALED_INFO, kind)
 *     nonce    = 0 (4 bytes), counter      known = all bytes before hidden
 *
 * Numbers are little-endian. Each socket has a salt of its own, so no two of them have the same
 * AEAD key, and a counter never comes twice with one. The salt is in each datagram, not in the
 * first one alone: every datagram can be opened by itself, whatever was lost before. */
#ifndef RSTI_SEAL_SEALED_H
#define RSTI_SEAL_SEALED_H

#include "seal/aead.h"

#define RSTI_SEALED_TYPE 0x5352
#define RSTI_SEALED_SALT 12
#define RSTI_SEALED_HEADER 32
#define RSTI_SEALED_SHOWN 24
#define RSTI_SEALED_OVERHEAD (RSTI_SEALED_HEADER + RSTI_AEAD_TAG)
#define RSTI_SEALED_INFO "rstream datagram 1"
#define RSTI_KEY_BYTES 32

typedef struct rsti_key_t {
    uint32_t id; /* follows from the secret */
    uint8_t secret[RSTI_KEY_BYTES];
} rsti_key_t;

/* Computes the id. 0, or what rsti_hkdf returns. */
int rsti_key_make(rsti_key_t *key, const uint8_t *secret);

typedef struct rsti_sealed_t {
    uint8_t kind;
    uint32_t key_id;
    const uint8_t *salt;
    uint64_t counter;
} rsti_sealed_t;

void rsti_sealed_encode(const rsti_sealed_t *sealed, size_t length, uint8_t *data);
/* Whether a datagram claims to be sealed: others are plain. */
bool rsti_sealed_is_claimed(const uint8_t *data, size_t length);
/* Untrusted. False: too short, or contradicts itself. salt points into data. */
bool rsti_sealed_decode(rsti_sealed_t *sealed, const uint8_t *data, size_t length);

/* Bytes of a datagram of so many bytes that are shown. */
static inline size_t rsti_sealed_shown(size_t length)
{
    return length < RSTI_SEALED_SHOWN ? length : RSTI_SEALED_SHOWN;
}

void rsti_sealed_nonce(uint64_t counter, uint8_t nonce[RSTI_AEAD_NONCE]);
/* Gives aead the key that this group's key makes of a salt. hash: of rsti_hkdf_t. 0, or what
 * rsti_hkdf returns. */
int rsti_sealed_key(rsti_aead_t *aead, const rsti_key_t *key, const uint8_t *salt,
    rsti_hash_t *hash);

#endif
