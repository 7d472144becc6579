/* flow.h: reference vectors as C tables. Made by tests/make_logbuffer_vectors.py. */
#ifndef RSTI_TESTS_VECTORS_FLOW_H
#define RSTI_TESTS_VECTORS_FLOW_H

#include <stdbool.h>
#include <stdint.h>

typedef struct vector_flow_control_t {
    const char *name;
    const char *on;
    int64_t now_ns;
    int64_t receiver_id;
    int64_t position;
    int32_t window;
    int64_t limit_in;
    int64_t limit_out;
    bool has_required_receivers;
} vector_flow_control_t;
static const vector_flow_control_t vector_flow_control[] = {
    {"unicast", "sm", 0, 1, 1024, 2048, 0, 3072, true},
    {"unicast", "sm", 1, 1, 512, 2048, 3072, 3072, true},
    {"unicast", "idle", 2, 0, 0, 0, 3072, 3072, true},
    {"multicast_max", "sm", 0, 1, 1024, 2048, 0, 3072, true},
    {"multicast_max", "sm", 1, 2, 512, 2048, 3072, 3072, true},
    {"multicast_max", "sm", 2, 2, 4096, 2048, 3072, 6144, true},
    {"multicast_max", "idle", 3, 0, 0, 0, 6144, 6144, true},
};

typedef struct vector_flow_options_t {
    const char *text;
    bool is_accepted;
    const char *strategy;
    bool has_tag;
    bool has_min_size;
    bool has_timeout;
    int64_t tag;
    int32_t min_size;
    int64_t timeout_ns;
    int32_t multiple;
} vector_flow_options_t;
static const vector_flow_options_t vector_flow_options[] = {
    {"min", true, "min", false, false, false, 0, 0, 0, 4},
    {"min,t:10s", true, "min", false, false, true, 0, 0, INT64_C(10000000000), 4},
    {"min,g:/10", true, "min", false, true, false, 0, 10, 0, 4},
    {"min,g:100/10", true, "min", true, true, false, 100, 10, 0, 4},
    {"tagged,g:100", true, "tagged", true, false, false, 100, 0, 0, 4},
    {"tagged,g:-100", true, "tagged", true, false, false, -100, 0, 0, 4},
    {"tagged,g:100/0,t:200ms", true, "tagged", true, true, true, 100, 0, 200000000, 4},
    {"tagged,g:", false, "", false, false, false, 0, 0, 0, 0},
    {"tagged,g:abc", false, "tagged", false, false, false, 0, 0, 0, 4},
    {"tagged,g:100/abc", false, "", false, false, false, 0, 0, 0, 0},
    {"min,t:", false, "", false, false, false, 0, 0, 0, 0},
    {"min,t:10", true, "min", false, false, true, 0, 0, 10, 4},
    {"min,rrwm:2", true, "min", false, false, false, 0, 0, 0, 2},
    {"min,rrwm:0", false, "", false, false, false, 0, 0, 0, 0},
    {"min,x:1", false, "", false, false, false, 0, 0, 0, 0},
    {"tagged,t:100ms,g:123,rrwm:8", true, "tagged", true, false, true, 123, 0, 100000000, 8},
};

