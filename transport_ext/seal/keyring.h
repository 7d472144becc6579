/* keyring.h: the keys of a group of streams, shared by the sockets that use them. Written by: the
 * conductor. Each socket's agent takes a copy when the version has changed. A ring outlives its
 * sockets. */
#ifndef RSTI_SEAL_KEYRING_H
#define RSTI_SEAL_KEYRING_H

#include "seal/sealed.h"

#define RSTI_KEYS_MAX 2 /* valid at once: rotation without a gap */

typedef struct rsti_keys_t {
    rsti_key_t keys[RSTI_KEYS_MAX]; /* the first one seals */
    int32_t count;
} rsti_keys_t;

typedef struct rsti_keyring_t {
    int64_t version; /* atomic; 0: no keys yet. Keys of version v are in slots[v & 1] */
    rsti_keys_t slots[2];
} rsti_keyring_t;

/* Conductor. keys: 1 to RSTI_KEYS_MAX of them. Keys that are the same change nothing. */
void rsti_keyring_set(rsti_keyring_t *ring, const rsti_keys_t *keys);
/* Any agent. True: they are not of version *seen any more, and *keys and *seen are new. */
bool rsti_keyring_take(const rsti_keyring_t *ring, int64_t *seen, rsti_keys_t *keys);
/* Any agent. The id of the key that seals; 0: ring is NULL. */
uint32_t rsti_keyring_id(const rsti_keyring_t *ring);

#endif
