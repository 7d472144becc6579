/* aead.c: see aead.h. */
#include "seal/aead.h"

#include "util/error.h"

#include <string.h>

#if RST_CRYPTO
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#if defined(__aarch64__)
#include <sys/auxv.h>
#endif
#endif

typedef struct cipher_t {
    const char *name;
    size_t key_length;
} cipher_t;

static const cipher_t ciphers[] = {
    [RSTI_AEAD_AES_128_GCM] = {"AES-128-GCM", 16},
    [RSTI_AEAD_CHACHA20_POLY1305] = {"ChaCha20-Poly1305", 32},
};

bool rsti_aead_is_known(uint8_t kind)
{
    return kind == RSTI_AEAD_AES_128_GCM || kind == RSTI_AEAD_CHACHA20_POLY1305;
}

size_t rsti_aead_key_length(rsti_aead_kind_t kind)
{
    return ciphers[kind].key_length;
}

#if RST_CRYPTO

bool rsti_aead_is_built(void)
{
    return true;
}

rsti_aead_kind_t rsti_aead_best(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("aes") ? RSTI_AEAD_AES_128_GCM : RSTI_AEAD_CHACHA20_POLY1305;
#elif defined(__aarch64__)
    const unsigned long has_aes = 1UL << 3; /* HWCAP_AES */
    return (getauxval(AT_HWCAP) & has_aes) != 0 ? RSTI_AEAD_AES_128_GCM
                                                : RSTI_AEAD_CHACHA20_POLY1305;
#else
    return RSTI_AEAD_CHACHA20_POLY1305;
#endif
}

int rsti_aead_init(rsti_aead_t *aead, rsti_aead_kind_t kind, bool seals)
{
    *aead = (rsti_aead_t){.kind = kind, .seals = seals};
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, ciphers[kind].name, NULL);
    EVP_CIPHER_CTX *context = cipher != NULL ? EVP_CIPHER_CTX_new() : NULL;
    if (context == NULL
        || EVP_CipherInit_ex2(context, cipher, NULL, NULL, seals ? 1 : 0, NULL) != 1) {
        EVP_CIPHER_CTX_free(context);
        EVP_CIPHER_free(cipher);
        return RST_SET_ERR(RST_ENOTSUP, "libcrypto has no %s, or no memory", ciphers[kind].name);
    }
    EVP_CIPHER_free(cipher); /* the context keeps it */
    aead->context = context;
    return 0;
}

void rsti_aead_fini(rsti_aead_t *aead)
{
    EVP_CIPHER_CTX_free(aead->context); /* clears the key */
    aead->context = NULL;
}

bool rsti_aead_set_key(rsti_aead_t *aead, const uint8_t *key)
{
    return EVP_CipherInit_ex2(aead->context, NULL, key, NULL, -1, NULL) == 1;
}

/* Everything but the tag. */
static bool run(rsti_aead_t *aead, const rsti_aead_call_t *call)
{
    int length = 0;
    return EVP_CipherInit_ex2(aead->context, NULL, NULL, call->nonce, -1, NULL) == 1
        && EVP_CipherUpdate(aead->context, NULL, &length, call->known, (int)call->known_length) == 1
        && EVP_CipherUpdate(aead->context, call->out, &length, call->text, (int)call->length) == 1
        && length == (int)call->length;
}

bool rsti_aead_seal(rsti_aead_t *aead, const rsti_aead_call_t *call)
{
    int length = 0;
    uint8_t *tag = call->out + call->length;
    return run(aead, call) && EVP_CipherFinal_ex(aead->context, tag, &length) == 1
        && EVP_CIPHER_CTX_ctrl(aead->context, EVP_CTRL_AEAD_GET_TAG, RSTI_AEAD_TAG, tag) == 1;
}

bool rsti_aead_open(rsti_aead_t *aead, const rsti_aead_call_t *call, const uint8_t *tag)
{
    int length = 0;
    uint8_t copy[RSTI_AEAD_TAG]; /* libcrypto wants to write there */
    uint8_t none;
    memcpy(copy, tag, sizeof copy);
    return run(aead, call)
        && EVP_CIPHER_CTX_ctrl(aead->context, EVP_CTRL_AEAD_SET_TAG, RSTI_AEAD_TAG, copy) == 1
        && EVP_CipherFinal_ex(aead->context, &none, &length) == 1;
}

int rsti_hkdf(const rsti_hkdf_t *from, uint8_t *out, size_t length)
{
    char digest[] = "SHA256";
    static const uint8_t none; /* libcrypto wants an address for no bytes, too */
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)(uintptr_t)from->secret,
            from->secret_length),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT,
            (void *)(uintptr_t)(from->salt != NULL ? from->salt : &none), from->salt_length),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO,
            (void *)(uintptr_t)(from->info != NULL ? from->info : &none), from->info_length),
        OSSL_PARAM_construct_end(),
    };
    EVP_KDF *kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
    EVP_KDF_CTX *context = kdf != NULL ? EVP_KDF_CTX_new(kdf) : NULL;
    const bool is_made = context != NULL && EVP_KDF_derive(context, out, length, params) == 1;
    EVP_KDF_CTX_free(context);
    EVP_KDF_free(kdf);
    return is_made ? 0 : RST_SET_ERR(RST_ESYS, "libcrypto derived no key (HKDF with SHA-256)");
}

#else

#define INSTALL                                                                                    \
    "this rstream was built without libcrypto: install its headers (Debian: libssl-dev) and build" \
    " anew, or take a wheel that has it"

bool rsti_aead_is_built(void)
{
    return false;
}

rsti_aead_kind_t rsti_aead_best(void)
{
    return RSTI_AEAD_CHACHA20_POLY1305;
}

int rsti_aead_init(rsti_aead_t *aead, rsti_aead_kind_t kind, bool seals)
{
    *aead = (rsti_aead_t){.kind = kind, .seals = seals};
    return RST_SET_ERR(RST_ENOTSUP, INSTALL);
}

void rsti_aead_fini(rsti_aead_t *aead)
{
    aead->context = NULL;
}

bool rsti_aead_set_key(rsti_aead_t *aead, const uint8_t *key)
{
    (void)aead;
    (void)key;
    return false;
}

bool rsti_aead_seal(rsti_aead_t *aead, const rsti_aead_call_t *call)
{
    (void)aead;
    (void)call;
    return false;
}

bool rsti_aead_open(rsti_aead_t *aead, const rsti_aead_call_t *call, const uint8_t *tag)
{
    (void)aead;
    (void)call;
    (void)tag;
    return false;
}

int rsti_hkdf(const rsti_hkdf_t *from, uint8_t *out, size_t length)
{
    (void)from;
    (void)out;
    (void)length;
    return RST_SET_ERR(RST_ENOTSUP, INSTALL);
}

#endif
