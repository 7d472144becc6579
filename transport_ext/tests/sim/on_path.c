/* on_path.c: see on_path.h. */
#include "tests/sim/on_path.h"

#include "protocol/frame.h"
#include "seal/refusal.h"
#include "seal/sealed.h"
#include "tests/sim/actors.h"
#include "tests/sim/agenda.h"
#include "tests/sim/keys.h"
#include "tests/sim/world.h"
#include "util/netaddr.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_MAX 256
#define LATEST_MAX 128
#define HOLD_NS_MAX (5 * SIM_MS)
#define SEND_NS_MAX (20 * SIM_MS)

typedef enum trick_t {
    TRICK_AGAIN, /* what passed a moment ago */
    TRICK_FIRST, /* what passed in the beginning */
    TRICK_REFLECT, /* back to its sender */
    TRICK_CROSS, /* to another one, from another one */
    TRICK_PLAIN, /* the frame as it is, without its seal */
    TRICK_PLAIN_CHANGED,
    TRICK_ECHO, /* answers a challenge that passes */
    TRICK_STRANGER, /* says that it is sealed, with the key of the group and a salt of its own */
    TRICK_REFUSAL,
    TRICK_KINDS
} trick_t;

static bool is_active;
static double drop, hold, alter, tricks; /* probabilities, at each datagram */
static sim_packet_t *first[FIRST_MAX], *latest[LATEST_MAX];
static int64_t first_count, latest_count;

static int64_t pick(int64_t least, int64_t most)
{
    return sim_between(RNG_ON_PATH, least, most);
}

static double probability(void)
{
    static const double choices[] = {0, 0, 0.01, 0.05, 0.15};
    return choices[pick(0, 4)];
}

void sim_generate_on_path(void)
{
    first_count = latest_count = 0;
    is_active = sim_has_keys() && sim_chance(RNG_ON_PATH, 0.9);
    drop = probability();
    hold = probability();
    alter = probability();
    tricks = 0.02 + 2 * probability();
    if (is_active) {
        sim_count("run: with a hostile host on the path");
    }
}

/* ---- what it knows ---- */

static sim_packet_t *copy_of(const sim_passage_t *passage)
{
    sim_packet_t *copy = sim_packet_make(passage->data, passage->length);
    sim_packet_address(copy, passage);
    return copy;
}

/* Also what never arrives. */
static void record(const sim_passage_t *passage)
{
    if (first_count < FIRST_MAX) {
        first[first_count++] = copy_of(passage);
    }
    sim_packet_t **place = &latest[latest_count++ % LATEST_MAX];
    if (latest_count > LATEST_MAX) {
        free(*place);
    }
    *place = copy_of(passage);
}

static const sim_packet_t *one_of(sim_packet_t *const *packets, int64_t count)
{
    return packets[pick(0, count - 1)];
}

static const sim_packet_t *a_late_one(void)
{
    return one_of(latest, latest_count < LATEST_MAX ? latest_count : LATEST_MAX);
}

/* ---- what it sends ---- */

static void arrive(void *arg, int64_t number)
{
    (void)number;
    sim_network_deliver(arg);
}

static void send_after(sim_packet_t *packet, int64_t ns_max)
{
    sim_agenda_add(world.now_ns + pick(0, ns_max), arrive, packet, 0);
}

static sim_packet_t *again(const sim_packet_t *packet)
{
    sim_packet_t *copy = sim_packet_make(packet->data, packet->length);
    copy->from = packet->from;
    copy->to = packet->to;
    copy->from_host = packet->from_host;
    copy->to_host = packet->to_host;
    return copy;
}

/* The datagram goes from the receiver of another one to its sender. */
static void turn_back(sim_packet_t *packet, const sim_packet_t *of)
{
    packet->from = of->to;
    packet->to = of->from;
    packet->from_host = of->to_host;
    packet->to_host = of->from_host;
}

static sim_packet_t *plain_of(const sim_passage_t *passage)
{
    sim_packet_t *made = sim_packet_make(passage->frame, passage->frame_length);
    sim_packet_address(made, passage);
    return made;
}

/* An end of stream, another window, another session, other bytes: one at a time. */
static void change(sim_packet_t *packet)
{
    if (pick(0, 2) == 0 && packet->length > 5) {
        packet->data[5] ^= (uint8_t)(1U << pick(0, 7));
    } else {
        packet->data[pick(0, (int64_t)packet->length - 1)] ^= (uint8_t)pick(1, 255);
    }
}

static sim_packet_t *echo_of(const sim_passage_t *passage)
{
    sim_packet_t *made = plain_of(passage);
    rsti_rttm_t rttm;
    if (made->length == sizeof rttm) {
        memcpy(&rttm, made->data, sizeof rttm);
        if (rttm.frame.type == RSTI_FRAME_RTTM) {
            rttm.frame.flags = 0;
            memcpy(made->data, &rttm, sizeof rttm);
            sim_count("on the path: challenges answered");
        }
    }
    const struct sockaddr_storage from = made->from;
    made->from = made->to;
    made->to = from;
    made->from_host = passage->to_host;
    made->to_host = passage->from_host;
    return made;
}

