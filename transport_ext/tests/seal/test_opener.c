/* test_opener.c: two sockets of a group, and whoever stands between them. */
#include "seal/opener.h"
#include "seal/sealer.h"
#include "tests/check.h"
#include "tests/hex.h"
#include "util/rng.h"

#include <openssl/crypto.h>

#define FRAME 1344
#define ROOM (FRAME + RSTI_SEALED_OVERHEAD)

typedef struct pair_t {
    rsti_rng_t rng;
    rsti_key_t keys[3];
    rsti_sealer_t sealer;
    rsti_opener_t *opener;
    uint8_t frame[FRAME], sealed[ROOM];
    size_t length; /* of sealed */
} pair_t;

static void fill(rsti_rng_t *rng, uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        bytes[i] = (uint8_t)rsti_rng_below(rng, 256);
    }
}

static void set_keys(pair_t *p, int32_t from, int32_t count)
{
    rsti_keys_t keys = {.count = count};
    memcpy(keys.keys, p->keys + from, (size_t)count * sizeof keys.keys[0]);
    rsti_opener_set_keys(p->opener, &keys);
}

static void open_sealer(pair_t *p, rsti_sealer_t *sealer, rsti_aead_kind_t kind)
{
    uint8_t salt[RSTI_SEALED_SALT];
    fill(&p->rng, salt, sizeof salt);
    const rsti_sealer_params_t params = {.key = &p->keys[0], .kind = kind, .salt = salt};
    CHECK_EQ(rsti_sealer_init(sealer, &params), 0);
}

static void pair_open(pair_t *p, rsti_aead_kind_t kind)
{
    uint8_t bytes[RSTI_KEY_BYTES];
    *p = (pair_t){0};
    rsti_rng_init(&p->rng, check_seed());
    for (int i = 0; i < 3; i++) {
        fill(&p->rng, bytes, sizeof bytes);
        CHECK_EQ(rsti_key_make(&p->keys[i], bytes), 0);
    }
    open_sealer(p, &p->sealer, kind);
    fill(&p->rng, bytes, sizeof bytes);
    p->opener = malloc(sizeof *p->opener);
    rsti_opener_init(p->opener, bytes);
    set_keys(p, 0, 1);
    fill(&p->rng, p->frame, sizeof p->frame);
}

static void pair_close(pair_t *p)
{
    rsti_sealer_fini(&p->sealer);
    rsti_opener_fini(p->opener);
    free(p->opener);
}

static void seal(pair_t *p, rsti_sealer_t *sealer, size_t length)
{
    p->length = rsti_sealer_seal(sealer, p->frame, length, p->sealed);
    CHECK_EQ(p->length, length + RSTI_SEALED_OVERHEAD);
}

/* Opens a copy in memory of just its length. */
static rsti_opened_t open_copy(pair_t *p, const uint8_t *data, size_t length, int64_t now_ns)
{
    uint8_t *copy = hex_copy(data, length);
    const rsti_opened_t opened = rsti_opener_open(p->opener, copy, length, now_ns);
    const bool is_same = opened != RSTI_OPENED
        || memcmp(copy + RSTI_SEALED_HEADER, p->frame, length - RSTI_SEALED_OVERHEAD) == 0;
    free(copy);
    return is_same ? opened : RSTI_OPENED_COUNT;
}

static const rsti_aead_kind_t kinds[] = {RSTI_AEAD_AES_128_GCM, RSTI_AEAD_CHACHA20_POLY1305};

TEST(a_sealed_frame_is_opened_once)
{
    for (int i = 0; i < 2; i++) {
        pair_t p;
        pair_open(&p, kinds[i]);
        for (size_t length = 1; length <= FRAME; length += length < 64 ? 1 : 127) {
            seal(&p, &p.sealer, length);
            CHECK_EQ(open_copy(&p, p.sealed, p.length, 0), RSTI_OPENED);
            CHECK_EQ(open_copy(&p, p.sealed, p.length, 0), RSTI_OPENED_REPLAY);
        }
        CHECK_EQ(p.opener->sender_count, 1);
        pair_close(&p);
    }
}

