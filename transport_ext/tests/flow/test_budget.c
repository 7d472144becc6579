/* The numbers of the budgets: the grant of each policy at its limits, when an acknowledgement is
 * due, and the room that a grant leaves. The figures of Couchbase DCP's document are checked as
 * given there. */
#include "flow/budget.h"
#include "tests/check.h"

#define MB (INT64_C(1024) * 1024)
#define GB (1024 * MB)

static rsti_budget_policy_t policy(rsti_budget_kind_t kind, int64_t memory_bytes)
{
    return (rsti_budget_policy_t){
        .kind = kind,
        .bytes = 10 * MB,
        .memory_bytes = memory_bytes,
        .least = 10 * MB,
        .most = 50 * MB,
        .new_share = 0.01,
        .threshold = 0.10,
        .all_share = 0.05,
    };
}

TEST(none_and_static)
{
    const rsti_budget_policy_t none = policy(RSTI_BUDGET_NONE, GB);
    const rsti_budget_policy_t fixed = policy(RSTI_BUDGET_STATIC, GB);
    CHECK_EQ(rsti_budget_grant(&none, 1, 0), 0);
    for (int64_t count = 1; count < 1000; count *= 7) {
        CHECK_EQ(rsti_budget_grant(&fixed, count, count * 10 * MB), 10 * MB);
    }
    CHECK(!rsti_budget_is_shared(&none));
    CHECK(!rsti_budget_is_shared(&fixed));
}

/* A hundredth of the memory, between 10 and 50 MB; 10 MB once a tenth of the memory is granted. */
TEST(dynamic)
{
    const int64_t rows[][3] = {
        {500 * MB, 0, 10 * MB},             /* a hundredth is less than the minimum */
        {2000 * MB, 0, 20 * MB},
        {2000 * MB, 200 * MB, 20 * MB},     /* a tenth, not more */
        {2000 * MB, 200 * MB + 1, 10 * MB},
        {100 * GB, 0, 50 * MB},
        {0, 0, 10 * MB},
        {0, 1, 10 * MB},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const rsti_budget_policy_t dynamic = policy(RSTI_BUDGET_DYNAMIC, rows[i][0]);
        CHECK_EQ(rsti_budget_grant(&dynamic, 7, rows[i][1]), rows[i][2]);
    }
}

/* A twentieth of the memory for all together, each between 10 and 50 MB. */
TEST(aggressive)
{
    const int64_t rows[][3] = {
        {2000 * MB, 1, 50 * MB}, /* 100, cut */
        {2000 * MB, 4, 25 * MB},
        {2000 * MB, 10, 10 * MB},
        {2000 * MB, 11, 10 * MB}, /* the minimum wins */
        {2000 * MB, 0, 50 * MB},
        {INT64_MAX, 1, 50 * MB},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const rsti_budget_policy_t aggressive = policy(RSTI_BUDGET_AGGRESSIVE, rows[i][0]);
        CHECK_EQ(rsti_budget_grant(&aggressive, rows[i][1], 0), rows[i][2]);
        CHECK(rsti_budget_is_shared(&aggressive));
    }
}

TEST(room)
{
    const int64_t rows[][3] = {
        {0, INT64_MAX, INT64_MAX}, /* no limit */
        {-1, 5, INT64_MAX},
        {100, 0, 100},
        {100, 99, 1},
        {100, 100, 0},
        {100, 5000, 0}, /* a message went beyond it */
        {INT64_MAX, 1, INT64_MAX - 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CHECK_EQ(rsti_budget_room(rows[i][0], rows[i][1]), rows[i][2]);
    }
}

/* Two streams: a stream that asks again and again gets half of the rest each time, and never all; a
 * stream without bytes in flight may begin as long as there is any room. */
TEST(streams_of_one_connection_share_the_room)
{
    const int64_t granted = 1000;
    int64_t one = 0;
    CHECK_EQ(rsti_budget_room_of_stream(granted, 0, 1), granted);
    CHECK_EQ(rsti_budget_room_of_stream(INT64_MAX, 5, 3), INT64_MAX);
    for (int i = 0; i < 20; i++) {
        one += rsti_budget_room_of_stream(granted - one, one, 2);
    }
    CHECK_EQ(one, granted / 2);
    CHECK_EQ(rsti_budget_room_of_stream(granted - one, one, 2), 0);
    CHECK_EQ(rsti_budget_room_of_stream(granted - one, 0, 2), granted / 4);
    CHECK_EQ(rsti_budget_room_of_stream(1, 0, 9), 1);
    CHECK_EQ(rsti_budget_room_of_stream(0, 0, 9), 0);
}

/* After 50 KB or a fifth of the smaller of the two limits, whichever comes first. */
TEST(acknowledgements)
{
    const int64_t rows[][3] = {
        {0, 0, INT64_MAX},
        {10 * MB, 0, 50 * 1024},
        {0, 10 * MB, 50 * 1024},
        {250 * 1024, 0, 50 * 1024},
        {249 * 1024, 0, 249 * 1024 / 5},
        {10 * MB, 10 * 1024, 2 * 1024},
        {10 * 1024, 10 * MB, 2 * 1024},
        {4, 0, 1}, /* never none */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CHECK_EQ(rsti_budget_ack_step(rows[i][0], rows[i][1]), rows[i][2]);
    }
}

CHECK_MAIN(RUN(none_and_static), RUN(dynamic), RUN(aggressive), RUN(room),
    RUN(streams_of_one_connection_share_the_room), RUN(acknowledgements))
