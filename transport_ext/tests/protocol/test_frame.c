/* test_frame.c: layouts and validity checks against the reference vectors, on both sides of every
 * limit. */
#include "protocol/frame.h"
#include "tests/check.h"
#include "tests/hex.h"
#include "tests/vectors/protocol.h"
#include "util/bits.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TERM INT32_C(65536)

/* G5 */
TEST(first_gate_matches_the_vectors)
{
    for (size_t i = 0; i < COUNT(vector_frames); i++) {
        size_t length;
        uint8_t *bytes = hex_bytes(vector_frames[i].hex, &length);
        bool is_valid = rsti_frame_is_acceptable(bytes, length);
        free(bytes);
        if (is_valid != vector_frames[i].is_valid) {
            CHECK_FAIL("%s: gate says %d", vector_frames[i].name, is_valid);
        }
    }
}

static void check_common(const rsti_frame_header_t *frame, const vector_frame_t *vector)
{
    CHECK_EQ(frame->frame_length, vector->frame_length);
    CHECK_EQ(frame->version, vector->version);
    CHECK_EQ(frame->flags, vector->flags);
    CHECK_EQ(frame->type, vector->type);
}

static void check_data(const uint8_t *bytes, const vector_frame_t *vector)
{
    rsti_data_header_t data;
    memcpy(&data, bytes, sizeof data);
    check_common(&data.frame, vector);
    CHECK_EQ(data.term_offset, vector->term_offset);
    CHECK_EQ(data.session_id, vector->session_id);
    CHECK_EQ(data.stream_id, vector->stream_id);
    CHECK_EQ(data.term_id, vector->term_id);
    CHECK_EQ(data.reserved_value, vector->reserved_value);
    rsti_data_header_t filled;
    rsti_data_header_fill(&filled, data.frame.flags, data.frame.type, data.session_id,
        data.stream_id, data.term_id, data.term_offset);
    filled.frame.frame_length = data.frame.frame_length;
    filled.reserved_value = data.reserved_value;
    CHECK_MEM(&filled, bytes, sizeof filled);
}

static void check_setup(const uint8_t *bytes, const vector_frame_t *vector)
{
    rsti_setup_t setup;
    memcpy(&setup, bytes, sizeof setup);
    check_common(&setup.frame, vector);
    CHECK_EQ(setup.term_offset, vector->term_offset);
    CHECK_EQ(setup.session_id, vector->session_id);
    CHECK_EQ(setup.stream_id, vector->stream_id);
    CHECK_EQ(setup.initial_term_id, vector->initial_term_id);
    CHECK_EQ(setup.active_term_id, vector->active_term_id);
    CHECK_EQ(setup.term_length, vector->term_length);
    CHECK_EQ(setup.mtu, vector->mtu);
    CHECK_EQ(setup.ttl, vector->ttl);
    CHECK(rsti_setup_is_valid(&setup));
}

static void check_sm(const uint8_t *bytes, const vector_frame_t *vector)
{
    const rsti_sm_t *sm = (const rsti_sm_t *)bytes;
    check_common(&sm->frame, vector);
    CHECK_EQ(sm->session_id, vector->session_id);
    CHECK_EQ(sm->stream_id, vector->stream_id);
    CHECK_EQ(sm->consumption_term_id, vector->consumption_term_id);
    CHECK_EQ(sm->consumption_term_offset, vector->consumption_term_offset);
    CHECK_EQ(sm->receiver_window, vector->receiver_window);
    CHECK_EQ(sm->receiver_id, vector->receiver_id);
    CHECK(rsti_sm_is_valid(sm, TERM));
    int64_t group_tag = 0;
    CHECK_EQ(rsti_sm_group_tag(sm, &group_tag), vector->frame_length == 44);
    CHECK_EQ(group_tag, vector->group_tag);
}

static void check_nak(const uint8_t *bytes, const vector_frame_t *vector)
{
    rsti_nak_t nak;
    memcpy(&nak, bytes, sizeof nak);
    check_common(&nak.frame, vector);
    CHECK_EQ(nak.session_id, vector->session_id);
    CHECK_EQ(nak.stream_id, vector->stream_id);
    CHECK_EQ(nak.term_id, vector->term_id);
    CHECK_EQ(nak.term_offset, vector->term_offset);
    CHECK_EQ(nak.length, vector->length);
    CHECK(rsti_nak_is_valid(&nak, TERM));
}

