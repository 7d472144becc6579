/* hostile.c: see hostile.h. */
#include "tests/sim/hostile.h"

#include "logbuffer/descriptor.h"
#include "protocol/frame.h"
#include "protocol/sm_items.h"
#include "tests/sim/actors.h"
#include "tests/sim/agenda.h"
#include "tests/sim/links.h"
#include "tests/sim/world.h"
#include "util/bits.h"
#include "util/netaddr.h"

#include <stdio.h>
#include <string.h>

#define HEARD_MAX 64
#define PORTS 40
#define GAIN_MAX 3
#define FRAME_MAX 256
#define SILENCE_NS (SIM_S / 2) /* heartbeats come every 100 ms: its publisher has died */

typedef struct heard_t {
    int32_t host;
    struct sockaddr_storage at; /* the sender's socket */
    int32_t to_host; /* of a receiver; -1: a group */
    struct sockaddr_storage to;
    rsti_setup_t setup;
    int32_t term_id, term_offset; /* of its last data */
    bool is_known; /* the hostile host knows its terms */
    bool is_claimed; /* it may have been admitted as the source; then its data would be accepted */
    bool has_ended; /* its session is free, and the hostile host may begin one like any other */
    int64_t heard_ns;
} heard_t;

typedef enum attack_t {
    ATTACK_STATUS,
    ATTACK_ITEM,
    ATTACK_EOS,
    ATTACK_ASK,
    ATTACK_ASK_ANY,
    ATTACK_BLIND_STATUS,
    ATTACK_NAK,
    ATTACK_ERR,
    ATTACK_RESPONSE_SETUP,
    ATTACK_ROUND_TRIP,
    ATTACK_SETUP,
    ATTACK_SESSION_SETUP,
    ATTACK_DATA,
    ATTACK_SESSION_DATA,
    ATTACK_SESSION_END,
    ATTACK_KINDS
} attack_t;

static bool is_active;
static heard_t heard[HEARD_MAX];
static int heard_count;
static int64_t sent_bytes, received_bytes;
static int64_t pause_ns_max;

static int64_t pick(int64_t least, int64_t most)
{
    return sim_between(RNG_HOSTILE, least, most);
}

/* ---- what it knows ---- */

static bool is_dynamic(int32_t stream_id)
{
    for (int32_t i = 0; i < actors.publisher_count; i++) {
        if (actors.publishers[i].stream_id == stream_id
            && strstr(actors.publishers[i].channel, "control-mode=dynamic") != NULL) {
            return true;
        }
    }
    return false;
}

static heard_t *find(int32_t session_id, int32_t stream_id)
{
    for (int i = 0; i < heard_count; i++) {
        if (heard[i].setup.session_id == session_id && heard[i].setup.stream_id == stream_id) {
            return &heard[i];
        }
    }
    return NULL;
}

static void hear_setup(int32_t host, const struct sockaddr_storage *from, int32_t to_host,
    const struct sockaddr_storage *to, const uint8_t *data)
{
    rsti_setup_t setup;
    memcpy(&setup, data, sizeof setup);
    heard_t *stream = find(setup.session_id, setup.stream_id);
    const bool is_claimed = stream != NULL && stream->is_claimed;
    const bool has_ended = stream != NULL && stream->has_ended;
    if (stream == NULL && heard_count < HEARD_MAX) {
        stream = &heard[heard_count++];
    }
    if (stream == NULL) {
        return;
    }
    const bool is_group = (setup.frame.flags & RSTI_SETUP_FLAG_GROUP) != 0;
    *stream = (heard_t){
        .is_claimed = is_claimed,
        .has_ended = has_ended,
        .heard_ns = world.now_ns,
        .host = host,
        .at = *from,
        .to_host = to_host,
        .to = *to,
        .setup = setup,
        .term_id = setup.active_term_id,
        .term_offset = setup.term_offset,
        .is_known = !rsti_netaddr_is_multicast(to) && (!is_group || is_dynamic(setup.stream_id)),
    };
}

