/* protocol.h: reference vectors as C tables. Made by tests/make_protocol_vectors.py. */
#ifndef RSTI_TESTS_VECTORS_PROTOCOL_H
#define RSTI_TESTS_VECTORS_PROTOCOL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct vector_frame_t {
    const char *name;
    const char *hex;
    bool is_valid;
    bool has_fields;
    int64_t frame_length;
    int64_t version;
    int64_t flags;
    int64_t type;
    int64_t term_offset;
    int64_t session_id;
    int64_t stream_id;
    int64_t term_id;
    int64_t reserved_value;
    int64_t initial_term_id;
    int64_t active_term_id;
    int64_t term_length;
    int64_t mtu;
    int64_t ttl;
    int64_t consumption_term_id;
    int64_t consumption_term_offset;
    int64_t receiver_window;
    int64_t receiver_id;
    int64_t group_tag;
    int64_t length;
    int64_t echo_timestamp;
    int64_t reception_delta;
    int64_t error_code;
    int64_t error_length;
    int64_t response_session_id;
} vector_frame_t;

static const vector_frame_t vector_frames[] = {
    {.name = "data_unfragmented",
        .hex =
        "2d00000000c00100000000002efd69b6e903000007000000000000000000000048656c6c6f2c2057"
        "6f726c642100000000000000000000000000000000000000"
        , .is_valid = true,
        .frame_length = INT64_C(45),
        .version = INT64_C(0),
        .flags = INT64_C(192),
        .type = INT64_C(1),
        .term_offset = INT64_C(0),
        .session_id = INT64_C(-1234567890),
        .stream_id = INT64_C(1001),
        .term_id = INT64_C(7),
        .reserved_value = INT64_C(0),
        .has_fields = true},
    {.name = "data_empty_payload",
        .hex =
        "2000000000c00100400000002efd69b6e9030000070000000000000000000000"
        , .is_valid = true,
        .frame_length = INT64_C(32),
        .version = INT64_C(0),
        .flags = INT64_C(192),
        .type = INT64_C(1),
        .term_offset = INT64_C(64),
        .session_id = INT64_C(-1234567890),
        .stream_id = INT64_C(1001),
        .term_id = INT64_C(7),
        .reserved_value = INT64_C(0),
        .has_fields = true},
    {.name = "data_with_reserved_value",
        .hex =
        "2800000000c0010000100000785634120a0000000000008008070605040302014142434445464748"
        "000000000000000000000000000000000000000000000000"
        , .is_valid = true,
        .frame_length = INT64_C(40),
        .version = INT64_C(0),
        .flags = INT64_C(192),
        .type = INT64_C(1),
        .term_offset = INT64_C(4096),
        .session_id = INT64_C(305419896),
        .stream_id = INT64_C(10),
        .term_id = INT64_C(-2147483648),
        .reserved_value = INT64_C(72623859790382856),
        .has_fields = true},
    {.name = "data_fragment_begin",
        .hex =
        "8005000000800100000000002a000000e9030000640000000000000000000000"
        , .is_valid = true,
        .frame_length = INT64_C(1408),
        .version = INT64_C(0),
        .flags = INT64_C(128),
        .type = INT64_C(1),
        .term_offset = INT64_C(0),
        .session_id = INT64_C(42),
        .stream_id = INT64_C(1001),
        .term_id = INT64_C(100),
        .reserved_value = INT64_C(0),
        .has_fields = true},
    {.name = "data_fragment_middle",
        .hex =
        "8005000000000100800500002a000000e9030000640000000000000000000000"
        , .is_valid = true,
        .frame_length = INT64_C(1408),
        .version = INT64_C(0),
        .flags = INT64_C(0),
        .type = INT64_C(1),
        .term_offset = INT64_C(1408),
        .session_id = INT64_C(42),
        .stream_id = INT64_C(1001),
        .term_id = INT64_C(100),
        .reserved_value = INT64_C(0),
        .has_fields = true},
    {.name = "data_fragment_end",
        .hex =
        "8400000000400100000b00002a000000e9030000640000000000000000000000"
        , .is_valid = true,
        .frame_length = INT64_C(132),
        .version = INT64_C(0),
        .flags = INT64_C(64),
        .type = INT64_C(1),
        .term_offset = INT64_C(2816),
        .session_id = INT64_C(42),
        .stream_id = INT64_C(1001),
        .term_id = INT64_C(100),
        .reserved_value = INT64_C(0),
        .has_fields = true},
    {.name = "pad_end_of_term",
        .hex =
        "0010000000c0000000f000002a000000e9030000640000000000000000000000"
        , .is_valid = true,
        .frame_length = INT64_C(4096),
        .version = INT64_C(0),
        .flags = INT64_C(192),
        .type = INT64_C(0),
        .term_offset = INT64_C(61440),
        .session_id = INT64_C(42),
        .stream_id = INT64_C(1001),
        .term_id = INT64_C(100),
        .reserved_value = INT64_C(0),
        .has_fields = true},
    {.name = "heartbeat",
        .hex =
        "0000000000c00100800000002a000000e9030000640000000000000000000000"
        , .is_valid = true,
        .frame_length = INT64_C(0),
        .version = INT64_C(0),
        .flags = INT64_C(192),
        .type = INT64_C(1),
        .term_offset = INT64_C(128),
        .session_id = INT64_C(42),
        .stream_id = INT64_C(1001),
        .term_id = INT64_C(100),
        .reserved_value = INT64_C(0),
        .has_fields = true},
    {.name = "heartbeat_eos",
        .hex =
        "0000000000e00100800000002a000000e9030000640000000000000000000000"
        , .is_valid = true,
        .frame_length = INT64_C(0),
        .version = INT64_C(0),
        .flags = INT64_C(224),
        .type = INT64_C(1),
        .term_offset = INT64_C(128),
        .session_id = INT64_C(42),
        .stream_id = INT64_C(1001),
        .term_id = INT64_C(100),
        .reserved_value = INT64_C(0),
        .has_fields = true},
    {.name = "heartbeat_eos_revoked",
        .hex =
        "0000000000f00100800000002a000000e9030000640000000000000000000000"
        , .is_valid = true,
        .frame_length = INT64_C(0),
        .version = INT64_C(0),
        .flags = INT64_C(240),
        .type = INT64_C(1),
        .term_offset = INT64_C(128),
        .session_id = INT64_C(42),
        .stream_id = INT64_C(1001),
        .term_id = INT64_C(100),
        .reserved_value = INT64_C(0),
        .has_fields = true},
    {.name = "data_two_frames_one_datagram",
        .hex =
        "2500000000c00100000100002a000000e90300006400000000000000000000006669727374000000"
        "0000000000000000000000000000000000000000000000002300000000c00100400100002a000000"
        "e9030000640000000000000000000000326e64000000000000000000000000000000000000000000"
        "0000000000000000"
        , .is_valid = true,
        .has_fields = false},
    {.name = "setup",
        .hex =
        "2800000000000500000000002a000000e90300006400000064000000000001008005000000000000"
        , .is_valid = true,
        .frame_length = INT64_C(40),
        .version = INT64_C(0),
        .flags = INT64_C(0),
        .type = INT64_C(5),
        .term_offset = INT64_C(0),
        .session_id = INT64_C(42),
        .stream_id = INT64_C(1001),
        .initial_term_id = INT64_C(100),
        .active_term_id = INT64_C(100),
        .term_length = INT64_C(65536),
        .mtu = INT64_C(1408),
        .ttl = INT64_C(0),
        .has_fields = true},
    {.name = "setup_group_flag",
        .hex =
        "2800000000400500c00500002a000000e90300006400000067000000000001008005000004000000"
        , .is_valid = true,
        .frame_length = INT64_C(40),
        .version = INT64_C(0),
        .flags = INT64_C(64),
        .type = INT64_C(5),
        .term_offset = INT64_C(1472),
        .session_id = INT64_C(42),
        .stream_id = INT64_C(1001),
        .initial_term_id = INT64_C(100),
        .active_term_id = INT64_C(103),
        .term_length = INT64_C(65536),
        .mtu = INT64_C(1408),
        .ttl = INT64_C(4),
        .has_fields = true},
    {.name = "setup_send_response_flag",
        .hex =
        "2800000000800500c00500002a000000e90300006400000067000000000001008005000000000000"
        , .is_valid = true,
        .frame_length = INT64_C(40),
        .version = INT64_C(0),
        .flags = INT64_C(128),
        .type = INT64_C(5),
        .term_offset = INT64_C(1472),
        .session_id = INT64_C(42),
        .stream_id = INT64_C(1001),
        .initial_term_id = INT64_C(100),
        .active_term_id = INT64_C(103),
        .term_length = INT64_C(65536),
        .mtu = INT64_C(1408),
        .ttl = INT64_C(0),
        .has_fields = true},
    {.name = "sm",
        .hex =
        "24000000000003002a000000e90300006400000000100000008000008877665544332211"
        , .is_valid = true,
        .frame_length = INT64_C(36),
        .version = INT64_C(0),
        .flags = INT64_C(0),
        .type = INT64_C(3),
        .session_id = INT64_C(42),
        .stream_id = INT64_C(1001),
        .consumption_term_id = INT64_C(100),
        .consumption_term_offset = INT64_C(4096),
        .receiver_window = INT64_C(32768),
        .receiver_id = INT64_C(1234605616436508552),
        .has_fields = true},
    {.name = "sm_send_setup",
        .hex =
        "24000000008003002a000000e90300000000000000000000000000008877665544332211"
        , .is_valid = true,
        .frame_length = INT64_C(36),
        .version = INT64_C(0),
        .flags = INT64_C(128),
        .type = INT64_C(3),
        .session_id = INT64_C(42),
        .stream_id = INT64_C(1001),
        .consumption_term_id = INT64_C(0),
        .consumption_term_offset = INT64_C(0),
        .receiver_window = INT64_C(0),
        .receiver_id = INT64_C(1234605616436508552),
        .has_fields = true},
    {.name = "sm_eos",
        .hex =
        "24000000004003002a000000e90300006400000000100000008000008877665544332211"
        , .is_valid = true,
        .frame_length = INT64_C(36),
        .version = INT64_C(0),
        .flags = INT64_C(64),
        .type = INT64_C(3),
        .session_id = INT64_C(42),
        .stream_id = INT64_C(1001),
        .consumption_term_id = INT64_C(100),
        .consumption_term_offset = INT64_C(4096),
        .receiver_window = INT64_C(32768),
        .receiver_id = INT64_C(1234605616436508552),
        .has_fields = true},
    {.name = "sm_group_tag",
        .hex =
        "2c000000000003002a000000e9030000640000000010000000800000887766554433221165000000"
        "00000000"
        , .is_valid = true,
        .frame_length = INT64_C(44),
        .version = INT64_C(0),
        .flags = INT64_C(0),
        .type = INT64_C(3),
        .session_id = INT64_C(42),
        .stream_id = INT64_C(1001),
        .consumption_term_id = INT64_C(100),
        .consumption_term_offset = INT64_C(4096),
        .receiver_window = INT64_C(32768),
        .receiver_id = INT64_C(1234605616436508552),
        .group_tag = INT64_C(101),
        .has_fields = true},
    {.name = "nak",
        .hex =
        "1c000000000002002a000000e90300006400000080050000000b0000"
        , .is_valid = true,
        .frame_length = INT64_C(28),
        .version = INT64_C(0),
        .flags = INT64_C(0),
        .type = INT64_C(2),
        .term_offset = INT64_C(1408),
        .session_id = INT64_C(42),
        .stream_id = INT64_C(1001),
        .term_id = INT64_C(100),
        .length = INT64_C(2816),
        .has_fields = true},
    {.name = "rttm_request",
        .hex =
        "28000000008006002a000000e903000079df0d864870000000000000000000008877665544332211"
        , .is_valid = true,
        .frame_length = INT64_C(40),
        .version = INT64_C(0),
        .flags = INT64_C(128),
        .type = INT64_C(6),
        .session_id = INT64_C(42),
        .stream_id = INT64_C(1001),
        .receiver_id = INT64_C(1234605616436508552),
        .echo_timestamp = INT64_C(123456789012345),
        .reception_delta = INT64_C(0),
        .has_fields = true},
    {.name = "rttm_reply",
        .hex =
        "28000000000006002a000000e903000079df0d864870000000000000000000008877665544332211"
        , .is_valid = true,
        .frame_length = INT64_C(40),
        .version = INT64_C(0),
        .flags = INT64_C(0),
        .type = INT64_C(6),
        .session_id = INT64_C(42),
        .stream_id = INT64_C(1001),
        .receiver_id = INT64_C(1234605616436508552),
        .echo_timestamp = INT64_C(123456789012345),
        .reception_delta = INT64_C(0),
        .has_fields = true},
    {.name = "response_setup",
        .hex =
        "1400000000000b002a000000e9030000b3ffffff"
        , .is_valid = true,
        .frame_length = INT64_C(20),
        .version = INT64_C(0),
        .flags = INT64_C(0),
        .type = INT64_C(11),
        .session_id = INT64_C(42),
        .stream_id = INT64_C(1001),
        .response_session_id = INT64_C(-77),
        .has_fields = true},
    {.name = "error",
        .hex =
        "31000000000004002a000000e9030000887766554433221100000000000000000d00000009000000"
        "6e6f207468616e6b73"
        , .is_valid = true,
        .frame_length = INT64_C(49),
        .version = INT64_C(0),
        .flags = INT64_C(0),
        .type = INT64_C(4),
        .session_id = INT64_C(42),
        .stream_id = INT64_C(1001),
        .receiver_id = INT64_C(1234605616436508552),
        .group_tag = INT64_C(0),
        .error_code = INT64_C(13),
        .error_length = INT64_C(9),
        .has_fields = true},
    {.name = "error_with_group_tag",
        .hex =
        "31000000000804002a000000e9030000887766554433221165000000000000000d00000009000000"
        "6e6f207468616e6b73"
        , .is_valid = true,
        .frame_length = INT64_C(49),
        .version = INT64_C(0),
        .flags = INT64_C(8),
        .type = INT64_C(4),
        .session_id = INT64_C(42),
        .stream_id = INT64_C(1001),
        .receiver_id = INT64_C(1234605616436508552),
        .group_tag = INT64_C(101),
        .error_code = INT64_C(13),
        .error_length = INT64_C(9),
        .has_fields = true},
    {.name = "resolution_two_entries",
        .hex =
        "40000000000007000180721f000000007f000001010041000200731fdc0500000000000000000000"
        "000000000000000107006472697665724200000000000000"
        , .is_valid = true,
        .has_fields = false},
    {.name = "bad_version",
        .hex =
        "2d00000001c001000000000000000000000000000000000000000000000000000000000000000000"
        "000000000000000000000000000000000000000000000000"
        , .is_valid = false},
    {.name = "data_packet_not_multiple_of_32",
        .hex =
        "2d00000000c001000000000000000000000000000000000000000000000000000000000000000000"
        "0000000000"
        , .is_valid = false},
    {.name = "negative_frame_length",
        .hex =
        "d3ffffff00c001000000000000000000000000000000000000000000000000000000000000000000"
        "000000000000000000000000000000000000000000000000"
        , .is_valid = false},
    {.name = "nak_short",
        .hex =
        "1c0000000000020000000000000000000000000000000000000000"
        , .is_valid = false},
    {.name = "sm_frame_length_exceeds_packet",
        .hex =
        "250000000000030000000000000000000000000000000000000000000000000000000000"
        , .is_valid = false},
    {.name = "type_ats_data",
        .hex =
        "28000000000008000000000000000000000000000000000000000000000000000000000000000000"
        "000000000000000000000000000000000000000000000000"
        , .is_valid = false},
    {.name = "unknown_type",
        .hex =
        "2800000000000c000000000000000000000000000000000000000000000000000000000000000000"
        "000000000000000000000000000000000000000000000000"
        , .is_valid = false},
    {.name = "seven_bytes",
        .hex =
        "07000000000001"
        , .is_valid = false},
    {.name = "heartbeat_ok",
        .hex =
        "0000000000c00100000000000000000000000000000000000000000000000000"
        , .is_valid = true},
    {.name = "sm_small_frame_length",
        .hex =
        "080000000000030000000000000000000000000000000000000000000000000000000000"
        , .is_valid = false},
};

