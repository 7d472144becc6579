#include "tests/sim/wire_invariants.h"

#include "logbuffer/descriptor.h"
#include "loss/retransmit_handler.h"
#include "protocol/sm_items.h"
#include "tests/sim/actors.h"
#include "tests/sim/world.h"
#include "util/bits.h"
#include "util/netaddr.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define STREAMS_MAX 256
#define RECEIVERS_MAX 512
/* The shortest linger that a driver may use (loss/repair.c). */
#define LINGER_NS INT64_C(50000)

/* The position of a retransmission, and the time of the sender's pass: its timers run by that, also
 * when it reads the clock again within the pass. */
typedef struct again_t {
    int64_t position;
    int64_t pass_ns;
    int32_t copies; /* retransmissions at that instant beside the first */
} again_t;

/* A publication as its datagrams show it. */
typedef struct stream_t {
    int32_t process_id; /* the sending process */
    int32_t session_id, stream_id;
    int32_t initial_term_id, term_length, mtu;
    int64_t highest; /* the end of the data sent */
    int64_t limit;   /* highest position + window of all status messages that arrived */
    int64_t consumed; /* highest position of them */
    bool follows_path;
    struct sockaddr_storage first_peer;
    bool is_split; /* goes to several destinations */
    int64_t again_end, again_pass_ns; /* of the last retransmission */
    again_t again;
} stream_t;

typedef struct receiver_t {
    int32_t process_id;
    int32_t session_id, stream_id, initial_term_id;
    int64_t receiver_id;
    int64_t position;
} receiver_t;

static stream_t streams[STREAMS_MAX];
static int stream_count;
static receiver_t receivers[RECEIVERS_MAX];
static int receiver_count;
static bool was_first;

void sim_wire_init(void)
{
    stream_count = 0;
    receiver_count = 0;
    was_first = false;
}

/* process_id -1: of any process. Returns the newest one. */
static stream_t *find(int32_t process_id, int32_t session_id, int32_t stream_id)
{
    for (int i = stream_count; i > 0; i--) {
        stream_t *stream = &streams[i - 1];
        if (stream->session_id == session_id && stream->stream_id == stream_id
            && (process_id < 0 || stream->process_id == process_id)) {
            return stream;
        }
    }
    return NULL;
}

/* A session id may be one that an earlier stream had. Returns the stream that began least before
 * this term; NULL: all known streams began behind it. */
static stream_t *find_of_term(int32_t process_id, int32_t session_id, int32_t stream_id,
    int32_t term_id)
{
    stream_t *nearest = NULL;
    uint32_t least = INT32_MAX;
    for (int i = stream_count; i > 0; i--) {
        stream_t *stream = &streams[i - 1];
        const uint32_t terms = (uint32_t)term_id - (uint32_t)stream->initial_term_id;
        if (stream->session_id == session_id && stream->stream_id == stream_id
            && (process_id < 0 || stream->process_id == process_id) && terms < least) {
            nearest = stream;
            least = terms;
        }
    }
    return nearest;
}

static int64_t position_of(const stream_t *stream, int32_t term_id, int32_t term_offset)
{
    return rsti_position(term_id, term_offset, rsti_log2((uint32_t)stream->term_length),
        stream->initial_term_id);
}

bool sim_frame_is_data(const uint8_t *data, size_t length)
{
    rsti_frame_header_t header;
    if (length <= RSTI_DATA_HEADER_LENGTH) {
        return false;
    }
    memcpy(&header, data, sizeof header);
    return header.type == RSTI_FRAME_DATA || header.type == RSTI_FRAME_PAD;
}

bool sim_wire_is_first_transmission(const uint8_t *data, size_t length)
{
    return was_first && sim_frame_is_data(data, length);
}

/* ---- leaving ---- */

