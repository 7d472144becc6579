#include "util/parse.h"

#include "tests/check.h"
#include "tests/vectors/parse.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* F4 */
TEST(sizes_match_the_vectors)
{
    for (size_t i = 0; i < COUNT(vector_sizes); i++) {
        int64_t value = -77;
        bool is_accepted = rsti_parse_size(vector_sizes[i].text, &value);
        if (is_accepted != vector_sizes[i].is_accepted) {
            CHECK_FAIL("size \"%s\": accepted is %d", vector_sizes[i].text, is_accepted);
        }
        CHECK_EQ(value, is_accepted ? vector_sizes[i].value : -77);
    }
}

/* F4 */
TEST(durations_match_the_vectors)
{
    for (size_t i = 0; i < COUNT(vector_durations); i++) {
        int64_t value = -77;
        bool is_accepted = rsti_parse_duration_ns(vector_durations[i].text, &value);
        if (is_accepted != vector_durations[i].is_accepted) {
            CHECK_FAIL("duration \"%s\": accepted is %d", vector_durations[i].text, is_accepted);
        }
        CHECK_EQ(value, is_accepted ? vector_durations[i].value : -77);
    }
}

/* F4 */
TEST(units_refuse_overflow)
{
    int64_t value = 5;
    CHECK(rsti_parse_size("8589934591g", &value));
    CHECK_EQ(value, INT64_C(8589934591) << 30);
    CHECK(!rsti_parse_size("8589934592g", &value));
    CHECK(!rsti_parse_size("9223372036854775808", &value));
    CHECK(!rsti_parse_duration_ns("9223372037s", &value));
    CHECK(rsti_parse_duration_ns("9223372036854775807", &value));
    CHECK_EQ(value, INT64_MAX);
    CHECK(!rsti_parse_duration_ns("1 s", &value));
    CHECK(!rsti_parse_size("+1", &value));
    CHECK(!rsti_parse_size(" 1", &value));
    CHECK(!rsti_parse_size("1k ", &value));
}

/* F3 */
TEST(integers_have_their_limits)
{
    int64_t wide = 1;
    CHECK(rsti_parse_i64("9223372036854775807", &wide));
    CHECK_EQ(wide, INT64_MAX);
    CHECK(rsti_parse_i64("-9223372036854775808", &wide));
    CHECK_EQ(wide, INT64_MIN);
    CHECK(!rsti_parse_i64("9223372036854775808", &wide));
    CHECK(!rsti_parse_i64("-9223372036854775809", &wide));
    CHECK(rsti_parse_i64("-0", &wide));
    CHECK_EQ(wide, 0);

    int32_t narrow = 7;
    CHECK(rsti_parse_i32("2147483647", &narrow));
    CHECK_EQ(narrow, INT32_MAX);
    CHECK(rsti_parse_i32("-2147483648", &narrow));
    CHECK_EQ(narrow, INT32_MIN);
    CHECK(!rsti_parse_i32("2147483648", &narrow));
    CHECK(!rsti_parse_i32("-2147483649", &narrow));
    CHECK_EQ(narrow, INT32_MIN);
}

/* F3 */
TEST(integers_refuse_garbage)
{
    static const char *const texts[] = {"", "-", "+1", "--1", "1-", "0x10", "1.0", " 1", "1 ", "a"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        int64_t value = 42;
        if (rsti_parse_i64(texts[i], &value)) {
            CHECK_FAIL("\"%s\" was accepted", texts[i]);
        }
        CHECK_EQ(value, 42);
    }
}

/* F3 */
TEST(booleans_are_exact)
{
    bool value = false;
    CHECK(rsti_parse_bool("true", &value) && value);
    CHECK(rsti_parse_bool("false", &value) && !value);
    CHECK(!rsti_parse_bool("True", &value));
    CHECK(!rsti_parse_bool("truex", &value));
    CHECK(!rsti_parse_bool("", &value));
    CHECK(!rsti_parse_bool("1", &value));
}

TEST(unit_interval)
{
    double value = -1.0;
    CHECK(rsti_parse_unit("0", &value) && !(value > 0.0) && !(value < 0.0));
    CHECK(rsti_parse_unit("1.000", &value) && !(value < 1.0) && !(value > 1.0));
    CHECK(rsti_parse_unit("0.01", &value));
    CHECK(!(value < 0.01) && !(value > 0.01));
    CHECK(rsti_parse_unit("0.3333333333333333333333", &value));
    CHECK(value > 0.33333333333333 && value < 0.33333333333334);
    static const char *const refused[] = {"", ".", ".5", "1.", "1.0001", "2", "-0.1", "nan", "inf",
        "0,5", "1e-2", "0.1x", "99999999999999999999"};
    for (size_t i = 0; i < COUNT(refused); i++) {
        if (rsti_parse_unit(refused[i], &value)) {
            CHECK_FAIL("\"%s\" was accepted", refused[i]);
        }
    }
}

CHECK_MAIN(RUN(sizes_match_the_vectors), RUN(durations_match_the_vectors),
    RUN(units_refuse_overflow), RUN(integers_have_their_limits), RUN(integers_refuse_garbage),
    RUN(booleans_are_exact), RUN(unit_interval))