typedef struct vector_congestion_static_t {
    const char *name;
    int32_t configured;
    int32_t term_length;
    int32_t mtu;
    int32_t max_window;
    int64_t now_ns;
    bool is_loss;
    int32_t window;
    bool force_sm;
} vector_congestion_static_t;
static const vector_congestion_static_t vector_congestion_static[] = {
    {"static_default", 131072, 16777216, 1408, 131072, 1000050000, false, 131072, false},
    {"static_default", 131072, 16777216, 1408, 131072, 1000100001, false, 131072, false},
    {"static_default", 131072, 16777216, 1408, 131072, 1100000000, false, 131072, false},
    {"static_default", 131072, 16777216, 1408, 131072, 1500000000, false, 131072, false},
    {"static_default", 131072, 16777216, 1408, 131072, 2000000000, false, 131072, false},
    {"static_default", 131072, 16777216, 1408, 131072, INT64_C(3000000000), false, 131072, false},
    {"static_default", 131072, 16777216, 1408, 131072, INT64_C(4000000000), false, 131072, false},
    {"static_default", 131072, 16777216, 1408, 131072, INT64_C(6000000000), false, 131072, false},
    {"static_default", 131072, 16777216, 1408, 131072, INT64_C(6000100000), true, 131072, false},
    {"static_default", 131072, 16777216, 1408, 131072, INT64_C(6000200001), false, 131072, false},
    {"static_default", 131072, 16777216, 1408, 131072, INT64_C(6500000000), false, 131072, false},
    {"static_default", 131072, 16777216, 1408, 131072, INT64_C(7000000000), false, 131072, false},
    {"static_default", 131072, 16777216, 1408, 131072, INT64_C(7500000000), true, 131072, false},
    {"static_default", 131072, 16777216, 1408, 131072, INT64_C(7500100000), true, 131072, false},
    {"static_default", 131072, 16777216, 1408, 131072, INT64_C(7500200001), false, 131072, false},
    {"static_default", 131072, 16777216, 1408, 131072, INT64_C(9000000000), false, 131072, false},
    {"static_small_term", 131072, 65536, 1408, 32768, 1000050000, false, 32768, false},
    {"static_small_term", 131072, 65536, 1408, 32768, 1000100001, false, 32768, false},
    {"static_small_term", 131072, 65536, 1408, 32768, 1100000000, false, 32768, false},
    {"static_small_term", 131072, 65536, 1408, 32768, 1500000000, false, 32768, false},
    {"static_small_term", 131072, 65536, 1408, 32768, 2000000000, false, 32768, false},
    {"static_small_term", 131072, 65536, 1408, 32768, INT64_C(3000000000), false, 32768, false},
    {"static_small_term", 131072, 65536, 1408, 32768, INT64_C(4000000000), false, 32768, false},
    {"static_small_term", 131072, 65536, 1408, 32768, INT64_C(6000000000), false, 32768, false},
    {"static_small_term", 131072, 65536, 1408, 32768, INT64_C(6000100000), true, 32768, false},
    {"static_small_term", 131072, 65536, 1408, 32768, INT64_C(6000200001), false, 32768, false},
    {"static_small_term", 131072, 65536, 1408, 32768, INT64_C(6500000000), false, 32768, false},
    {"static_small_term", 131072, 65536, 1408, 32768, INT64_C(7000000000), false, 32768, false},
    {"static_small_term", 131072, 65536, 1408, 32768, INT64_C(7500000000), true, 32768, false},
    {"static_small_term", 131072, 65536, 1408, 32768, INT64_C(7500100000), true, 32768, false},
    {"static_small_term", 131072, 65536, 1408, 32768, INT64_C(7500200001), false, 32768, false},
    {"static_small_term", 131072, 65536, 1408, 32768, INT64_C(9000000000), false, 32768, false},
    {"static_rcv_wnd", 65536, 16777216, 1408, 65536, 1000050000, false, 65536, false},
    {"static_rcv_wnd", 65536, 16777216, 1408, 65536, 1000100001, false, 65536, false},
    {"static_rcv_wnd", 65536, 16777216, 1408, 65536, 1100000000, false, 65536, false},
    {"static_rcv_wnd", 65536, 16777216, 1408, 65536, 1500000000, false, 65536, false},
    {"static_rcv_wnd", 65536, 16777216, 1408, 65536, 2000000000, false, 65536, false},
    {"static_rcv_wnd", 65536, 16777216, 1408, 65536, INT64_C(3000000000), false, 65536, false},
    {"static_rcv_wnd", 65536, 16777216, 1408, 65536, INT64_C(4000000000), false, 65536, false},
    {"static_rcv_wnd", 65536, 16777216, 1408, 65536, INT64_C(6000000000), false, 65536, false},
    {"static_rcv_wnd", 65536, 16777216, 1408, 65536, INT64_C(6000100000), true, 65536, false},
    {"static_rcv_wnd", 65536, 16777216, 1408, 65536, INT64_C(6000200001), false, 65536, false},
    {"static_rcv_wnd", 65536, 16777216, 1408, 65536, INT64_C(6500000000), false, 65536, false},
    {"static_rcv_wnd", 65536, 16777216, 1408, 65536, INT64_C(7000000000), false, 65536, false},
    {"static_rcv_wnd", 65536, 16777216, 1408, 65536, INT64_C(7500000000), true, 65536, false},
    {"static_rcv_wnd", 65536, 16777216, 1408, 65536, INT64_C(7500100000), true, 65536, false},
    {"static_rcv_wnd", 65536, 16777216, 1408, 65536, INT64_C(7500200001), false, 65536, false},
    {"static_rcv_wnd", 65536, 16777216, 1408, 65536, INT64_C(9000000000), false, 65536, false},
};

#endif