static sim_packet_t *stranger_of(const sim_passage_t *passage)
{
    sim_packet_t *made = sim_packet_make(passage->data, passage->length);
    uint8_t salt[RSTI_SEALED_SALT];
    sim_packet_address(made, passage);
    for (size_t i = 0; i < sizeof salt; i++) {
        salt[i] = (uint8_t)pick(0, 255);
    }
    const rsti_sealed_t sealed = {
        .kind = pick(0, 1) == 0 ? RSTI_AEAD_AES_128_GCM : RSTI_AEAD_CHACHA20_POLY1305,
        .key_id = pick(0, 3) == 0 ? (uint32_t)pick(0, UINT32_MAX) : sim_keys_id(),
        .salt = salt,
        .counter = (uint64_t)pick(0, INT64_MAX),
    };
    if (made->length > RSTI_SEALED_OVERHEAD) {
        rsti_sealed_encode(&sealed, made->length, made->data);
    }
    return made;
}

static sim_packet_t *refusal_of(const sim_passage_t *passage)
{
    uint8_t data[RSTI_REFUSAL_BYTES];
    rsti_refusal_encode(pick(0, 1) == 0 ? sim_keys_id() : (uint32_t)pick(0, UINT32_MAX), data);
    sim_packet_t *made = sim_packet_make(data, sizeof data);
    sim_packet_address(made, passage);
    return made;
}

static sim_packet_t *trick_of(trick_t trick, const sim_passage_t *passage)
{
    sim_packet_t *made;
    switch (trick) {
    case TRICK_AGAIN:
        return again(a_late_one());
    case TRICK_FIRST:
        return again(one_of(first, first_count));
    case TRICK_REFLECT:
        made = again(a_late_one());
        turn_back(made, a_late_one());
        return made;
    case TRICK_CROSS:
        made = again(one_of(first, first_count));
        sim_packet_address(made, passage);
        return made;
    case TRICK_PLAIN:
        return plain_of(passage);
    case TRICK_PLAIN_CHANGED:
        made = plain_of(passage);
        change(made);
        return made;
    case TRICK_ECHO:
        return echo_of(passage);
    case TRICK_STRANGER:
        return stranger_of(passage);
    default:
        return refusal_of(passage);
    }
}

static void play_trick(const sim_passage_t *passage)
{
    static const char *const names[TRICK_KINDS] = {[TRICK_AGAIN] = "on the path: sent again",
        [TRICK_FIRST] = "on the path: sent again, the first",
        [TRICK_REFLECT] = "on the path: reflected",
        [TRICK_CROSS] = "on the path: sent to another",
        [TRICK_PLAIN] = "on the path: plain",
        [TRICK_PLAIN_CHANGED] = "on the path: plain, changed",
        [TRICK_ECHO] = "on the path: plain, back",
        [TRICK_STRANGER] = "on the path: with a false seal",
        [TRICK_REFUSAL] = "on the path: refusals"};
    const trick_t trick = (trick_t)pick(0, TRICK_KINDS - 1);
    sim_packet_t *packet = trick_of(trick, passage);
    sim_count(names[trick]);
    send_after(packet, pick(0, 1) == 0 ? 0 : SEND_NS_MAX);
}

/* ---- what passes ---- */

static sim_packet_t *altered(const sim_passage_t *passage)
{
    sim_packet_t *packet = copy_of(passage);
    const int64_t kind = pick(0, 9);
    if (kind == 0) {
        packet->length = (size_t)pick(1, (int64_t)packet->length);
    }
    for (int64_t i = kind == 1 ? pick(1, 8) : 1; i > 0; i--) {
        packet->data[pick(0, (int64_t)packet->length - 1)] ^= (uint8_t)pick(1, 255);
    }
    return packet;
}

bool sim_on_path_takes(const sim_passage_t *passage)
{
    if (!is_active || passage->length == 0) {
        return false;
    }
    record(passage);
    if (!actors.is_publishing_over && sim_chance(RNG_ON_PATH, tricks)) {
        play_trick(passage);
    }
    if (world.is_calm) {
        return false;
    }
    if (sim_chance(RNG_ON_PATH, drop)) {
        sim_count("on the path: dropped");
        return true;
    }
    if (sim_chance(RNG_ON_PATH, alter)) {
        sim_count("on the path: altered");
        send_after(altered(passage), HOLD_NS_MAX);
        return pick(0, 1) == 0;
    }
    if (sim_chance(RNG_ON_PATH, hold)) {
        sim_count("on the path: held back");
        send_after(copy_of(passage), HOLD_NS_MAX);
        return true;
    }
    return false;
}
