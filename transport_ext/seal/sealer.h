/* sealer.h: seals what one socket sends. The counter rises with each datagram, a resend included,
 * so no nonce comes twice. Its limit, 2^64, is out of reach. Owner: the agent that sends. */
#ifndef RSTI_SEAL_SEALER_H
#define RSTI_SEAL_SEALER_H

#include "seal/sealed.h"

typedef struct rsti_sealer_t {
    rsti_aead_t aead;
    uint32_t key_id;
    uint8_t salt[RSTI_SEALED_SALT];
    uint64_t counter;
} rsti_sealer_t;

typedef struct rsti_sealer_params_t {
    const rsti_key_t *key;
    rsti_aead_kind_t kind;
    const uint8_t *salt; /* RSTI_SEALED_SALT random bytes, of no other socket */
} rsti_sealer_params_t;

/* 0, or what rsti_aead_init and rsti_hkdf return. */
int rsti_sealer_init(rsti_sealer_t *sealer, const rsti_sealer_params_t *params);
void rsti_sealer_fini(rsti_sealer_t *sealer);
/* From now on with another key of the group. The salt stays: the AEAD key is another one. */
int rsti_sealer_set_key(rsti_sealer_t *sealer, const rsti_key_t *key);
/* Writes length + RSTI_SEALED_OVERHEAD bytes to out, which does not overlap frame. Returns them; 0:
 * libcrypto failed, and nothing may be sent. length is above 0. */
size_t rsti_sealer_seal(rsti_sealer_t *sealer, const uint8_t *frame, size_t length, uint8_t *out);

#endif