typedef struct vector_packet_t {
    const char *name;
    const char *hex;
    int32_t term_length;
    int32_t result;
} vector_packet_t;

/* Without first_offset_mismatch: our function takes the offset from the frame. */
static const vector_packet_t vector_packets[] = {
    {"one_frame",
        "2d00000000c00100000100002a000000e90300006400000000000000000000000000000000000000"
        "000000000000000000000000000000000000000000000000"
        , 65536, 64},
    {"two_frames",
        "2d00000000c00100000100002a000000e90300006400000000000000000000000000000000000000"
        "0000000000000000000000000000000000000000000000006400000000c00100400100002a000000"
        "e9030000640000000000000000000000000000000000000000000000000000000000000000000000"
        "00000000000000000000000000000000000000000000000000000000000000000000000000000000"
        "0000000000000000000000000000000000000000000000000000000000000000"
        , 65536, 192},
    {"second_offset_wrong",
        "2d00000000c00100000100002a000000e90300006400000000000000000000000000000000000000"
        "0000000000000000000000000000000000000000000000006400000000c00100600100002a000000"
        "e9030000640000000000000000000000000000000000000000000000000000000000000000000000"
        "00000000000000000000000000000000000000000000000000000000000000000000000000000000"
        "0000000000000000000000000000000000000000000000000000000000000000"
        , 65536, -1},
    {"trailing_zero_block",
        "2d00000000c00100000100002a000000e90300006400000000000000000000000000000000000000"
        "00000000000000000000000000000000000000000000000000000000000000000000000000000000"
        "00000000000000000000000000000000"
        , 65536, -1},
    {"data_longer_than_packet",
        "6400000000c00100000100002a000000e90300006400000000000000000000000000000000000000"
        "00000000000000000000000000000000000000000000000000000000000000000000000000000000"
        "00000000000000000000000000000000"
        , 65536, -1},
    {"trailing_pad_beyond_packet",
        "4000000000c00100c0ef00002a000000e90300006400000000000000000000000000000000000000"
        "0000000000000000000000000000000000000000000000000010000000c0000000f000002a000000"
        "e9030000640000000000000000000000"
        , 65536, 4160},
    {"pad_only",
        "0010000000c0000000f000002a000000e9030000640000000000000000000000"
        , 65536, 4096},
    {"pad_past_term_end",
        "2010000000c0000000f000002a000000e9030000640000000000000000000000"
        , 65536, -1},
    {"data_past_term_end",
        "4000000000c00100e0ff00002a000000e90300006400000000000000000000000000000000000000"
        "000000000000000000000000000000000000000000000000"
        , 65536, -1},
    {"heartbeat",
        "0000000000c00100000100002a000000e9030000640000000000000000000000"
        , 65536, 0},
    {"heartbeat_64_bytes",
        "0000000000c00100000100002a000000e90300006400000000000000000000000000000000000000"
        "000000000000000000000000000000000000000000000000"
        , 65536, -1},
    {"negative_length",
        "d3ffffff00c00100000100002a000000e90300006400000000000000000000000000000000000000"
        "000000000000000000000000000000000000000000000000"
        , 65536, -1},
    {"wrong_type",
        "2d00000000c00200000100002a000000e90300006400000000000000000000000000000000000000"
        "000000000000000000000000000000000000000000000000"
        , 65536, -1},
    {"second_wrong_type",
        "2d00000000c00100000100002a000000e90300006400000000000000000000000000000000000000"
        "0000000000000000000000000000000000000000000000002d00000000c00500400100002a000000"
        "e9030000640000000000000000000000000000000000000000000000000000000000000000000000"
        "0000000000000000"
        , 65536, -1},
    {"offset_not_aligned",
        "2d00000000c00100010100002a000000e90300006400000000000000000000000000000000000000"
        "000000000000000000000000000000000000000000000000"
        , 65536, -1},
    {"offset_at_term_length",
        "2d00000000c00100000001002a000000e90300006400000000000000000000000000000000000000"
        "000000000000000000000000000000000000000000000000"
        , 65536, -1},
    {"offset_negative",
        "2d00000000c00100e0ffffff2a000000e90300006400000000000000000000000000000000000000"
        "000000000000000000000000000000000000000000000000"
        , 65536, -1},
    {"two_empty_messages",
        "2000000000c00100000000002a000000e90300006400000000000000000000002000000000c00100"
        "200000002a000000e9030000640000000000000000000000"
        , 65536, 64},
};