static void on_setup(int32_t process_id, const uint8_t *data)
{
    rsti_setup_t setup;
    memcpy(&setup, data, sizeof setup);
    stream_t *stream = find(process_id, setup.session_id, setup.stream_id);
    if (stream == NULL || stream->initial_term_id != setup.initial_term_id) {
        if (stream_count == STREAMS_MAX) {
            sim_fail("more than %d streams on the wire", STREAMS_MAX);
        }
        stream = &streams[stream_count++];
        *stream = (stream_t){.process_id = process_id,
            .session_id = setup.session_id,
            .stream_id = setup.stream_id,
            .limit = -1,
            .consumed = -1};
    }
    stream->initial_term_id = setup.initial_term_id;
    stream->term_length = setup.term_length;
    stream->mtu = setup.mtu;
    stream->follows_path = (setup.frame.flags & RSTI_SETUP_FLAG_PATH) != 0;
    if (!rsti_setup_is_valid(&setup)) {
        sim_fail("a SETUP leaves that no receiver may accept");
    }
}

/* However many NAKs arrive, within the linger time a retransmission leaves once, unless another one
 * left in between (a sender may remember only one). A NAK covers one term. Several lost copies
 * leave at one instant. */
static void check_again(stream_t *stream, int64_t begin, int64_t end)
{
    const int64_t pass_ns = sim_driver_send_pass_ns(stream->process_id);
    const bool goes_on = stream->again_end == begin && stream->again_pass_ns == pass_ns
        && begin % stream->term_length != 0;
    stream->again_end = end;
    stream->again_pass_ns = pass_ns;
    if (goes_on || pass_ns == 0) {
        return;
    }
    if (stream->again.pass_ns != 0 && stream->again.position == begin
        && pass_ns - stream->again.pass_ns < LINGER_NS) {
        if (pass_ns == stream->again.pass_ns
            && ++stream->again.copies < RSTI_RETRANSMIT_COPIES_MAX) {
            return;
        }
        sim_fail("stream %d: %" PRId64 " is sent again, %" PRId64 " ns after the last time",
            stream->stream_id, begin, pass_ns - stream->again.pass_ns);
    }
    stream->again = (again_t){begin, pass_ns, 0};
}

static void on_data(int32_t process_id, const struct sockaddr_storage *to, const uint8_t *data,
    size_t length)
{
    rsti_data_header_t header;
    memcpy(&header, data, sizeof header);
    stream_t *stream = find_of_term(process_id, header.session_id, header.stream_id,
        header.term_id);
    if (stream == NULL) {
        sim_fail("data of stream %d leave before any SETUP", header.stream_id);
    }
    const int64_t begin = position_of(stream, header.term_id, header.term_offset);
    if (rsti_packet_is_heartbeat(data, length)) {
        if (begin > stream->highest && sim_actors_have_destinations(header.stream_id)) {
            stream->highest = begin; /* earlier data were sent when no receiver was there */
        }
        return;
    }
    const int64_t accounted = rsti_packet_validate(data, length, stream->term_length);
    if (accounted <= 0 || (length > (size_t)stream->mtu && header.frame.type != RSTI_FRAME_PAD)) {
        sim_fail("a datagram of %zu bytes leaves at position %" PRId64
                 " that no receiver may accept (mtu %d)",
            length, begin, stream->mtu);
    }
    const int64_t end = begin + accounted;
    /* Padding to a term's end is sent as its header, so only the header must be within the limit. A
     * window that follows its reader may be shorter than the next frame, which a reader that has
     * consumed everything gets none the less. */
    const bool is_next_frame = stream->follows_path && begin <= stream->consumed;
    if (begin + (int64_t)length > stream->limit && !is_next_frame) {
        sim_fail("stream %d: position %" PRId64 " leaves, receivers allow %" PRId64,
            header.stream_id, begin + (int64_t)length, stream->limit);
    }
    was_first = begin >= stream->highest;
    if (begin > stream->highest && stream->highest > 0
        && !sim_actors_have_destinations(header.stream_id)) {
        sim_fail("stream %d: data leave at %" PRId64 ", those before it only up to %" PRId64,
            header.stream_id, begin, stream->highest);
    }
    if (!was_first && !rsti_netaddr_equal(to, &stream->first_peer)) {
        stream->is_split = true;
    }
    stream->first_peer = *to;
    if (!was_first && !stream->is_split) {
        check_again(stream, begin, end);
    }
    stream->highest = end > stream->highest ? end : stream->highest;
    sim_count(was_first ? "wire: data" : "wire: data again");
}

