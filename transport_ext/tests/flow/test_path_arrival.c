#include "flow/path_arrival.h"
#include "flow/saturate.h"
#include "tests/check.h"
#include "util/clock.h"

#define US INT64_C(1000)
#define MS INT64_C(1000000)

static rsti_path_arrival_t arrival;

static void came(int64_t from, int64_t to, int64_t now_ns)
{
    rsti_path_arrival_on_data(&arrival, from, to, to - from, now_ns);
}

TEST(the_period_is_a_quarter_of_the_round_trip_within_its_limits)
{
    CHECK_EQ(rsti_path_period_ns(0), 250 * US); /* unknown */
    CHECK_EQ(rsti_path_period_ns(-5), 250 * US);
    CHECK_EQ(rsti_path_period_ns(1 * MS), 250 * US);
    CHECK_EQ(rsti_path_period_ns(1 * MS + 4), 250 * US + 1);
    CHECK_EQ(rsti_path_period_ns(80 * MS - 4), 20 * MS - 1);
    CHECK_EQ(rsti_path_period_ns(80 * MS), 20 * MS);
    CHECK_EQ(rsti_path_period_ns(INT64_MAX), 20 * MS);
}

TEST(an_item_is_due_while_data_arrives)
{
    rsti_path_item_t item;
    rsti_path_arrival_init(&arrival, 1000, 0);
    CHECK_EQ(rsti_path_arrival_due_ns(&arrival, 4 * MS), RSTI_NO_DEADLINE);
    came(1000, 1000, 1 * MS); /* a heartbeat is no data */
    CHECK_EQ(rsti_path_arrival_due_ns(&arrival, 4 * MS), RSTI_NO_DEADLINE);
    came(1000, 1100, 2 * MS); /* the first: at once */
    CHECK_EQ(rsti_path_arrival_due_ns(&arrival, 4 * MS), 2 * MS);
    rsti_path_arrival_tell(&arrival, 1100, 2 * MS, &item);
    CHECK_EQ(rsti_path_arrival_due_ns(&arrival, 4 * MS), RSTI_NO_DEADLINE);
    came(1100, 1200, 2 * MS + 1);
    CHECK_EQ(rsti_path_arrival_due_ns(&arrival, 4 * MS), 3 * MS);
    CHECK_EQ(rsti_path_arrival_due_ns(&arrival, 8 * MS), 4 * MS);
    rsti_path_arrival_tell(&arrival, 1200, 3 * MS, &item);
    came(1200, 1300, 9 * MS); /* after a pause: not in the past */
    CHECK_EQ(rsti_path_arrival_due_ns(&arrival, 4 * MS), 9 * MS);
}

TEST(an_item_says_what_arrived)
{
    rsti_path_item_t item;
    rsti_path_arrival_init(&arrival, 1000, 0);
    came(1000, 1100, 1 * MS);
    came(1300, 1400, 2 * MS); /* 200 bytes are missing */
    came(1100, 1200, 3 * MS); /* the half of them */
    came(1100, 1200, 4 * MS); /* twice */
    rsti_path_arrival_tell(&arrival, 1200, 5 * MS, &item);
    CHECK_EQ(item.contiguous, 1200);
    CHECK_EQ(item.highest, 1400);
    CHECK_EQ(item.received, 400);
    CHECK_EQ(item.since, 200);
    CHECK_EQ(item.missing, 200);
    CHECK_EQ(item.clock_ns, 4 * MS);
    CHECK_EQ(item.hold_ns, 3 * MS);
    CHECK_EQ(item.fresh_ns, 1 * MS);
    came(1350, 1500, 6 * MS); /* overlaps: moves, nothing is missing */
    rsti_path_arrival_tell(&arrival, 9999, 6 * MS, &item);
    CHECK_EQ(item.contiguous, 1500); /* not above highest */
    CHECK_EQ(item.since, 0);
    CHECK_EQ(item.missing, 200);
    CHECK_EQ(item.hold_ns, 0);
    rsti_path_arrival_on_missing(&arrival, 50);
    came(1500, 1600, 7 * MS);
    rsti_path_arrival_tell(&arrival, 9999, 7 * MS, &item);
    CHECK_EQ(item.missing, 250);
}

/* Its frame ends far behind its datagram. */
TEST(padding_counts_what_was_sent_of_it)
{
    rsti_path_item_t item;
    rsti_path_arrival_init(&arrival, 1000, 0);
    rsti_path_arrival_on_data(&arrival, 1000, 900000, 32, 1 * MS);
    rsti_path_arrival_on_data(&arrival, 1000, 900000, 32, 2 * MS);
    rsti_path_arrival_tell(&arrival, 900000, 2 * MS, &item);
    CHECK_EQ(item.highest, 900000);
    CHECK_EQ(item.received, 64);
    CHECK_EQ(item.since, 32);
    CHECK_EQ(item.missing, 0);
}

TEST(time_never_goes_back_and_a_hold_has_a_limit)
{
    rsti_path_item_t item;
    rsti_path_arrival_init(&arrival, 0, 5 * MS);
    came(0, 10, 1 * MS);
    rsti_path_arrival_tell(&arrival, 10, 0, &item);
    CHECK_EQ(item.clock_ns, 5 * MS);
    CHECK_EQ(item.hold_ns, 0);
    came(10, 20, 6 * MS);
    rsti_path_arrival_tell(&arrival, 20, 6 * MS + RSTI_PATH_HOLD_MAX_NS, &item);
    CHECK_EQ(item.hold_ns, RSTI_PATH_HOLD_MAX_NS);
    came(0, 10, INT64_MAX);
    rsti_path_arrival_tell(&arrival, 20, INT64_MAX, &item);
    CHECK_EQ(item.hold_ns, RSTI_PATH_HOLD_MAX_NS);
    CHECK_EQ(item.fresh_ns, 0);
}

TEST(counts_saturate)
{
    rsti_path_item_t item;
    rsti_path_arrival_init(&arrival, 0, 0);
    for (int i = 0; i < 3; i++) {
        came(0, RSTI_COUNT_MAX, i);
    }
    rsti_path_arrival_tell(&arrival, 0, 3, &item);
    CHECK_EQ(item.received, RSTI_COUNT_MAX);
    CHECK_EQ(item.since, RSTI_COUNT_MAX);
}

CHECK_MAIN(RUN(the_period_is_a_quarter_of_the_round_trip_within_its_limits),
    RUN(an_item_is_due_while_data_arrives), RUN(an_item_says_what_arrived),
    RUN(padding_counts_what_was_sent_of_it), RUN(time_never_goes_back_and_a_hold_has_a_limit),
    RUN(counts_saturate))