typedef struct vector_sm_window_t {
    int64_t sm_position;
    int64_t snd_position;
    int32_t term_length;
    bool is_accepted;
} vector_sm_window_t;

static const vector_sm_window_t vector_sm_windows[] = {
    {0, 0, 65536, true},
    {32768, 0, 65536, true},
    {32800, 0, 65536, false},
    {32768, 65536, 65536, true},
    {32736, 65536, 65536, false},
    {65536, 65536, 65536, true},
    {98304, 65536, 65536, true},
    {98336, 65536, 65536, false},
    {131072, 65536, 65536, false},
    {0, 200000, 65536, false},
};

typedef struct vector_length_t {
    int32_t given;
    int32_t max_payload_length;
    int32_t expected;
} vector_length_t;

static const vector_length_t vector_framed_lengths[] = {
    {1, 1376, 64},
    {1376, 1376, 1408},
    {1377, 1376, 1472},
    {2752, 1376, 2816},
    {4000, 1376, 4096},
    {65536, 1376, 67072},
    {100000, 8128, 100416},
};

/* term length, unused, largest message */
static const vector_length_t vector_max_message_lengths[] = {
    {16777216, 0, 2097152},
    {65536, 0, 8192},
    {262144, 0, 32768},
    {131072, 0, 16384},
    {65536, 0, 8192},
    {65536, 0, 8192},
    {65536, 0, 8192},
    {65536, 0, 8192},
};