static void check_rttm(const uint8_t *bytes, const vector_frame_t *vector)
{
    rsti_rttm_t rttm;
    memcpy(&rttm, bytes, sizeof rttm);
    check_common(&rttm.frame, vector);
    CHECK_EQ(rttm.session_id, vector->session_id);
    CHECK_EQ(rttm.stream_id, vector->stream_id);
    CHECK_EQ(rttm.echo_timestamp, vector->echo_timestamp);
    CHECK_EQ(rttm.reception_delta, vector->reception_delta);
    CHECK_EQ(rttm.receiver_id, vector->receiver_id);
}

static void check_err(const uint8_t *bytes, size_t length, const vector_frame_t *vector)
{
    rsti_err_t err;
    memcpy(&err, bytes, sizeof err);
    check_common(&err.frame, vector);
    CHECK_EQ(err.session_id, vector->session_id);
    CHECK_EQ(err.stream_id, vector->stream_id);
    CHECK_EQ(err.receiver_id, vector->receiver_id);
    CHECK_EQ(err.group_tag, vector->group_tag);
    CHECK_EQ(err.error_code, vector->error_code);
    CHECK_EQ(err.error_length, vector->error_length);
    CHECK(rsti_err_is_valid(&err, length));
    CHECK(!rsti_err_is_valid(&err, length - 1));
}

TEST(fields_match_the_vectors)
{
    for (size_t i = 0; i < COUNT(vector_frames); i++) {
        const vector_frame_t *vector = &vector_frames[i];
        if (!vector->has_fields) {
            continue;
        }
        int before = check_failures;
        size_t length;
        uint8_t *bytes = hex_bytes(vector->hex, &length);
        switch (vector->type) {
        case RSTI_FRAME_PAD:
        case RSTI_FRAME_DATA:
            check_data(bytes, vector);
            break;
        case RSTI_FRAME_SETUP:
            check_setup(bytes, vector);
            break;
        case RSTI_FRAME_SM:
            check_sm(bytes, vector);
            break;
        case RSTI_FRAME_NAK:
            check_nak(bytes, vector);
            break;
        case RSTI_FRAME_RTTM:
            check_rttm(bytes, vector);
            break;
        case RSTI_FRAME_ERR:
            check_err(bytes, length, vector);
            break;
        default:
            break;
        }
        free(bytes);
        if (check_failures != before) {
            CHECK_FAIL("in vector %s", vector->name);
        }
    }
}

/* A frame of one type with a given frame_length in a datagram of a given length. */
static bool is_acceptable(int16_t type, int32_t frame_length, size_t length)
{
    uint8_t *bytes = calloc(1, length + RSTI_FRAME_HEADER_LENGTH);
    memcpy(bytes, &frame_length, sizeof frame_length);
    memcpy(bytes + 6, &type, sizeof type);
    uint8_t *exact = hex_copy(bytes, length);
    bool result = rsti_frame_is_acceptable(exact, length);
    free(bytes);
    free(exact);
    return result;
}

/* G5 */
TEST(control_frames_are_as_long_as_their_struct)
{
    static const struct {
        int16_t type;
        int32_t length;
    } rows[] = {{RSTI_FRAME_NAK, 28}, {RSTI_FRAME_SM, 36}, {RSTI_FRAME_ERR, 40},
        {RSTI_FRAME_SETUP, 40}, {RSTI_FRAME_RTTM, 40}, {RSTI_FRAME_RES, 22},
        {RSTI_FRAME_RSP_SETUP, 20}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        int32_t length = rows[i].length;
        CHECK(is_acceptable(rows[i].type, length, (size_t)length));
        CHECK(is_acceptable(rows[i].type, length, 65507));
        CHECK(is_acceptable(rows[i].type, length + 1, (size_t)length + 1));
        CHECK(!is_acceptable(rows[i].type, length, (size_t)length - 1));
        CHECK(!is_acceptable(rows[i].type, length - 1, (size_t)length));
        CHECK(!is_acceptable(rows[i].type, length + 1, (size_t)length));
        CHECK(!is_acceptable(rows[i].type, 0, (size_t)length));
        CHECK(!is_acceptable(rows[i].type, -1, (size_t)length));
        CHECK(!is_acceptable(rows[i].type, INT32_MAX, (size_t)length));
        CHECK(!is_acceptable(rows[i].type, INT32_MIN, (size_t)length));
    }
}

