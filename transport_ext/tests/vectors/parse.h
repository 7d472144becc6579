/* parse.h: reference vectors as C tables. Made by tests/make_vectors.py. */
#ifndef RSTI_TESTS_VECTORS_PARSE_H
#define RSTI_TESTS_VECTORS_PARSE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct vector_number_t {
    const char *text;
    bool is_accepted;
    int64_t value;
} vector_number_t;

static const vector_number_t vector_sizes[] = {
    {"0", true, INT64_C(0)},
    {"1", true, INT64_C(1)},
    {"1024", true, INT64_C(1024)},
    {"64k", true, INT64_C(65536)},
    {"64K", true, INT64_C(65536)},
    {"16m", true, INT64_C(16777216)},
    {"1g", true, INT64_C(1073741824)},
    {"1G", true, INT64_C(1073741824)},
    {"8388608", true, INT64_C(8388608)},
    {"k", false, INT64_C(0)},
    {"1kk", false, INT64_C(0)},
    {"-1", false, INT64_C(0)},
    {"abc", false, INT64_C(0)},
    {"", false, INT64_C(0)},
    {"12x", false, INT64_C(0)},
    {"9223372036854775807", true, INT64_C(9223372036854775807)},
};

static const vector_number_t vector_durations[] = {
    {"0", true, INT64_C(0)},
    {"100", true, INT64_C(100)},
    {"1ns", true, INT64_C(1)},
    {"1us", true, INT64_C(1000)},
    {"1ms", true, INT64_C(1000000)},
    {"1s", true, INT64_C(1000000000)},
    {"10s", true, INT64_C(10000000000)},
    {"5S", true, INT64_C(5000000000)},
    {"1m", false, INT64_C(0)},
    {"ms", false, INT64_C(0)},
    {"1.5s", false, INT64_C(0)},
    {"-1s", false, INT64_C(0)},
    {"", false, INT64_C(0)},
    {"10MS", true, INT64_C(10000000)},
    {"9223372036s", true, INT64_C(9223372036000000000)},
};

#endif