static receiver_t *receiver_of(int32_t process_id, const rsti_sm_t *sm, int32_t initial_term_id)
{
    for (int i = 0; i < receiver_count; i++) {
        receiver_t *receiver = &receivers[i];
        if (receiver->process_id == process_id && receiver->receiver_id == sm->receiver_id
            && receiver->session_id == sm->session_id && receiver->stream_id == sm->stream_id
            && receiver->initial_term_id == initial_term_id) {
            return receiver;
        }
    }
    if (receiver_count == RECEIVERS_MAX) {
        return NULL;
    }
    receiver_t *made = &receivers[receiver_count++];
    *made = (receiver_t){.process_id = process_id,
        .session_id = sm->session_id,
        .stream_id = sm->stream_id,
        .initial_term_id = initial_term_id,
        .receiver_id = sm->receiver_id,
        .position = -1};
    return made;
}

static void on_item(void *arg, uint8_t type, const uint8_t *value, uint8_t length)
{
    bool *has_fill = arg;
    (void)value, (void)length;
    *has_fill = *has_fill || type == RSTI_SM_ITEM_FILL;
}

/* A sender forwards fill NAKs to its group in the order of their arrival (flow/fill_echo.h). */
static bool is_echo(int32_t process_id, const stream_t *stream, const uint8_t *data, size_t length)
{
    bool has_fill = false;
    return stream->process_id == process_id && length > RSTI_SM_ITEMS_OFFSET
        && rsti_sm_items_read(data + RSTI_SM_ITEMS_OFFSET, length - RSTI_SM_ITEMS_OFFSET, on_item,
            &has_fill)
        && has_fill;
}

static void on_sm(int32_t process_id, const uint8_t *data, size_t length)
{
    rsti_sm_t sm;
    memcpy(&sm, data, sizeof sm);
    const stream_t *stream = find_of_term(-1, sm.session_id, sm.stream_id, sm.consumption_term_id);
    if ((sm.frame.flags & RSTI_SM_FLAG_SEND_SETUP) != 0 || stream == NULL) {
        return;
    }
    if (is_echo(process_id, stream, data, length)) {
        sim_count("wire: fill NAK, echoed");
        return;
    }
    const int64_t position = position_of(stream, sm.consumption_term_id,
        sm.consumption_term_offset);
    if (sm.receiver_window < 0 || sm.receiver_window > stream->term_length / 2) {
        sim_fail("stream %d: a window of %d is announced, a term has %d", sm.stream_id,
            sm.receiver_window, stream->term_length);
    }
    receiver_t *receiver = receiver_of(process_id, &sm, stream->initial_term_id);
    if (receiver != NULL) {
        if (position < receiver->position) {
            sim_fail("stream %d: consumption goes back from %" PRId64 " to %" PRId64, sm.stream_id,
                receiver->position, position);
        }
        receiver->position = position;
    }
}

static void on_nak(const uint8_t *data)
{
    rsti_nak_t nak;
    memcpy(&nak, data, sizeof nak);
    const stream_t *stream = find_of_term(-1, nak.session_id, nak.stream_id, nak.term_id);
    if (stream == NULL) {
        return;
    }
    if (!rsti_nak_is_valid(&nak, stream->term_length) || nak.length <= 0) {
        sim_fail("stream %d: a NAK for %d bytes at %d leaves", nak.stream_id, nak.length,
            nak.term_offset);
    }
    const int64_t end = position_of(stream, nak.term_id, nak.term_offset) + nak.length;
    if (end > stream->highest) {
        sim_fail("stream %d: a NAK asks for %" PRId64 ", sent is %" PRId64, nak.stream_id, end,
            stream->highest);
    }
}

