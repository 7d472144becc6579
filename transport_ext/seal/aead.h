/* aead.h: authenticated encryption (AES-128-GCM, ChaCha20-Poly1305) by libcrypto, behind a small
 * table. Both add RSTI_AEAD_TAG bytes. A key and a nonce must never seal twice: seal/sealer.h sees
 * to that.
 *
 * Without libcrypto's headers rstream builds all the same, and rsti_aead_init fails and says what
 * to install. A context belongs to one thread. */
#ifndef RSTI_SEAL_AEAD_H
#define RSTI_SEAL_AEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RSTI_AEAD_KEY_MAX 32
#define RSTI_AEAD_NONCE 12
#define RSTI_AEAD_TAG 16

typedef enum rsti_aead_kind_t {
    RSTI_AEAD_NONE,
    RSTI_AEAD_AES_128_GCM = 1,
    RSTI_AEAD_CHACHA20_POLY1305 = 2,
} rsti_aead_kind_t;

typedef struct rsti_aead_t {
    void *context; /* libcrypto's; NULL: not initialised */
    rsti_aead_kind_t kind;
    bool seals; /* else it opens */
} rsti_aead_t;

/* Whether rstream was built with libcrypto. */
bool rsti_aead_is_built(void);
bool rsti_aead_is_known(uint8_t kind);
/* The faster one on this processor: AES where it has instructions for that. */
rsti_aead_kind_t rsti_aead_best(void);
/* Bytes of its key. */
size_t rsti_aead_key_length(rsti_aead_kind_t kind);

/* 0; -RST_ENOTSUP: not built; -RST_ENOMEM. */
int rsti_aead_init(rsti_aead_t *aead, rsti_aead_kind_t kind, bool seals);
void rsti_aead_fini(rsti_aead_t *aead);
/* rsti_aead_key_length(kind) bytes. False: libcrypto refuses them. */
bool rsti_aead_set_key(rsti_aead_t *aead, const uint8_t *key);

/* One call: known is authenticated and not encrypted. text and out are the same bytes, or do not
 * overlap. */
typedef struct rsti_aead_call_t {
    const uint8_t *nonce; /* RSTI_AEAD_NONCE bytes */
    const uint8_t *known;
    size_t known_length;
    const uint8_t *text;
    size_t length; /* of text, without the tag */
    uint8_t *out; /* length bytes; sealing writes the tag behind them */
} rsti_aead_call_t;

/* False: libcrypto failed, and out is undefined. */
bool rsti_aead_seal(rsti_aead_t *aead, const rsti_aead_call_t *call);
/* tag: RSTI_AEAD_TAG bytes. False: forged or altered, and out is undefined. */
bool rsti_aead_open(rsti_aead_t *aead, const rsti_aead_call_t *call, const uint8_t *tag);

/* A hash that is used again. libcrypto 3.0 takes 112 bytes for each of its uses, and gives them
 * back. Zero: not made. */
typedef struct rsti_hash_t {
    void *context; /* libcrypto's */
} rsti_hash_t;

void rsti_hash_fini(rsti_hash_t *hash);

/* HKDF with SHA-256 (RFC 5869). The salt has at most RSTI_HKDF_SALT_MAX bytes, the result at most
 * RSTI_HKDF_MAX. 0, -RST_ENOTSUP or -RST_ESYS.
 *
 * libcrypto's own HKDF looks up its parts at each call: 6 microseconds, of 7 that a stranger's
 * datagram cost. So the two lines of HMAC are here, over libcrypto's SHA-256. */
#define RSTI_HKDF_SALT_MAX 64
#define RSTI_HKDF_MAX (255 * 32)
typedef struct rsti_hkdf_t {
    rsti_hash_t *hash; /* NULL: one is made for the call */
    const uint8_t *secret, *salt, *info;
    size_t secret_length, salt_length, info_length;
} rsti_hkdf_t;
int rsti_hkdf(const rsti_hkdf_t *from, uint8_t *out, size_t length);

#endif
