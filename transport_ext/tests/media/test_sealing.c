/* test_sealing.c: sockets with keys over a medium in memory, which hands on what was sent, as
 * single datagrams or as one run, and which may refuse some. */
#include "media/sealing.h"
#include "seal/keyring.h"
#include "tests/check.h"
#include "util/netaddr.h"

#define ROOM 65536
#define FRAME 1344

typedef struct wire_t {
    uint8_t bytes[ROOM * 4];
    size_t lengths[256];
    int count;
    int most; /* that a send takes */
    bool joins; /* what is received is one run */
    int open_count, destroyed;
} wire_t;

static int wire_open(void *media, const rsti_socket_params_t *params, rsti_socket_t **socket)
{
    wire_t *wire = media;
    (void)params;
    wire->open_count++;
    *socket = media;
    return 0;
}

static void wire_close(void *media, rsti_socket_t *socket)
{
    wire_t *wire = media;
    (void)socket;
    wire->open_count--;
}

static size_t used(const wire_t *wire)
{
    size_t sum = 0;
    for (int i = 0; i < wire->count; i++) {
        sum += wire->lengths[i];
    }
    return sum;
}

static int wire_send(void *media, rsti_socket_t *socket, const rsti_datagram_t *datagrams,
    int count)
{
    wire_t *wire = media;
    (void)socket;
    int taken = 0;
    for (; taken < count && taken < wire->most; taken++) {
        memcpy(wire->bytes + used(wire), datagrams[taken].data, datagrams[taken].length);
        wire->lengths[wire->count++] = datagrams[taken].length;
    }
    return taken;
}

static int wire_receive(void *media, rsti_socket_t *socket, rsti_datagram_t *datagrams,
    int capacity)
{
    wire_t *wire = media;
    (void)socket;
    int received = 0;
    size_t at = 0;
    for (int i = 0; i < wire->count && received < capacity; i++) {
        rsti_datagram_t *to = &datagrams[wire->joins ? 0 : received];
        if (i == 0 || !wire->joins) {
            to->length = to->segment = 0;
            received++;
        }
        memcpy(to->data + to->length, wire->bytes + at, wire->lengths[i]);
        to->length += wire->lengths[i];
        to->segment = wire->joins ? wire->lengths[0] : 0;
        at += wire->lengths[i];
    }
    wire->count = 0;
    return received;
}

static int wire_fd(void *media, rsti_socket_t *socket)
{
    (void)media;
    (void)socket;
    return 7;
}

static void wire_destroy(void *media)
{
    ((wire_t *)media)->destroyed++;
}

static const rsti_media_table_t wire_table = {.name = "wire",
    .open = wire_open,
    .close = wire_close,
    .send = wire_send,
    .receive = wire_receive,
    .fd = wire_fd,
    .destroy = wire_destroy};

typedef struct ends_t {
    wire_t wire;
    rsti_media_t media;
    rsti_keyring_t ring;
    rsti_keys_t keys;
    rsti_socket_t *left, *right;
    uint8_t received[8][ROOM];
    rsti_datagram_t datagrams[8];
} ends_t;

static ends_t ends;

static rsti_keys_t keys_of(uint8_t first, int32_t count)
{
    rsti_keys_t keys = {.count = count};
    for (int32_t i = 0; i < count; i++) {
        uint8_t secret[RSTI_KEY_BYTES] = {(uint8_t)(first + i)};
        if (rsti_key_make(&keys.keys[i], secret) != 0) {
            abort();
        }
    }
    return keys;
}

static void begin(void)
{
    memset(&ends, 0, sizeof ends);
    ends.wire.most = 256;
    const rsti_media_t inner = {.table = &wire_table, .arg = &ends.wire};
    const rsti_clock_t clock = rsti_clock_system();
    CHECK_EQ(rsti_media_sealing_create(&ends.media, &inner, &clock), 0);
    const rsti_keys_t keys = keys_of(1, 1);
    rsti_keyring_set(&ends.ring, &keys);
    const rsti_socket_params_t params = {.keys = &ends.ring};
    CHECK_EQ(ends.media.table->open(ends.media.arg, &params, &ends.left), 0);
    CHECK_EQ(ends.media.table->open(ends.media.arg, &params, &ends.right), 0);
}

