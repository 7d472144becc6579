/* The fill NAK: encoding and decoding are inverse, clamped to its range; any bytes are a value. */
#include "protocol/sm_fill.h"
#include "tests/check.h"
#include "util/rng.h"

#include <math.h>
#include <string.h>

TEST(encoding_and_decoding_are_inverse)
{
    const rsti_sm_fill_t fill = {.strength = 0.25,
        .fill = 1.5,
        .variation = 0.75,
        .sender_count = 1000,
        .drain = 123456789012,
        .drain_all = -1,
        .buffer_bytes = 1 << 30};
    uint8_t value[RSTI_SM_FILL_LENGTH];
    rsti_sm_fill_t read;
    rsti_sm_fill_encode(&fill, value);
    rsti_sm_fill_decode(&read, value);
    CHECK(fabs(read.strength - 0.25) < 1e-4);
    CHECK(fabs(read.fill - 1.5) < 1e-4);
    CHECK(fabs(read.variation - 0.75) < 1e-4);
    CHECK_EQ(read.sender_count, 1000);
    CHECK_EQ(read.drain, 123456789012);
    CHECK_EQ(read.drain_all, -1);
    CHECK_EQ(read.buffer_bytes, 1 << 30);
}

/* The layout that docs/reference/wire.md gives, byte for byte. */
TEST(the_layout_is_little_endian)
{
    const rsti_sm_fill_t fill = {.strength = 1.0,
        .fill = 1.0,
        .variation = 0.0,
        .sender_count = 0x0203,
        .drain = 0x0102030405060708,
        .drain_all = 1,
        .buffer_bytes = 2};
    const uint8_t expected[RSTI_SM_FILL_LENGTH] = {0xFF, 0xFF, 0xFF, 0x7F, 0, 0, 3, 2, 8, 7, 6, 5,
        4, 3, 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0};
    uint8_t value[RSTI_SM_FILL_LENGTH];
    rsti_sm_fill_encode(&fill, value);
    CHECK_EQ(memcmp(value, expected, sizeof expected), 0);
}

TEST(values_outside_the_range_are_clamped)
{
    const rsti_sm_fill_t fill = {
        .strength = 1e-9, .fill = 7.0, .variation = NAN, .sender_count = 1 << 20};
    uint8_t value[RSTI_SM_FILL_LENGTH];
    rsti_sm_fill_t read;
    rsti_sm_fill_encode(&fill, value);
    rsti_sm_fill_decode(&read, value);
    CHECK(read.strength > 0); /* otherwise a weak fill NAK would read as none */
    CHECK(read.fill > 1.99 && read.fill <= 2.001);
    CHECK_EQ((int64_t)read.variation, 0);
    CHECK_EQ(read.sender_count, 65535);
}

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
        CHECK(fill.strength >= 0 && fill.strength <= 1);
        CHECK(fill.fill >= 0 && fill.fill < 2.001);
        CHECK(fill.variation >= 0 && fill.variation <= 1);
        rsti_sm_fill_encode(&fill, again);
        CHECK_EQ(memcmp(value, again, sizeof value), 0);
    }
}

CHECK_MAIN(RUN(encoding_and_decoding_are_inverse), RUN(the_layout_is_little_endian),
    RUN(values_outside_the_range_are_clamped), RUN(any_bytes_are_a_value))