TEST(data_datagrams_are_multiples_of_32)
{
    static const int16_t types[] = {RSTI_FRAME_PAD, RSTI_FRAME_DATA};
    for (size_t i = 0; i < COUNT(types); i++) {
        for (size_t length = 0; length <= 160; length++) {
            CHECK_EQ(is_acceptable(types[i], 32, length), length >= 32 && length % 32 == 0);
        }
        CHECK(is_acceptable(types[i], 0, 32));
        CHECK(is_acceptable(types[i], INT32_MAX, 32)); /* checked by the second function */
        CHECK(!is_acceptable(types[i], -1, 32));
    }
}

/* G5 */
TEST(no_other_type_or_version_passes)
{
    for (int32_t type = INT16_MIN; type <= INT16_MAX; type++) {
        bool is_known = (type >= 0 && type <= 7) || type == 11;
        CHECK_EQ(is_acceptable((int16_t)type, 64, 64), is_known);
    }
    for (int version = -128; version < 128; version++) {
        uint8_t bytes[32] = {0, 0, 0, 0, (uint8_t)version, 0xC0, 1, 0};
        CHECK_EQ(rsti_frame_is_acceptable(bytes, sizeof bytes), version == 0);
    }
    CHECK(!rsti_frame_is_acceptable(NULL, 0));
}

static rsti_setup_t good_setup(void)
{
    return (rsti_setup_t){.frame = {40, 0, 0, RSTI_FRAME_SETUP},
        .term_offset = 64,
        .initial_term_id = 7,
        .active_term_id = 9,
        .term_length = TERM,
        .mtu = 1408};
}

#define CHECK_SETUP(field, value, expected)                                                        \
    do {                                                                                           \
        rsti_setup_t setup_case = good_setup();                                                    \
        setup_case.field = (value);                                                                \
        CHECK_EQ(rsti_setup_is_valid(&setup_case), (expected));                                    \
    } while (0)

TEST(setup_limits)
{
    CHECK_SETUP(term_length, 65536, true);
    CHECK_SETUP(term_length, 1073741824, true);
    CHECK_SETUP(term_length, 32768, false);
    CHECK_SETUP(term_length, 65535, false);
    CHECK_SETUP(term_length, 65536 + 32768, false);
    CHECK_SETUP(term_length, INT32_MIN, false);
    CHECK_SETUP(term_length, INT32_MAX, false);
    CHECK_SETUP(term_length, 0, false);
    CHECK_SETUP(term_offset, 0, true);
    CHECK_SETUP(term_offset, TERM - 32, true);
    CHECK_SETUP(term_offset, TERM, false);
    CHECK_SETUP(term_offset, 33, false);
    CHECK_SETUP(term_offset, -32, false);
    CHECK_SETUP(mtu, 32, true);
    CHECK_SETUP(mtu, 65504, true);
    CHECK_SETUP(mtu, 0, false);
    CHECK_SETUP(mtu, 31, false);
    CHECK_SETUP(mtu, 65536, false);
    CHECK_SETUP(mtu, 1409, false);
    CHECK_SETUP(mtu, -32, false);
    CHECK_SETUP(active_term_id, 7, true);
    CHECK_SETUP(active_term_id, 6, false);
    CHECK_SETUP(active_term_id, INT32_MIN + 6, true); /* 2^31 - 1 terms on: the last one */
    CHECK_SETUP(active_term_id, INT32_MIN + 7, false);
    CHECK_SETUP(frame.flags, 0xFF, true);
}

