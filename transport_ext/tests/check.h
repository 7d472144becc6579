/* check.h: a table of tests, checks that print both values, a name filter and an exit code.
 *
 *     TEST(adds) { CHECK_EQ(1 + 1, 2); }
 *     CHECK_MAIN(RUN(adds))
 *
 * A failed check prints and ends its test by returning from the test function (so checks belong in
 * the TEST body or in functions that return void). argv[1], when given, is a substring filter.
 * Tests that use randomness take their seed from check_seed(): $RSTREAM_SEED or the clock; the
 * seed is printed when a test fails. */
#ifndef RSTI_TESTS_CHECK_H
#define RSTI_TESTS_CHECK_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct check_case_t {
    const char *name;
    void (*run)(void);
} check_case_t;

static int check_failures;
static uint64_t check_seed_value;

static inline uint64_t check_seed(void)
{
    if (check_seed_value == 0) {
        const char *text = getenv("RSTREAM_SEED");
        check_seed_value = text != NULL ? strtoull(text, NULL, 0) : (uint64_t)time(NULL);
    }
    return check_seed_value;
}

#define TEST(name) static void name(void)
#define RUN(name) {#name, name}

#define CHECK_FAIL(...)                                                                            \
    do {                                                                                           \
        fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                                            \
        fprintf(stderr, __VA_ARGS__);                                                              \
        fprintf(stderr, "\n");                                                                     \
        check_failures++;                                                                          \
        return;                                                                                    \
    } while (0)

#define CHECK(expression)                                                                          \
    do {                                                                                           \
        if (!(expression)) {                                                                       \
            CHECK_FAIL("failed: %s", #expression);                                                 \
        }                                                                                          \
    } while (0)

#define CHECK_EQ(actual, expected)                                                                 \
    do {                                                                                           \
        int64_t check_a = (int64_t)(actual), check_e = (int64_t)(expected);                        \
        if (check_a != check_e) {                                                                  \
            CHECK_FAIL("%s is %" PRId64 ", expected %s = %" PRId64, #actual, check_a, #expected,   \
                check_e);                                                                          \
        }                                                                                          \
    } while (0)

#define CHECK_STR(actual, expected)                                                                \
    do {                                                                                           \
        const char *check_a = (actual), *check_e = (expected);                                     \
        if (check_a == NULL || strcmp(check_a, check_e) != 0) {                                    \
            CHECK_FAIL("%s is \"%s\", expected \"%s\"", #actual, check_a ? check_a : "(null)",     \
                check_e);                                                                          \
        }                                                                                          \
    } while (0)

#define CHECK_MEM(actual, expected, length)                                                        \
    do {                                                                                           \
        const uint8_t *check_a = (const uint8_t *)(actual);                                        \
        const uint8_t *check_e = (const uint8_t *)(expected);                                      \
        for (size_t check_i = 0; check_i < (size_t)(length); check_i++) {                          \
            if (check_a[check_i] != check_e[check_i]) {                                            \
                CHECK_FAIL("%s[%zu] is 0x%02x, expected 0x%02x", #actual, check_i,                 \
                    check_a[check_i], check_e[check_i]);                                           \
            }                                                                                      \
        }                                                                                          \
    } while (0)

static inline int check_run(const check_case_t *cases, size_t count, const char *filter)
{
    int failed = 0;
    size_t ran = 0;
    for (size_t i = 0; i < count; i++) {
        if (filter != NULL && strstr(cases[i].name, filter) == NULL) {
            continue;
        }
        int before = check_failures;
        cases[i].run();
        ran++;
        if (check_failures != before) {
            failed++;
            fprintf(stderr, "FAILED %s", cases[i].name);
            if (check_seed_value != 0) {
                fprintf(stderr, " (RSTREAM_SEED=%" PRIu64 ")", check_seed_value);
            }
            fprintf(stderr, "\n");
        }
    }
    printf("%zu run, %d failed\n", ran, failed);
    return failed != 0 || ran == 0;
}

#define CHECK_MAIN(...)                                                                            \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        static const check_case_t cases[] = {__VA_ARGS__};                                         \
        return check_run(cases, sizeof cases / sizeof cases[0], argc > 1 ? argv[1] : NULL);        \
    }

#endif
