#include "util/properties.h"

#include "rstream/error.h"
#include "tests/check.h"
#include "util/rng.h"

typedef struct seen_t {
    char text[1024];
    size_t length;
    int ends_at;
    int count;
} seen_t;

static int on_property(void *arg, const char *key, const char *value, int line)
{
    seen_t *seen = arg;
    seen->length += (size_t)snprintf(seen->text + seen->length, sizeof seen->text - seen->length,
        "%d<%s|%s>", line, key, value);
    return ++seen->count == seen->ends_at ? 77 : 0;
}

static int parse(const char *text, seen_t *seen)
{
    const size_t length = strlen(text);
    char *copy = malloc(length + 1); /* of the exact size: the sanitizers detect a read beyond it */
    memcpy(copy, text, length + 1);
    const int result = rsti_properties_parse(copy, length, on_property, seen);
    free(copy);
    return result;
}

TEST(the_syntax_of_java)
{
    static const struct {
        const char *text;
        const char *wanted;
    } rows[] = {
        {"", ""},
        {"\n\n  \n\t\n", ""},
        {"# comment\n! comment\n  # comment = x\n", ""},
        {"a=b", "1<a|b>"},
        {"a=b\n", "1<a|b>"},
        {"a=b\r\nc=d\re=f", "1<a|b>2<c|d>3<e|f>"},
        {"a:b\na b\na\tb\n", "1<a|b>2<a|b>3<a|b>"},
        {"  a  =  b  \n", "1<a|b  >"},
        {"a = = b", "1<a|= b>"},
        {"a :=b", "1<a|=b>"},
        {"a b = c", "1<a|b = c>"},
        {"a", "1<a|>"},
        {"a\nb", "1<a|>2<b|>"},
        {"a=\nb=c", "1<a|>2<b|c>"},
        {"a\n\n\nb = c", "1<a|>4<b|c>"},
        {"=b", "1<|b>"},
        {"a=b#c", "1<a|b#c>"},
        {"a\\=b=c\\:d", "1<a=b|c:d>"},
        {"a\\ b c", "1<a b|c>"},
        {"\\#a=b", "1<#a|b>"},
        {"a=1,\\\n   2,\\\r\n\t3\nb=4", "1<a|1,2,3>4<b|4>"},
        {"a\\\n  b=c", "1<ab|c>"},
        {"a=b\\\\\nc=d", "1<a|b\\>2<c|d>"},
        {"a=b\\", "1<a|b>"},
        {"a=b\\\n", "1<a|b>"},
        {"a=\\t\\n\\r\\f\\q", "1<a|\t\n\r\fq>"},
        {"a=\\u0041\\u00e9\\u20AC\\uD83D\\ude00", "1<a|A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80>"},
        {"\\u0061=b", "1<a|b>"},
        {"# c \\\na=b", "2<a|b>"}, /* a comment has no continuation line */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        seen_t seen = {0};
        CHECK_EQ(parse(rows[i].text, &seen), 0);
        CHECK_STR(seen.text, rows[i].wanted);
    }
}

TEST(malformed_properties_name_their_line)
{
    static const char *const rows[] = {"a=\\u", "a=\\u12", "a=\\u12g4", "a=\\u0000", "a=\\uD83D",
        "a=\\uD83D\\u0041", "a=\\uDE00", "\\u=b"};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[64];
        seen_t seen = {0};
        (void)snprintf(text, sizeof text, "x=y\n\n%s\n", rows[i]);
        CHECK_EQ(parse(text, &seen), -RST_EINVAL);
        CHECK(strstr(rst_last_error_text(), "line 3") != NULL);
        CHECK_STR(seen.text, "1<x|y>");
    }
    char zero[] = {'a', '=', '\0', 'b', '\0'};
    seen_t seen = {0};
    CHECK_EQ(rsti_properties_parse(zero, 4, on_property, &seen), -RST_EINVAL);
}

TEST(the_caller_may_end_it)
{
    seen_t seen = {.ends_at = 2};
    CHECK_EQ(parse("a=1\nb=2\nc=3", &seen), 77);
    CHECK_STR(seen.text, "1<a|1>2<b|2>");
}

/* Any bytes: the parser ends, and stays inside. */
TEST(random_bytes)
{
    static const char alphabet[] = "ab=: \t\\\n\r#!u0Df8";
    rsti_rng_t rng;
    rsti_rng_init(&rng, check_seed());
    for (int round = 0; round < 20000; round++) {
        char text[33];
        const size_t length = rsti_rng_below(&rng, 32);
        for (size_t i = 0; i < length; i++) {
            text[i] = alphabet[rsti_rng_below(&rng, sizeof alphabet - 1)];
        }
        text[length] = '\0';
        seen_t seen = {0};
        (void)parse(text, &seen);
    }
}

CHECK_MAIN(RUN(the_syntax_of_java), RUN(malformed_properties_name_their_line),
    RUN(the_caller_may_end_it), RUN(random_bytes))