TEST(nak_limits)
{
    static const struct {
        int32_t term_offset, length;
        bool is_valid;
    } rows[] = {{0, 0, true}, {0, TERM, true}, {0, TERM + 1, false}, {TERM - 32, 32, true},
        {TERM - 32, 33, false}, {TERM, 0, false}, {-32, 32, false}, {16, 32, false},
        {32, -1, false}, {32, INT32_MAX, false}, {32, INT32_MIN, false}, {32, 1, true}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        rsti_nak_t nak = {.term_offset = rows[i].term_offset, .length = rows[i].length};
        CHECK_EQ(rsti_nak_is_valid(&nak, TERM), rows[i].is_valid);
    }
}

TEST(sm_limits)
{
    static const struct {
        int32_t term_offset, window, term_length;
        bool is_valid;
    } rows[] = {{0, 0, TERM, true}, {TERM - 32, TERM / 2, TERM, true},
        {0, TERM / 2 + 1, TERM, false}, {0, -1, TERM, false}, {TERM, 0, TERM, false},
        {-32, 0, TERM, false}, {8, 0, TERM, false}, {TERM, TERM, 1 << 30, true},
        {0, 1 << 29, 1 << 30, true}, {0, (1 << 29) + 1, 1 << 30, false},
        {0, INT32_MAX, 1 << 30, false}, {INT32_MIN, 0, TERM, false}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        rsti_sm_t sm = {
            .consumption_term_offset = rows[i].term_offset, .receiver_window = rows[i].window};
        CHECK_EQ(rsti_sm_is_valid(&sm, rows[i].term_length), rows[i].is_valid);
    }
}

/* I5 */
TEST(group_tag_only_at_exactly_44)
{
    for (int32_t frame_length = 36; frame_length <= 72; frame_length++) {
        uint8_t bytes[72] = {0};
        rsti_put_i32(bytes, frame_length);
        rsti_put_i64(bytes + 36, -5);
        int64_t group_tag = 0;
        CHECK_EQ(rsti_sm_group_tag((const rsti_sm_t *)bytes, &group_tag), frame_length == 44);
        CHECK_EQ(group_tag, frame_length == 44 ? -5 : 0);
    }
}

TEST(err_limits)
{
    static const struct {
        int32_t frame_length, error_length;
        size_t length;
        bool is_valid;
    } rows[] = {{40, 0, 40, true}, {1063, 1023, 1063, true}, {1064, 1024, 1064, false},
        {40, 1, 41, false}, {41, 1, 41, true}, {41, 1, 40, false}, {64, 1, 64, true},
        {40, -1, 64, false}, {INT32_MAX, 9, 64, false}, {40, INT32_MAX, 64, false},
        {40, 0, 39, false}, {40, 0, 0, false}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        rsti_err_t err = {
            .frame = {.frame_length = rows[i].frame_length}, .error_length = rows[i].error_length};
        CHECK_EQ(rsti_err_is_valid(&err, rows[i].length), rows[i].is_valid);
    }
}

/* J5 */
TEST(sm_window_matches_the_vectors)
{
    for (size_t i = 0; i < COUNT(vector_sm_windows); i++) {
        const vector_sm_window_t *vector = &vector_sm_windows[i];
        CHECK_EQ(rsti_sm_is_in_window(vector->sm_position, vector->snd_position,
                     vector->term_length),
            vector->is_accepted);
    }
    CHECK(!rsti_sm_is_in_window(INT64_MIN, INT64_MAX, 1 << 30));
    CHECK(!rsti_sm_is_in_window(INT64_MAX, INT64_MIN, 1 << 30));
    CHECK(rsti_sm_is_in_window(INT64_MAX, INT64_MAX, 1 << 30));
}

/* G5 */
TEST(packets_match_the_vectors)
{
    for (size_t i = 0; i < COUNT(vector_packets); i++) {
        const vector_packet_t *vector = &vector_packets[i];
        size_t length;
        uint8_t *bytes = hex_bytes(vector->hex, &length);
        int32_t result = rsti_packet_validate(bytes, length, vector->term_length);
        free(bytes);
        if (result != vector->result) {
            CHECK_FAIL("%s: %d, expected %d", vector->name, result, vector->result);
        }
    }
}

static uint8_t packet_bytes[65536 + 64];