static void end(void)
{
    ends.media.table->close(ends.media.arg, ends.left);
    ends.media.table->close(ends.media.arg, ends.right);
    CHECK_EQ(ends.wire.open_count, 0);
    rsti_media_sealing_destroy(&ends.media);
    CHECK_EQ(ends.wire.destroyed, 1);
}

static uint8_t byte_of(int number, size_t at)
{
    return (uint8_t)(number * 31 + (int)(at % 251));
}

/* Frames numbered from first on. Returns how many were taken. */
static int send_frames(rsti_socket_t *from, int first, int count, size_t length)
{
    static uint8_t frames[64][FRAME];
    rsti_datagram_t datagrams[64] = {0};
    for (int i = 0; i < count; i++) {
        for (size_t at = 0; at < length; at++) {
            frames[i][at] = byte_of(first + i, at);
        }
        datagrams[i] = (rsti_datagram_t){.data = frames[i], .length = length};
    }
    return ends.media.table->send(ends.media.arg, from, datagrams, count);
}

static int receive(rsti_socket_t *to)
{
    for (int i = 0; i < 8; i++) {
        ends.datagrams[i] = (rsti_datagram_t){.data = ends.received[i], .length = ROOM};
    }
    return ends.media.table->receive(ends.media.arg, to, ends.datagrams, 8);
}

static bool is_frame(const uint8_t *data, int number, size_t length)
{
    for (size_t at = 0; at < length; at++) {
        if (data[at] != byte_of(number, at)) {
            return false;
        }
    }
    return true;
}

static int64_t count_of(rsti_opened_t opened)
{
    int64_t counts[RSTI_OPENED_COUNT];
    rsti_media_sealing_counts(&ends.media, counts);
    return counts[opened];
}

TEST(the_owner_sees_plain_frames)
{
    begin();
    CHECK_EQ(send_frames(ends.left, 0, 5, 100), 5);
    CHECK_EQ(ends.wire.lengths[0], 100 + RSTI_SEALED_OVERHEAD);
    CHECK(!is_frame(ends.wire.bytes + RSTI_SEALED_HEADER, 0, 100));
    CHECK_EQ(receive(ends.right), 5);
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(ends.datagrams[i].length, 100);
        CHECK(is_frame(ends.received[i], i, 100));
    }
    CHECK_EQ(send_frames(ends.right, 9, 1, 36), 1);
    CHECK_EQ(receive(ends.left), 1);
    CHECK(ends.datagrams[0].length == 36 && is_frame(ends.received[0], 9, 36));
    CHECK_EQ(count_of(RSTI_OPENED), 6);
    end();
}

/* As UDP_GRO hands it over: the last one may be shorter. What was altered is left out. */
TEST(a_run_is_opened_datagram_by_datagram)
{
    begin();
    ends.wire.joins = true;
    CHECK_EQ(send_frames(ends.left, 0, 4, FRAME), 4);
    CHECK_EQ(send_frames(ends.left, 4, 1, 96), 1);
    ends.wire.bytes[2 * (FRAME + RSTI_SEALED_OVERHEAD) + 700] ^= 1;
    CHECK_EQ(receive(ends.right), 1);
    CHECK_EQ(ends.datagrams[0].segment, FRAME);
    CHECK_EQ(ends.datagrams[0].length, 3 * FRAME + 96);
    const int kept[] = {0, 1, 3};
    for (int i = 0; i < 3; i++) {
        CHECK(is_frame(ends.received[0] + i * FRAME, kept[i], FRAME));
    }
    CHECK(is_frame(ends.received[0] + 3 * FRAME, 4, 96));
    CHECK_EQ(count_of(RSTI_OPENED_FORGED), 1);
    end();
}