void sim_wire_on_send(int32_t host, int32_t process_id, const struct sockaddr_storage *to,
    const uint8_t *data, size_t length)
{
    rsti_frame_header_t header;
    (void)host;
    was_first = false;
    if (!rsti_frame_is_acceptable(data, length)) {
        sim_fail("a datagram of %zu bytes leaves that is no frame", length);
    }
    memcpy(&header, data, sizeof header);
    switch (header.type) {
    case RSTI_FRAME_DATA:
    case RSTI_FRAME_PAD:
        on_data(process_id, to, data, length);
        break;
    case RSTI_FRAME_SETUP:
        sim_count("wire: SETUP");
        on_setup(process_id, data);
        break;
    case RSTI_FRAME_SM:
        sim_count("wire: SM");
        on_sm(process_id, data, length);
        break;
    case RSTI_FRAME_NAK:
        sim_count("wire: NAK");
        on_nak(data);
        break;
    case RSTI_FRAME_RTTM:
        sim_count("wire: RTTM");
        break;
    case RSTI_FRAME_ERR:
        sim_count("wire: ERR");
        break;
    default:
        sim_count("wire: other");
        break;
    }
}

/* ---- arriving ---- */

/* True when the NAK asks for data that were sent and still exist. */
static bool is_answerable(const stream_t *stream, const rsti_nak_t *nak, int64_t position)
{
    return rsti_nak_is_valid(nak, stream->term_length) && nak->length > 0
        && position < stream->highest
        && position
        >= stream->highest - stream->term_length / 2 - rsti_max_message_length(stream->term_length);
}

/* A sender that remembers one retransmission forgets it when it answers another NAK. */
static void on_nak_arrival(int32_t process_id, const uint8_t *data)
{
    rsti_nak_t nak;
    memcpy(&nak, data, sizeof nak);
    stream_t *stream = find_of_term(process_id, nak.session_id, nak.stream_id, nak.term_id);
    if (stream == NULL) {
        return;
    }
    const int64_t position = position_of(stream, nak.term_id, nak.term_offset);
    if (position != stream->again.position && is_answerable(stream, &nak, position)) {
        stream->again.pass_ns = 0;
    }
}

void sim_wire_on_arrival(int32_t process_id, const uint8_t *data, size_t length)
{
    rsti_sm_t sm;
    if (!rsti_frame_is_acceptable(data, length)) {
        return;
    }
    if (((const rsti_frame_header_t *)(const void *)data)->type == RSTI_FRAME_NAK) {
        on_nak_arrival(process_id, data);
    }
    if (length < sizeof sm) {
        return;
    }
    memcpy(&sm, data, sizeof sm);
    if (sm.frame.type != RSTI_FRAME_SM || (sm.frame.flags & RSTI_SM_FLAG_SEND_SETUP) != 0) {
        return;
    }
    stream_t *stream = find_of_term(process_id, sm.session_id, sm.stream_id,
        sm.consumption_term_id);
    if (stream == NULL) {
        return;
    }
    const int64_t position = position_of(stream, sm.consumption_term_id,
        sm.consumption_term_offset);
    stream->consumed = rsti_max_i64(stream->consumed, position);
    stream->limit = rsti_max_i64(stream->limit, position + sm.receiver_window);
}

bool sim_wire_is_in_reach(const rsti_data_header_t *header)
{
    const stream_t *stream = find(-1, header->session_id, header->stream_id);
    return stream != NULL
        && position_of(stream, header->term_id, header->term_offset)
        < stream->limit + stream->term_length;
}

bool sim_wire_beyond_window(rsti_data_header_t *header)
{
    const stream_t *stream = find(-1, header->session_id, header->stream_id);
    if (stream == NULL) {
        return false;
    }
    const int64_t position = stream->limit + stream->term_length + stream->term_length / 4;
    int64_t aligned = position & ~(int64_t)(RSTI_FRAME_ALIGNMENT - 1);
    if (aligned % stream->term_length + header->frame.frame_length > stream->term_length) {
        aligned = (aligned / stream->term_length + 1) * stream->term_length; /* still beyond */
    }
    header->term_id = (int32_t)((uint32_t)stream->initial_term_id
        + (uint32_t)(aligned / stream->term_length));
    header->term_offset = (int32_t)(aligned % stream->term_length);
    return true;
}
