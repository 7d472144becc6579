#include "protocol/part.h"

#include "protocol/data_header.h"
#include "tests/check.h"

static const uint8_t WIRE[RSTI_PART_PREFIX_LENGTH] = {0x15, 0xCD, 0x5B, 0x07, 0, 0, 0, 0, /* id */
    0, 0, 0, 0x40, 0, 0, 0, 0,                                                         /* total */
    0xE8, 0xFF, 0, 0, 0, 0, 0, 0};                                                    /* offset */

TEST(every_field_has_its_bytes)
{
    const rsti_part_t part = {.id = 123456789, .total = 1 << 30, .offset = 65512};
    uint8_t prefix[RSTI_PART_PREFIX_LENGTH];
    rsti_part_t decoded;
    rsti_part_encode(&part, prefix);
    CHECK_EQ(memcmp(prefix, WIRE, sizeof WIRE), 0);
    CHECK(rsti_part_decode(WIRE, sizeof WIRE, &decoded));
    CHECK_EQ(decoded.id, part.id);
    CHECK_EQ(decoded.total, part.total);
    CHECK_EQ(decoded.offset, part.offset);
    CHECK(!rsti_part_decode(WIRE, sizeof WIRE - 1, &decoded));
    CHECK(!rsti_part_decode(WIRE, 0, &decoded));
}

TEST(what_contradicts_itself_is_refused)
{
    static const struct {
        rsti_part_t part;
        bool is_valid;
    } cases[] = {
        {{1, 1, 0}, true},
        {{INT64_MAX, INT64_MAX, INT64_MAX - 1}, true},
        {{1, 1, RSTI_PART_ABANDONED}, true},
        {{0, 1, 0}, false},
        {{-1, 1, 0}, false},
        {{1, 0, 0}, false},
        {{1, 0, RSTI_PART_ABANDONED}, false},
        {{1, -1, 0}, false},
        {{1, 1, 1}, false},
        {{1, 7, 8}, false},
        {{1, 1, -2}, false},
        {{1, INT64_MAX, INT64_MIN}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t prefix[RSTI_PART_PREFIX_LENGTH];
        rsti_part_t decoded;
        rsti_part_encode(&cases[i].part, prefix);
        CHECK_EQ(rsti_part_decode(prefix, sizeof prefix, &decoded), cases[i].is_valid);
    }
}

TEST(a_part_is_known_by_its_kind)
{
    CHECK(rsti_stream_header_is_part(INT64_C(0x010203ABCDEF1234)));
    CHECK_EQ(rsti_stream_header_of_whole(INT64_C(0x010203ABCDEF1234)), INT64_C(0x010003ABCDEF1234));
    CHECK(!rsti_stream_header_is_part(0));
    CHECK(!rsti_stream_header_is_part(INT64_C(0x010003ABCDEF1234)));
    CHECK(!rsti_stream_header_is_part(INT64_C(0x020203ABCDEF1234)));
    CHECK(!rsti_stream_header_is_part(INT64_C(0x000200ABCDEF1234)));
}

CHECK_MAIN(RUN(every_field_has_its_bytes), RUN(what_contradicts_itself_is_refused),
    RUN(a_part_is_known_by_its_kind))
