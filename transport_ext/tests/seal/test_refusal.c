/* test_refusal.c: the plain answer to what a socket does not open. */
#include "seal/refusal.h"

#include "seal/sealed.h"
#include "tests/check.h"
#include "tests/hex.h"

#define ID 0x8A5B2C01U

static bool decode(const uint8_t *data, size_t length, uint32_t *key_id)
{
    uint8_t *exact = hex_copy(data, length);
    const bool is_refusal = rsti_refusal_decode(key_id, exact, length);
    free(exact);
    return is_refusal;
}

TEST(a_refusal_names_the_key)
{
    static const uint8_t expected[RSTI_REFUSAL_BYTES] = {
        32, 0, 0, 0, 0, 0, 0x52, 0x53, 0x01, 0x2C, 0x5B, 0x8A};
    uint8_t data[RSTI_REFUSAL_BYTES];
    uint32_t key_id = 0;
    rsti_refusal_encode(ID, data);
    CHECK_MEM(data, expected, sizeof data);
    CHECK(decode(data, sizeof data, &key_id));
    CHECK_EQ(key_id, ID);
    rsti_refusal_encode(0, data);
    CHECK(decode(data, sizeof data, &key_id));
    CHECK_EQ(key_id, 0);
}

TEST(no_other_length_is_a_refusal)
{
    uint8_t data[RSTI_REFUSAL_BYTES + 32] = {0};
    uint32_t key_id = 7;
    rsti_refusal_encode(ID, data);
    for (size_t length = 0; length <= sizeof data; length++) {
        CHECK_EQ(decode(data, length, &key_id), length == RSTI_REFUSAL_BYTES);
    }
}

/* Only the key's id and what follows may differ: old readers take what newer ones put there. */
TEST(each_changed_byte)
{
    for (size_t at = 0; at < RSTI_REFUSAL_BYTES; at++) {
        for (int bit = 0; bit < 8; bit++) {
            uint8_t data[RSTI_REFUSAL_BYTES];
            uint32_t key_id = 0;
            rsti_refusal_encode(ID, data);
            data[at] ^= (uint8_t)(1U << bit);
            CHECK_EQ(decode(data, sizeof data, &key_id), at >= 8);
            if (at >= 8) {
                CHECK_EQ(key_id == ID, at >= 12);
            }
        }
    }
}

/* A sealed datagram is longer, and a refusal is no frame and no sealed datagram: none is taken for
 * another. */
TEST(nothing_else_is_a_refusal)
{
    uint8_t data[RSTI_SEALED_OVERHEAD + 1] = {0};
    const uint8_t salt[RSTI_SEALED_SALT] = {0};
    uint32_t key_id;
    rsti_sealed_t sealed = {.kind = RSTI_AEAD_AES_128_GCM, .key_id = ID, .salt = salt};
    for (size_t length = 8; length <= sizeof data; length++) {
        rsti_sealed_encode(&sealed, length, data);
        CHECK(!decode(data, length, &key_id));
    }
    rsti_refusal_encode(ID, data);
    CHECK(rsti_sealed_is_claimed(data, RSTI_REFUSAL_BYTES));
    CHECK(!rsti_sealed_decode(&sealed, data, RSTI_REFUSAL_BYTES));
}

CHECK_MAIN(RUN(a_refusal_names_the_key), RUN(no_other_length_is_a_refusal), RUN(each_changed_byte),
    RUN(nothing_else_is_a_refusal))