static rsti_data_header_t *put_frame(size_t at, int16_t type, int32_t frame_length,
    int32_t term_offset)
{
    rsti_data_header_t *header = (rsti_data_header_t *)(packet_bytes + at);
    *header = (rsti_data_header_t){.frame = {frame_length, 0, 0xC0, type},
        .term_offset = term_offset,
        .session_id = 42,
        .stream_id = 1001,
        .term_id = 100};
    return header;
}

/* Through a copy of exactly this length. */
static int32_t validate(size_t length, int32_t term_length)
{
    uint8_t *exact = hex_copy(packet_bytes, length);
    int32_t result = rsti_packet_validate(exact, length, term_length);
    free(exact);
    return result;
}

TEST(one_frame_fills_its_datagram)
{
    for (int32_t frame_length = 0; frame_length <= 200; frame_length++) {
        put_frame(0, RSTI_FRAME_DATA, frame_length, 256);
        for (size_t length = 0; length <= 256; length += 16) {
            bool is_whole = frame_length >= 32
                && length == (size_t)rsti_align_i32(frame_length, 32);
            int32_t expected = is_whole ? (int32_t)length : -1;
            expected = frame_length == 0 && length == 32 ? 0 : expected;
            CHECK_EQ(validate(length, TERM), expected);
        }
    }
}

TEST(a_frame_holds_at_least_its_header)
{
    static const int32_t lengths[] = {1, 8, 31, -1, INT32_MIN};
    for (size_t i = 0; i < COUNT(lengths); i++) {
        put_frame(0, RSTI_FRAME_DATA, lengths[i], 0);
        CHECK_EQ(validate(32, TERM), -1);
        put_frame(0, RSTI_FRAME_PAD, lengths[i], 0);
        CHECK_EQ(validate(32, TERM), -1);
    }
}

TEST(frames_of_one_datagram_are_of_one_term)
{
    put_frame(0, RSTI_FRAME_DATA, 64, 0);
    put_frame(64, RSTI_FRAME_DATA, 64, 64);
    CHECK_EQ(validate(128, TERM), 128);
    put_frame(64, RSTI_FRAME_DATA, 64, 64)->term_id++;
    CHECK_EQ(validate(128, TERM), -1);
    put_frame(64, RSTI_FRAME_DATA, 64, 64)->session_id++;
    CHECK_EQ(validate(128, TERM), -1);
    put_frame(64, RSTI_FRAME_DATA, 64, 64)->stream_id++;
    CHECK_EQ(validate(128, TERM), -1);
    put_frame(64, RSTI_FRAME_DATA, 64, 64)->frame.version = 1;
    CHECK_EQ(validate(128, TERM), -1);
}

/* G5 */
TEST(only_a_final_pad_reaches_beyond)
{
    put_frame(0, RSTI_FRAME_PAD, TERM, 0);
    CHECK_EQ(validate(32, TERM), TERM);
    put_frame(0, RSTI_FRAME_PAD, TERM - 1, 0);
    CHECK_EQ(validate(32, TERM), TERM);
    put_frame(0, RSTI_FRAME_PAD, TERM + 1, 0);
    CHECK_EQ(validate(32, TERM), -1);
    put_frame(0, RSTI_FRAME_PAD, INT32_MAX, 0);
    CHECK_EQ(validate(32, 1 << 30), -1);
    put_frame(0, RSTI_FRAME_PAD, INT32_MAX, TERM - 32);
    CHECK_EQ(validate(32, TERM), -1);
    /* A PAD that ends inside the datagram is followed by the next frame. */
    put_frame(0, RSTI_FRAME_PAD, 64, 0);
    put_frame(64, RSTI_FRAME_DATA, 40, 64);
    CHECK_EQ(validate(128, TERM), 128);
    /* DATA never reaches beyond, not even before a place where a PAD would. */
    put_frame(0, RSTI_FRAME_DATA, 96, 0);
    CHECK_EQ(validate(64, TERM), -1);
}

TEST(the_largest_datagram_is_walked_to_its_end)
{
    for (size_t at = 0; at < 65504; at += 32) {
        put_frame(at, RSTI_FRAME_DATA, 32, (int32_t)at);
    }
    CHECK_EQ(validate(65504, TERM), 65504);
    CHECK_EQ(validate(65504, 1 << 30), 65504);
    put_frame(65504 - 32, RSTI_FRAME_DATA, 33, 65504 - 32);
    CHECK_EQ(validate(65504, TERM), -1);
}

