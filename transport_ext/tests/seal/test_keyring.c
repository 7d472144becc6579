/* test_keyring.c: keys that the conductor changes, and sockets that follow. */
#include "seal/keyring.h"

#include "tests/check.h"

static rsti_keys_t keys_of(uint8_t first, int32_t count)
{
    rsti_keys_t keys = {.count = count};
    for (int32_t i = 0; i < count; i++) {
        const uint8_t secret[RSTI_KEY_BYTES] = {(uint8_t)(first + i)};
        if (rsti_key_make(&keys.keys[i], secret) < 0) {
            abort();
        }
    }
    return keys;
}

TEST(a_ring_is_taken_once_for_each_change)
{
    rsti_keyring_t ring = {0};
    rsti_keys_t taken = {0};
    int64_t seen = 0;
    CHECK(!rsti_keyring_take(&ring, &seen, &taken)); /* none yet */
    const rsti_keys_t one = keys_of(1, 1), two = keys_of(2, 2);
    rsti_keyring_set(&ring, &one);
    CHECK(rsti_keyring_take(&ring, &seen, &taken));
    CHECK_EQ(taken.keys[0].id, one.keys[0].id);
    CHECK(!rsti_keyring_take(&ring, &seen, &taken));
    rsti_keyring_set(&ring, &one); /* the same */
    CHECK(!rsti_keyring_take(&ring, &seen, &taken));
    rsti_keyring_set(&ring, &two);
    rsti_keyring_set(&ring, &one);
    CHECK(rsti_keyring_take(&ring, &seen, &taken));
    CHECK_EQ(taken.count, 1);
    CHECK_EQ(taken.keys[0].id, one.keys[0].id);
}

TEST(the_id_is_of_the_key_that_seals)
{
    rsti_keyring_t ring = {0};
    CHECK_EQ(rsti_keyring_id(NULL), 0);
    const rsti_keys_t one = keys_of(1, 1), two = keys_of(1, 2), turned = keys_of(2, 1);
    rsti_keyring_set(&ring, &one);
    CHECK_EQ(rsti_keyring_id(&ring), one.keys[0].id);
    rsti_keyring_set(&ring, &two); /* a second one is learned */
    CHECK_EQ(rsti_keyring_id(&ring), one.keys[0].id);
    rsti_keyring_set(&ring, &turned);
    CHECK_EQ(rsti_keyring_id(&ring), two.keys[1].id);
}

CHECK_MAIN(RUN(a_ring_is_taken_once_for_each_change), RUN(the_id_is_of_the_key_that_seals))