/* What is not taken is sealed anew: no counter is used twice. */
TEST(a_refused_datagram_is_sealed_anew)
{
    begin();
    ends.wire.most = 2;
    CHECK_EQ(send_frames(ends.left, 0, 5, 64), 2);
    ends.wire.most = 256;
    CHECK_EQ(send_frames(ends.left, 2, 3, 64), 3);
    for (int i = 0; i < 5; i++) {
        for (int j = 0; j < i; j++) {
            const size_t step = 64 + RSTI_SEALED_OVERHEAD;
            CHECK(memcmp(ends.wire.bytes + (size_t)i * step + 24,
                      ends.wire.bytes + (size_t)j * step + 24, 8)
                != 0);
        }
    }
    CHECK_EQ(receive(ends.right), 5);
    for (int i = 0; i < 5; i++) {
        CHECK(is_frame(ends.received[i], i, 64));
    }
    end();
}

TEST(a_burst_that_the_scratch_does_not_hold_goes_in_parts)
{
    begin();
    static uint8_t large[65000];
    rsti_datagram_t datagrams[10];
    for (int i = 0; i < 10; i++) {
        datagrams[i] = (rsti_datagram_t){.data = large, .length = i < 4 ? sizeof large : 100};
    }
    ends.wire.most = 3;
    CHECK_EQ(ends.media.table->send(ends.media.arg, ends.left, datagrams, 10), 3);
    CHECK_EQ(receive(ends.right), 3);
    CHECK_EQ(ends.datagrams[2].length, sizeof large);
    ends.wire.most = 256;
    CHECK_EQ(ends.media.table->send(ends.media.arg, ends.left, datagrams + 3, 7), 7);
    CHECK_EQ(receive(ends.right), 7);
    end();
}

static rsti_socket_t *open_plain(void)
{
    const rsti_socket_params_t plain = {0};
    rsti_socket_t *stranger = NULL;
    const int result = ends.media.table->open(ends.media.arg, &plain, &stranger);
    return result == 0 ? stranger : NULL;
}

/* The only datagram on the wire is a refusal that names this key. */
static void check_refusal(uint32_t key_id)
{
    uint32_t named = ~key_id;
    CHECK_EQ(ends.wire.count, 1);
    CHECK(rsti_refusal_decode(&named, ends.wire.bytes, ends.wire.lengths[0]));
    CHECK_EQ(named, key_id);
}

/* Every datagram is refused, the first one is answered, and no answer is answered. */
TEST(a_stranger_is_told_which_key_is_asked_for)
{
    begin();
    const uint32_t id = keys_of(1, 1).keys[0].id;
    rsti_socket_t *stranger = open_plain();
    CHECK_EQ(send_frames(stranger, 0, 3, 40), 3);
    CHECK_EQ(receive(ends.right), 3);
    for (int i = 0; i < 3; i++) {
        CHECK(ends.datagrams[i].length == 0);
        CHECK_EQ(ends.datagrams[i].refusal.why, RSTI_REFUSED_PLAIN);
    }
    check_refusal(id);
    CHECK_EQ(receive(stranger), 1);
    CHECK_EQ(ends.datagrams[0].refusal.why, RSTI_REFUSED_BY_PEER);
    CHECK_EQ(ends.datagrams[0].refusal.key_id, id);
    CHECK(ends.datagrams[0].length == 0 && ends.wire.count == 0);
    CHECK_EQ(send_frames(stranger, 0, 1, 40), 1);
    CHECK_EQ(receive(ends.right), 1);
    CHECK_EQ(ends.wire.count, 0); /* within the interval */
    CHECK_EQ(send_frames(stranger, 0, 1, RSTI_REFUSAL_BYTES - 1), 1);
    CHECK_EQ(receive(ends.left), 1);
    CHECK_EQ(ends.wire.count, 0); /* an answer would be longer */
    ends.media.table->close(ends.media.arg, stranger);
    end();
}

