/* test_fill_window.c: the window for a sender of Aeron's, by tables; against the model:
 * tests/unit/test_flow_window.py. */
#include "flow/fill_window.h"
#include "tests/check.h"
#include "util/clock.h"

#define MTU 1408
#define WINDOW (1 << 20)

/* A drain of which 0.1 of B is the set point, and less: f_lo is 0.1. */
static rsti_fill_t filled(double share)
{
    rsti_fill_t fill;
    rsti_fill_init(&fill, 0);
    fill.drain = WINDOW * 10;
    (void)rsti_fill_update(&fill, &(rsti_fill_facts_t){.now_ns = 1, .buffer_bytes = WINDOW});
    (void)rsti_fill_update(&fill,
        &(rsti_fill_facts_t){
            .now_ns = 2, .received = (int64_t)(share * WINDOW), .buffer_bytes = WINDOW});
    return fill;
}

TEST(less_the_more_there_is)
{
    static const struct {
        double share;
        int32_t window;
    } table[] = {{0.0, WINDOW}, {0.05, WINDOW}, {0.1, WINDOW}, {0.5, WINDOW / 2}, {0.7, WINDOW / 4},
        {0.9, MTU}, {1.0, MTU}, {2.0, MTU}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const rsti_fill_t fill = filled(table[i].share);
        const int32_t window = rsti_fill_window(&fill, WINDOW, WINDOW, MTU);
        CHECK(window <= table[i].window && window > table[i].window - 64);
        CHECK(window == WINDOW || window % 32 == 0);
    }
}

TEST(never_more_than_congestion_says_nor_less_than_one_mtu)
{
    const rsti_fill_t full = filled(1.0), half = filled(0.5), empty = filled(0.0);
    CHECK_EQ(rsti_fill_window(&empty, WINDOW, 12345, MTU), 12345); /* as it is, aligned or not */
    CHECK_EQ(rsti_fill_window(&half, WINDOW, 4 * MTU, MTU), 2 * MTU);
    CHECK_EQ(rsti_fill_window(&half, WINDOW, 4 * MTU - 1, MTU), 2 * MTU - 32);
    CHECK_EQ(rsti_fill_window(&half, WINDOW, 2 * MTU - 1, MTU), MTU);
    CHECK_EQ(rsti_fill_window(&full, WINDOW, MTU, MTU), MTU);
    CHECK_EQ(rsti_fill_window(&full, WINDOW, MTU - 1, MTU), MTU - 1); /* the user's will */
    CHECK_EQ(rsti_fill_window(&full, 0, WINDOW, MTU), WINDOW);
}

TEST(a_stall_alone_cuts_nothing)
{
    rsti_fill_t fill = filled(0.3);
    const int32_t window = rsti_fill_window(&fill, WINDOW, WINDOW, MTU);
    (void)rsti_fill_update(&fill,
        &(rsti_fill_facts_t){
            .now_ns = RSTI_NS_PER_S, .received = (int64_t)(0.3 * WINDOW), .buffer_bytes = WINDOW});
    CHECK(fill.is_stalled);
    CHECK_EQ(rsti_fill_window(&fill, WINDOW, WINDOW, MTU), window);
}

/* A faster consumer has a longer queue before its window is cut, up to a quarter of the memory. */
TEST(it_begins_at_the_set_point)
{
    static const struct {
        double drain, low; /* in windows per second; a share of B */
    } rows[] = {{0, 0.25}, {1, 0.1}, {12.5, 0.1}, {20, 0.16}, {31.25, 0.25}, {1000, 0.25}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const double middle = (rows[i].low + 0.9) / 2;
        rsti_fill_t fill = filled(rows[i].low);
        fill.drain = rows[i].drain * WINDOW;
        CHECK_EQ(rsti_fill_window(&fill, WINDOW, WINDOW, MTU), WINDOW);
        fill = filled(middle);
        fill.drain = rows[i].drain * WINDOW;
        const int32_t window = rsti_fill_window(&fill, WINDOW, WINDOW, MTU);
        CHECK(window <= WINDOW / 2 + 32 && window > WINDOW / 2 - 64);
    }
}

/* The window is judged by its own memory, whatever the buffer of the reports is. */
TEST(a_full_buffer_of_the_reports_is_no_memory)
{
    rsti_fill_t fill;
    rsti_fill_init(&fill, 0);
    (void)rsti_fill_update(&fill, &(rsti_fill_facts_t){.now_ns = 1, .buffer_bytes = MTU});
    (void)rsti_fill_update(&fill,
        &(rsti_fill_facts_t){.now_ns = 2, .received = WINDOW / 20, .buffer_bytes = MTU});
    CHECK(fill.is_reporting && !(fill.allowed > 0));
    CHECK_EQ(rsti_fill_window(&fill, WINDOW, WINDOW, MTU), WINDOW);
}

TEST(told_when_it_matters)
{
    static const struct {
        int64_t consumed;
        int32_t last_window, window;
        bool is_due;
    } table[] = {
        {1000, WINDOW, WINDOW, false},
        {1000 + WINDOW / 4, WINDOW, WINDOW, false}, /* Aeron's rule, to the byte */
        {1001 + WINDOW / 4, WINDOW, WINDOW, true},
        {1001 + WINDOW / 4, WINDOW, WINDOW / 2, false}, /* its limit would stay */
        {1000, WINDOW / 2, WINDOW - 32, true},
        {1000, WINDOW - 32, WINDOW, true}, /* whole again */
        {1000, MTU, MTU + 32, false},
        {1000, MTU, MTU + WINDOW / 4, false},
        {1000, MTU, MTU + WINDOW / 4 + 32, true},
        {1000 + WINDOW / 4 - 31, MTU, MTU + 32, true},
        {1000 + MTU, MTU, WINDOW, true}, /* nothing left: no queue lies still */
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const rsti_fill_window_due_t due = {.consumed = table[i].consumed,
            .position = 1000,
            .last_window = table[i].last_window,
            .window = table[i].window,
            .whole = WINDOW};
        if (rsti_fill_window_is_due(&due) != table[i].is_due) {
            CHECK_FAIL("row %zu", i);
        }
    }
}

CHECK_MAIN(RUN(less_the_more_there_is), RUN(never_more_than_congestion_says_nor_less_than_one_mtu),
    RUN(a_stall_alone_cuts_nothing), RUN(it_begins_at_the_set_point),
    RUN(a_full_buffer_of_the_reports_is_no_memory), RUN(told_when_it_matters))
