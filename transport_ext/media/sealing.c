/* sealing.c: see sealing.h. */
#include "media/sealing.h"

#include "concurrent/atomics.h"
#include "media/tap.h"
#include "seal/sealer.h"
#include "util/alloc.h"
#include "util/error.h"
#include "util/netaddr.h"
#include "util/rng.h"

#include <string.h>

#define SCRATCH_BYTES (256 * 1024) /* sealed datagrams of one call of the wrapped table */

typedef struct sealing_t {
    rsti_media_t inner;
    rsti_clock_t clock;
    rsti_tap_t tap;
    int64_t counts[RSTI_OPENED_COUNT]; /* written by: all agents, atomically */
} sealing_t;

typedef struct sealed_socket_t {
    rsti_socket_t *inner;
    const rsti_keyring_t *ring; /* NULL: plain, and the fields behind refusal_due_ns are unused */
    int64_t refusal_due_ns; /* no answer to a refused datagram before */
    int64_t version; /* of the ring's keys that are in use */
    rsti_sealer_t sealer;
    rsti_opener_t opener;
    rsti_datagram_t datagrams[RSTI_MEDIA_BURST_MAX];
    uint8_t scratch[SCRATCH_BYTES];
} sealed_socket_t;

static sealed_socket_t *sealed(rsti_socket_t *socket)
{
    return (sealed_socket_t *)(void *)socket;
}

/* ---- keys ---- */

/* 0, or what rsti_sealer_set_key returns. */
static int take_keys(sealed_socket_t *socket)
{
    rsti_keys_t keys;
    if (!rsti_keyring_take(socket->ring, &socket->version, &keys)) {
        return 0;
    }
    rsti_opener_set_keys(&socket->opener, &keys);
    const int result = rsti_sealer_set_key(&socket->sealer, &keys.keys[0]);
    explicit_bzero(&keys, sizeof keys);
    return result;
}

static int open_keys(sealed_socket_t *socket)
{
    uint8_t salt[2 * sizeof(uint64_t)];
    rsti_keys_t keys;
    for (size_t i = 0; i < sizeof salt; i += sizeof(uint64_t)) {
        const uint64_t bits = rsti_rng_entropy();
        memcpy(salt + i, &bits, sizeof bits);
    }
    rsti_opener_init(&socket->opener, salt);
    if (!rsti_keyring_take(socket->ring, &socket->version, &keys)) {
        return RST_SET_ERR(RST_EINVAL, "a socket with keys was opened before there were keys");
    }
    rsti_opener_set_keys(&socket->opener, &keys);
    const rsti_sealer_params_t params = {
        .key = &keys.keys[0],
        .kind = rsti_aead_best(),
        .salt = salt,
    };
    const int result = rsti_sealer_init(&socket->sealer, &params);
    explicit_bzero(&keys, sizeof keys);
    return result;
}

static void close_keys(sealed_socket_t *socket)
{
    if (socket->ring != NULL) {
        rsti_sealer_fini(&socket->sealer);
        rsti_opener_fini(&socket->opener);
    }
}

/* ---- sockets ---- */

static int sealing_open(void *media, const rsti_socket_params_t *params, rsti_socket_t **socket)
{
    sealing_t *sealing = media;
    const size_t size = params->keys != NULL ? sizeof(sealed_socket_t)
                                             : offsetof(sealed_socket_t, version);
    sealed_socket_t *opened = rsti_alloc(size);
    if (opened == NULL) {
        return -RST_ENOMEM;
    }
    opened->ring = params->keys;
    int result = opened->ring != NULL ? open_keys(opened) : 0;
    if (result == 0) {
        result = sealing->inner.table->open(sealing->inner.arg, params, &opened->inner);
    }
    if (result != 0) {
        close_keys(opened);
        rsti_free(opened);
        return result;
    }
    *socket = (rsti_socket_t *)(void *)opened;
    return 0;
}

static void sealing_close(void *media, rsti_socket_t *socket)
{
    sealing_t *sealing = media;
    sealed_socket_t *closed = sealed(socket);
    if (closed != NULL) {
        sealing->inner.table->close(sealing->inner.arg, closed->inner);
        close_keys(closed);
        rsti_free(closed);
    }
}

/* ---- out ---- */