TEST(a_plain_socket_refuses_what_is_sealed)
{
    begin();
    rsti_socket_t *stranger = open_plain();
    CHECK_EQ(send_frames(ends.left, 0, 2, 64), 2);
    CHECK_EQ(receive(stranger), 2);
    CHECK(ends.datagrams[1].length == 0);
    CHECK_EQ(ends.datagrams[1].refusal.why, RSTI_REFUSED_SEALED);
    CHECK_EQ(ends.datagrams[1].refusal.key_id, keys_of(1, 1).keys[0].id);
    check_refusal(0);
    CHECK_EQ(receive(ends.left), 1);
    CHECK_EQ(ends.datagrams[0].refusal.why, RSTI_REFUSED_BY_PEER);
    CHECK_EQ(ends.wire.count, 0);
    CHECK_EQ(send_frames(stranger, 0, 1, 64), 1);
    CHECK_EQ(receive(stranger), 1);
    CHECK_EQ(ends.datagrams[0].refusal.why, RSTI_REFUSED_NOT); /* of the datagrams before */
    ends.media.table->close(ends.media.arg, stranger);
    end();
}

TEST(another_key_and_a_forgery_are_named)
{
    begin();
    rsti_keyring_t other = {0};
    const rsti_keys_t keys = keys_of(7, 1);
    rsti_keyring_set(&other, &keys);
    const rsti_socket_params_t params = {.keys = &other};
    rsti_socket_t *stranger;
    CHECK_EQ(ends.media.table->open(ends.media.arg, &params, &stranger), 0);
    CHECK_EQ(send_frames(stranger, 0, 1, 64), 1);
    CHECK_EQ(receive(ends.right), 1);
    CHECK_EQ(ends.datagrams[0].refusal.why, RSTI_REFUSED_KEY);
    CHECK_EQ(ends.datagrams[0].refusal.key_id, keys.keys[0].id);
    check_refusal(keys_of(1, 1).keys[0].id);
    ends.wire.count = 0;
    CHECK_EQ(send_frames(ends.left, 0, 1, 64), 1);
    ends.wire.bytes[60] ^= 1;
    CHECK_EQ(receive(ends.right), 1);
    CHECK_EQ(ends.datagrams[0].refusal.why, RSTI_REFUSED_FORGED);
    CHECK_EQ(ends.wire.count, 0);
    ends.media.table->close(ends.media.arg, stranger);
    end();
}

/* Each socket is a sender of its own. A run, which has one address, is of one sender. */
TEST(the_source_notes_who_sealed)
{
    begin();
    rsti_socket_t *third;
    const rsti_socket_params_t params = {.keys = &ends.ring};
    CHECK_EQ(ends.media.table->open(ends.media.arg, &params, &third), 0);
    CHECK_EQ(send_frames(ends.left, 0, 1, 64) + send_frames(third, 1, 1, 64)
            + send_frames(ends.left, 2, 1, 64),
        3);
    CHECK_EQ(receive(ends.right), 3);
    const uint64_t left = rsti_netaddr_sealer(&ends.datagrams[0].address);
    CHECK(left != 0 && left == rsti_netaddr_sealer(&ends.datagrams[2].address));
    CHECK(left != rsti_netaddr_sealer(&ends.datagrams[1].address));
    ends.wire.joins = true;
    CHECK_EQ(send_frames(ends.left, 0, 1, 64) + send_frames(third, 1, 1, 64)
            + send_frames(ends.left, 2, 1, 64),
        3);
    CHECK_EQ(receive(ends.right), 1);
    CHECK_EQ(ends.datagrams[0].length, 128);
    CHECK(is_frame(ends.received[0], 0, 64) && is_frame(ends.received[0] + 64, 2, 64));
    CHECK_EQ(rsti_netaddr_sealer(&ends.datagrams[0].address), left);
    ends.media.table->close(ends.media.arg, third);
    end();
}

static void swap(int a, int b, size_t length)
{
    uint8_t kept[256];
    memcpy(kept, ends.wire.bytes + (size_t)a * length, length);
    memmove(ends.wire.bytes + (size_t)a * length, ends.wire.bytes + (size_t)b * length, length);
    memcpy(ends.wire.bytes + (size_t)b * length, kept, length);
}

