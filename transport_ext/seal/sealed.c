/* sealed.c: see sealed.h. */
#include "seal/sealed.h"

#include "util/bits.h"
#include "util/error.h"

#include <string.h>

#define ID_INFO "rstream key id"

static int derive(const rsti_key_t *key, const rsti_hkdf_t *rest, uint8_t *out, size_t length)
{
    rsti_hkdf_t from = *rest;
    from.secret = key->secret;
    from.secret_length = sizeof key->secret;
    return rsti_hkdf(&from, out, length);
}

int rsti_key_make(rsti_key_t *key, const uint8_t *secret)
{
    uint8_t id[4] = {0};
    const rsti_hkdf_t rest = {.info = (const uint8_t *)ID_INFO, .info_length = strlen(ID_INFO)};
    memcpy(key->secret, secret, sizeof key->secret);
    const int result = derive(key, &rest, id, sizeof id);
    key->id = (uint32_t)rsti_get_i32(id);
    return result;
}

void rsti_sealed_encode(const rsti_sealed_t *sealed, size_t length, uint8_t *data)
{
    rsti_put_i32(data, (int32_t)length);
    data[4] = 0;
    data[5] = sealed->kind;
    data[6] = RSTI_SEALED_TYPE & 0xFF;
    data[7] = RSTI_SEALED_TYPE >> 8;
    rsti_put_i32(data + 8, (int32_t)sealed->key_id);
    memcpy(data + 12, sealed->salt, RSTI_SEALED_SALT);
    rsti_put_i64(data + 24, (int64_t)sealed->counter);
}

bool rsti_sealed_is_claimed(const uint8_t *data, size_t length)
{
    return length >= 8 && data[6] == (RSTI_SEALED_TYPE & 0xFF) && data[7] == RSTI_SEALED_TYPE >> 8;
}

bool rsti_sealed_decode(rsti_sealed_t *sealed, const uint8_t *data, size_t length)
{
    if (length <= RSTI_SEALED_OVERHEAD || !rsti_sealed_is_claimed(data, length)
        || rsti_get_i32(data) != (int32_t)length || data[4] != 0 || !rsti_aead_is_known(data[5])) {
        return false;
    }
    *sealed = (rsti_sealed_t){
        .kind = data[5],
        .key_id = (uint32_t)rsti_get_i32(data + 8),
        .salt = data + 12,
        .counter = (uint64_t)rsti_get_i64(data + 24),
    };
    return true;
}

void rsti_sealed_nonce(uint64_t counter, uint8_t nonce[RSTI_AEAD_NONCE])
{
    memset(nonce, 0, RSTI_AEAD_NONCE - sizeof counter);
    rsti_put_i64(nonce + RSTI_AEAD_NONCE - sizeof counter, (int64_t)counter);
}

int rsti_sealed_key(rsti_aead_t *aead, const rsti_key_t *key, const uint8_t *salt,
    rsti_hash_t *hash)
{
    uint8_t info[sizeof RSTI_SEALED_INFO] = RSTI_SEALED_INFO; /* the kind takes the place of 0 */
    uint8_t made[RSTI_AEAD_KEY_MAX];
    info[sizeof info - 1] = (uint8_t)aead->kind;
    const rsti_hkdf_t rest = {
        .hash = hash,
        .salt = salt,
        .salt_length = RSTI_SEALED_SALT,
        .info = info,
        .info_length = sizeof info,
    };
    const int result = derive(key, &rest, made, rsti_aead_key_length(aead->kind));
    const bool is_set = result == 0 && rsti_aead_set_key(aead, made);
    explicit_bzero(made, sizeof made);
    return result == 0 && !is_set ? RST_SET_ERR(RST_ESYS, "libcrypto refused a key") : result;
}
