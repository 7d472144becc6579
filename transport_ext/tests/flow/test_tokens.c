/* test_tokens.c: the token bucket step by step: bursts, its limits, debt, changes of rate. */
#include "flow/fill_report.h"
#include "flow/tokens.h"
#include "tests/check.h"
#include "util/clock.h"

#include <math.h>

#define MS RSTI_NS_PER_MS
#define US INT64_C(1000)
#define MTU 1408

TEST(states_change_exactly_at_their_limits)
{
    rsti_tokens_t tokens;
    rsti_tokens_init(&tokens, 100e6, RSTI_RATE_MAX, MTU, 0); /* burst 200 000 */
    CHECK_EQ(rsti_tokens_room(&tokens, 0), 200000);
    rsti_tokens_spend(&tokens, 150000, 100, 0);
    CHECK_EQ(rsti_tokens_ask(&tokens, MTU, 1, 0), RSTI_TOKENS_FREE); /* a quarter is left */
    rsti_tokens_spend(&tokens, 1, 0, 0);
    CHECK_EQ(rsti_tokens_ask(&tokens, MTU, 1, 0), RSTI_TOKENS_BATCH_ONLY);
    CHECK_EQ(rsti_tokens_ask(&tokens, 49999, 1, 0), RSTI_TOKENS_BATCH_ONLY);
    CHECK_EQ(rsti_tokens_ask(&tokens, 50000, 1, 0), RSTI_TOKENS_REFUSED);
    CHECK_EQ(rsti_tokens_due_ns(&tokens, 49999, 1, 0), 0);
    const int64_t due_ns = rsti_tokens_due_ns(&tokens, 60000, 1, 0); /* 10 001 missing: 100 us */
    CHECK(due_ns >= 100010 && due_ns <= 100012);
    CHECK_EQ(rsti_tokens_ask(&tokens, 60000, 1, due_ns), RSTI_TOKENS_FREE);
}

TEST(more_than_a_burst_goes_when_the_account_is_full)
{
    rsti_tokens_t tokens;
    rsti_tokens_init(&tokens, 1e6, RSTI_RATE_MAX, MTU, 0); /* burst 4 datagrams */
    CHECK_EQ(rsti_tokens_room(&tokens, 0), 4 * MTU);
    CHECK_EQ(rsti_tokens_ask(&tokens, 1 << 20, 745, 0), RSTI_TOKENS_FREE);
    rsti_tokens_spend(&tokens, 10000, 8, 0);
    CHECK_EQ(rsti_tokens_room(&tokens, 0), 0);
    const int64_t due_ns = rsti_tokens_due_ns(&tokens, 1 << 20, 745, 0); /* 10 000 at 1 MB/s */
    CHECK(due_ns > 10 * MS && due_ns < 10 * MS + 20);
    CHECK_EQ(rsti_tokens_ask(&tokens, 1 << 20, 745, due_ns - 20), RSTI_TOKENS_REFUSED);
    CHECK_EQ(rsti_tokens_ask(&tokens, 1 << 20, 745, due_ns), RSTI_TOKENS_FREE);
}

TEST(datagrams_limit_too)
{
    rsti_tokens_t tokens;
    rsti_tokens_init(&tokens, RSTI_RATE_MAX, 5000, MTU, 0); /* burst 10 */
    for (int i = 0; i < 10; i++) {
        CHECK(rsti_tokens_ask(&tokens, MTU, 1, 0) != RSTI_TOKENS_REFUSED);
        rsti_tokens_spend(&tokens, MTU, 1, 0);
    }
    CHECK_EQ(rsti_tokens_ask(&tokens, MTU, 1, 0), RSTI_TOKENS_REFUSED);
    CHECK_EQ(rsti_tokens_room(&tokens, 0), 0);
    CHECK_EQ(rsti_tokens_due_ns(&tokens, MTU, 1, 0), 200 * US + 1);
    CHECK_EQ(rsti_tokens_room(&tokens, 200 * US + 1), INT64_MAX);
    int sent = 10;
    for (int64_t now_ns = 0; now_ns < 1000 * MS; now_ns += 50 * US) {
        if (rsti_tokens_ask(&tokens, MTU, 1, now_ns) != RSTI_TOKENS_REFUSED) {
            rsti_tokens_spend(&tokens, MTU, 1, now_ns);
            sent++;
        }
    }
    CHECK(sent > 4950 && sent <= 5010);
}

