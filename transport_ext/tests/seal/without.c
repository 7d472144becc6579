/* without.c: an rstream that was built without libcrypto says what to install. */
#include "rstream/error.h"
#include "seal/aead.h"
#include "tests/check.h"

TEST(it_says_what_to_install)
{
    rsti_aead_t aead;
    uint8_t key[RSTI_AEAD_KEY_MAX] = {0};
    const rsti_hkdf_t from = {.secret = key, .secret_length = sizeof key};
    const rsti_aead_call_t call = {.nonce = key};
    CHECK(!rsti_aead_is_built());
    CHECK(rsti_aead_is_known((uint8_t)rsti_aead_best()));
    CHECK_EQ(rsti_aead_init(&aead, rsti_aead_best(), true), -RST_ENOTSUP);
    CHECK(strstr(rst_last_error_text(), "libssl-dev") != NULL);
    CHECK_EQ(rsti_hkdf(&from, key, sizeof key), -RST_ENOTSUP);
    CHECK(!rsti_aead_set_key(&aead, key));
    CHECK(!rsti_aead_seal(&aead, &call));
    CHECK(!rsti_aead_open(&aead, &call, key));
    rsti_aead_fini(&aead);
}

CHECK_MAIN(RUN(it_says_what_to_install))