/* The frame's header, session, stream, term id and offset can be read; the rest cannot. */
TEST(what_is_shown_and_what_is_hidden)
{
    pair_t p;
    pair_open(&p, rsti_aead_best());
    memset(p.frame, 0x5A, sizeof p.frame);
    seal(&p, &p.sealer, FRAME);
    CHECK_MEM(p.sealed + RSTI_SEALED_HEADER, p.frame, RSTI_SEALED_SHOWN);
    int same = 0;
    for (size_t i = RSTI_SEALED_HEADER + RSTI_SEALED_SHOWN; i < p.length; i++) {
        same += p.sealed[i] == 0x5A;
    }
    CHECK(same < 30); /* 5 of 1 336 on average */
    uint8_t first[ROOM];
    memcpy(first, p.sealed, sizeof first);
    seal(&p, &p.sealer, FRAME); /* a resend looks like another frame */
    CHECK(memcmp(first + RSTI_SEALED_HEADER + RSTI_SEALED_SHOWN,
              p.sealed + RSTI_SEALED_HEADER + RSTI_SEALED_SHOWN, 64)
        != 0);
    pair_close(&p);
}

TEST(a_changed_bit_anywhere_is_refused)
{
    pair_t p;
    pair_open(&p, rsti_aead_best());
    seal(&p, &p.sealer, 96);
    for (size_t bit = 0; bit < 8 * p.length; bit++) {
        p.sealed[bit / 8] ^= (uint8_t)(1 << bit % 8);
        const rsti_opened_t opened = open_copy(&p, p.sealed, p.length, 0);
        p.sealed[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (opened == RSTI_OPENED || opened == RSTI_OPENED_COUNT) {
            CHECK_FAIL("bit %zu: opened", bit);
        }
    }
    for (size_t length = 0; length < p.length; length++) {
        CHECK(open_copy(&p, p.sealed, length, 0) != RSTI_OPENED);
    }
    CHECK_EQ(p.opener->sender_count, 0); /* of strangers nothing is kept */
    CHECK_EQ(open_copy(&p, p.sealed, p.length, 0), RSTI_OPENED);
    pair_close(&p);
}

TEST(any_bytes_are_refused)
{
    pair_t p;
    pair_open(&p, rsti_aead_best());
    seal(&p, &p.sealer, 64);
    for (int i = 0; i < 20000; i++) {
        uint8_t bytes[ROOM];
        const size_t length = rsti_rng_below(&p.rng, 200);
        fill(&p.rng, bytes, length);
        const size_t kept = rsti_rng_below(&p.rng, RSTI_SEALED_HEADER + 1);
        memcpy(bytes, p.sealed, kept < length ? kept : length);
        if (length >= 4 && rsti_rng_below(&p.rng, 2) == 0) {
            const uint32_t told = (uint32_t)length;
            memcpy(bytes, &told, sizeof told);
        }
        CHECK(open_copy(&p, bytes, length, 0) != RSTI_OPENED);
    }
    CHECK_EQ(p.opener->sender_count, 0);
    pair_close(&p);
}

TEST(what_comes_back_is_refused)
{
    pair_t p;
    pair_open(&p, rsti_aead_best());
    memcpy(p.opener->own_salt, p.sealer.salt, sizeof p.sealer.salt);
    seal(&p, &p.sealer, 96);
    CHECK_EQ(open_copy(&p, p.sealed, p.length, 0), RSTI_OPENED_OWN);
    pair_close(&p);
}

/* First all learn the next key, then all seal with it, then the old one goes. */
TEST(a_key_is_rotated_without_a_gap)
{
    pair_t p;
    pair_open(&p, rsti_aead_best());
    seal(&p, &p.sealer, 96);
    CHECK_EQ(open_copy(&p, p.sealed, p.length, 0), RSTI_OPENED);
    set_keys(&p, 0, 2);
    seal(&p, &p.sealer, 96);
    CHECK_EQ(open_copy(&p, p.sealed, p.length, 0), RSTI_OPENED);
    seal(&p, &p.sealer, 96); /* is still under way when the next one comes */
    uint8_t late[ROOM];
    memcpy(late, p.sealed, sizeof late);
    CHECK_EQ(rsti_sealer_set_key(&p.sealer, &p.keys[1]), 0);
    seal(&p, &p.sealer, 96);
    CHECK_EQ(open_copy(&p, p.sealed, p.length, 0), RSTI_OPENED);
    CHECK_EQ(open_copy(&p, late, p.length, 0), RSTI_OPENED);
    set_keys(&p, 1, 1);
    CHECK_EQ(p.opener->sender_count, 1);
    CHECK_EQ(open_copy(&p, late, p.length, 0), RSTI_OPENED_UNKNOWN_KEY);
    seal(&p, &p.sealer, 96);
    CHECK_EQ(open_copy(&p, p.sealed, p.length, 0), RSTI_OPENED);
    CHECK_EQ(rsti_sealer_set_key(&p.sealer, &p.keys[2]), 0);
    seal(&p, &p.sealer, 96);
    CHECK_EQ(open_copy(&p, p.sealed, p.length, 0), RSTI_OPENED_UNKNOWN_KEY);
    pair_close(&p);
}

TEST(plain_frames_are_no_sealed_ones)
{
    pair_t p;
    pair_open(&p, rsti_aead_best());
    const uint8_t heartbeat[32] = {0, 0, 0, 0, 0, 0xC0, 1, 0};
    CHECK_EQ(open_copy(&p, heartbeat, sizeof heartbeat, 0), RSTI_OPENED_PLAIN);
    CHECK_EQ(open_copy(&p, heartbeat, 0, 0), RSTI_OPENED_PLAIN);
    CHECK_EQ(p.opener->counts[RSTI_OPENED_PLAIN], 2);
    pair_close(&p);
}

/* ---- memory ---- */

static int64_t held; /* blocks of libcrypto */

static void *take(size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    held++;
    return malloc(size);
}

static void *take_again(void *block, size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    held += block == NULL;
    return realloc(block, size);
}

static void give_back(void *block, const char *file, int line)
{
    (void)file;
    (void)line;
    held -= block != NULL;
    free(block);
}

/* Before libcrypto takes its first block. */
__attribute__((constructor)) static void count_blocks(void)
{
    if (CRYPTO_set_mem_functions(take, take_again, give_back) != 1) {
        abort();
    }
}

/* The first of each kind makes what the others use, too. */
TEST(strangers_keep_no_memory)
{
    pair_t p;
    pair_open(&p, rsti_aead_best());
    int64_t before = 0;
    for (int i = 0; i < 40; i++) {
        rsti_sealer_t other;
        open_sealer(&p, &other, kinds[i % 2]);
        seal(&p, &other, 96);
        rsti_sealer_fini(&other);
        p.sealed[p.length - 1] ^= 1;
        before = held;
        CHECK_EQ(open_copy(&p, p.sealed, p.length, 0), RSTI_OPENED_FORGED);
        CHECK_EQ(held > before, i < 2);
        p.sealed[p.length - 1] ^= 1;
    }
    before = held;
    CHECK_EQ(open_copy(&p, p.sealed, p.length, 0), RSTI_OPENED); /* takes what opened it */
    CHECK_EQ(held, before);
    pair_close(&p);
    CHECK(held < before);
}

TEST(senders_are_bounded_and_the_silent_ones_give_way)
{
    pair_t p;
    pair_open(&p, rsti_aead_best());
    for (int64_t i = 0; i <= RSTI_OPENER_SENDERS; i++) {
        rsti_sealer_t other;
        open_sealer(&p, &other, rsti_aead_best());
        seal(&p, &other, 64);
        CHECK_EQ(open_copy(&p, p.sealed, p.length, i),
            i < RSTI_OPENER_SENDERS ? RSTI_OPENED : RSTI_OPENED_FULL);
        rsti_sealer_fini(&other);
    }
    seal(&p, &p.sealer, 64);
    CHECK_EQ(open_copy(&p, p.sealed, p.length, RSTI_OPENER_SILENT_NS - 1), RSTI_OPENED_FULL);
    CHECK_EQ(open_copy(&p, p.sealed, p.length, RSTI_OPENER_SILENT_NS), RSTI_OPENED);
    CHECK_EQ(p.opener->sender_count, RSTI_OPENER_SENDERS);
    CHECK_EQ(open_copy(&p, p.sealed, p.length, RSTI_OPENER_SILENT_NS), RSTI_OPENED_REPLAY);
    pair_close(&p);
}

/* Each sender has an order of its own. */
TEST(what_later_ones_overtook_is_known)
{
    pair_t p;
    pair_open(&p, rsti_aead_best());
    uint8_t early[3][ROOM];
    for (int i = 0; i < 3; i++) {
        seal(&p, &p.sealer, 64);
        memcpy(early[i], p.sealed, p.length);
    }
    seal(&p, &p.sealer, 64);
    CHECK_EQ(open_copy(&p, early[2], p.length, 0), RSTI_OPENED);
    CHECK(!p.opener->is_overtaken);
    CHECK_EQ(open_copy(&p, early[0], p.length, 0), RSTI_OPENED);
    CHECK(p.opener->is_overtaken);
    CHECK_EQ(open_copy(&p, p.sealed, p.length, 0), RSTI_OPENED);
    CHECK(!p.opener->is_overtaken);
    CHECK_EQ(open_copy(&p, early[1], p.length, 0), RSTI_OPENED);
    CHECK(p.opener->is_overtaken);
    rsti_sealer_t other;
    open_sealer(&p, &other, rsti_aead_best());
    seal(&p, &other, 64);
    CHECK_EQ(open_copy(&p, p.sealed, p.length, 0), RSTI_OPENED);
    CHECK(!p.opener->is_overtaken);
    rsti_sealer_fini(&other);
    pair_close(&p);
}

/* Its counter goes on with the next key. */
TEST(the_next_key_overtakes_the_last_one)
{
    pair_t p;
    pair_open(&p, rsti_aead_best());
    uint8_t early[3][ROOM];
    set_keys(&p, 0, 2);
    for (int i = 0; i < 3; i++) {
        seal(&p, &p.sealer, 64);
        memcpy(early[i], p.sealed, p.length);
    }
    CHECK_EQ(rsti_sealer_set_key(&p.sealer, &p.keys[1]), 0);
    seal(&p, &p.sealer, 64);
    CHECK_EQ(open_copy(&p, early[0], p.length, 0), RSTI_OPENED);
    CHECK(!p.opener->is_overtaken);
    CHECK_EQ(open_copy(&p, p.sealed, p.length, 0), RSTI_OPENED);
    CHECK(!p.opener->is_overtaken);
    CHECK_EQ(open_copy(&p, early[2], p.length, 0), RSTI_OPENED); /* the newest of its key */
    CHECK(p.opener->is_overtaken);
    seal(&p, &p.sealer, 64);
    CHECK_EQ(open_copy(&p, p.sealed, p.length, 0), RSTI_OPENED);
    CHECK(!p.opener->is_overtaken);
    set_keys(&p, 2, 1); /* forgets both */
    set_keys(&p, 0, 2);
    seal(&p, &p.sealer, 64);
    CHECK_EQ(open_copy(&p, p.sealed, p.length, 0), RSTI_OPENED);
    CHECK_EQ(open_copy(&p, early[1], p.length, 0), RSTI_OPENED); /* the first of its key */
    CHECK(p.opener->is_overtaken);
    pair_close(&p);
}

/* With the header that a test of another language can compute (tests/sealed.py). */
TEST(the_layout)
{
    pair_t p;
    pair_open(&p, RSTI_AEAD_AES_128_GCM);
    seal(&p, &p.sealer, 40);
    seal(&p, &p.sealer, 40);
    const uint8_t begin[] = {40 + RSTI_SEALED_OVERHEAD, 0, 0, 0, 0, 1, 0x52, 0x53};
    const uint8_t counter[] = {1, 0, 0, 0, 0, 0, 0, 0};
    CHECK_MEM(p.sealed, begin, sizeof begin);
    CHECK_MEM(p.sealed + 12, p.sealer.salt, RSTI_SEALED_SALT);
    CHECK_MEM(p.sealed + 24, counter, sizeof counter);
    pair_close(&p);
}

CHECK_MAIN(RUN(a_sealed_frame_is_opened_once), RUN(what_is_shown_and_what_is_hidden),
    RUN(a_changed_bit_anywhere_is_refused), RUN(any_bytes_are_refused),
    RUN(what_comes_back_is_refused), RUN(a_key_is_rotated_without_a_gap),
    RUN(plain_frames_are_no_sealed_ones), RUN(senders_are_bounded_and_the_silent_ones_give_way),
    RUN(the_layout), RUN(what_later_ones_overtook_is_known), RUN(strangers_keep_no_memory),
    RUN(the_next_key_overtakes_the_last_one))
