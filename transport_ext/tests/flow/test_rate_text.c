/* test_rate_text.c: the texts of rs-rate, row by row: accepted values, and the words of refusals.
 */
#include "flow/rate_text.h"
#include "tests/check.h"
#include "util/clock.h"
#include "util/error.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define CHANNEL "aeron:udp?endpoint=127.0.0.1:40123"

static rsti_rate_choice_t parsed(const char *text)
{
    rsti_rate_choice_t choice = {0};
    if (rsti_rate_choice_parse(&choice, text, CHANNEL) < 0) {
        fprintf(stderr, "%s\n", rst_last_error_text());
        choice.law = NULL;
    }
    return choice;
}

TEST(a_name_alone_is_the_law_with_its_defaults)
{
    static const char *const names[] = {"unlimited", "adaptive", "nak", "aimd"};
    const rsti_rate_choice_t defaults = {.params = rsti_rate_defaults()};
    for (size_t i = 0; i < COUNT(names); i++) {
        rsti_rate_choice_t choice = parsed(names[i]);
        CHECK(choice.law == rsti_rate_find(names[i]));
        choice.law = NULL;
        CHECK(rsti_rate_choice_equals(&choice, &defaults));
    }
}

TEST(fixed_is_a_rate_or_a_packet_rate)
{
    rsti_rate_choice_t choice = parsed("fixed,r:200m,p:5000");
    CHECK_EQ(choice.params.initial, 200 << 20);
    CHECK_EQ(choice.params.datagrams_per_s, 5000);
    CHECK_EQ(parsed("fixed,r:1000000000000").params.initial, RSTI_RATE_MAX); /* the most */
    choice = parsed("fixed,p:7");
    CHECK(choice.law == &rsti_rate_fixed);
    CHECK_EQ(choice.params.initial, 0);
    CHECK_EQ(choice.params.datagrams_per_s, 7);
    rsti_rate_t rate;
    rsti_rate_init(&rate, choice.law, &choice.params);
    CHECK(rate.bytes_per_s >= RSTI_RATE_MAX);
}

TEST(each_key_reaches_its_field)
{
    rsti_rate_choice_t choice = parsed("adaptive,i:2k,l:1k,m:3g,d:25ms");
    CHECK_EQ(choice.params.initial, 2048);
    CHECK_EQ(choice.params.least, 1024);
    CHECK_EQ(choice.params.most, INT64_C(3) << 30);
    CHECK_EQ(choice.params.target_delay_ns, 25 * RSTI_NS_PER_MS);
    choice = parsed("nak,w:100ms,t:40/99.5,c:5/100,s:2.5");
    CHECK_EQ(choice.params.window_ns, 100 * RSTI_NS_PER_MS);
    CHECK_EQ(choice.params.trigger_count, 2);
    CHECK_EQ(choice.params.triggers[0] * 1000 + 0.5, 400);
    CHECK_EQ(choice.params.triggers[1] * 1000 + 0.5, 995);
    CHECK_EQ(choice.params.cuts[0] * 1000 + 0.5, 50);
    CHECK_EQ(choice.params.cuts[1] * 1000 + 0.5, 1000);
    CHECK_EQ(choice.params.step_share * 1000 + 0.5, 25);
    choice = parsed("aimd,a:500000,b:75");
    CHECK_EQ(choice.params.increase, 500000);
    CHECK_EQ(choice.params.decrease * 1000 + 0.5, 750);
}

TEST(the_default_least_yields_to_a_smaller_wish)
{
    CHECK_EQ(parsed("adaptive,m:1000").params.least, 1000);
    CHECK_EQ(parsed("adaptive,m:1000").params.most, 1000);
    CHECK_EQ(parsed("aimd,i:500").params.least, 500);
    CHECK_EQ(parsed("aimd,i:1g").params.least, rsti_rate_defaults().least);
}

