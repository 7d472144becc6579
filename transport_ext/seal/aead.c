/* aead.c: see aead.h. */
#include "seal/aead.h"

#include "util/assert.h"
#include "util/error.h"

#include <string.h>

#if RST_CRYPTO
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#if defined(__aarch64__)
#include <sys/auxv.h>
#endif
#endif

typedef struct cipher_t {
    const char *name;
    size_t key_length;
} cipher_t;

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])
#define HASH_BYTES 32
#define HASH_BLOCK 64

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

/* What libcrypto looks up by name, once for the life of the process. NULL: it has none. */
static struct {
    CRYPTO_ONCE once;
    EVP_CIPHER *ciphers[COUNT_OF(ciphers)];
    EVP_MD *hash;
} made = {.once = CRYPTO_ONCE_STATIC_INIT};

static void make_all(void)
{
    for (size_t i = RSTI_AEAD_AES_128_GCM; i < COUNT_OF(ciphers); i++) {
        made.ciphers[i] = EVP_CIPHER_fetch(NULL, ciphers[i].name, NULL);
    }
    made.hash = EVP_MD_fetch(NULL, "SHA256", NULL);
}

static bool make(void)
{
    return CRYPTO_THREAD_run_once(&made.once, make_all) == 1;
}

int rsti_aead_init(rsti_aead_t *aead, rsti_aead_kind_t kind, bool seals)
{
    *aead = (rsti_aead_t){.kind = kind, .seals = seals};
    const EVP_CIPHER *cipher = make() ? made.ciphers[kind] : NULL;
    EVP_CIPHER_CTX *context = cipher != NULL ? EVP_CIPHER_CTX_new() : NULL;
    if (context == NULL
        || EVP_CipherInit_ex2(context, cipher, NULL, NULL, seals ? 1 : 0, NULL) != 1) {
        EVP_CIPHER_CTX_free(context);
        return RST_SET_ERR(RST_ENOTSUP, "libcrypto has no %s, or no memory", ciphers[kind].name);
    }
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
    OSSL_PARAM asked[] = {
        OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, tag, RSTI_AEAD_TAG),
        OSSL_PARAM_construct_end()};
    return run(aead, call) && EVP_CipherFinal_ex(aead->context, tag, &length) == 1
        && EVP_CIPHER_CTX_get_params(aead->context, asked) == 1;
}

bool rsti_aead_open(rsti_aead_t *aead, const rsti_aead_call_t *call, const uint8_t *tag)
{
    int length = 0;
    uint8_t copy[RSTI_AEAD_TAG]; /* libcrypto wants to write there */
    uint8_t none;
    memcpy(copy, tag, sizeof copy);
    const OSSL_PARAM given[] = {
        OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, copy, sizeof copy),
        OSSL_PARAM_construct_end()};
    return run(aead, call) && EVP_CIPHER_CTX_set_params(aead->context, given) == 1
        && EVP_CipherFinal_ex(aead->context, &none, &length) == 1;
}

/* ---- hashes ---- */

void rsti_hash_fini(rsti_hash_t *hash)
{
    EVP_MD_CTX_free(hash->context); /* clears what it has read */
    hash->context = NULL;
}

typedef struct bytes_t {
    const uint8_t *at;
    size_t length;
} bytes_t;

/* out = SHA-256(pad of the key; parts), RFC 2104. */
static bool hash_padded(EVP_MD_CTX *context, const uint8_t *key, size_t key_length, uint8_t pad,
    const bytes_t *parts, uint8_t *out)
{
    uint8_t block[HASH_BLOCK];
    for (size_t i = 0; i < sizeof block; i++) {
        block[i] = (uint8_t)(pad ^ (i < key_length ? key[i] : 0));
    }
    bool is_made = EVP_DigestInit_ex2(context, made.hash, NULL) == 1
        && EVP_DigestUpdate(context, block, sizeof block) == 1;
    for (; is_made && parts->at != NULL; parts++) {
        is_made = EVP_DigestUpdate(context, parts->at, parts->length) == 1;
    }
    explicit_bzero(block, sizeof block);
    return is_made && EVP_DigestFinal_ex(context, out, NULL) == 1;
}

/* The last part has no address. out may be one of the parts. */
static bool hmac(EVP_MD_CTX *context, const uint8_t *key, size_t key_length, const bytes_t *parts,
    uint8_t *out)
{
    uint8_t inner[HASH_BYTES];
    const bytes_t again[] = {{inner, sizeof inner}, {NULL, 0}};
    return hash_padded(context, key, key_length, 0x36, parts, inner)
        && hash_padded(context, key, key_length, 0x5c, again, out);
}

/* T(n) = HMAC(key; T(n - 1), info, n): what is asked for is the beginning of T(1), T(2), … */
static bool expand(EVP_MD_CTX *context, const uint8_t *key, const rsti_hkdf_t *from, uint8_t *out,
    size_t length)
{
    static const uint8_t none;
    uint8_t block[HASH_BYTES];
    bool is_made = true;
    uint8_t number = 1;
    for (size_t at = 0; is_made && at < length; at += sizeof block, number++) {
        const size_t left = length - at;
        const bytes_t parts[] = {{block, number == 1 ? 0 : sizeof block},
            {from->info != NULL ? from->info : &none, from->info_length}, {&number, 1}, {NULL, 0}};
        is_made = hmac(context, key, HASH_BYTES, parts, block);
        memcpy(out + at, block, left < sizeof block ? left : sizeof block);
    }
    explicit_bzero(block, sizeof block);
    return is_made;
}

int rsti_hkdf(const rsti_hkdf_t *from, uint8_t *out, size_t length)
{
    RST_ASSERT(from->salt_length <= RSTI_HKDF_SALT_MAX && length <= RSTI_HKDF_MAX);
    rsti_hash_t own = {NULL};
    rsti_hash_t *hash = from->hash != NULL ? from->hash : &own;
    uint8_t key[HASH_BYTES];
    const bytes_t secret[] = {{from->secret, from->secret_length}, {NULL, 0}};
    if (hash->context == NULL && make() && made.hash != NULL) {
        hash->context = EVP_MD_CTX_new();
    }
    const bool is_made = hash->context != NULL
        && hmac(hash->context, from->salt, from->salt_length, secret, key)
        && expand(hash->context, key, from, out, length);
    rsti_hash_fini(&own);
    explicit_bzero(key, sizeof key);
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

void rsti_hash_fini(rsti_hash_t *hash)
{
    hash->context = NULL;
}

int rsti_hkdf(const rsti_hkdf_t *from, uint8_t *out, size_t length)
{
    (void)from;
    (void)out;
    (void)length;
    return RST_SET_ERR(RST_ENOTSUP, INSTALL);
}

#endif
