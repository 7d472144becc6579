/* Fragments become one message. */
#include "client/assembler.h"

#include "protocol/frame.h"
#include "tests/check.h"

TEST(an_empty_first_fragment_has_a_place)
{
    rsti_assembler_t assembler;
    rsti_assembler_init(&assembler, 100);
    static const uint8_t payload[] = {1, 2, 3};
    CHECK_EQ(rsti_assembler_append(&assembler, RSTI_FLAG_BEGIN, payload, 0, 0, 32), 0);
    CHECK(assembler.buffer.data != NULL);
    CHECK_EQ(rsti_assembler_would_be(&assembler, 0, 3, 32), 3);
    CHECK_EQ(rsti_assembler_append(&assembler, RSTI_FLAG_END, payload, 3, 32, 96), 0);
    CHECK_EQ(assembler.length, 3);
    CHECK_EQ(memcmp(assembler.buffer.data, payload, 3), 0);
    rsti_assembler_fini(&assembler);
}

TEST(fragments_out_of_order_are_refused)
{
    rsti_assembler_t assembler;
    rsti_assembler_init(&assembler, 4);
    static const uint8_t payload[4] = {0};
    CHECK_EQ(rsti_assembler_would_be(&assembler, 0, 1, 0), -1);
    CHECK_EQ(rsti_assembler_would_be(&assembler, RSTI_FLAG_BEGIN, 5, 0), -1);
    CHECK_EQ(rsti_assembler_append(&assembler, RSTI_FLAG_BEGIN, payload, 4, 0, 64), 0);
    CHECK_EQ(rsti_assembler_would_be(&assembler, 0, 1, 64), -1); /* too long */
    CHECK_EQ(rsti_assembler_would_be(&assembler, 0, 0, 32), -1); /* elsewhere */
    CHECK_EQ(rsti_assembler_would_be(&assembler, 0, 0, 64), 4);
    rsti_assembler_fini(&assembler);
}

CHECK_MAIN(RUN(an_empty_first_fragment_has_a_place), RUN(fragments_out_of_order_are_refused))