TEST(refusals_say_which_piece_and_why)
{
    static const struct {
        const char *text;
        const char *piece;
        const char *why;
    } rows[] = {
        {"", "\"\"", "no law of rate"},
        {"fast", "\"fast\"", "unlimited, fixed, adaptive, nak and aimd"},
        {"fixed", "\"fixed\"", "needs r:bytes or p:datagrams"},
        {"fixed,r:0", "\"r:0\"", "1...1000000000000"},
        {"fixed,r:2t", "\"r:2t\"", "64k"},
        {"fixed,r:-5", "\"r:-5\"", "64k"},
        {"fixed,r:1000000000001", "\"r:1000000000001\"", "1...1000000000000"},
        {"fixed,p:1k", "\"p:1k\"", "whole number"},
        {"fixed,i:5", "\"i:5\"", "keys of fixed, which are r: p:"},
        {"fixed,r:5,r:6", "\"r:6\"", "given twice"},
        {"fixed,r:5,", "\"\"", "keys of fixed"},
        {"fixed,r", "\"r\"", "keys of fixed"},
        {"fixed,r:", "\"r:\"", "64k"},
        {"unlimited,m:5", "\"m:5\"", "keys of unlimited, which has none"},
        {"adaptive,w:5ms", "\"w:5ms\"", "keys of adaptive, which are i: l: m: d:"},
        {"adaptive,d:0", "\"d:0\"", "duration such as 10ms"},
        {"adaptive,d:11s", "\"d:11s\"", "duration such as 10ms"},
        {"adaptive,l:5,m:4", "\"adaptive\"", "m: below"},
        {"adaptive,i:5m,m:4m", "\"adaptive\"", "m: below"},
        {"adaptive,i:5,l:6", "\"adaptive\"", "i: below the least"},
        {"nak,w:999us", "\"w:999us\"", "1000000...10000000000 ns"},
        {"nak,t:", "\"t:\"", "percentages"},
        {"nak,t:50/", "\"t:50/\"", "percentages"},
        {"nak,t:0/50/60/70", "\"t:0/50/60/70\"", "above 0"},
        {"nak,t:50/60/70/100.1", "\"t:50/60/70/100.1\"", "up to 100"},
        {"nak,t:1/2/3/4/5/6/7/8/9", "\"t:1/2/3/4/5/6/7/8/9\"", "1 to 8"},
        {"nak,t:50/40/60/70", "\"nak\"", "do not rise"},
        {"nak,t:50/60", "\"nak\"", "2 triggers (t:) and 4 cuts (c:)"},
        {"nak,c:50", "\"nak\"", "4 triggers (t:) and 1 cuts (c:)"},
        {"aimd,b:101", "\"b:101\"", "0...100"},
        {"aimd,b:nan", "\"b:nan\"", "0...100"},
        {"aimd,a:0", "\"a:0\"", "64k"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const rsti_rate_choice_t before = {.law = &rsti_rate_nak};
        rsti_rate_choice_t choice = before;
        rsti_error_clear();
        const int result = rsti_rate_choice_parse(&choice, rows[i].text, CHANNEL);
        const char *trail = rst_last_error_text();
        if (result != -RST_ECHANNEL || strstr(trail, "rs-rate=") == NULL
            || strstr(trail, rows[i].piece) == NULL || strstr(trail, rows[i].why) == NULL
            || strstr(trail, CHANNEL) == NULL) {
            CHECK_FAIL("rs-rate=%s: %d, \"%s\"", rows[i].text, result, trail);
        }
        CHECK(choice.law == before.law); /* untouched */
    }
}

TEST(an_option_is_refused_without_a_channel)
{
    rsti_rate_choice_t choice;
    CHECK_EQ(rsti_rate_choice_parse(&choice, "fixed,q:1", NULL), -RST_EINVAL);
    CHECK(strstr(rst_last_error_text(), "rate=fixed,q:1: \"q:1\" is not one of the keys") != NULL);
}

/* The law of a channel without one, and of rs-rate=default. */
TEST(the_default_is_the_option_s_or_that_of_the_stream)
{
    static const struct {
        const char *option;
        bool is_stream;
        const char *law;
    } rows[] = {{"default", true, "adaptive"}, {"default", false, "unlimited"},
        {"unlimited", true, "unlimited"}, {"nak,s:2", true, "nak"}, {"nak,s:2", false, "nak"},
        {"fixed,r:1m", false, "fixed"}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        rsti_rate_choice_t choice = {0};
        const bool is_set = strcmp(rows[i].option, RSTI_RATE_DEFAULT) != 0;
        const rsti_rate_choice_t expected = parsed(is_set ? rows[i].option : rows[i].law);
        CHECK_EQ(rsti_rate_choice_default(&choice, rows[i].option, rows[i].is_stream), 0);
        CHECK(choice.law == rsti_rate_find(rows[i].law));
        CHECK(rsti_rate_choice_equals(&choice, &expected));
    }
    rsti_rate_choice_t choice = {.law = &rsti_rate_nak};
    static const char *const bad[] = {"", "defaults", "default,m:5", "fixed"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        CHECK_EQ(rsti_rate_choice_default(&choice, bad[i], true), -RST_EINVAL);
        CHECK(strstr(rst_last_error_text(), "rate=") != NULL);
        CHECK(choice.law == &rsti_rate_nak);
    }
}

TEST(a_text_of_any_length_is_refused_whole)
{
    char text[1024];
    rsti_rate_choice_t choice;
    memset(text, '1', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    CHECK_EQ(rsti_rate_choice_parse(&choice, text, CHANNEL), -RST_ECHANNEL);
    CHECK(strstr(rst_last_error_text(), "longer than 255 bytes") != NULL);
    memcpy(text, "fixed,r:0", 9);
    memset(text + 9, '0', RSTI_RATE_TEXT_MAX - 10);
    text[RSTI_RATE_TEXT_MAX - 1] = '1';
    text[RSTI_RATE_TEXT_MAX] = '\0'; /* exactly at the limit */
    CHECK_EQ(rsti_rate_choice_parse(&choice, text, CHANNEL), 0);
    CHECK_EQ(choice.params.initial, 1);
}

TEST(equal_texts_give_equal_rates)
{
    static const struct {
        const char *a, *b;
        bool is_equal;
    } rows[] = {
        {"fixed,r:1k", "fixed,r:1024", true},
        {"fixed,r:1k", "fixed,r:1025", false},
        {"fixed,r:1k", "fixed,r:1k,p:5", false},
        {"unlimited", "adaptive", false},
        {"nak", "nak,t:50/75/87/100", true},
        {"nak,s:1.50", "nak,s:1.5", true},
        {"nak", "nak,c:10/25/50/76", false},
        {"nak", "nak,t:50/75/88/100", false},
        {"nak", "nak,w:51ms", false},
        {"nak", "nak,s:2", false},
        {"adaptive,d:10ms", "adaptive", true},
        {"adaptive,d:11ms", "adaptive", false},
        {"aimd,a:1000000,b:50", "aimd", true},
        {"aimd,b:51", "aimd", false},
        {"aimd,a:1000001", "aimd", false},
        {"adaptive,l:1k", "adaptive,l:2k", false},
        {"adaptive,m:1g", "adaptive", false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const rsti_rate_choice_t a = parsed(rows[i].a);
        const rsti_rate_choice_t b = parsed(rows[i].b);
        CHECK(a.law != NULL && b.law != NULL);
        if (rsti_rate_choice_equals(&a, &b) != rows[i].is_equal) {
            CHECK_FAIL("%s and %s", rows[i].a, rows[i].b);
        }
    }
}

CHECK_MAIN(RUN(a_name_alone_is_the_law_with_its_defaults), RUN(fixed_is_a_rate_or_a_packet_rate),
    RUN(each_key_reaches_its_field), RUN(the_default_least_yields_to_a_smaller_wish),
    RUN(refusals_say_which_piece_and_why), RUN(an_option_is_refused_without_a_channel),
    RUN(the_default_is_the_option_s_or_that_of_the_stream),
    RUN(a_text_of_any_length_is_refused_whole), RUN(equal_texts_give_equal_rates))