/* One that was overtaken marks its whole run. */
TEST(the_source_notes_what_was_overtaken)
{
    begin();
    const size_t length = 64 + RSTI_SEALED_OVERHEAD;
    for (int joins = 0; joins <= 1; joins++) {
        ends.wire.joins = joins != 0;
        CHECK_EQ(send_frames(ends.left, 0, 3, 64), 3);
        swap(1, 2, length);
        CHECK_EQ(receive(ends.right), joins ? 1 : 3);
        CHECK_EQ(rsti_netaddr_is_overtaken(&ends.datagrams[0].address), joins != 0);
        CHECK(joins || !rsti_netaddr_is_overtaken(&ends.datagrams[1].address));
        CHECK(joins || rsti_netaddr_is_overtaken(&ends.datagrams[2].address));
        CHECK_EQ(send_frames(ends.left, 0, 3, 64), 3);
        CHECK_EQ(receive(ends.right), joins ? 1 : 3);
        CHECK(!rsti_netaddr_is_overtaken(&ends.datagrams[0].address));
        CHECK(joins || !rsti_netaddr_is_overtaken(&ends.datagrams[2].address));
    }
    end();
}

TEST(plain_and_strange_datagrams_have_no_length)
{
    begin();
    rsti_socket_t *stranger = open_plain();
    CHECK_EQ(send_frames(stranger, 0, 2, 64), 2);
    CHECK_EQ(ends.wire.lengths[0], 64);
    CHECK_EQ(receive(ends.right), 2);
    CHECK(ends.datagrams[0].length == 0 && ends.datagrams[1].length == 0);
    CHECK_EQ(count_of(RSTI_OPENED_PLAIN), 2);
    ends.wire.count = 0; /* the refusal */
    CHECK_EQ(send_frames(stranger, 0, 1, 64), 1);
    CHECK_EQ(receive(stranger), 1);
    CHECK(ends.datagrams[0].length == 64 && is_frame(ends.received[0], 0, 64));
    CHECK_EQ(send_frames(ends.left, 0, 1, 64), 1);
    CHECK_EQ(receive(ends.left), 1); /* its own, reflected */
    CHECK_EQ(ends.datagrams[0].length, 0);
    CHECK_EQ(count_of(RSTI_OPENED_OWN), 1);
    ends.media.table->close(ends.media.arg, stranger);
    end();
}

TEST(sockets_follow_the_ring)
{
    begin();
    rsti_keys_t keys = keys_of(1, 2);
    rsti_keyring_set(&ends.ring, &keys); /* all learn the next key */
    CHECK_EQ(send_frames(ends.left, 0, 1, 64), 1);
    CHECK_EQ(receive(ends.right), 1);
    CHECK_EQ(ends.datagrams[0].length, 64);
    keys = keys_of(2, 1);
    rsti_keyring_set(&ends.ring, &keys);
    const int64_t version = ends.ring.version;
    rsti_keyring_set(&ends.ring, &keys);
    CHECK_EQ(ends.ring.version, version); /* the same ones */
    CHECK_EQ(send_frames(ends.left, 1, 1, 64), 1);
    CHECK_EQ((int32_t)keys.keys[0].id, *(const int32_t *)(const void *)(ends.wire.bytes + 8));
    CHECK_EQ(receive(ends.right), 1);
    CHECK(ends.datagrams[0].length == 64 && is_frame(ends.received[0], 1, 64));
    end();
}

TEST(a_socket_with_keys_needs_keys)
{
    begin();
    const rsti_keyring_t none = {0};
    const rsti_socket_params_t params = {.keys = &none};
    rsti_socket_t *socket;
    CHECK(ends.media.table->open(ends.media.arg, &params, &socket) < 0);
    CHECK_EQ(ends.media.table->fd(ends.media.arg, ends.left), 7);
    end();
}

CHECK_MAIN(RUN(the_owner_sees_plain_frames), RUN(a_run_is_opened_datagram_by_datagram),
    RUN(a_refused_datagram_is_sealed_anew),
    RUN(a_burst_that_the_scratch_does_not_hold_goes_in_parts),
    RUN(a_stranger_is_told_which_key_is_asked_for), RUN(a_plain_socket_refuses_what_is_sealed),
    RUN(another_key_and_a_forgery_are_named), RUN(the_source_notes_who_sealed),
    RUN(the_source_notes_what_was_overtaken), RUN(plain_and_strange_datagrams_have_no_length),
    RUN(sockets_follow_the_ring), RUN(a_socket_with_keys_needs_keys))
