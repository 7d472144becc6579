/* flow.h: reference vectors as C tables. Made by tests/make_logbuffer_vectors.py. */
#ifndef RSTI_TESTS_VECTORS_FLOW_H
#define RSTI_TESTS_VECTORS_FLOW_H

#include <stdbool.h>
#include <stdint.h>

typedef struct vector_flow_control_t {
    const char *name;
    const char *fc;
    bool is_group;
    const char *on;
    int64_t now_ns;
    int64_t receiver_id;
    int64_t position;
    int32_t window;
    bool is_eos;
    bool has_tag;
    int64_t tag;
    int64_t limit_in;
    bool has_limit_out;
    int64_t limit_out;
    bool has_required_receivers;
} vector_flow_control_t;
static const vector_flow_control_t vector_flow_control[] = {
    {"unicast", "", false, "sm", 0, 1, 1024, 2048, false, false, 0, 0, true, 3072, true},
    {"unicast", "", false, "sm", 1, 1, 512, 2048, false, false, 0, 3072, true, 3072, true},
    {"unicast", "", false, "idle", 2, 0, 0, 0, false, false, 0, 3072, true, 3072, true},
    {"multicast_max", "max", true, "sm", 0, 1, 1024, 2048, false, false, 0, 0, true, 3072, true},
    {"multicast_max", "max", true, "sm", 1, 2, 512, 2048, false, false, 0, 3072, true, 3072, true},
    {"multicast_max", "max", true, "sm", 2, 2, 4096, 2048, false, false, 0, 3072, true, 6144, true},
    {"multicast_max", "max", true, "idle", 3, 0, 0, 0, false, false, 0, 6144, true, 6144, true},
    {"multicast_min", "min", true, "idle", 0, 0, 0, 0, false, false, 0, 0, true, 0, true},
    {"multicast_min", "min", true, "sm", 1, 1, 1024, 2048, false, false, 0, 0, true, 3072, true},
    {"multicast_min", "min", true, "sm", 2, 2, 2048, 2048, false, false, 0, 3072, true, 3072, true},
    {"multicast_min", "min", true, "idle", 3, 0, 0, 0, false, false, 0, 3072, true, 3072, true},
    {"multicast_min", "min", true, "sm", 4, 1, 4096, 2048, false, false, 0, 3072, true, 4096, true},
    {"multicast_min", "min", true, "idle", 5, 0, 0, 0, false, false, 0, 4096, true, 4096, true},
    {"multicast_min", "min", true, "sm", 6, 3, 0, 1024, false, false, 0, 4096, true, 4096, true},
    {"multicast_min", "min", true, "sm", 7, 4, 1024, 1024, false, false, 0, 4096, true, 4096, true},
    {"multicast_min", "min", true, "sm", 8, 4, 4096, 2048, false, false, 0, 4096, true, 4096, true},
    {"multicast_min", "min", true, "sm", INT64_C(3000000000), 1, 8192, 2048, true, false, 0, 4096, true, 4096, true},
    {"multicast_min", "min", true, "idle", INT64_C(3000000001), 0, 0, 0, false, false, 0, 4096, true, 4096, true},
    {"multicast_min", "min", true, "idle", INT64_C(5000000003), 0, 0, 0, false, false, 0, 6144, true, 6144, true},
    {"multicast_min", "min", true, "idle", INT64_C(5000000009), 0, 0, 0, false, false, 0, 6144, true, 6144, true},
    {"multicast_min", "min", true, "sm", INT64_C(6000000000), 9, 16384, 2048, false, false, 0, 6144, true, 18432, true},
    {"multicast_min_group_size_2", "min,g:/2", true, "sm", 0, 1, 1024, 2048, false, false, 0, 0, true, 0, false},
    {"multicast_min_group_size_2", "min,g:/2", true, "idle", 1, 0, 0, 0, false, false, 0, 0, true, 0, false},
    {"multicast_min_group_size_2", "min,g:/2", true, "sm", 2, 2, 2048, 2048, false, false, 0, 0, true, 3072, true},
    {"multicast_min_group_size_2", "min,g:/2", true, "idle", 3, 0, 0, 0, false, false, 0, 3072, true, 3072, true},
    {"tagged_123_timeout_200ms", "tagged,g:123,t:200ms", true, "sm", 0, 1, 1024, 2048, false, false, 0, 0, true, 3072, true},
    {"tagged_123_timeout_200ms", "tagged,g:123,t:200ms", true, "sm", 1, 2, 4096, 2048, false, true, 123, 3072, true, 6144, true},
    {"tagged_123_timeout_200ms", "tagged,g:123,t:200ms", true, "sm", 2, 1, 512, 2048, false, false, 0, 6144, true, 6144, true},
    {"tagged_123_timeout_200ms", "tagged,g:123,t:200ms", true, "sm", 3, 3, 2048, 2048, false, true, 999, 6144, true, 6144, true},
    {"tagged_123_timeout_200ms", "tagged,g:123,t:200ms", true, "sm", 4, 2, 8192, 2048, false, true, 123, 6144, true, 10240, true},
    {"tagged_123_timeout_200ms", "tagged,g:123,t:200ms", true, "idle", 5, 0, 0, 0, false, false, 0, 10240, true, 10240, true},
    {"tagged_123_timeout_200ms", "tagged,g:123,t:200ms", true, "idle", 200000006, 0, 0, 0, false, false, 0, 10240, true, 10240, true},
    {"tagged_setup_guard", "tagged,g:123", true, "sm", 0, 1, 1024, 2048, false, true, 123, 0, true, 3072, true},
    {"tagged_setup_guard", "tagged,g:123", true, "trigger_setup", 10, 0, 0, 0, false, true, 123, 0, false, 0, true},
    {"tagged_setup_guard", "tagged,g:123", true, "setup_sent", 20, 0, 0, 0, false, false, 0, 3072, false, 0, true},
    {"tagged_setup_guard", "tagged,g:123", true, "sm", 30, 1, 8192, 2048, false, true, 123, 3072, true, 3072, true},
    {"tagged_setup_guard", "tagged,g:123", true, "idle", 40, 0, 0, 0, false, false, 0, 3072, true, 3072, true},
    {"tagged_setup_guard", "tagged,g:123", true, "sm", 50, 2, 1024, 2048, false, true, 123, 3072, true, 3072, true},
    {"tagged_setup_guard", "tagged,g:123", true, "sm", 60, 2, 8192, 2048, false, true, 123, 3072, true, 10240, true},
    {"tagged_setup_guard", "tagged,g:123", true, "idle", 70, 0, 0, 0, false, false, 0, 3072, true, 10240, true},
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

typedef struct vector_congestion_t {
    const char *name;
    const char *cc;
    bool is_tcp_mode;
    int32_t configured;
    int32_t term_length;
    int32_t mtu;
    int64_t created_ns;
    int32_t initial_window;
    int32_t max_window;
    int64_t now_ns;
    bool is_loss;
    int32_t window;
    bool force_sm;
} vector_congestion_t;
static const vector_congestion_t vector_congestion[] = {
    {"static_default", "", false, 131072, 16777216, 1408, 1000000000, 131072, 131072, 1000050000, false, 131072, false},
    {"static_default", "", false, 131072, 16777216, 1408, 1000000000, 131072, 131072, 1000100001, false, 131072, false},
    {"static_default", "", false, 131072, 16777216, 1408, 1000000000, 131072, 131072, 1100000000, false, 131072, false},
    {"static_default", "", false, 131072, 16777216, 1408, 1000000000, 131072, 131072, 1500000000, false, 131072, false},
    {"static_default", "", false, 131072, 16777216, 1408, 1000000000, 131072, 131072, 2000000000, false, 131072, false},
    {"static_default", "", false, 131072, 16777216, 1408, 1000000000, 131072, 131072, INT64_C(3000000000), false, 131072, false},
    {"static_default", "", false, 131072, 16777216, 1408, 1000000000, 131072, 131072, INT64_C(4000000000), false, 131072, false},
    {"static_default", "", false, 131072, 16777216, 1408, 1000000000, 131072, 131072, INT64_C(6000000000), false, 131072, false},
    {"static_default", "", false, 131072, 16777216, 1408, 1000000000, 131072, 131072, INT64_C(6000100000), true, 131072, false},
    {"static_default", "", false, 131072, 16777216, 1408, 1000000000, 131072, 131072, INT64_C(6000200001), false, 131072, false},
    {"static_default", "", false, 131072, 16777216, 1408, 1000000000, 131072, 131072, INT64_C(6500000000), false, 131072, false},
    {"static_default", "", false, 131072, 16777216, 1408, 1000000000, 131072, 131072, INT64_C(7000000000), false, 131072, false},
    {"static_default", "", false, 131072, 16777216, 1408, 1000000000, 131072, 131072, INT64_C(7500000000), true, 131072, false},
    {"static_default", "", false, 131072, 16777216, 1408, 1000000000, 131072, 131072, INT64_C(7500100000), true, 131072, false},
    {"static_default", "", false, 131072, 16777216, 1408, 1000000000, 131072, 131072, INT64_C(7500200001), false, 131072, false},
    {"static_default", "", false, 131072, 16777216, 1408, 1000000000, 131072, 131072, INT64_C(9000000000), false, 131072, false},
    {"static_small_term", "", false, 131072, 65536, 1408, 1000000000, 32768, 32768, 1000050000, false, 32768, false},
    {"static_small_term", "", false, 131072, 65536, 1408, 1000000000, 32768, 32768, 1000100001, false, 32768, false},
    {"static_small_term", "", false, 131072, 65536, 1408, 1000000000, 32768, 32768, 1100000000, false, 32768, false},
    {"static_small_term", "", false, 131072, 65536, 1408, 1000000000, 32768, 32768, 1500000000, false, 32768, false},
    {"static_small_term", "", false, 131072, 65536, 1408, 1000000000, 32768, 32768, 2000000000, false, 32768, false},
    {"static_small_term", "", false, 131072, 65536, 1408, 1000000000, 32768, 32768, INT64_C(3000000000), false, 32768, false},
    {"static_small_term", "", false, 131072, 65536, 1408, 1000000000, 32768, 32768, INT64_C(4000000000), false, 32768, false},
    {"static_small_term", "", false, 131072, 65536, 1408, 1000000000, 32768, 32768, INT64_C(6000000000), false, 32768, false},
    {"static_small_term", "", false, 131072, 65536, 1408, 1000000000, 32768, 32768, INT64_C(6000100000), true, 32768, false},
    {"static_small_term", "", false, 131072, 65536, 1408, 1000000000, 32768, 32768, INT64_C(6000200001), false, 32768, false},
    {"static_small_term", "", false, 131072, 65536, 1408, 1000000000, 32768, 32768, INT64_C(6500000000), false, 32768, false},
    {"static_small_term", "", false, 131072, 65536, 1408, 1000000000, 32768, 32768, INT64_C(7000000000), false, 32768, false},
    {"static_small_term", "", false, 131072, 65536, 1408, 1000000000, 32768, 32768, INT64_C(7500000000), true, 32768, false},
    {"static_small_term", "", false, 131072, 65536, 1408, 1000000000, 32768, 32768, INT64_C(7500100000), true, 32768, false},
    {"static_small_term", "", false, 131072, 65536, 1408, 1000000000, 32768, 32768, INT64_C(7500200001), false, 32768, false},
    {"static_small_term", "", false, 131072, 65536, 1408, 1000000000, 32768, 32768, INT64_C(9000000000), false, 32768, false},
    {"static_rcv_wnd", "", false, 65536, 16777216, 1408, 1000000000, 65536, 65536, 1000050000, false, 65536, false},
    {"static_rcv_wnd", "", false, 65536, 16777216, 1408, 1000000000, 65536, 65536, 1000100001, false, 65536, false},
    {"static_rcv_wnd", "", false, 65536, 16777216, 1408, 1000000000, 65536, 65536, 1100000000, false, 65536, false},
    {"static_rcv_wnd", "", false, 65536, 16777216, 1408, 1000000000, 65536, 65536, 1500000000, false, 65536, false},
    {"static_rcv_wnd", "", false, 65536, 16777216, 1408, 1000000000, 65536, 65536, 2000000000, false, 65536, false},
    {"static_rcv_wnd", "", false, 65536, 16777216, 1408, 1000000000, 65536, 65536, INT64_C(3000000000), false, 65536, false},
    {"static_rcv_wnd", "", false, 65536, 16777216, 1408, 1000000000, 65536, 65536, INT64_C(4000000000), false, 65536, false},
    {"static_rcv_wnd", "", false, 65536, 16777216, 1408, 1000000000, 65536, 65536, INT64_C(6000000000), false, 65536, false},
    {"static_rcv_wnd", "", false, 65536, 16777216, 1408, 1000000000, 65536, 65536, INT64_C(6000100000), true, 65536, false},
    {"static_rcv_wnd", "", false, 65536, 16777216, 1408, 1000000000, 65536, 65536, INT64_C(6000200001), false, 65536, false},
    {"static_rcv_wnd", "", false, 65536, 16777216, 1408, 1000000000, 65536, 65536, INT64_C(6500000000), false, 65536, false},
    {"static_rcv_wnd", "", false, 65536, 16777216, 1408, 1000000000, 65536, 65536, INT64_C(7000000000), false, 65536, false},
    {"static_rcv_wnd", "", false, 65536, 16777216, 1408, 1000000000, 65536, 65536, INT64_C(7500000000), true, 65536, false},
    {"static_rcv_wnd", "", false, 65536, 16777216, 1408, 1000000000, 65536, 65536, INT64_C(7500100000), true, 65536, false},
    {"static_rcv_wnd", "", false, 65536, 16777216, 1408, 1000000000, 65536, 65536, INT64_C(7500200001), false, 65536, false},
    {"static_rcv_wnd", "", false, 65536, 16777216, 1408, 1000000000, 65536, 65536, INT64_C(9000000000), false, 65536, false},
    {"cubic", "cubic", false, 131072, 16777216, 1408, 1000000000, 14080, 131072, 1000050000, false, 14080, false},
    {"cubic", "cubic", false, 131072, 16777216, 1408, 1000000000, 14080, 131072, 1000100001, false, 105600, false},
    {"cubic", "cubic", false, 131072, 16777216, 1408, 1000000000, 14080, 131072, 1100000000, false, 107008, false},
    {"cubic", "cubic", false, 131072, 16777216, 1408, 1000000000, 14080, 131072, 1500000000, false, 115456, false},
    {"cubic", "cubic", false, 131072, 16777216, 1408, 1000000000, 14080, 131072, 2000000000, false, 122496, false},
    {"cubic", "cubic", false, 131072, 16777216, 1408, 1000000000, 14080, 131072, INT64_C(3000000000), false, 129536, false},
    {"cubic", "cubic", false, 131072, 16777216, 1408, 1000000000, 14080, 131072, INT64_C(4000000000), false, 130944, false},
    {"cubic", "cubic", false, 131072, 16777216, 1408, 1000000000, 14080, 131072, INT64_C(6000000000), false, 130944, false},
    {"cubic", "cubic", false, 131072, 16777216, 1408, 1000000000, 14080, 131072, INT64_C(6000100000), true, 104192, true},
    {"cubic", "cubic", false, 131072, 16777216, 1408, 1000000000, 14080, 131072, INT64_C(6000200001), false, 105600, false},
    {"cubic", "cubic", false, 131072, 16777216, 1408, 1000000000, 14080, 131072, INT64_C(6500000000), false, 115456, false},
    {"cubic", "cubic", false, 131072, 16777216, 1408, 1000000000, 14080, 131072, INT64_C(7000000000), false, 122496, false},
    {"cubic", "cubic", false, 131072, 16777216, 1408, 1000000000, 14080, 131072, INT64_C(7500000000), true, 97152, true},
    {"cubic", "cubic", false, 131072, 16777216, 1408, 1000000000, 14080, 131072, INT64_C(7500100000), true, 77440, true},
    {"cubic", "cubic", false, 131072, 16777216, 1408, 1000000000, 14080, 131072, INT64_C(7500200001), false, 78848, false},
    {"cubic", "cubic", false, 131072, 16777216, 1408, 1000000000, 14080, 131072, INT64_C(9000000000), false, 94336, false},
    {"cubic_tcp_mode", "cubic", true, 131072, 16777216, 1408, 1000000000, 14080, 131072, 1000050000, false, 14080, false},
    {"cubic_tcp_mode", "cubic", true, 131072, 16777216, 1408, 1000000000, 14080, 131072, 1000100001, false, 105600, false},
    {"cubic_tcp_mode", "cubic", true, 131072, 16777216, 1408, 1000000000, 14080, 131072, 1100000000, false, 573056, false},
    {"cubic_tcp_mode", "cubic", true, 131072, 16777216, 1408, 1000000000, 14080, 131072, 1500000000, false, 573056, false},
    {"cubic_tcp_mode", "cubic", true, 131072, 16777216, 1408, 1000000000, 14080, 131072, 2000000000, false, 573056, false},
    {"cubic_tcp_mode", "cubic", true, 131072, 16777216, 1408, 1000000000, 14080, 131072, INT64_C(3000000000), false, 573056, false},
    {"cubic_tcp_mode", "cubic", true, 131072, 16777216, 1408, 1000000000, 14080, 131072, INT64_C(4000000000), false, 573056, false},
    {"cubic_tcp_mode", "cubic", true, 131072, 16777216, 1408, 1000000000, 14080, 131072, INT64_C(6000000000), false, 573056, false},
    {"cubic_tcp_mode", "cubic", true, 131072, 16777216, 1408, 1000000000, 14080, 131072, INT64_C(6000100000), true, 457600, true},
    {"cubic_tcp_mode", "cubic", true, 131072, 16777216, 1408, 1000000000, 14080, 131072, INT64_C(6000200001), false, 457600, false},
    {"cubic_tcp_mode", "cubic", true, 131072, 16777216, 1408, 1000000000, 14080, 131072, INT64_C(6500000000), false, 457600, false},
    {"cubic_tcp_mode", "cubic", true, 131072, 16777216, 1408, 1000000000, 14080, 131072, INT64_C(7000000000), false, 457600, false},
    {"cubic_tcp_mode", "cubic", true, 131072, 16777216, 1408, 1000000000, 14080, 131072, INT64_C(7500000000), true, 366080, true},
    {"cubic_tcp_mode", "cubic", true, 131072, 16777216, 1408, 1000000000, 14080, 131072, INT64_C(7500100000), true, 292864, true},
    {"cubic_tcp_mode", "cubic", true, 131072, 16777216, 1408, 1000000000, 14080, 131072, INT64_C(7500200001), false, 292864, false},
    {"cubic_tcp_mode", "cubic", true, 131072, 16777216, 1408, 1000000000, 14080, 131072, INT64_C(9000000000), false, 292864, false},
    {"cubic_small_window", "cubic", false, 8192, 16777216, 1408, 1000000000, 7040, 8192, 1000050000, false, 7040, false},
    {"cubic_small_window", "cubic", false, 8192, 16777216, 1408, 1000000000, 7040, 8192, 1000100001, false, 7040, false},
    {"cubic_small_window", "cubic", false, 8192, 16777216, 1408, 1000000000, 7040, 8192, 1100000000, false, 7040, false},
    {"cubic_small_window", "cubic", false, 8192, 16777216, 1408, 1000000000, 7040, 8192, 1500000000, false, 7040, false},
    {"cubic_small_window", "cubic", false, 8192, 16777216, 1408, 1000000000, 7040, 8192, 2000000000, false, 7040, false},
    {"cubic_small_window", "cubic", false, 8192, 16777216, 1408, 1000000000, 7040, 8192, INT64_C(3000000000), false, 7040, false},
    {"cubic_small_window", "cubic", false, 8192, 16777216, 1408, 1000000000, 7040, 8192, INT64_C(4000000000), false, 7040, false},
    {"cubic_small_window", "cubic", false, 8192, 16777216, 1408, 1000000000, 7040, 8192, INT64_C(6000000000), false, 7040, false},
    {"cubic_small_window", "cubic", false, 8192, 16777216, 1408, 1000000000, 7040, 8192, INT64_C(6000100000), true, 5632, true},
    {"cubic_small_window", "cubic", false, 8192, 16777216, 1408, 1000000000, 7040, 8192, INT64_C(6000200001), false, 7040, false},
    {"cubic_small_window", "cubic", false, 8192, 16777216, 1408, 1000000000, 7040, 8192, INT64_C(6500000000), false, 7040, false},
    {"cubic_small_window", "cubic", false, 8192, 16777216, 1408, 1000000000, 7040, 8192, INT64_C(7000000000), false, 7040, false},
    {"cubic_small_window", "cubic", false, 8192, 16777216, 1408, 1000000000, 7040, 8192, INT64_C(7500000000), true, 5632, true},
    {"cubic_small_window", "cubic", false, 8192, 16777216, 1408, 1000000000, 7040, 8192, INT64_C(7500100000), true, 4224, true},
    {"cubic_small_window", "cubic", false, 8192, 16777216, 1408, 1000000000, 7040, 8192, INT64_C(7500200001), false, 5632, false},
    {"cubic_small_window", "cubic", false, 8192, 16777216, 1408, 1000000000, 7040, 8192, INT64_C(9000000000), false, 5632, false},
};

#endif