/* Seals as many as the scratch holds. Returns how many. */
static int seal_some(sealed_socket_t *socket, const rsti_datagram_t *datagrams, int count)
{
    int made = 0;
    size_t used = 0;
    for (; made < count && made < RSTI_MEDIA_BURST_MAX; made++) {
        rsti_datagram_t *datagram = &socket->datagrams[made];
        if (used + datagrams[made].length + RSTI_SEALED_OVERHEAD > SCRATCH_BYTES) {
            break;
        }
        datagram->address = datagrams[made].address;
        datagram->data = socket->scratch + used;
        datagram->length = rsti_sealer_seal(&socket->sealer, datagrams[made].data,
            datagrams[made].length, datagram->data);
        if (datagram->length == 0) {
            break;
        }
        used += datagram->length;
    }
    return made;
}

static int send_sealed(const sealing_t *sealing, sealed_socket_t *socket,
    const rsti_datagram_t *datagrams, int count)
{
    int done = 0;
    if (take_keys(socket) < 0) {
        return -RST_ESYS;
    }
    while (done < count) {
        const int made = seal_some(socket, datagrams + done, count - done);
        if (made == 0) {
            return done > 0 ? done : RST_SET_ERR(RST_ESYS, "libcrypto sealed no datagram");
        }
        const int taken = sealing->inner.table->send(sealing->inner.arg, socket->inner,
            socket->datagrams, made);
        if (taken < 0) {
            return done > 0 ? done : taken;
        }
        rsti_tap_tell(&sealing->tap, &sealing->inner, socket->inner, datagrams + done, taken, true);
        done += taken;
        if (taken < made) {
            break;
        }
    }
    return done;
}

static int sealing_send(void *media, rsti_socket_t *socket, const rsti_datagram_t *datagrams,
    int count)
{
    sealing_t *sealing = media;
    sealed_socket_t *from = sealed(socket);
    return from->ring != NULL
        ? send_sealed(sealing, from, datagrams, count)
        : sealing->inner.table->send(sealing->inner.arg, from->inner, datagrams, count);
}

/* ---- in ---- */

/* Tells the source which key this socket has. Nothing waits for the answer, so an error is none. */
static void answer(const sealing_t *sealing, sealed_socket_t *socket,
    const rsti_datagram_t *refused, size_t length, int64_t now_ns)
{
    uint8_t data[RSTI_REFUSAL_BYTES];
    if (length < sizeof data || now_ns < socket->refusal_due_ns) {
        return;
    }
    socket->refusal_due_ns = now_ns + RSTI_REFUSAL_INTERVAL_NS;
    rsti_refusal_encode(socket->ring == NULL ? 0 : socket->sealer.key_id, data);
    rsti_datagram_t datagram = {.data = data, .length = sizeof data};
    datagram.address = refused->address;
    if (sealing->inner.table->send(sealing->inner.arg, socket->inner, &datagram, 1) < 0) {
        rsti_error_clear();
    }
}

/* A datagram that a socket with keys did not open. */
static rsti_refusal_t refusal_of(const sealed_socket_t *socket, rsti_opened_t opened,
    const uint8_t *data, size_t length)
{
    rsti_refusal_t refusal = {.why = RSTI_REFUSED_NOT};
    if (rsti_refusal_decode(&refusal.key_id, data, length)) {
        refusal.why = RSTI_REFUSED_BY_PEER;
    } else if (opened == RSTI_OPENED_PLAIN) {
        refusal.why = RSTI_REFUSED_PLAIN;
    } else if (opened == RSTI_OPENED_UNKNOWN_KEY) {
        refusal = (rsti_refusal_t){RSTI_REFUSED_KEY, socket->opener.refused_id};
    } else if (opened == RSTI_OPENED_FORGED || opened == RSTI_OPENED_MALFORMED) {
        refusal.why = RSTI_REFUSED_FORGED;
    }
    return refusal;
}

