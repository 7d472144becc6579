/* The fill NAK: encoding and decoding are inverse, clamped to its range; any bytes are a value. */
#include "protocol/sm_fill.h"
#include "tests/check.h"
#include "util/rng.h"

#include <math.h>
#include <string.h>

TEST(encoding_and_decoding_are_inverse)
{
    for (int is_clear = 0; is_clear <= 1; is_clear++) {
        const rsti_sm_fill_t fill = {.is_clear = is_clear,
            .fill = 1.5,
            .drain = 123456789012,
            .allowed = -1,
            .buffer_bytes = 1 << 30};
        uint8_t value[RSTI_SM_FILL_LENGTH];
        rsti_sm_fill_t read;
        rsti_sm_fill_encode(&fill, value);
        rsti_sm_fill_decode(&read, value);
        CHECK_EQ(read.is_clear, is_clear);
        CHECK(fabs(read.fill - 1.5) < 1e-4);
        CHECK_EQ(read.drain, 123456789012);
        CHECK_EQ(read.allowed, -1);
        CHECK_EQ(read.buffer_bytes, 1 << 30);
    }
}

/* The layout that docs/reference/wire.md gives, byte for byte. */
TEST(the_layout_is_little_endian)
{
    const rsti_sm_fill_t fill = {.is_clear = true,
        .fill = 1.0,
        .drain = 0x0102030405060708,
        .allowed = 1,
        .buffer_bytes = 2};
    const uint8_t expected[RSTI_SM_FILL_LENGTH] = {0xFF, 0x7F, 1, 0, 0, 0, 0, 0, 8, 7, 6, 5, 4, 3,
        2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0};
    uint8_t value[RSTI_SM_FILL_LENGTH];
    memset(value, 0xAA, sizeof value);
    rsti_sm_fill_encode(&fill, value);
    CHECK_MEM(value, expected, sizeof expected);
}

TEST(a_fill_outside_its_range_is_clamped)
{
    static const struct {
        double fill, least, most;
    } rows[] = {{-1.0, 0, 0}, {NAN, 0, 0}, {7.0, 1.99, 2.001}, {INFINITY, 1.99, 2.001}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const rsti_sm_fill_t fill = {.fill = rows[i].fill};
        uint8_t value[RSTI_SM_FILL_LENGTH];
        rsti_sm_fill_t read;
        rsti_sm_fill_encode(&fill, value);
        rsti_sm_fill_decode(&read, value);
        CHECK(read.fill >= rows[i].least && read.fill <= rows[i].most);
    }
}

/* A later version may use the other flags and the zero: they change nothing here. */
TEST(any_bytes_are_a_value)
{
    rsti_rng_t rng;
    rsti_rng_init(&rng, check_seed());
    for (int i = 0; i < 1000; i++) {
        uint8_t value[RSTI_SM_FILL_LENGTH], again[RSTI_SM_FILL_LENGTH];
        for (size_t at = 0; at < sizeof value; at++) {
            value[at] = (uint8_t)rsti_rng_next(&rng);
        }
        rsti_sm_fill_t fill;
        rsti_sm_fill_decode(&fill, value);
        CHECK(fill.fill >= 0 && fill.fill < 2.001);
        CHECK_EQ(fill.is_clear, (value[2] & RSTI_SM_FILL_FLAG_CLEAR) != 0);
        rsti_sm_fill_encode(&fill, again);
        value[2] &= RSTI_SM_FILL_FLAG_CLEAR;
        memset(value + 3, 0, 5);
        CHECK_MEM(again, value, sizeof value);
    }
}

CHECK_MAIN(RUN(encoding_and_decoding_are_inverse), RUN(the_layout_is_little_endian),
    RUN(a_fill_outside_its_range_is_clamped), RUN(any_bytes_are_a_value))
