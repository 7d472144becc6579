/* The NOOP item: encoding and decoding are inverse, in the layout that docs/reference/wire.md
 * gives; any bytes are a value, and a negative number means none. */
#include "protocol/sm_items.h"
#include "protocol/sm_noop.h"
#include "tests/check.h"
#include "util/rng.h"

TEST(the_layout_is_little_endian)
{
    const rsti_sm_noop_t noop = {INT64_C(0x0102030405060708), 0x0203};
    const uint8_t expected[RSTI_SM_NOOP_LENGTH] = {8, 7, 6, 5, 4, 3, 2, 1, 3, 2, 0, 0, 0, 0, 0, 0};
    uint8_t value[RSTI_SM_NOOP_LENGTH];
    rsti_sm_noop_t read;
    rsti_sm_noop_encode(&noop, value);
    CHECK_MEM(value, expected, sizeof expected);
    rsti_sm_noop_decode(&read, value);
    CHECK_EQ(read.heard, noop.heard);
    CHECK_EQ(read.answered, noop.answered);
}

TEST(any_bytes_are_a_value)
{
    rsti_rng_t rng;
    rsti_rng_init(&rng, check_seed());
    for (int i = 0; i < 1000; i++) {
        uint8_t value[RSTI_SM_NOOP_LENGTH];
        for (size_t at = 0; at < sizeof value; at++) {
            value[at] = (uint8_t)rsti_rng_next(&rng);
        }
        rsti_sm_noop_t read;
        rsti_sm_noop_decode(&read, value);
        CHECK(read.heard >= 0 && read.answered >= 0);
        CHECK(read.heard == 0 || (value[7] & 0x80) == 0);
        CHECK(read.answered == 0 || (value[15] & 0x80) == 0);
    }
}

static void ignore(void *arg, uint8_t type, const uint8_t *value, uint8_t length)
{
    (void)arg, (void)type, (void)value, (void)length;
}

/* A shorter value belongs to no version. */
TEST(a_short_one_makes_the_tail_unsound)
{
    for (uint8_t length = 0; length <= RSTI_SM_NOOP_LENGTH + 4; length++) {
        uint8_t tail[RSTI_SM_ITEMS_MAX];
        const uint8_t value[RSTI_SM_NOOP_LENGTH + 4] = {0};
        rsti_sm_items_writer_t writer;
        rsti_sm_items_begin(&writer, tail, sizeof tail);
        CHECK(rsti_sm_items_add(&writer, RSTI_SM_ITEM_NOOP, value, length));
        CHECK_EQ(rsti_sm_items_read(tail, rsti_sm_items_end(&writer), ignore, NULL),
            length >= RSTI_SM_NOOP_LENGTH);
    }
}

/* All items together still fit into one status message. */
TEST(all_items_fit_together)
{
    const struct {
        uint8_t type, length;
    } items[] = {{RSTI_SM_ITEM_TAG_PRESENT, 1}, {RSTI_SM_ITEM_ROUND_TRIP, 8},
        {RSTI_SM_ITEM_ARRIVAL_RATE, 8}, {RSTI_SM_ITEM_FILL, 32}, {RSTI_SM_ITEM_DEMAND, 16},
        {RSTI_SM_ITEM_BUDGET, 24}, {RSTI_SM_ITEM_NOOP, RSTI_SM_NOOP_LENGTH}};
    uint8_t tail[RSTI_SM_ITEMS_MAX];
    const uint8_t value[64] = {0};
    rsti_sm_items_writer_t writer;
    rsti_sm_items_begin(&writer, tail, sizeof tail);
    for (size_t i = 0; i < sizeof items / sizeof items[0]; i++) {
        CHECK(rsti_sm_items_add(&writer, items[i].type, value, items[i].length));
    }
    CHECK(rsti_sm_items_are_sound(tail, rsti_sm_items_end(&writer)));
}

CHECK_MAIN(RUN(the_layout_is_little_endian), RUN(any_bytes_are_a_value),
    RUN(a_short_one_makes_the_tail_unsound), RUN(all_items_fit_together))
