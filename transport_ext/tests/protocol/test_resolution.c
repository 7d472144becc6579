/* test_resolution.c: frames of names and addresses, byte by byte, and what is refused. */
#include "protocol/resolution.h"
#include "tests/check.h"

/* 127.0.0.1:8050 "ab", of itself; then [::1]:8051 "xyz", 1.5 s old. Written by hand from
 * docs/reference/aeron/wire.md 3.9. */
static const uint8_t golden[] = {8 + 16 + 32, 0, 0, 0, 0, 0, 7, 0, 1, 0x80, 0x72, 0x1F, 0, 0, 0, 0,
    127, 0, 0, 1, 2, 0, 'a', 'b', 2, 0, 0x73, 0x1F, 0xDC, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 1, 3, 0, 'x', 'y', 'z', 0, 0, 0};

static rsti_resolution_t entry_of(const char *address, const char *name, int32_t age_ms)
{
    struct sockaddr_storage parsed;
    rsti_resolution_t entry = {.age_ms = age_ms};
    (void)rsti_netaddr_resolve(address, &parsed);
    entry.address = rsti_netaddr_pack(&parsed);
    memcpy(entry.name, name, strlen(name));
    return entry;
}

/* N15 */
TEST(frames_are_as_specified)
{
    uint8_t bytes[128];
    rsti_resolution_t first = entry_of("127.0.0.1:8050", "ab", 0);
    first.is_self = true;
    const rsti_resolution_t second = entry_of("[::1]:8051", "xyz", 1500);
    size_t length = rsti_resolution_append(bytes, sizeof bytes, 0, &first);
    CHECK_EQ(length, 24);
    CHECK_EQ(rsti_resolution_append(bytes, sizeof golden - 1, length, &second), 0); /* no room */
    CHECK_EQ(bytes[0], 24);
    length = rsti_resolution_append(bytes, sizeof golden, length, &second);
    CHECK_EQ(length, sizeof golden);
    CHECK_MEM(bytes, golden, sizeof golden);

    rsti_resolution_reader_t reader;
    rsti_resolution_t entry;
    CHECK(rsti_resolution_reader_init(&reader, golden, sizeof golden));
    CHECK_EQ(rsti_resolution_next(&reader, &entry), 1);
    CHECK_MEM(&entry, &first, sizeof entry);
    CHECK_EQ(rsti_resolution_next(&reader, &entry), 1);
    CHECK_MEM(&entry, &second, sizeof entry);
    CHECK_EQ(rsti_resolution_next(&reader, &entry), 0);
}

/* What next() says about the second entry after one byte was changed. */
static int with_byte(size_t at, uint8_t value)
{
    uint8_t bytes[sizeof golden];
    rsti_resolution_reader_t reader;
    rsti_resolution_t entry;
    memcpy(bytes, golden, sizeof golden);
    bytes[at] = value;
    if (!rsti_resolution_reader_init(&reader, bytes, sizeof bytes)) {
        return -2;
    }
    (void)rsti_resolution_next(&reader, &entry);
    return rsti_resolution_next(&reader, &entry);
}

/* N15 */
TEST(malformed_entries_end_the_frame)
{
    CHECK_EQ(with_byte(6, 3), -2);            /* another type */
    CHECK_EQ(with_byte(4, 1), -2);            /* another version */
    CHECK_EQ(with_byte(0, 57), -2);           /* longer than the datagram */
    CHECK_EQ(with_byte(24, 3), -1);           /* another kind of address */
    CHECK_EQ(with_byte(24 + 24, 0), -1);      /* no name */
    CHECK_EQ(with_byte(24 + 24, 7), -1);      /* a name beyond the frame */
    CHECK_EQ(with_byte(24 + 25, 0xFF), -1);   /* a negative length */
    CHECK_EQ(with_byte(24 + 27, 0), -1);      /* a zero byte in the name */
    CHECK_EQ(with_byte(0, 24 + 26), -1);      /* cut behind the address */
    CHECK_EQ(with_byte(0, 24 + 29), 1);       /* without its padding: as Aeron reads it */
    CHECK_EQ(with_byte(0, 24), 0);
    rsti_resolution_reader_t reader;
    rsti_resolution_t entry;
    for (size_t length = 0; length < 22; length++) {
        CHECK(!rsti_resolution_reader_init(&reader, golden, length));
    }
    uint8_t bytes[sizeof golden];
    memcpy(bytes, golden, sizeof golden);
    bytes[15] = 0x80;
    CHECK(rsti_resolution_reader_init(&reader, bytes, sizeof bytes));
    CHECK_EQ(rsti_resolution_next(&reader, &entry), 1);
    CHECK_EQ(entry.age_ms, 0); /* no entry comes from the future */
}

/* N15 */
TEST(names_up_to_the_limit)
{
    static uint8_t bytes[512];
    char name[RSTI_RESOLUTION_NAME_MAX + 2];
    memset(name, 'n', sizeof name);
    name[RSTI_RESOLUTION_NAME_MAX] = '\0';
    const rsti_resolution_t longest = entry_of("10.0.0.1:1", name, 0);
    const size_t length = rsti_resolution_append(bytes, sizeof bytes, 0, &longest);
    rsti_resolution_reader_t reader;
    rsti_resolution_t entry;
    CHECK(rsti_resolution_reader_init(&reader, bytes, length));
    CHECK_EQ(rsti_resolution_next(&reader, &entry), 1);
    CHECK_STR(entry.name, name);
    bytes[8 + 12] = 0; /* 256 */
    bytes[8 + 13] = 1;
    CHECK(rsti_resolution_reader_init(&reader, bytes, length));
    CHECK_EQ(rsti_resolution_next(&reader, &entry), -1);
}

CHECK_MAIN(RUN(frames_are_as_specified), RUN(malformed_entries_end_the_frame),
    RUN(names_up_to_the_limit))
