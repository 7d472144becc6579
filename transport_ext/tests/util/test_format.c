#include "util/format.h"

#include "tests/check.h"

TEST(the_largest_unit_that_divides)
{
    static const struct {
        int64_t ns;
        const char *text;
    } rows[] = {{0, "0ns"}, {1, "1ns"}, {999, "999ns"}, {1000, "1us"}, {1500000, "1500us"},
        {100000000, "100ms"}, {5000000000, "5s"}, {3600000000000, "3600s"}, {-2000, "-2us"},
        {INT64_MAX, "9223372036854775807ns"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[RSTI_DURATION_TEXT_MAX];
        rsti_format_duration(text, sizeof text, rows[i].ns);
        CHECK_STR(text, rows[i].text);
    }
}

CHECK_MAIN(RUN(the_largest_unit_that_divides))