void sim_hostile_hear(int32_t host, const struct sockaddr_storage *from, int32_t to_host,
    const struct sockaddr_storage *to, const uint8_t *data, size_t length)
{
    const int16_t type = length >= RSTI_FRAME_HEADER_LENGTH
        ? ((const rsti_frame_header_t *)(const void *)data)->type
        : -1;
    if (!is_active) {
        return;
    }
    if (type == RSTI_FRAME_SETUP) {
        hear_setup(host, from, to_host, to, data);
    } else if (type == RSTI_FRAME_DATA) {
        rsti_data_header_t header;
        memcpy(&header, data, sizeof header);
        heard_t *stream = find(header.session_id, header.stream_id);
        if (stream != NULL) {
            stream->heard_ns = world.now_ns;
            stream->has_ended |= (header.frame.flags & RSTI_FLAG_EOS) != 0;
            stream->term_id = header.term_id;
            stream->term_offset = header.term_offset;
        }
    }
}

bool sim_hostile_is(const char *source)
{
    return strstr(source, sim_host_address(SIM_HOSTILE_HOST, false)) != NULL
        || strstr(source, sim_host_address(SIM_HOSTILE_HOST, true)) != NULL;
}

void sim_hostile_got(const uint8_t *data, size_t length)
{
    received_bytes += (int64_t)length;
    sim_count("hostile: got an answer");
    if (received_bytes > GAIN_MAX * sent_bytes) {
        sim_fail("the hostile host sent %lld bytes and got %lld; the last frame has type %d",
            (long long)sent_bytes, (long long)received_bytes,
            ((const rsti_frame_header_t *)(const void *)data)->type);
    }
}

/* ---- what it sends ---- */

static void send_to(int32_t host, const struct sockaddr_storage *to, const void *frame,
    size_t length)
{
    struct sockaddr_storage from;
    char text[RSTI_NETADDR_TEXT_MAX];
    const bool is_ipv6 = to->ss_family == AF_INET6;
    snprintf(text, sizeof text, "%s:%d", sim_host_address(SIM_HOSTILE_HOST, is_ipv6),
        (int)pick(40000, 40000 + PORTS - 1));
    if (rsti_netaddr_resolve(text, &from) < 0) {
        sim_fail("no address %s", text);
    }
    sent_bytes += (int64_t)length;
    const sim_passage_t passage = {.from_host = SIM_HOSTILE_HOST,
        .to_host = host,
        .from = &from,
        .to = to,
        .data = frame,
        .length = length,
        .frame = frame,
        .frame_length = length};
    sim_link_carry(&passage);
}

/* To the sender of a stream. */
static void send_frame(const heard_t *stream, const void *frame, size_t length)
{
    send_to(stream->host, &stream->at, frame, length);
}

/* To a receiver of a stream; one of a group must not believe the hostile host either, but groups
 * are left out: every member could be the publisher. */
static void send_to_receiver(const heard_t *stream, const void *frame, size_t length)
{
    if (stream->to_host >= 0 && !stream->has_ended
        && world.now_ns - stream->heard_ns < SILENCE_NS) {
        send_to(stream->to_host, &stream->to, frame, length);
        sim_count("hostile: attacks on receivers");
    }
}

/* A status message near the position of the stream; unknown terms are guessed. */
static rsti_sm_t status_of(const heard_t *stream, uint8_t flags)
{
    const int32_t term_length = stream->setup.term_length;
    const int64_t back = pick(0, term_length / 2 / 32) * 32;
    const int32_t offset = stream->term_offset - (int32_t)back;
    const int32_t guess = (int32_t)pick(INT32_MIN, INT32_MAX);
    return (rsti_sm_t){
        .frame = {RSTI_SM_LENGTH, 0, flags, RSTI_FRAME_SM},
        .session_id = stream->setup.session_id,
        .stream_id = stream->setup.stream_id,
        .consumption_term_id = !stream->is_known ? guess
            : offset >= 0                        ? stream->term_id
                                                 : rsti_wrap_add_i32(stream->term_id, -1),
        .consumption_term_offset = offset >= 0 ? offset : offset + term_length,
        .receiver_window = (int32_t)pick(0, term_length / 2 / 32) * 32,
        .receiver_id = pick(1, 9),
    };
}

static void send_status(const heard_t *stream, uint8_t flags)
{
    const rsti_sm_t sm = status_of(stream, flags);
    send_frame(stream, &sm, sizeof sm);
}