typedef struct vector_command_t {
    const char *name;
    int32_t type;
    const char *hex;
} vector_command_t;

static const vector_command_t vector_commands[] = {
    {"add_publication", 1,
        "05000000000000000600000000000000e9030000220000006165726f6e3a7564703f656e64706f69"
        "6e743d6c6f63616c686f73743a3430343536"
    },
    {"add_exclusive_publication", 3,
        "05000000000000000600000000000000e9030000220000006165726f6e3a7564703f656e64706f69"
        "6e743d6c6f63616c686f73743a3430343536"
    },
    {"add_subscription", 4,
        "05000000000000000700000000000000ffffffffffffffffe9030000220000006165726f6e3a7564"
        "703f656e64706f696e743d6c6f63616c686f73743a3430343536"
    },
    {"remove_publication_revoke", 2,
        "0500000000000000080000000000000006000000000000000100000000000000"
    },
    {"remove_subscription", 5,
        "050000000000000009000000000000000700000000000000"
    },
    {"client_keepalive", 6,
        "05000000000000000000000000000000"
    },
    {"client_close", 11,
        "0500000000000000ffffffffffffffff"
    },
    {"add_destination", 7,
        "05000000000000000a000000000000000600000000000000220000006165726f6e3a7564703f656e"
        "64706f696e743d6c6f63616c686f73743a3430343536"
    },
    {"remove_destination_by_id", 17,
        "05000000000000000b0000000000000006000000000000000a00000000000000"
    },
    {"add_counter", 9,
        "05000000000000000c000000000000004d040000050000004b45593435000000040000006c61626c"
    },
    {"add_static_counter", 15,
        "05000000000000000d0000000000000063000000000000004d04000000000000040000006c61626c"
    },
    {"reject_image", 16,
        "05000000000000000e000000000000004d0000000000000000100000000000000600000072656173"
        "6f6e"
    },
    {"get_next_available_session_id", 18,
        "05000000000000000f00000000000000e9030000"
    },
    {"terminate_driver", 14,
        "0500000000000000100000000000000003000000746f6b"
    },
    {"on_publication_ready", 3843,
        "06000000000000000600000000000000f7ffffffe90300003200000031000000290000002f646576"
        "2f73686d2f6165726f6e2d752f7075626c69636174696f6e732f362e6c6f67627566666572"
    },
    {"on_subscription_ready", 3847,
        "070000000000000033000000"
    },
    {"on_available_image", 3842,
        "1400000000000000f7ffffffe9030000070000000000000037000000240000002f6465762f73686d"
        "2f6165726f6e2d752f696d616765732f32302e6c6f676275666665720f0000003132372e302e302e"
        "313a3530303030"
    },
    {"on_unavailable_image", 3845,
        "14000000000000000700000000000000e9030000220000006165726f6e3a7564703f656e64706f69"
        "6e743d6c6f63616c686f73743a3430343536"
    },
    {"on_operation_success", 3844,
        "0800000000000000"
    },
    {"on_error", 3841,
        "08000000000000000300000013000000756e6b6e6f776e207075626c69636174696f6e"
    },
    {"on_counter_ready", 3848,
        "0c000000000000003c000000"
    },
    {"on_unavailable_counter", 3849,
        "0c000000000000003c000000"
    },
    {"on_client_timeout", 3850,
        "0500000000000000"
    },
    {"on_next_available_session_id", 3853,
        "0f00000000000000d2040000"
    },
    {"on_publication_error", 3852,
        "0600000000000000fffffffffffffffff7ffffffe90300008877665544332211ffffffffffffffff"
        "010050c37f0000010000000000000000000000000d000000090000006e6f207468616e6b73"
    },
};

#endif
