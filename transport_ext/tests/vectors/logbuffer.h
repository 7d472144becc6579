/* logbuffer.h: reference vectors as C tables. Made by tests/make_logbuffer_vectors.py. */
#ifndef RSTI_TESTS_VECTORS_LOGBUFFER_H
#define RSTI_TESTS_VECTORS_LOGBUFFER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct vector_positions_t {
    int32_t initial_term_id;
    int32_t term_id;
    int32_t term_offset;
    int32_t term_length;
    int32_t position_bits_to_shift;
    int64_t position;
    int32_t term_count;
    int32_t partition_index;
    int32_t term_id_from_position;
    int32_t term_offset_from_position;
} vector_positions_t;
static const vector_positions_t vector_positions[] = {
    {0, 0, 0, 65536, 16, 0, 0, 0, 0, 0},
    {0, 0, 4096, 65536, 16, 4096, 0, 0, 0, 4096},
    {7, 7, 64, 65536, 16, 64, 0, 0, 7, 64},
    {7, 8, 0, 65536, 16, 65536, 1, 1, 8, 0},
    {7, 10, 1408, 65536, 16, 198016, 3, 0, 10, 1408},
    {100, 103, 65504, 65536, 16, 262112, 3, 0, 103, 65504},
    {-5, 3, 32, 131072, 17, 1048608, 8, 2, 3, 32},
    {2147483647, INT64_C(-2147483648), 0, 65536, 16, 65536, 1, 1, INT64_C(-2147483648), 0},
    {2147483647, -2147483646, 1024, 16777216, 24, 50332672, 3, 0, -2147483646, 1024},
    {INT64_C(-2147483648), INT64_C(-2147483648), 0, 1073741824, 30, 0, 0, 0, INT64_C(-2147483648), 0},
    {INT64_C(-2147483648), 2147483647, 1073741792, 1073741824, 30, -32, -1, 0, 2147483647, 1073741792},
    {1, 0, 0, 65536, 16, -65536, -1, 0, 0, 0},
};

typedef struct vector_initial_tails_t {
    int32_t initial_term_id;
    int64_t tails[3];
} vector_initial_tails_t;
static const vector_initial_tails_t vector_initial_tails[] = {
    {0, {INT64_C(0), INT64_C(-8589934592), INT64_C(-4294967296)}},
    {7, {INT64_C(30064771072), INT64_C(21474836480), INT64_C(25769803776)}},
    {-1, {INT64_C(-4294967296), INT64_C(-12884901888), INT64_C(-8589934592)}},
    {2147483647, {INT64_C(9223372032559808512), INT64_C(9223372023969873920), INT64_C(9223372028264841216)}},
    {INT64_C(-2147483648), {INT64_MIN, INT64_C(9223372028264841216), INT64_C(9223372032559808512)}},
};

typedef struct vector_decode_tail_t {
    int64_t raw_tail;
    int32_t term_length;
    int32_t term_id;
    int32_t term_offset_clamped;
} vector_decode_tail_t;
static const vector_decode_tail_t vector_decode_tail[] = {
    {INT64_C(30064775168), 65536, 7, 4096},
    {INT64_C(30064836608), 65536, 7, 65536},
    {INT64_C(30064836800), 65536, 7, 65536},
    {INT64_C(-12884901856), 65536, -3, 32},
};

typedef struct vector_rotate_t {
    int64_t before[3];
    int32_t count;
    int32_t term_id;
    int64_t after[3];
    int32_t count_after;
    bool result;
} vector_rotate_t;
static const vector_rotate_t vector_rotate[] = {
    {{INT64_C(30064836672), INT64_C(21474836480), INT64_C(25769803776)}, 0, 7, {INT64_C(30064836672), INT64_C(34359738368), INT64_C(25769803776)}, 1, true},
    {{INT64_C(30064836672), INT64_C(34359738368), INT64_C(25769803776)}, 0, 7, {INT64_C(30064836672), INT64_C(34359738368), INT64_C(25769803776)}, 1, false},
};

typedef struct vector_log_length_t {
    int32_t term_length;
    int32_t page_size;
    int64_t file_length;
} vector_log_length_t;
static const vector_log_length_t vector_log_length[] = {
    {65536, 4096, 200704},
    {16777216, 4096, 50335744},
    {65536, 2097152, 2097152},
    {1073741824, 4096, INT64_C(3221229568)},
    {1073741824, 1073741824, INT64_C(4294967296)},
};

typedef struct vector_fragmented_length_t {
    int32_t message_length;
    int32_t max_payload_length;
    int32_t framed_length;
} vector_fragmented_length_t;
static const vector_fragmented_length_t vector_fragmented_length[] = {
    {1, 1376, 64},
    {1376, 1376, 1408},
    {1377, 1376, 1472},
    {2752, 1376, 2816},
    {4000, 1376, 4096},
    {65536, 1376, 67072},
    {100000, 8128, 100416},
};

typedef struct vector_windows_t {
    int32_t configured;
    int32_t term_length;
    int32_t receiver_window;
    int32_t producer_window;
    int32_t max_message_length;
} vector_windows_t;
static const vector_windows_t vector_windows[] = {
    {131072, 16777216, 131072, 131072, 2097152},
    {131072, 65536, 32768, 32768, 8192},
    {131072, 262144, 131072, 131072, 32768},
    {131072, 131072, 65536, 65536, 16384},
    {0, 65536, 0, 32768, 8192},
    {40000, 65536, 32768, 32768, 8192},
    {32768, 65536, 32768, 32768, 8192},
    {65536, 65536, 32768, 32768, 8192},
};