/* Whether a datagram is authentic, and of the sender of those before it in the run. */
static bool open_one(const sealing_t *sealing, sealed_socket_t *socket, rsti_datagram_t *datagram,
    size_t at, int64_t now_ns)
{
    const size_t length = rsti_datagram_length_at(datagram, at);
    uint8_t *data = datagram->data + at;
    rsti_opened_t opened = rsti_opener_open(&socket->opener, data, length, now_ns);
    if (opened == RSTI_OPENED) {
        const uint64_t before = rsti_netaddr_sealer(&datagram->address);
        const uint64_t sender = rsti_opener_sender(&socket->opener);
        if (before == 0) {
            rsti_netaddr_set_sealer(&datagram->address, sender);
        } else if (before != sender) {
            opened = RSTI_OPENED_REPLAY;
            socket->opener.counts[RSTI_OPENED]--;
            socket->opener.counts[opened]++;
        }
        if (opened == RSTI_OPENED && socket->opener.is_overtaken) {
            rsti_netaddr_set_overtaken(&datagram->address, true);
        }
    } else {
        const rsti_refusal_t refusal = refusal_of(socket, opened, data, length);
        datagram->refusal = refusal.why != RSTI_REFUSED_NOT ? refusal : datagram->refusal;
        if (refusal.why == RSTI_REFUSED_PLAIN || refusal.why == RSTI_REFUSED_KEY) {
            answer(sealing, socket, datagram, length, now_ns);
        }
    }
    return opened == RSTI_OPENED;
}

/* Opens a datagram, or each of a run of them. What is opened moves to the front. */
static void open_all(const sealing_t *sealing, sealed_socket_t *socket, rsti_datagram_t *datagram,
    int64_t now_ns)
{
    size_t kept = 0;
    rsti_netaddr_set_sealer(&datagram->address, 0);
    rsti_netaddr_set_overtaken(&datagram->address, false);
    for (size_t at = 0; at < datagram->length;) {
        const size_t length = rsti_datagram_length_at(datagram, at);
        const uint8_t *data = datagram->data + at;
        if (open_one(sealing, socket, datagram, at, now_ns)) {
            memmove(datagram->data + kept, data + RSTI_SEALED_HEADER,
                length - RSTI_SEALED_OVERHEAD);
            kept += length - RSTI_SEALED_OVERHEAD;
        }
        at += length;
    }
    datagram->length = kept;
    if (datagram->segment > RSTI_SEALED_OVERHEAD) {
        datagram->segment -= RSTI_SEALED_OVERHEAD;
    }
}

/* A plain socket takes all but what is sealed, and refusals. */
static void look_at_plain(sealing_t *sealing, sealed_socket_t *socket, rsti_datagram_t *datagram)
{
    const size_t length = rsti_datagram_length_at(datagram, 0);
    rsti_refusal_t refusal = {.why = RSTI_REFUSED_SEALED};
    rsti_sealed_t sealed;
    rsti_netaddr_set_sealer(&datagram->address, 0);
    rsti_netaddr_set_overtaken(&datagram->address, false);
    datagram->refusal = (rsti_refusal_t){RSTI_REFUSED_NOT, 0};
    if (length == 0 || !rsti_sealed_is_claimed(datagram->data, length)) {
        return;
    }
    if (rsti_refusal_decode(&refusal.key_id, datagram->data, length)) {
        refusal.why = RSTI_REFUSED_BY_PEER;
    } else if (rsti_sealed_decode(&sealed, datagram->data, length)) {
        refusal.key_id = sealed.key_id;
        answer(sealing, socket, datagram, length, rsti_clock_nano_time(&sealing->clock));
    }
    datagram->refusal = refusal;
    datagram->length = 0;
}

static void receive_sealed(sealing_t *sealing, sealed_socket_t *socket, rsti_datagram_t *datagrams,
    int count)
{
    const int64_t now_ns = rsti_clock_nano_time(&sealing->clock);
    int64_t before[RSTI_OPENED_COUNT];
    (void)take_keys(socket); /* without the new key the old ones still open */
    memcpy(before, socket->opener.counts, sizeof before);
    for (int i = 0; i < count; i++) {
        datagrams[i].refusal = (rsti_refusal_t){RSTI_REFUSED_NOT, 0};
        open_all(sealing, socket, &datagrams[i], now_ns);
    }
    for (int i = 0; i < RSTI_OPENED_COUNT; i++) {
        if (socket->opener.counts[i] != before[i]) {
            (void)rsti_fetch_add_i64(&sealing->counts[i], socket->opener.counts[i] - before[i]);
        }
    }
    rsti_tap_tell(&sealing->tap, &sealing->inner, socket->inner, datagrams, count, false);
}