TEST(retransmissions_spend_down_to_a_limit)
{
    rsti_tokens_t tokens;
    rsti_tokens_init(&tokens, 100e6, RSTI_RATE_MAX, MTU, 0);
    rsti_tokens_spend(&tokens, 200000, 150, 0);
    rsti_tokens_spend(&tokens, 100000, 75, 0); /* a retransmission: a debt */
    CHECK_EQ(rsti_tokens_due_ns(&tokens, MTU, 1, 0), 1014080 + 1 + 1);
    rsti_tokens_spend(&tokens, INT64_MAX, INT64_MAX, 0); /* a storm: 8 bursts, 16 ms */
    const int64_t due_ns = rsti_tokens_due_ns(&tokens, 0, 0, 0);
    CHECK(due_ns >= 16 * MS && due_ns < 16 * MS + 100);
}

TEST(a_changed_rate_counts_from_then_on)
{
    rsti_tokens_t tokens;
    rsti_tokens_init(&tokens, 100e6, RSTI_RATE_MAX, MTU, 0);
    rsti_tokens_spend(&tokens, 200000, 0, 0);
    rsti_tokens_set(&tokens, 10e6, RSTI_RATE_MAX, MS); /* a millisecond at the old one: 100 000 */
    CHECK_EQ(rsti_tokens_room(&tokens, MS), 20000);    /* its burst is smaller */
    rsti_tokens_spend(&tokens, 20000, 0, MS);
    CHECK_EQ(rsti_tokens_room(&tokens, 2 * MS), 10000);
    rsti_tokens_set(&tokens, 100e6, RSTI_RATE_MAX, 2 * MS); /* faster: no extra tokens */
    CHECK_EQ(rsti_tokens_room(&tokens, 2 * MS), 10000);
    rsti_tokens_set(&tokens, RSTI_RATE_MAX, RSTI_RATE_MAX, 2 * MS);
    CHECK_EQ(rsti_tokens_ask(&tokens, 1 << 30, 1000000, 2 * MS), RSTI_TOKENS_FREE);
    CHECK_EQ(rsti_tokens_room(&tokens, 2 * MS), INT64_MAX);
}

TEST(fractions_are_not_lost)
{
    rsti_tokens_t tokens;
    rsti_tokens_init(&tokens, 1000, RSTI_RATE_MAX, 1, 0); /* a byte per millisecond, burst 4 */
    rsti_tokens_spend(&tokens, 4, 0, 0);
    for (int64_t now_ns = 0; now_ns < 4 * MS; now_ns += 3 * US) {
        (void)rsti_tokens_room(&tokens, now_ns);
    }
    CHECK_EQ(rsti_tokens_room(&tokens, 4 * MS + US), 4);
}

TEST(wild_numbers_are_clamped)
{
    static const double wild[] = {0, -1, 1e300, NAN, INFINITY, -INFINITY, 0.5, 1e6};
    static const int64_t whole[] = {0, INT64_MAX, INT64_MIN, -1, 5, INT64_MAX, 1};
    rsti_tokens_t tokens;
    rsti_tokens_init(&tokens, NAN, -5, INT32_MIN, INT64_MIN);
    for (size_t i = 0; i < 8 * 8 * 7; i++) {
        const int64_t now_ns = whole[i % 7];
        rsti_tokens_set(&tokens, wild[i % 8], wild[i / 8 % 8], now_ns);
        rsti_tokens_spend(&tokens, whole[(i + 1) % 7], whole[(i + 2) % 7], now_ns);
        (void)rsti_tokens_ask(&tokens, whole[(i + 3) % 7], whole[(i + 4) % 7], now_ns);
        CHECK(rsti_tokens_room(&tokens, now_ns) >= 0);
        const int64_t due_ns = rsti_tokens_due_ns(&tokens, whole[(i + 5) % 7], whole[(i + 6) % 7],
            now_ns);
        CHECK(due_ns >= tokens.bytes.filled_ns);
    }
    rsti_tokens_init(&tokens, 1e6, RSTI_RATE_MAX, MTU, 10 * MS);
    rsti_tokens_spend(&tokens, 4 * MTU, 0, 10 * MS);
    CHECK_EQ(rsti_tokens_room(&tokens, 0), 0); /* time that goes back earns nothing */
}

CHECK_MAIN(RUN(states_change_exactly_at_their_limits),
    RUN(more_than_a_burst_goes_when_the_account_is_full), RUN(datagrams_limit_too),
    RUN(retransmissions_spend_down_to_a_limit), RUN(a_changed_rate_counts_from_then_on),
    RUN(fractions_are_not_lost), RUN(wild_numbers_are_clamped))
