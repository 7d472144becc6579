/* loss.h: reference vectors as C tables. Made by tests/make_logbuffer_vectors.py. */
#ifndef RSTI_TESTS_VECTORS_LOSS_H
#define RSTI_TESTS_VECTORS_LOSS_H

#include <stdbool.h>
#include <stdint.h>

#define VECTOR_LOSS_INITIAL_TERM_ID 9
#define VECTOR_LOSS_DELAY_NS 1000
#define VECTOR_LOSS_RETRY_NS 100000

typedef struct vector_loss_timeline_t {
    int64_t now_ns;
    int32_t frame_arrived_at;
    int64_t rebuild_position;
    int64_t hwm_position;
    bool loss_found;
    int32_t new_rebuild_offset;
    bool has_nak;
    int32_t nak_term_id;
    int32_t nak_term_offset;
    int32_t nak_length;
} vector_loss_timeline_t;
static const vector_loss_timeline_t vector_loss_timeline[] = {
    {0, -1, 0, 384, true, 128, false, 0, 0, 0},
    {500, -1, 128, 384, false, 128, false, 0, 0, 0},
    {1000, -1, 128, 384, false, 128, true, 9, 128, 128},
    {2000, -1, 128, 384, false, 128, false, 0, 0, 0},
    {101000, -1, 128, 384, false, 128, true, 9, 128, 128},
    {101001, 512, 128, 640, false, 128, false, 0, 0, 0},
    {102001, -1, 128, 640, false, 128, false, 0, 0, 0},
    {150000, 128, 128, 640, true, 384, false, 0, 0, 0},
    {150001, -1, 384, 640, false, 384, false, 0, 0, 0},
    {151001, -1, 384, 640, false, 384, true, 9, 384, 128},
    {151002, 384, 384, 640, false, 640, false, 0, 0, 0},
    {151003, -1, 640, 640, false, 640, false, 0, 0, 0},
};

#define VECTOR_GROUP_GROUP_SIZE 10.0
#define VECTOR_GROUP_MAX_BACKOFF_NS 10000000.0
#define VECTOR_GROUP_RAND_MAX 3.302585092994046e-07
#define VECTOR_GROUP_BASE_X 1.2613558468370601e-08
#define VECTOR_GROUP_CONSTANT_T 3027931.0656411387
#define VECTOR_GROUP_FACTOR_T 79279768.86994827

typedef struct vector_retransmit_t {
    const char *name;
    bool is_group;
    int32_t max_resend;
    int64_t delay_ns;
    int64_t linger_ns;
    bool is_nak;
    int64_t now_ns;
    int32_t term_id;
    int32_t term_offset;
    int32_t length;
    bool is_resent;
    int32_t resent_offset;
    int32_t resent_length;
    int32_t active;
    int32_t invalid_packets;
    int32_t overflow;
} vector_retransmit_t;
static const vector_retransmit_t vector_retransmit[] = {
    {"unicast", false, 16, 0, 10000000, true, 0, 5, 0, 1408, true, 0, 1408, 1, 0, 0},
    {"unicast", false, 16, 0, 10000000, true, 1000, 5, 0, 1408, false, 0, 0, 1, 0, 0},
    {"unicast", false, 16, 0, 10000000, true, 2000, 5, 64, 1408, false, 0, 0, 1, 0, 0},
    {"unicast", false, 16, 0, 10000000, true, 3000, 5, 4096, 1408, true, 4096, 1408, 1, 0, 0},
    {"unicast", false, 16, 0, 10000000, true, 4000, 5, 8192, 0, false, 0, 0, 1, 0, 0},
    {"unicast", false, 16, 0, 10000000, true, 5000, 5, 16384, 10000000, true, 16384, 2097152, 1, 0, 0},
    {"unicast", false, 16, 0, 10000000, true, 6000, 5, -32, 64, false, 0, 0, 1, 1, 0},
    {"unicast", false, 16, 0, 10000000, false, 10000001, 0, 0, 0, false, 0, 0, 1, 1, 0},
    {"unicast", false, 16, 0, 10000000, true, 10000002, 5, 0, 1408, true, 0, 1408, 1, 1, 0},
    {"unicast", false, 16, 0, 10000000, true, 10000003, 6, 0, 1408, true, 0, 1408, 1, 1, 0},
    {"group_pool_of_2", true, 2, 0, 10000000, true, 0, 5, 0, 1408, true, 0, 1408, 1, 0, 0},
    {"group_pool_of_2", true, 2, 0, 10000000, true, 1000, 5, 0, 1408, false, 0, 0, 1, 0, 0},
    {"group_pool_of_2", true, 2, 0, 10000000, true, 2000, 5, 64, 1408, false, 0, 0, 1, 0, 0},
    {"group_pool_of_2", true, 2, 0, 10000000, true, 3000, 5, 4096, 1408, true, 4096, 1408, 2, 0, 0},
    {"group_pool_of_2", true, 2, 0, 10000000, true, 4000, 5, 8192, 0, false, 0, 0, 2, 0, 0},
    {"group_pool_of_2", true, 2, 0, 10000000, true, 5000, 5, 16384, 10000000, false, 0, 0, 2, 0, 1},
    {"group_pool_of_2", true, 2, 0, 10000000, true, 6000, 5, -32, 64, false, 0, 0, 2, 1, 1},
    {"group_pool_of_2", true, 2, 0, 10000000, false, 10000001, 0, 0, 0, false, 0, 0, 1, 1, 1},
    {"group_pool_of_2", true, 2, 0, 10000000, true, 10000002, 5, 0, 1408, true, 0, 1408, 2, 1, 1},
    {"group_pool_of_2", true, 2, 0, 10000000, true, 10000003, 6, 0, 1408, false, 0, 0, 2, 1, 2},
};

#endif
