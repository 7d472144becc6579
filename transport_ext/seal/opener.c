/* opener.c: see opener.h. */
#include "seal/opener.h"

#include "util/alloc.h"
#include "util/assert.h"
#include "util/bits.h"
#include "util/error.h"

#include <string.h>

void rsti_opener_init(rsti_opener_t *opener, const uint8_t *own_salt)
{
    *opener = (rsti_opener_t){0};
    memcpy(opener->own_salt, own_salt, sizeof opener->own_salt);
}

static void forget(rsti_opener_t *opener, int32_t index)
{
    rsti_sealed_sender_t *sender = opener->senders[index];
    rsti_aead_fini(&sender->aead);
    rsti_free(sender);
    opener->senders[index] = opener->senders[--opener->sender_count];
    opener->marks[index] = opener->marks[opener->sender_count];
    opener->newest = 0;
}

void rsti_opener_fini(rsti_opener_t *opener)
{
    while (opener->sender_count > 0) {
        forget(opener, opener->sender_count - 1);
    }
    for (int kind = RSTI_AEAD_NONE; kind <= RSTI_AEAD_CHACHA20_POLY1305; kind++) {
        rsti_aead_fini(&opener->spares[kind]);
    }
    rsti_hash_fini(&opener->hash);
    explicit_bzero(&opener->keys, sizeof opener->keys);
}

static const rsti_key_t *find_key(const rsti_opener_t *opener, uint32_t id)
{
    for (int32_t i = 0; i < opener->keys.count; i++) {
        if (opener->keys.keys[i].id == id) {
            return &opener->keys.keys[i];
        }
    }
    return NULL;
}

void rsti_opener_set_keys(rsti_opener_t *opener, const rsti_keys_t *keys)
{
    opener->keys = *keys;
    for (int32_t i = opener->sender_count; i > 0; i--) {
        rsti_sealed_sender_t *sender = opener->senders[i - 1];
        sender->has_twin &= keys->count > 1;
        if (find_key(opener, sender->key_id) == NULL) {
            forget(opener, i - 1);
        }
    }
}

static uint64_t mark_of(const uint8_t *salt)
{
    return (uint64_t)rsti_get_i64(salt);
}

static bool is_of(const rsti_sealed_sender_t *sender, const rsti_sealed_t *sealed)
{
    return memcmp(sender->salt, sealed->salt, sizeof sender->salt) == 0
        && sender->key_id == sealed->key_id && (uint8_t)sender->aead.kind == sealed->kind;
}

/* Runs come from one sender, so the last one is tried first. */
static rsti_sealed_sender_t *find_sender(rsti_opener_t *opener, const rsti_sealed_t *sealed)
{
    if (opener->sender_count > 0 && is_of(opener->senders[opener->newest], sealed)) {
        return opener->senders[opener->newest];
    }
    const uint64_t mark = mark_of(sealed->salt);
    for (int32_t i = 0; i < opener->sender_count; i++) {
        if (opener->marks[i] == mark && is_of(opener->senders[i], sealed)) {
            opener->newest = i;
            return opener->senders[i];
        }
    }
    return NULL;
}

static bool decrypt(rsti_aead_t *aead, const rsti_sealed_t *sealed, uint8_t *data, size_t length)
{
    const size_t shown = rsti_sealed_shown(length - RSTI_SEALED_OVERHEAD);
    uint8_t nonce[RSTI_AEAD_NONCE];
    rsti_sealed_nonce(sealed->counter, nonce);
    uint8_t *hidden = data + RSTI_SEALED_HEADER + shown;
    const rsti_aead_call_t call = {
        .nonce = nonce,
        .known = data,
        .known_length = RSTI_SEALED_HEADER + shown,
        .text = hidden,
        .length = length - RSTI_SEALED_OVERHEAD - shown,
        .out = hidden,
    };
    return rsti_aead_open(aead, &call, data + length - RSTI_AEAD_TAG);
}

/* A place for one more, or -1. */
static int32_t make_room(rsti_opener_t *opener, int64_t now_ns)
{
    int32_t oldest = 0;
    if (opener->sender_count < RSTI_OPENER_SENDERS) {
        return opener->sender_count;
    }
    for (int32_t i = 1; i < opener->sender_count; i++) {
        if (opener->senders[i]->heard_ns < opener->senders[oldest]->heard_ns) {
            oldest = i;
        }
    }
    if (now_ns - opener->senders[oldest]->heard_ns < RSTI_OPENER_SILENT_NS) {
        return -1;
    }
    forget(opener, oldest);
    return opener->sender_count;
}

static bool is_twin(const rsti_sealed_sender_t *one, const rsti_sealed_sender_t *other)
{
    return one != other && memcmp(one->salt, other->salt, sizeof one->salt) == 0;
}