static int sealing_receive(void *media, rsti_socket_t *socket, rsti_datagram_t *datagrams,
    int capacity)
{
    sealing_t *sealing = media;
    sealed_socket_t *to = sealed(socket);
    const int count = sealing->inner.table->receive(sealing->inner.arg, to->inner, datagrams,
        capacity);
    for (int i = 0; to->ring == NULL && i < count; i++) {
        look_at_plain(sealing, to, &datagrams[i]);
    }
    if (to->ring != NULL && count > 0) {
        receive_sealed(sealing, to, datagrams, count);
    }
    return count;
}

/* ---- the rest of the table ---- */

static void sealing_local_address(void *media, rsti_socket_t *socket,
    struct sockaddr_storage *address)
{
    sealing_t *sealing = media;
    sealing->inner.table->local_address(sealing->inner.arg, sealed(socket)->inner, address);
}

static int sealing_fd(void *media, rsti_socket_t *socket)
{
    sealing_t *sealing = media;
    return sealing->inner.table->fd(sealing->inner.arg, sealed(socket)->inner);
}

static int32_t sealing_granted_rcvbuf(void *media, rsti_socket_t *socket)
{
    sealing_t *sealing = media;
    return sealing->inner.table->granted_rcvbuf(sealing->inner.arg, sealed(socket)->inner);
}

static void sealing_widen_rcvbuf(void *media, rsti_socket_t *socket, int32_t bytes)
{
    sealing_t *sealing = media;
    if (sealing->inner.table->widen_rcvbuf != NULL) {
        sealing->inner.table->widen_rcvbuf(sealing->inner.arg, sealed(socket)->inner, bytes);
    }
}

static int64_t sealing_next_deadline_ns(void *media, rsti_socket_t *socket)
{
    sealing_t *sealing = media;
    return sealing->inner.table->next_deadline_ns(sealing->inner.arg, sealed(socket)->inner);
}

static int sealing_reconnect(void *media, rsti_socket_t *socket,
    const struct sockaddr_storage *address)
{
    sealing_t *sealing = media;
    return sealing->inner.table->reconnect(sealing->inner.arg, sealed(socket)->inner, address);
}

static void sealing_destroy(void *media)
{
    sealing_t *sealing = media;
    if (sealing->inner.table->destroy != NULL) {
        sealing->inner.table->destroy(sealing->inner.arg);
    }
    rsti_free(sealing);
}

static const rsti_media_table_t sealing_table = {
    .name = "sealing",
    .open = sealing_open,
    .close = sealing_close,
    .send = sealing_send,
    .receive = sealing_receive,
    .local_address = sealing_local_address,
    .fd = sealing_fd,
    .granted_rcvbuf = sealing_granted_rcvbuf,
    .widen_rcvbuf = sealing_widen_rcvbuf,
    .next_deadline_ns = sealing_next_deadline_ns,
    .destroy = sealing_destroy,
    .reconnect = sealing_reconnect,
};

int rsti_media_sealing_create(rsti_media_t *media, const rsti_media_t *inner,
    const rsti_clock_t *clock)
{
    sealing_t *sealing = rsti_alloc(sizeof *sealing);
    if (sealing == NULL) {
        return -RST_ENOMEM;
    }
    sealing->inner = *inner;
    sealing->clock = *clock;
    *media = (rsti_media_t){.table = &sealing_table, .arg = sealing};
    return 0;
}

void rsti_media_sealing_destroy(rsti_media_t *media)
{
    if (media->table != NULL) {
        media->table->destroy(media->arg);
        *media = (rsti_media_t){0};
    }
}

void rsti_media_sealing_counts(const rsti_media_t *media, int64_t counts[RSTI_OPENED_COUNT])
{
    const sealing_t *sealing = media->arg;
    for (int i = 0; i < RSTI_OPENED_COUNT; i++) {
        counts[i] = rsti_load_acquire_i64(&sealing->counts[i]);
    }
}

void rsti_media_sealing_tap(const rsti_media_t *media, const rsti_tap_t *tap)
{
    sealing_t *sealing = media->arg;
    sealing->tap = *tap;
}
