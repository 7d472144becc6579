/* fuzz_sealed.c: datagrams of strangers who know the key's id, and of a member whose datagrams were
 * altered. What was not sealed is never opened, what was is opened once, and of strangers nothing
 * is kept. */
#include "fuzz/check.h"
#include "seal/opener.h"
#include "seal/sealer.h"

#define GENUINE 4
#define FRAME 64

typedef struct world_t {
    rsti_keys_t keys;
    uint8_t sealed[GENUINE][FRAME + RSTI_SEALED_OVERHEAD]; /* as in the corpus */
    rsti_opener_t opener;
} world_t;

static world_t world;

static void begin(void)
{
    const uint8_t secret[RSTI_KEY_BYTES] = "a key that the world may know";
    const uint8_t salt[RSTI_SEALED_SALT] = "one socket", other[RSTI_SEALED_SALT] = "another";
    uint8_t frame[FRAME];
    rsti_sealer_t sealer;
    for (size_t i = 0; i < sizeof frame; i++) {
        frame[i] = (uint8_t)i;
    }
    FUZZ_CHECK(rsti_key_make(&world.keys.keys[0], secret) == 0);
    const rsti_sealer_params_t params = {
        .key = &world.keys.keys[0], .kind = RSTI_AEAD_CHACHA20_POLY1305, .salt = salt};
    FUZZ_CHECK(rsti_sealer_init(&sealer, &params) == 0);
    for (int32_t i = 0; i < GENUINE; i++) {
        FUZZ_CHECK(rsti_sealer_seal(&sealer, frame, sizeof frame, world.sealed[i])
            == sizeof world.sealed[i]);
    }
    rsti_sealer_fini(&sealer);
    rsti_opener_init(&world.opener, other);
    world.keys.count = 1;
}

static bool is_genuine(const uint8_t *data, size_t size)
{
    bool is_one = false;
    for (int32_t i = 0; i < GENUINE; i++) {
        is_one |= size == sizeof world.sealed[i] && memcmp(data, world.sealed[i], size) == 0;
    }
    return is_one;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    if (world.opener.own_salt[0] == 0) {
        begin();
    }
    const rsti_keys_t none = {0};
    rsti_opener_set_keys(&world.opener, &none); /* forgets what it has heard */
    rsti_opener_set_keys(&world.opener, &world.keys);
    for (int32_t i = 0; i < 2; i++) {
        uint8_t *copy = fuzz_exact_copy(input, size);
        const bool is_open = rsti_opener_open(&world.opener, copy, size, i) == RSTI_OPENED;
        FUZZ_CHECK(is_open == (i == 0 && is_genuine(input, size)));
        FUZZ_CHECK(world.opener.sender_count == (is_genuine(input, size) ? 1 : 0));
    }
    return 0;
}