static void find_twins(const rsti_opener_t *opener, rsti_sealed_sender_t *sender)
{
    for (int32_t i = 0; i < opener->sender_count; i++) {
        if (is_twin(sender, opener->senders[i])) {
            sender->has_twin = opener->senders[i]->has_twin = true;
        }
    }
}

/* It was opened and noted. Whether something that its socket sealed later came before, with
 * whatever key. */
static bool is_overtaken(const rsti_opener_t *opener, const rsti_sealed_sender_t *sender,
    uint64_t counter)
{
    bool is_later = counter + 1 < sender->replay.next;
    for (int32_t i = 0; sender->has_twin && i < opener->sender_count; i++) {
        is_later |= is_twin(sender, opener->senders[i])
            && counter < opener->senders[i]->replay.next;
    }
    return is_later;
}

/* NULL: no memory. */
static rsti_aead_t *spare_of(rsti_opener_t *opener, rsti_aead_kind_t kind)
{
    rsti_aead_t *spare = &opener->spares[kind];
    return spare->context != NULL || rsti_aead_init(spare, kind, false) == 0 ? spare : NULL;
}

/* It is authentic, and takes the spare that opened it. */
static rsti_opened_t keep(rsti_opener_t *opener, const rsti_sealed_t *sealed, rsti_aead_t *spare,
    int64_t now_ns)
{
    const int32_t place = make_room(opener, now_ns);
    rsti_sealed_sender_t *kept = place < 0 ? NULL : rsti_alloc(sizeof *kept);
    if (kept == NULL) {
        return RSTI_OPENED_FULL;
    }
    *kept = (rsti_sealed_sender_t){.key_id = sealed->key_id, .aead = *spare, .heard_ns = now_ns};
    *spare = (rsti_aead_t){0};
    memcpy(kept->salt, sealed->salt, sizeof kept->salt);
    rsti_replay_note(&kept->replay, sealed->counter);
    opener->senders[place] = kept;
    opener->marks[place] = mark_of(sealed->salt);
    opener->sender_count = place + 1;
    opener->newest = place;
    find_twins(opener, kept);
    opener->is_overtaken = is_overtaken(opener, kept, sealed->counter);
    return RSTI_OPENED;
}

static rsti_opened_t open_first(rsti_opener_t *opener, const rsti_sealed_t *sealed,
    const rsti_key_t *key, uint8_t *data, size_t length, int64_t now_ns)
{
    rsti_aead_t *spare = spare_of(opener, (rsti_aead_kind_t)sealed->kind);
    if (spare == NULL || rsti_sealed_key(spare, key, sealed->salt, &opener->hash) < 0) {
        return RSTI_OPENED_FULL;
    }
    return decrypt(spare, sealed, data, length) ? keep(opener, sealed, spare, now_ns)
                                                : RSTI_OPENED_FORGED;
}

static rsti_opened_t open_sealed(rsti_opener_t *opener, const rsti_sealed_t *sealed, uint8_t *data,
    size_t length, int64_t now_ns)
{
    const rsti_key_t *key = find_key(opener, sealed->key_id);
    if (key == NULL) {
        opener->refused_id = sealed->key_id;
        return RSTI_OPENED_UNKNOWN_KEY;
    }
    if (memcmp(sealed->salt, opener->own_salt, sizeof opener->own_salt) == 0) {
        return RSTI_OPENED_OWN;
    }
    rsti_sealed_sender_t *sender = find_sender(opener, sealed);
    if (sealed->counter == UINT64_MAX
        || (sender != NULL && !rsti_replay_is_fresh(&sender->replay, sealed->counter))) {
        return RSTI_OPENED_REPLAY;
    }
    if (sender == NULL) {
        return open_first(opener, sealed, key, data, length, now_ns);
    }
    if (!decrypt(&sender->aead, sealed, data, length)) {
        return RSTI_OPENED_FORGED;
    }
    rsti_replay_note(&sender->replay, sealed->counter);
    opener->is_overtaken = is_overtaken(opener, sender, sealed->counter);
    sender->heard_ns = now_ns;
    return RSTI_OPENED;
}

rsti_opened_t rsti_opener_open(rsti_opener_t *opener, uint8_t *data, size_t length, int64_t now_ns)
{
    rsti_sealed_t sealed;
    const rsti_opened_t opened = !rsti_sealed_is_claimed(data, length) ? RSTI_OPENED_PLAIN
        : !rsti_sealed_decode(&sealed, data, length)
        ? RSTI_OPENED_MALFORMED
        : open_sealed(opener, &sealed, data, length, now_ns);
    opener->counts[opened]++;
    return opened;
}

uint64_t rsti_opener_sender(const rsti_opener_t *opener)
{
    RST_ASSERT(opener->sender_count > 0);
    const uint64_t mark = opener->marks[opener->newest];
    return mark == 0 ? 1 : mark;
}
