/* refusal.c: see refusal.h. */
#include "seal/refusal.h"

#include "seal/sealed.h"
#include "util/bits.h"

#include <string.h>

void rsti_refusal_encode(uint32_t key_id, uint8_t data[RSTI_REFUSAL_BYTES])
{
    static const uint8_t no_salt[RSTI_SEALED_SALT] = {0};
    const rsti_sealed_t header = {.kind = RSTI_AEAD_NONE, .key_id = key_id, .salt = no_salt};
    rsti_sealed_encode(&header, RSTI_REFUSAL_BYTES, data);
}

bool rsti_refusal_decode(uint32_t *key_id, const uint8_t *data, size_t length)
{
    if (length != RSTI_REFUSAL_BYTES || !rsti_sealed_is_claimed(data, length)
        || rsti_get_i32(data) != RSTI_REFUSAL_BYTES || data[4] != 0 || data[5] != RSTI_AEAD_NONE) {
        return false;
    }
    *key_id = (uint32_t)rsti_get_i32(data + 8);
    return true;
}
