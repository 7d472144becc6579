/* When values are sent again: at once when they change, then ever less often while no data come,
 * and never twice at one instant, whatever was sent before the first check. */
#include "flow/retell.h"
#include "tests/check.h"

#define MS RSTI_NS_PER_MS

/* Checks every 100 us for a second; returns how often they were sent. */
static int told_in_a_second(rsti_retell_t *retell, bool has_data, int64_t begin_ns)
{
    int told = 0;
    for (int64_t i = 0; i < 10000; i++) {
        const int64_t now_ns = begin_ns + i * MS / 10;
        told += rsti_retell_look(retell, false, has_data ? i : 7, now_ns);
        if (retell->due_ns <= now_ns) {
            return 1 << 20;
        }
    }
    return told;
}

TEST(ever_less_often_while_no_data_come)
{
    rsti_retell_t retell = {0};
    CHECK(rsti_retell_look(&retell, true, 7, 5 * MS));
    const int64_t due_ms[] = {15, 35, 75, 155, 315, 635, 1275, 2275, 3275};
    for (size_t i = 0; i < sizeof due_ms / sizeof due_ms[0]; i++) {
        CHECK_EQ(retell.due_ns, due_ms[i] * MS);
        CHECK(!rsti_retell_look(&retell, false, 7, retell.due_ns - 1));
        CHECK(rsti_retell_look(&retell, false, 7, retell.due_ns));
    }
    CHECK(rsti_retell_look(&retell, true, 7, 3276 * MS)); /* news: it begins anew */
    CHECK_EQ(retell.due_ns, 3286 * MS);
}

TEST(not_while_data_come)
{
    rsti_retell_t retell = {0};
    CHECK(rsti_retell_look(&retell, true, 0, 0));
    CHECK_EQ(told_in_a_second(&retell, true, MS), 0);
    CHECK(told_in_a_second(&retell, false, 1001 * MS) > 3);
}

/* A status message for every check at one instant would be a storm without end. */
TEST(unsent_values_are_not_sent_at_every_check)
{
    rsti_retell_t retell = {0};
    const int told = told_in_a_second(&retell, false, 0);
    CHECK(told >= 5);
    CHECK(told <= 8);
}

CHECK_MAIN(RUN(ever_less_often_while_no_data_come), RUN(not_while_data_come),
    RUN(unsent_values_are_not_sent_at_every_check))
