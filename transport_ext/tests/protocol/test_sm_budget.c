/* The budget item: encoding and decoding are inverse, in the layout that docs/reference/wire.md
 * gives; any bytes are a value, and a negative grant means no limit. */
#include "protocol/sm_budget.h"
#include "protocol/sm_items.h"
#include "tests/check.h"
#include "util/rng.h"

TEST(encoding_and_decoding_are_inverse)
{
    const rsti_sm_budget_t budgets[] = {
        {0, 0, 0}, {INT64_C(0x0102030405060708), 9, 10}, {INT64_MAX, INT64_MAX, 1}, {-1, 1, 0}};
    for (size_t i = 0; i < sizeof budgets / sizeof budgets[0]; i++) {
        uint8_t value[RSTI_SM_BUDGET_LENGTH];
        rsti_sm_budget_t read;
        rsti_sm_budget_encode(&budgets[i], value);
        rsti_sm_budget_decode(&read, value);
        CHECK_EQ(read.position, budgets[i].position);
        CHECK_EQ(read.connection_bytes, budgets[i].connection_bytes);
        CHECK_EQ(read.stream_bytes, budgets[i].stream_bytes);
    }
}

TEST(the_layout_is_little_endian)
{
    const rsti_sm_budget_t budget = {INT64_C(0x0102030405060708), 0x0203, 0x0405};
    const uint8_t expected[RSTI_SM_BUDGET_LENGTH] = {
        8, 7, 6, 5, 4, 3, 2, 1, 3, 2, 0, 0, 0, 0, 0, 0, 5, 4, 0, 0, 0, 0, 0, 0};
    uint8_t value[RSTI_SM_BUDGET_LENGTH];
    rsti_sm_budget_encode(&budget, value);
    CHECK_MEM(value, expected, sizeof expected);
}

TEST(any_bytes_are_a_value)
{
    rsti_rng_t rng;
    rsti_rng_init(&rng, check_seed());
    for (int i = 0; i < 1000; i++) {
        uint8_t value[RSTI_SM_BUDGET_LENGTH];
        for (size_t at = 0; at < sizeof value; at++) {
            value[at] = (uint8_t)rsti_rng_next(&rng);
        }
        rsti_sm_budget_t read;
        rsti_sm_budget_decode(&read, value);
        CHECK((value[15] & 0x80) != 0 ? read.connection_bytes == 0 : read.connection_bytes >= 0);
        CHECK((value[23] & 0x80) != 0 ? read.stream_bytes == 0 : read.stream_bytes >= 0);
    }
}

static void ignore(void *arg, uint8_t type, const uint8_t *value, uint8_t length)
{
    (void)arg, (void)type, (void)value, (void)length;
}

/* A shorter value belongs to no version. */
TEST(a_short_one_makes_the_tail_unsound)
{
    for (uint8_t length = 0; length <= RSTI_SM_BUDGET_LENGTH + 4; length++) {
        uint8_t tail[RSTI_SM_ITEMS_MAX];
        const uint8_t value[RSTI_SM_BUDGET_LENGTH + 4] = {0};
        rsti_sm_items_writer_t writer;
        rsti_sm_items_begin(&writer, tail, sizeof tail);
        CHECK(rsti_sm_items_add(&writer, RSTI_SM_ITEM_BUDGET, value, length));
        CHECK_EQ(rsti_sm_items_read(tail, rsti_sm_items_end(&writer), ignore, NULL),
            length >= RSTI_SM_BUDGET_LENGTH);
    }
}

CHECK_MAIN(RUN(encoding_and_decoding_are_inverse), RUN(the_layout_is_little_endian),
    RUN(any_bytes_are_a_value), RUN(a_short_one_makes_the_tail_unsound))
