#include "protocol/data_header.h"

#include "tests/check.h"

TEST(every_field_has_its_bits)
{
    rsti_stream_header_t header = {.version = 1,
        .kind = RSTI_KIND_SCHEMA,
        .flags = 3,
        .codec_id = 0xAB,
        .target = 0xCDEF,
        .name_hash = 0x1234};
    CHECK_EQ(rsti_stream_header_encode(&header), INT64_C(0x010503ABCDEF1234));
    rsti_stream_header_t decoded;
    CHECK(rsti_stream_header_decode(INT64_C(0x010503ABCDEF1234), &decoded));
    CHECK_EQ(decoded.version, 1);
    CHECK_EQ(decoded.kind, RSTI_KIND_SCHEMA);
    CHECK_EQ(decoded.flags, 3);
    CHECK_EQ(decoded.codec_id, 0xAB);
    CHECK_EQ(decoded.target, 0xCDEF);
    CHECK_EQ(decoded.name_hash, 0x1234);
}

TEST(only_our_version_is_ours)
{
    rsti_stream_header_t header;
    CHECK(!rsti_stream_header_decode(0, &header));
    CHECK(!rsti_stream_header_decode(-1, &header));
    CHECK(!rsti_stream_header_decode(INT64_MAX, &header));
    for (int version = 0; version < 256; version++) {
        int64_t value = (int64_t)((uint64_t)version << 56 | 7);
        CHECK_EQ(rsti_stream_header_decode(value, &header), version == 1);
        CHECK_EQ(header.version, version);
        CHECK_EQ(rsti_stream_header_encode(&header), value);
    }
}

TEST(name_hash_is_fnv_1a_folded)
{
    /* FNV-1a of "a" is 0xe40c292c, of "foobar" 0xbf9cf968 (published test vectors). */
    CHECK_EQ(rsti_name_hash("a", 1), 0xe40c ^ 0x292c);
    CHECK_EQ(rsti_name_hash("foobar", 6), 0xbf9c ^ 0xf968);
    CHECK_EQ(rsti_name_hash("foobar!", 6), 0xbf9c ^ 0xf968);
    CHECK_EQ(rsti_name_hash("", 0), 0);
}

TEST(a_named_stream_never_hashes_to_0)
{
    bool moved_aside = false;
    for (uint32_t number = 0; number < 1000000; number++) {
        char name[4] = {(char)number, (char)(number >> 8), (char)(number >> 16), 'x'};
        uint16_t hash = rsti_name_hash(name, sizeof name);
        CHECK(hash != 0);
        moved_aside = moved_aside || hash == 1;
    }
    CHECK(moved_aside);
}

CHECK_MAIN(RUN(every_field_has_its_bits), RUN(only_our_version_is_ours),
    RUN(name_hash_is_fnv_1a_folded), RUN(a_named_stream_never_hashes_to_0))
