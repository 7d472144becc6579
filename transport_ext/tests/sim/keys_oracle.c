/* keys_oracle.c: see keys_oracle.h. */
#include "tests/sim/keys_oracle.h"

#include "driver/receiver/image.h"
#include "driver/receiver/receive_endpoint.h"
#include "protocol/frame.h"
#include "seal/refusal.h"
#include "seal/sealed.h"
#include "tests/sim/keys.h"
#include "tests/sim/network.h"
#include "tests/sim/world.h"
#include "util/netaddr.h"

#include <inttypes.h>
#include <string.h>

#define SALTS_MAX 1024
#define PROOFS_MAX 4096
#define TALLIES (1 << 20)

typedef struct salt_t {
    int32_t socket_number;
    uint8_t bytes[RSTI_SEALED_SALT];
    uint64_t next_counter;
} salt_t;

/* The echo of a challenge: by whom, and whose challenge. */
typedef struct proof_t {
    uint64_t sealer;
    int64_t receiver_id;
    int32_t session_id, stream_id;
} proof_t;

/* How often something happened to a frame. */
typedef struct tally_t {
    uint64_t key; /* 0: free */
    int64_t count;
} tally_t;

typedef struct open_socket_t {
    const rsti_socket_t *socket;
    int32_t number;
} open_socket_t;

static salt_t salts[SALTS_MAX];
static int32_t salt_count;
static proof_t proofs[PROOFS_MAX];
static int32_t proof_count;
static tally_t tallies[TALLIES];
static int32_t tally_count;
static open_socket_t open_sockets[SIM_SOCKETS_MAX]; /* a place is used again, by its pointer */
static int32_t open_socket_count;

/* The tallies are zero: a process runs one world. */
void sim_oracle_init(void)
{
    salt_count = proof_count = tally_count = open_socket_count = 0;
}

/* ---- what was sealed, and what was opened ---- */

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

/* Of a frame that this sealer sealed; socket_number -1: no matter who opens it. Never 0. */
static uint64_t tally_key(uint64_t sealer, int32_t socket_number, const uint8_t *frame,
    size_t length)
{
    uint64_t hash = mix(mix(mix(1, sealer), (uint64_t)socket_number), length);
    for (size_t at = 0; at < length; at += sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, frame + at, length - at < sizeof word ? length - at : sizeof word);
        hash = mix(hash, word);
    }
    return hash == 0 ? 1 : hash;
}

static int64_t *tally_of(uint64_t tally_key)
{
    uint64_t at = tally_key % TALLIES;
    while (tallies[at].key != 0 && tallies[at].key != tally_key) {
        at = (at + 1) % TALLIES;
    }
    if (tallies[at].key == 0) {
        if (++tally_count > TALLIES / 4 * 3) {
            sim_fail("too many frames with keys");
        }
        tallies[at].key = tally_key;
    }
    return &tallies[at].count;
}

void sim_oracle_note_socket(const rsti_socket_t *socket, int32_t number)
{
    int32_t at = 0;
    while (at < open_socket_count && open_sockets[at].socket != socket) {
        at++;
    }
    if (at == SIM_SOCKETS_MAX) {
        sim_fail("more than %d sockets", SIM_SOCKETS_MAX);
    }
    open_socket_count += at == open_socket_count;
    open_sockets[at] = (open_socket_t){socket, number};
}

static int32_t number_of(const rsti_socket_t *socket)
{
    int32_t at = 0;
    while (open_sockets[at].socket != socket) {
        at++;
    }
    return open_sockets[at].number;
}

void sim_oracle_on_open(const rsti_socket_t *socket, const rsti_datagram_t *datagram)
{
    const uint64_t sealer = rsti_netaddr_sealer(&datagram->address);
    const int32_t number = number_of(socket);
    const int64_t sealed = *tally_of(tally_key(sealer, -1, datagram->data, datagram->length));
    int64_t *opened = tally_of(tally_key(sealer, number, datagram->data, datagram->length));
    if (++*opened > sealed) {
        sim_fail("a socket opens %zu bytes %" PRId64 " times, they were sealed %" PRId64 " times",
            datagram->length, *opened, sealed);
    }
    for (int32_t i = 0; i < salt_count; i++) {
        if (salts[i].socket_number == number
            && memcmp(salts[i].bytes, &sealer, sizeof sealer) == 0) {
            sim_fail("a socket opens what it has sealed");
        }
    }
}

