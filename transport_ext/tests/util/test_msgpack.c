/* test_msgpack.c: what a message of msgpack becomes (util/msgpack.h). */
#include "util/msgpack.h"

#include "tests/check.h"

#include <string.h>

#define MANY INT64_MAX

static int64_t cost_of(const char *text, size_t length)
{
    return rsti_msgpack_cost((const uint8_t *)text, length, MANY);
}
#define COST(literal) cost_of(literal, sizeof(literal) - 1)

TEST(each_kind_of_value_is_passed_whole)
{
    /* Two values in a list: the second one is found only behind the first. */
    CHECK_EQ(COST("\x92\x01\x02"), 72 + 16);
    CHECK_EQ(COST("\x92\xff\xc0"), 72 + 16);
    CHECK_EQ(COST("\x92\xcc\xff\xcd\xff\xff"), 72 + 16 + 64);
    CHECK_EQ(COST("\x92\xca\x01\x02\x03\x04\xcb\x01\x02\x03\x04\x05\x06\x07\x08"), 72 + 16 + 64);
    CHECK_EQ(COST("\x92\xd3\x01\x02\x03\x04\x05\x06\x07\x08\xc3"), 72 + 16 + 32);
    CHECK_EQ(COST("\x92\xa3"
                  "abc\xd9\x02"
                  "de"),
        72 + 16 + 2 * 56);
    CHECK_EQ(COST("\x92\xc4\x01x\xc5\x00\x02yz"), 72 + 16 + 2 * 56);
    CHECK_EQ(COST("\x92\xd4\x01x\xd8\x01xxxxxxxxxxxxxxxx"), 72 + 16 + 2 * 200);
    CHECK_EQ(COST("\x92\xc7\x02\x01xy\xc8\x00\x01\x01x"), 72 + 16 + 2 * 200);
    CHECK_EQ(COST("\x92\xdc\x00\x01\x01\xdd\x00\x00\x00\x00"), 72 + 16 + 72 + 8 + 72);
    CHECK_EQ(COST("\x92\x81\x01\x02\xde\x00\x00"), 72 + 16 + 80 + 170 + 40 + 80);
}

TEST(a_text_takes_what_its_largest_character_needs)
{
    CHECK_EQ(COST("\xa2\xc3\xa4"), 56);
    CHECK_EQ(COST("\xa3\xe2\x82\xac"), 56 + 3);
    CHECK_EQ(COST("\xa4\xf0\x9f\x98\x80"), 56 + 3 * 4);
}

TEST(what_is_not_whole_is_told)
{
    CHECK_EQ(COST(""), -1);
    CHECK_EQ(COST("\x91"), -1);
    CHECK_EQ(COST("\x81\x01"), -1);
    CHECK_EQ(COST("\xdd\xff\xff\xff\xff"), -1);
    CHECK_EQ(COST("\xdf\xff\xff\xff\xff\x01"), -1);
    CHECK_EQ(COST("\xdb\xff\xff\xff\xff"
                  "a"),
        -1);
    CHECK_EQ(COST("\xc6\x00\x00\x00\x02"
                  "a"),
        -1);
    CHECK_EQ(COST("\xc9\x00\x00\x00\x01\x01"), -1);
    CHECK_EQ(COST("\xcd\x01"), -1);
}

/* Lists in lists, each of which claims as many elements as there are bytes. */
TEST(bombs_end_early)
{
    static uint8_t data[1 << 20];
    memset(data, 0x91, sizeof data);
    CHECK_EQ(rsti_msgpack_cost(data, sizeof data, MANY), -1); /* the last one lacks its element */
    data[sizeof data - 1] = 0x90;
    CHECK_EQ(rsti_msgpack_cost(data, sizeof data, MANY), 80 * (int64_t)sizeof data - 8);
    CHECK_EQ(rsti_msgpack_cost(data, sizeof data, 799), 800);
    for (size_t i = 0; i + 5 <= sizeof data; i += 5) {
        memcpy(data + i, "\xdd\xff\xff\xff\xff", 5);
    }
    CHECK_EQ(rsti_msgpack_cost(data, sizeof data, MANY), -1);
}

CHECK_MAIN(RUN(each_kind_of_value_is_passed_whole),
    RUN(a_text_takes_what_its_largest_character_needs), RUN(what_is_not_whole_is_told),
    RUN(bombs_end_early))
