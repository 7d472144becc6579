/* sealer.c: see sealer.h. */
#include "seal/sealer.h"

#include <string.h>

int rsti_sealer_init(rsti_sealer_t *sealer, const rsti_sealer_params_t *params)
{
    *sealer = (rsti_sealer_t){0};
    memcpy(sealer->salt, params->salt, sizeof sealer->salt);
    int result = rsti_aead_init(&sealer->aead, params->kind, true);
    result = result == 0 ? rsti_sealer_set_key(sealer, params->key) : result;
    if (result < 0) {
        rsti_sealer_fini(sealer);
    }
    return result;
}

void rsti_sealer_fini(rsti_sealer_t *sealer)
{
    rsti_aead_fini(&sealer->aead);
}

int rsti_sealer_set_key(rsti_sealer_t *sealer, const rsti_key_t *key)
{
    const int result = rsti_sealed_key(&sealer->aead, key, sealer->salt, NULL);
    sealer->key_id = result == 0 ? key->id : sealer->key_id; /* never an id that did not seal */
    return result;
}

size_t rsti_sealer_seal(rsti_sealer_t *sealer, const uint8_t *frame, size_t length, uint8_t *out)
{
    const size_t shown = rsti_sealed_shown(length);
    uint8_t nonce[RSTI_AEAD_NONCE];
    const rsti_sealed_t sealed = {
        .kind = (uint8_t)sealer->aead.kind,
        .key_id = sealer->key_id,
        .salt = sealer->salt,
        .counter = sealer->counter++,
    };
    rsti_sealed_encode(&sealed, length + RSTI_SEALED_OVERHEAD, out);
    memcpy(out + RSTI_SEALED_HEADER, frame, shown);
    rsti_sealed_nonce(sealed.counter, nonce);
    const rsti_aead_call_t call = {
        .nonce = nonce,
        .known = out,
        .known_length = RSTI_SEALED_HEADER + shown,
        .text = frame + shown,
        .length = length - shown,
        .out = out + RSTI_SEALED_HEADER + shown,
    };
    return rsti_aead_seal(&sealer->aead, &call) ? length + RSTI_SEALED_OVERHEAD : 0;
}