static void send_item(const heard_t *stream)
{
    uint8_t frame[FRAME_MAX] = {0};
    const int64_t words[3] = {pick(0, 100000), pick(0, 2), pick(0, 2)};
    static const struct {
        uint8_t type, length;
    } items[] = {{RSTI_SM_ITEM_BUDGET, 24}, {RSTI_SM_ITEM_DEMAND, 16}, {RSTI_SM_ITEM_ROUND_TRIP, 8},
        {RSTI_SM_ITEM_ARRIVAL_RATE, 8}, {RSTI_SM_ITEM_NOOP, 16}};
    const int64_t kind = pick(0, 4);
    rsti_sm_t sm = status_of(stream, 0);
    rsti_sm_items_writer_t writer;
    rsti_sm_items_begin(&writer, frame + RSTI_SM_ITEMS_OFFSET, RSTI_SM_ITEMS_MAX);
    (void)rsti_sm_items_add(&writer, items[kind].type, words, items[kind].length);
    sm.frame.frame_length = RSTI_SM_ITEMS_OFFSET + (int32_t)rsti_sm_items_end(&writer);
    memcpy(frame, &sm, sizeof sm);
    send_frame(stream, frame, (size_t)sm.frame.frame_length);
}

static void send_ask_any(const heard_t *stream)
{
    const rsti_sm_t sm = {
        .frame = {RSTI_SM_LENGTH, 0, RSTI_SM_FLAG_SEND_SETUP, RSTI_FRAME_SM},
        .receiver_id = pick(1, 9),
    };
    send_frame(stream, &sm, sizeof sm);
}

static void send_nak(const heard_t *stream)
{
    const int32_t offset = (int32_t)pick(0, stream->term_offset / 32) * 32;
    const rsti_nak_t nak = {
        .frame = {RSTI_NAK_LENGTH, 0, 0, RSTI_FRAME_NAK},
        .session_id = stream->setup.session_id,
        .stream_id = stream->setup.stream_id,
        .term_id = stream->term_id,
        .term_offset = offset,
        .length = stream->setup.term_length - offset,
    };
    send_frame(stream, &nak, sizeof nak);
}

static void send_err(const heard_t *stream)
{
    const rsti_err_t err = {
        .frame = {RSTI_ERR_LENGTH, 0, 0, RSTI_FRAME_ERR},
        .session_id = stream->setup.session_id,
        .stream_id = stream->setup.stream_id,
        .receiver_id = pick(1, 9),
        .error_code = 13,
    };
    send_frame(stream, &err, sizeof err);
}

static void send_response_setup(const heard_t *stream)
{
    const rsti_rsp_setup_t setup = {
        .frame = {RSTI_RSP_SETUP_LENGTH, 0, 0, RSTI_FRAME_RSP_SETUP},
        .session_id = stream->setup.session_id,
        .stream_id = stream->setup.stream_id,
        .response_session_id = (int32_t)pick(INT32_MIN, INT32_MAX),
    };
    send_frame(stream, &setup, sizeof setup);
}

/* A question, or an answer to one that it guesses. */
static void send_round_trip(const heard_t *stream)
{
    const rsti_rttm_t rttm = {
        .frame = {RSTI_RTTM_LENGTH, 0, pick(0, 1) == 0 ? RSTI_RTTM_FLAG_REPLY : 0, RSTI_FRAME_RTTM},
        .session_id = stream->setup.session_id,
        .stream_id = stream->setup.stream_id,
        .echo_timestamp = pick(INT64_MIN / 2, INT64_MAX / 2),
        .receiver_id = pick(1, 9),
    };
    send_frame(stream, &rttm, sizeof rttm);
}

/* ---- to receivers ---- */

/* One of a few, so that some SETUPs come twice: the second one admits a host without a proof. */
static int32_t forged_session(void)
{
    return (int32_t)pick(1, 3) * 1000003;
}