/* K5 */
TEST(heartbeats_lie_inside_the_term)
{
    put_frame(0, RSTI_FRAME_DATA, 0, TERM - 32);
    CHECK(rsti_packet_is_heartbeat(packet_bytes, 32));
    CHECK(!rsti_packet_is_heartbeat(packet_bytes, 64));
    CHECK(!rsti_packet_is_heartbeat(packet_bytes, 0));
    CHECK_EQ(validate(32, TERM), 0);
    put_frame(0, RSTI_FRAME_DATA, 0, TERM);
    CHECK_EQ(validate(32, TERM), -1);
    put_frame(0, RSTI_FRAME_DATA, 0, 8);
    CHECK_EQ(validate(32, TERM), -1);
    put_frame(0, RSTI_FRAME_NAK, 0, 32);
    CHECK_EQ(validate(32, TERM), -1);
}

TEST(lengths_match_the_vectors)
{
    for (size_t i = 0; i < COUNT(vector_framed_lengths); i++) {
        const vector_length_t *vector = &vector_framed_lengths[i];
        CHECK_EQ(rsti_framed_length(vector->given, vector->max_payload_length), vector->expected);
    }
    for (size_t i = 0; i < COUNT(vector_max_message_lengths); i++) {
        const vector_length_t *vector = &vector_max_message_lengths[i];
        CHECK_EQ(rsti_max_message_length(vector->given), vector->expected);
    }
    CHECK_EQ(rsti_max_message_length(1 << 30), 1 << 24);
    CHECK_EQ(rsti_framed_length(0, 1376), 32);
    CHECK_EQ(rsti_framed_length(1 << 24, 32), 1 << 25);
    CHECK_EQ(rsti_max_payload_length(1408), 1376);
}

/* O10 */
/* O10 */
/* Random bytes at random addresses: nothing breaks, and every accepted frame has the properties
 * that the header file promises. */
TEST(unaligned_and_flipped_datagrams)
{
    uint64_t state = check_seed() | 1;
    for (int round = 0; round < 200000; round++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const vector_packet_t *vector = &vector_packets[(state >> 33) % COUNT(vector_packets)];
        size_t length = strlen(vector->hex) / 2;
        size_t shift = (state >> 20) % 8;
        static size_t length_cached[COUNT(vector_packets)];
        static uint8_t *cached[COUNT(vector_packets)];
        size_t index = (size_t)(vector - vector_packets);
        if (cached[index] == NULL) {
            cached[index] = hex_bytes(vector->hex, &length_cached[index]);
        }
        uint8_t block[256];
        uint8_t *datagram = block + shift;
        memcpy(datagram, cached[index], length);
        size_t bit = (state >> 40) % (length * 8);
        datagram[bit / 8] = (uint8_t)(datagram[bit / 8] ^ 1U << bit % 8);
        if (!rsti_frame_is_acceptable(datagram, length)) {
            continue;
        }
        int32_t result = rsti_packet_validate(datagram, length, TERM);
        CHECK(result >= -1);
        CHECK(result <= TERM);
        CHECK(result <= 0 || result % 32 == 0);
    }
}

CHECK_MAIN(RUN(first_gate_matches_the_vectors), RUN(fields_match_the_vectors),
    RUN(control_frames_are_as_long_as_their_struct), RUN(data_datagrams_are_multiples_of_32),
    RUN(no_other_type_or_version_passes), RUN(setup_limits), RUN(nak_limits), RUN(sm_limits),
    RUN(group_tag_only_at_exactly_44), RUN(err_limits), RUN(sm_window_matches_the_vectors),
    RUN(packets_match_the_vectors), RUN(one_frame_fills_its_datagram),
    RUN(a_frame_holds_at_least_its_header), RUN(frames_of_one_datagram_are_of_one_term),
    RUN(only_a_final_pad_reaches_beyond), RUN(the_largest_datagram_is_walked_to_its_end),
    RUN(heartbeats_lie_inside_the_term), RUN(lengths_match_the_vectors),
    RUN(unaligned_and_flipped_datagrams))
