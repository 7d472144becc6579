/* test_aead.c: published vectors, and that a changed bit is seen. */
#include "seal/aead.h"
#include "tests/check.h"
#include "tests/hex.h"

typedef struct vector_t {
    rsti_aead_kind_t kind;
    const char *key, *nonce, *known, *text, *sealed; /* with the tag */
} vector_t;

static const vector_t vectors[] = {
    /* The Galois/Counter Mode of Operation (McGrew, Viega), test case 4 */
    {RSTI_AEAD_AES_128_GCM, "feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888",
        "feedfacedeadbeeffeedfacedeadbeefabaddad2",
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449"
        "a6b525b16aedf5aa0de657ba637b39",
        "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac"
        "84aa051ba30b396a0aac973d58e0915bc94fbc3221a5db94fae95ae7121a47"},
    /* RFC 8439, 2.8.2 */
    {RSTI_AEAD_CHACHA20_POLY1305,
        "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f",
        "070000004041424344454647", "50515253c0c1c2c3c4c5c6c7",
        "4c616469657320616e642047656e746c656d656e206f662074686520636c617373206f66202739393a20496620"
        "4920636f756c64206f6666657220796f75206f6e6c79206f6e652074697020666f7220746865206675747572"
        "652c2073756e73637265656e20776f756c642062652069742e",
        "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d63dbea45e8ca9671282fafb69da"
        "92728b1a71de0a9e060b2905d6a5b67ecd3b3692ddbd7f2d778b8c9803aee328091b58fab324e4fad6759455"
        "85808b4831d7bc3ff4def08e4b7a9de576d26586cec64b61161ae10b594f09e26a7e902ecbd0600691"},
};

typedef struct opened_t {
    uint8_t *key, *nonce, *known, *text, *sealed, *out;
    size_t key_length, nonce_length, known_length, length, sealed_length;
    rsti_aead_t aead;
} opened_t;

static void open_vector(opened_t *o, const vector_t *vector, bool seals)
{
    o->key = hex_bytes(vector->key, &o->key_length);
    o->nonce = hex_bytes(vector->nonce, &o->nonce_length);
    o->known = hex_bytes(vector->known, &o->known_length);
    o->text = hex_bytes(vector->text, &o->length);
    o->sealed = hex_bytes(vector->sealed, &o->sealed_length);
    o->out = hex_copy(o->sealed, o->sealed_length);
    CHECK_EQ(rsti_aead_init(&o->aead, vector->kind, seals), 0);
    CHECK_EQ(o->key_length, rsti_aead_key_length(vector->kind));
    CHECK(rsti_aead_set_key(&o->aead, o->key));
}

static void close_vector(opened_t *o)
{
    rsti_aead_fini(&o->aead);
    uint8_t *all[] = {o->key, o->nonce, o->known, o->text, o->sealed, o->out};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        free(all[i]);
    }
}

static rsti_aead_call_t call_of(const opened_t *o, const uint8_t *text)
{
    return (rsti_aead_call_t){
        .nonce = o->nonce,
        .known = o->known,
        .known_length = o->known_length,
        .text = text,
        .length = o->length,
        .out = o->out,
    };
}

TEST(published_vectors_are_sealed)
{
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        opened_t o = {0};
        open_vector(&o, &vectors[i], true);
        memset(o.out, 0, o.sealed_length);
        const rsti_aead_call_t call = call_of(&o, o.text);
        CHECK(rsti_aead_seal(&o.aead, &call));
        CHECK_EQ(o.sealed_length, o.length + RSTI_AEAD_TAG);
        CHECK_MEM(o.out, o.sealed, o.sealed_length);
        CHECK(rsti_aead_seal(&o.aead, &call)); /* the context can be used again */
        CHECK_MEM(o.out, o.sealed, o.sealed_length);
        close_vector(&o);
    }
}

TEST(published_vectors_are_opened_in_place)
{
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        opened_t o = {0};
        open_vector(&o, &vectors[i], false);
        const rsti_aead_call_t call = call_of(&o, o.out);
        CHECK(rsti_aead_open(&o.aead, &call, o.out + o.length));
        CHECK_MEM(o.out, o.text, o.length);
        close_vector(&o);
    }
}

TEST(each_changed_bit_is_seen)
{
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        opened_t o = {0};
        open_vector(&o, &vectors[i], false);
        for (size_t bit = 0; bit < 8 * (o.sealed_length + o.known_length + o.nonce_length); bit++) {
            uint8_t *bytes = o.sealed;
            size_t at = bit / 8;
            if (at >= o.sealed_length) {
                at -= o.sealed_length;
                bytes = at < o.known_length ? o.known : o.nonce;
                at -= at < o.known_length ? 0 : o.known_length;
            }
            bytes[at] ^= (uint8_t)(1 << bit % 8);
            const rsti_aead_call_t call = call_of(&o, o.sealed);
            CHECK(!rsti_aead_open(&o.aead, &call, o.sealed + o.length));
            bytes[at] ^= (uint8_t)(1 << bit % 8);
        }
        const rsti_aead_call_t call = call_of(&o, o.sealed);
        CHECK(rsti_aead_open(&o.aead, &call, o.sealed + o.length));
        close_vector(&o);
    }
}

/* RFC 5869, A.1 and A.3 */
TEST(hkdf_gives_published_keys)
{
    static const struct {
        const char *salt, *info, *out;
    } rows[] = {
        {"000102030405060708090a0b0c", "f0f1f2f3f4f5f6f7f8f9",
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"},
        {"", "",
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t salt_length, info_length, length;
        uint8_t secret[22], out[64];
        uint8_t *salt = hex_bytes(rows[i].salt, &salt_length);
        uint8_t *info = hex_bytes(rows[i].info, &info_length);
        uint8_t *expected = hex_bytes(rows[i].out, &length);
        memset(secret, 0x0b, sizeof secret);
        const rsti_hkdf_t from = {.secret = secret,
            .secret_length = sizeof secret,
            .salt = salt,
            .salt_length = salt_length,
            .info = info,
            .info_length = info_length};
        CHECK_EQ(rsti_hkdf(&from, out, length), 0);
        CHECK_MEM(out, expected, length);
        free(salt);
        free(info);
        free(expected);
    }
}

TEST(kinds)
{
    CHECK(rsti_aead_is_known((uint8_t)rsti_aead_best()));
    CHECK(!rsti_aead_is_known(0));
    CHECK(!rsti_aead_is_known(3));
    rsti_aead_t never = {0};
    rsti_aead_fini(&never);
}

CHECK_MAIN(RUN(published_vectors_are_sealed), RUN(published_vectors_are_opened_in_place),
    RUN(each_changed_bit_is_seen), RUN(hkdf_gives_published_keys), RUN(kinds))
