/* test_saturate.c: numbers from outside are clamped: those of clamps and those of a fill NAK. */
#include "flow/fill_report.h"
#include "tests/check.h"

#include <math.h>

TEST(clamps_keep_both_limits)
{
    static const struct {
        double value, least, most, clamped;
    } rows[] = {
        {5, 1, 9, 5},
        {1, 1, 9, 1},
        {0, 1, 9, 1},
        {10, 1, 9, 9},
        {10, 4, 4, 4}, /* a range of one value */
        {3, 4, 4, 4},
        {10, 6, 4, 10}, /* crossed: the upper limit is none */
        {5, 6, 4, 6},
        {NAN, 1, 9, 1},
        {INFINITY, 1, 9, 9},
        {-INFINITY, 1, 9, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CHECK_EQ(rsti_clamp_double(rows[i].value, rows[i].least, rows[i].most), rows[i].clamped);
    }
    CHECK_EQ(rsti_clamp_i64(INT64_MAX, -2, 7), 7);
    CHECK_EQ(rsti_clamp_i64(INT64_MIN, -2, 7), -2);
    CHECK_EQ(rsti_later_ns(3, 2), 3);
    CHECK_EQ(rsti_later_ns(3, INT64_MAX), RSTI_TIME_MAX_NS);
    CHECK_EQ(rsti_later_ns(INT64_MIN, INT64_MIN), -RSTI_TIME_MAX_NS);
}

TEST(a_report_has_its_limits)
{
    rsti_fill_report_t report = {.fill = 2.5,
        .drain = 2 * RSTI_RATE_MAX,
        .allowed = INFINITY,
        .buffer_bytes = INT64_MAX,
        .rtt_ns = INT64_MAX};
    rsti_fill_report_clean(&report);
    CHECK_EQ(report.fill, 2);
    CHECK_EQ(report.drain, RSTI_RATE_MAX);
    CHECK_EQ(report.allowed, RSTI_RATE_MAX);
    CHECK_EQ(report.buffer_bytes, RSTI_BUFFER_MAX);
    CHECK_EQ(report.rtt_ns, RSTI_REPORT_RTT_MAX_NS);
    report = (rsti_fill_report_t){-1, false, -1, -1, -1, -1, -1};
    rsti_fill_report_clean(&report);
    CHECK_EQ(report.fill, 0);
    CHECK_EQ(report.drain, 0);
    CHECK_EQ(report.allowed, 0);
    CHECK_EQ(report.buffer_bytes, 0);
    CHECK_EQ(report.rtt_ns, 0);
}

CHECK_MAIN(RUN(clamps_keep_both_limits), RUN(a_report_has_its_limits))