typedef struct vector_frame_t {
    int16_t type;
    int32_t length;
    int32_t offset;
} vector_frame_t;
#define VECTOR_FRAMES_MAX 3

typedef struct vector_term_scanner_t {
    const char *name;
    vector_frame_t frames[VECTOR_FRAMES_MAX];
    int32_t offset;
    int32_t max_length;
    int32_t available;
    int32_t padding;
} vector_term_scanner_t;
static const vector_term_scanner_t vector_term_scanner[] = {
    {"empty", {{0, 0, 0}}, 0, 1408, 0, 0},
    {"single", {{1, 45, 0}}, 0, 1408, 64, 0},
    {"two", {{1, 45, 0}, {1, 100, 64}}, 0, 1408, 192, 0},
    {"second_crosses_limit", {{1, 45, 0}, {1, 100, 64}}, 0, 128, 64, 0},
    {"first_larger_than_limit", {{1, 45, 0}}, 0, 32, -64, 0},
    {"data_then_pad", {{1, 64, 0}, {0, 65472, 64}}, 0, 1408, 96, 65440},
    {"pad_header_does_not_fit", {{1, 64, 0}, {0, 65472, 64}}, 0, 64, 64, 0},
    {"pad_only", {{0, 65536, 0}}, 0, 1408, 32, 65504},
    {"claimed_not_committed", {{1, 64, 0}, {1, -64, 64}}, 0, 1408, 64, 0},
};

typedef struct vector_gap_scanner_t {
    const char *name;
    vector_frame_t frames[VECTOR_FRAMES_MAX];
    int32_t from;
    int32_t limit;
    int32_t returned_offset;
    bool gap;
    int32_t gap_offset;
    int32_t gap_length;
} vector_gap_scanner_t;
static const vector_gap_scanner_t vector_gap_scanner[] = {
    {"middle", {{1, 128, 0}, {1, 128, 256}}, 0, 384, 128, true, 128, 128},
    {"beginning", {{1, 128, 256}}, 128, 384, 128, true, 128, 128},
    {"none", {{1, 128, 0}, {1, 128, 128}, {1, 128, 256}}, 0, 384, 384, false, 0, 0},
    {"hwm_beyond", {{1, 128, 0}, {1, 128, 128}, {1, 128, 256}}, 0, 640, 384, true, 384, 256},
};

typedef struct vector_term_unblocker_t {
    const char *name;
    vector_frame_t frames[VECTOR_FRAMES_MAX];
    int32_t blocked_offset;
    int32_t tail_offset;
    int32_t status;
    int32_t frame_length_after;
    int32_t type_after;
    int32_t term_offset_after;
    int32_t term_id_after;
} vector_term_unblocker_t;
static const vector_term_unblocker_t vector_term_unblocker[] = {
    {"claimed_negative", {{1, -128, 0}}, 0, 128, 1, 128, 0, 0, 100},
    {"zero_then_complete", {{1, 64, 128}}, 0, 192, 1, 128, 0, 0, 100},
    {"zero_to_tail_no_action", {{0, 0, 0}}, 0, 128, 0, 0, 0, 0, 0},
    {"zero_to_end_of_term", {{0, 0, 0}}, 65280, 65536, 2, 256, 0, 65280, 100},
    {"complete_no_action", {{1, 128, 0}}, 0, 256, 0, 128, 0, 0, 0},
};

#define VECTOR_LOG_METADATA(X) \
    X(term_tail_counters, 0, 24) \
    X(active_term_count, 24, 4) \
    X(end_of_stream_position, 128, 8) \
    X(is_connected, 136, 4) \
    X(active_transport_count, 140, 4) \
    X(correlation_id, 256, 8) \
    X(initial_term_id, 264, 4) \
    X(default_frame_header_length, 268, 4) \
    X(mtu_length, 272, 4) \
    X(term_length, 276, 4) \
    X(page_size, 280, 4) \
    X(publication_window_length, 284, 4) \
    X(receiver_window_length, 288, 4) \
    X(socket_sndbuf_length, 292, 4) \
    X(os_default_socket_sndbuf_length, 296, 4) \
    X(os_max_socket_sndbuf_length, 300, 4) \
    X(socket_rcvbuf_length, 304, 4) \
    X(os_default_socket_rcvbuf_length, 308, 4) \
    X(os_max_socket_rcvbuf_length, 312, 4) \
    X(max_resend, 316, 4) \
    X(default_header, 320, 128) \
    X(entity_tag, 448, 8) \
    X(response_correlation_id, 456, 8) \
    X(linger_timeout_ns, 464, 8) \
    X(untethered_window_limit_timeout_ns, 472, 8) \
    X(untethered_resting_timeout_ns, 480, 8) \
    X(group, 488, 1) \
    X(is_response, 489, 1) \
    X(rejoin, 490, 1) \
    X(reliable, 491, 1) \
    X(sparse, 492, 1) \
    X(signal_eos, 493, 1) \
    X(spies_simulate_connection, 494, 1) \
    X(tether, 495, 1) \
    X(is_publication_revoked, 496, 1) \
    X(type, 497, 1) \
    X(untethered_linger_timeout_ns, 500, 8)

#endif
