/* keyring.c: see keyring.h. */
#include "seal/keyring.h"

#include "concurrent/atomics.h"
#include "util/assert.h"

#include <string.h>

static bool are_same(const rsti_keys_t *one, const rsti_keys_t *other)
{
    return one->count == other->count
        && memcmp(one->keys, other->keys, (size_t)one->count * sizeof one->keys[0]) == 0;
}

void rsti_keyring_set(rsti_keyring_t *ring, const rsti_keys_t *keys)
{
    RST_ASSERT(keys->count > 0 && keys->count <= RSTI_KEYS_MAX);
    const int64_t version = rsti_load_relaxed_i64(&ring->version);
    if (version == 0 || !are_same(&ring->slots[version & 1], keys)) {
        rsti_release_fence(); /* who sees a part of these keys sees the version before them, too */
        rsti_copy_to_shared((uint8_t *)&ring->slots[(version + 1) & 1], keys, sizeof *keys);
        rsti_store_release_i64(&ring->version, version + 1);
    }
}

/* A copy is torn only if two versions came during it; then the look at the version shows that. */
bool rsti_keyring_take(const rsti_keyring_t *ring, int64_t *seen, rsti_keys_t *keys)
{
    int64_t version = rsti_load_acquire_i64(&ring->version);
    if (version == *seen) {
        return false;
    }
    for (;;) {
        rsti_copy_from_shared(keys, (const uint8_t *)&ring->slots[version & 1], sizeof *keys);
        rsti_acquire_fence();
        const int64_t again = rsti_load_acquire_i64(&ring->version);
        if (again == version) {
            break;
        }
        version = again;
    }
    *seen = version;
    return true;
}

uint32_t rsti_keyring_id(const rsti_keyring_t *ring)
{
    int64_t seen = -1;
    rsti_keys_t keys;
    if (ring == NULL || !rsti_keyring_take(ring, &seen, &keys)) {
        return 0;
    }
    const uint32_t id = keys.keys[0].id;
    explicit_bzero(&keys, sizeof keys);
    return id;
}