/* A SETUP of a session of its own, or of one that exists with other facts. */
static void send_setup(heard_t *stream, bool is_of_session)
{
    rsti_setup_t setup = stream->setup;
    setup.frame.flags = pick(0, 1) == 0 ? 0 : RSTI_SETUP_FLAG_RSTREAM;
    stream->is_claimed |= is_of_session;
    if (!is_of_session || pick(0, 1) == 0) {
        setup.initial_term_id = (int32_t)pick(INT32_MIN, INT32_MAX / 2);
        setup.active_term_id = setup.initial_term_id;
        setup.term_offset = 0;
    }
    setup.session_id = is_of_session ? setup.session_id : forged_session();
    send_to_receiver(stream, &setup, sizeof setup);
}

/* Payload, or a heartbeat that ends the stream. */
static void send_data(const heard_t *stream, bool is_of_session, bool is_end)
{
    uint8_t frame[FRAME_MAX] = {0};
    const int32_t length = is_end ? 0 : RSTI_DATA_HEADER_LENGTH + (int32_t)pick(0, 64);
    const uint8_t end_flags = RSTI_FLAG_EOS | (pick(0, 1) == 0 ? RSTI_FLAG_REVOKED : 0);
    const rsti_data_header_t header = {
        .frame = {length, 0, RSTI_FLAG_UNFRAGMENTED | (is_end ? end_flags : 0), RSTI_FRAME_DATA},
        .term_offset = is_of_session ? stream->term_offset : 0,
        .session_id = is_of_session ? stream->setup.session_id : forged_session(),
        .stream_id = stream->setup.stream_id,
        .term_id = stream->term_id,
    };
    memcpy(frame, &header, sizeof header);
    send_to_receiver(stream, frame, (size_t)(is_end ? RSTI_DATA_HEADER_LENGTH : length));
}

static void attack_receiver(heard_t *stream, attack_t attack)
{
    switch (attack) {
    case ATTACK_SETUP:
        send_setup(stream, false);
        break;
    case ATTACK_SESSION_SETUP:
        send_setup(stream, true);
        break;
    case ATTACK_DATA:
        send_data(stream, false, false);
        break;
    case ATTACK_SESSION_DATA:
        if (!stream->is_claimed) {
            send_data(stream, true, false);
        }
        break;
    default:
        send_data(stream, true, true);
        break;
    }
}

static void attack_stream(heard_t *stream)
{
    const attack_t attack = (attack_t)pick(0, ATTACK_KINDS - 1);
    switch (attack) {
    case ATTACK_STATUS:
        send_status(stream, 0);
        break;
    case ATTACK_ITEM:
        send_item(stream);
        break;
    case ATTACK_EOS:
        send_status(stream, RSTI_SM_FLAG_EOS);
        break;
    case ATTACK_ASK:
        if (stream->is_known) {
            send_status(stream, RSTI_SM_FLAG_SEND_SETUP);
        }
        break;
    case ATTACK_ASK_ANY:
        send_ask_any(stream);
        break;
    case ATTACK_BLIND_STATUS: {
        heard_t guess = *stream;
        guess.setup.session_id = (int32_t)pick(INT32_MIN, INT32_MAX);
        send_status(&guess, 0);
        break;
    }
    case ATTACK_NAK:
        send_nak(stream);
        break;
    case ATTACK_ERR:
        send_err(stream);
        break;
    case ATTACK_RESPONSE_SETUP:
        send_response_setup(stream);
        break;
    case ATTACK_ROUND_TRIP:
        send_round_trip(stream);
        break;
    default:
        attack_receiver(stream, attack);
        break;
    }
    sim_count("hostile: attacks");
}

static void attack(void *arg, int64_t number)
{
    (void)arg;
    if (actors.is_publishing_over) {
        return;
    }
    if (heard_count > 0) {
        attack_stream(&heard[pick(0, heard_count - 1)]);
    }
    sim_agenda_add(world.now_ns + pick(1, pause_ns_max), attack, NULL, number + 1);
}

void sim_generate_hostile(void)
{
    heard_count = 0;
    sent_bytes = received_bytes = 0;
    is_active = sim_chance(RNG_HOSTILE, 0.3);
    if (is_active) {
        pause_ns_max = (int64_t)1 << pick(18, 26); /* a quarter of a millisecond to 67 ms */
        sim_count("run: with a hostile host");
        sim_agenda_add(SIM_S, attack, NULL, 0);
    }
}