/* ---- what leaves ---- */

static void note_proof(const salt_t *salt, const rsti_datagram_t *frame)
{
    rsti_rttm_t rttm;
    if (frame->length != sizeof rttm) {
        return;
    }
    memcpy(&rttm, frame->data, sizeof rttm);
    if (rttm.frame.type != RSTI_FRAME_RTTM || (rttm.frame.flags & RSTI_RTTM_FLAG_REPLY) != 0) {
        return;
    }
    proof_t *proof = &proofs[proof_count++ % PROOFS_MAX];
    memcpy(&proof->sealer, salt->bytes, sizeof proof->sealer);
    proof->receiver_id = rttm.receiver_id;
    proof->session_id = rttm.session_id;
    proof->stream_id = rttm.stream_id;
}

static salt_t *salt_of(int32_t socket_number, const uint8_t *bytes)
{
    for (int32_t i = salt_count; i > 0; i--) {
        salt_t *salt = &salts[i - 1];
        const bool is_same = memcmp(salt->bytes, bytes, sizeof salt->bytes) == 0;
        if (is_same != (salt->socket_number == socket_number)) {
            sim_fail("a socket has two salts, or two sockets have one");
        }
        if (is_same) {
            return salt;
        }
    }
    if (salt_count == SALTS_MAX) {
        sim_fail("more than %d sockets with keys", SALTS_MAX);
    }
    salt_t *made = &salts[salt_count++];
    *made = (salt_t){.socket_number = socket_number};
    memcpy(made->bytes, bytes, sizeof made->bytes);
    return made;
}

void sim_oracle_on_send(int32_t socket_number, const rsti_datagram_t *sent,
    const rsti_datagram_t *frame)
{
    uint32_t asked;
    rsti_sealed_t sealed;
    if (frame == sent) {
        if (!rsti_refusal_decode(&asked, sent->data, sent->length) || !sim_keys_has(asked)) {
            sim_fail("%zu plain bytes leave a socket with a key", sent->length);
        }
        sim_count("keys: refusals sent");
        return;
    }
    if (!rsti_sealed_decode(&sealed, sent->data, sent->length) || !sim_keys_has(sealed.key_id)
        || sent->length != frame->length + RSTI_SEALED_OVERHEAD) {
        sim_fail("%zu bytes leave a socket with a key, and are no sealed frame of %zu bytes",
            sent->length, frame->length);
    }
    salt_t *salt = salt_of(socket_number, sealed.salt);
    if (sealed.counter < salt->next_counter) {
        sim_fail("counter %" PRIu64 " comes twice with its salt", sealed.counter);
    }
    uint64_t sealer;
    memcpy(&sealer, salt->bytes, sizeof sealer);
    salt->next_counter = sealed.counter + 1;
    ++*tally_of(tally_key(sealer, -1, frame->data, frame->length));
    note_proof(salt, frame);
}

/* ---- images ---- */

static bool has_proof(const rsti_image_t *image, const struct sockaddr_storage *source)
{
    const uint64_t sealer = rsti_netaddr_sealer(source);
    const int32_t known = proof_count < PROOFS_MAX ? proof_count : PROOFS_MAX;
    for (int32_t i = 0; i < known; i++) {
        const proof_t *proof = &proofs[i];
        if (proof->sealer == sealer && proof->receiver_id == image->endpoint->receiver_id
            && proof->session_id == image->session_id && proof->stream_id == image->stream_id) {
            return true;
        }
    }
    return false;
}

void sim_oracle_on_image(const rsti_image_t *image)
{
    for (int32_t i = 0; sim_has_keys() && i < image->connection_capacity; i++) {
        const rsti_connection_t *connection = &image->connections[i];
        if (connection->transport == NULL) {
            continue;
        }
        if (!connection->is_proven || !has_proof(image, &connection->source)) {
            sim_fail("image of stream %d session %d: its source has answered no challenge of this"
                     " endpoint",
                image->stream_id, image->session_id);
        }
        sim_count("keys: sources of images with a proof");
    }
}
