#include "channel/channel.h"

#include "rstream/error.h"
#include "tests/check.h"

#define MS INT64_C(1000000)

static rsti_channel_t channel;
static rsti_publication_options_t options;

static int parse(const char *params)
{
    char uri[512];
    (void)snprintf(uri, sizeof uri, "aeron:udp?endpoint=127.0.0.1:40456%s%s",
        params[0] == '\0' ? "" : "|", params);
    int result = rsti_channel_parse(&channel, uri, strlen(uri));
    return result < 0 ? result
                      : rsti_publication_options(&options, &channel, 1408, 1 << 24, 5000 * MS);
}

/* F5 */
TEST(defaults)
{
    CHECK_EQ(parse(""), 0);
    CHECK_EQ(options.mtu, 1408);
    CHECK_EQ(options.term_length, 1 << 24);
    CHECK_EQ(options.publication_window, 1 << 23);
    CHECK_EQ(options.linger_ns, 5000 * MS);
    CHECK(options.eos && options.sparse && !options.has_position);
}

/* F5 */
TEST(given_values)
{
    CHECK_EQ(parse("mtu=8k|term-length=128k|pub-wnd=16k|linger=1ms|eos=false|sparse=false|"
                   "init-term-id=2147483647|term-id=-2147483648|term-offset=131072"),
        0);
    CHECK_EQ(options.mtu, 8192);
    CHECK_EQ(options.term_length, 131072);
    CHECK_EQ(options.publication_window, 16384);
    CHECK_EQ(options.linger_ns, MS);
    CHECK(!options.eos && !options.sparse && options.has_position);
    CHECK_EQ(options.initial_term_id, INT32_MAX);
    CHECK_EQ(options.term_id, INT32_MIN);
    CHECK_EQ(options.term_offset, 131072);
}

/* F5, N18 */
TEST(limits)
{
    static const struct {
        const char *params;
        bool is_accepted;
    } rows[] = {
        {"mtu=64", true},
        {"mtu=32", false},
        {"mtu=0", false},
        {"mtu=65504", true},
        {"mtu=65536", false},
        {"mtu=1409", false},
        {"mtu=1440", true},
        {"mtu=65504|term-length=64k", true},
        {"term-length=64k", true},
        {"term-length=32k", false},
        {"term-length=65535", false},
        {"term-length=65537", false},
        {"term-length=96k", false},
        {"term-length=1g", true},
        {"term-length=2147483647", false},
        {"term-length=0", false},
        {"pub-wnd=1408", true},
        {"pub-wnd=1407", false},
        {"pub-wnd=8m", true},
        {"pub-wnd=8388609", false},
        {"pub-wnd=8m|term-length=8m", false},
        {"init-term-id=0|term-id=0|term-offset=16777216", true},
        {"init-term-id=0|term-id=0|term-offset=16777248", false},
        {"init-term-id=0|term-id=0|term-offset=33", false},
        {"init-term-id=0|term-id=2147483647|term-offset=0", true},
        {"init-term-id=0|term-id=-2147483648|term-offset=0", false},
        {"init-term-id=5|term-id=4|term-offset=0", false},
        {"init-term-id=-5|term-id=-5|term-offset=0", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int result = parse(rows[i].params);
        if (result != (rows[i].is_accepted ? 0 : -RST_ECHANNEL)) {
            CHECK_FAIL("%s: %d %s", rows[i].params, result, rst_last_error_text());
        }
    }
}

static int options_of(const char *uri)
{
    int result = rsti_channel_parse(&channel, uri, strlen(uri));
    return result < 0 ? 1 : rsti_publication_options(&options, &channel, 1408, 65536, 0);
}

/* F5, N18 */
TEST(impossible_publication_options)
{
    CHECK_EQ(options_of("aeron-spy:aeron:ipc"), -RST_ECHANNEL);
    CHECK_EQ(options_of("aeron:udp?endpoint=127.0.0.1:0"), -RST_ECHANNEL);
    CHECK(strstr(rst_last_error_text(), "endpoint=127.0.0.1:0") != NULL);
    CHECK_EQ(options_of("aeron:udp?control=127.0.0.1:7"), -RST_ECHANNEL);
    CHECK_EQ(options_of("aeron:udp?control=127.0.0.1:7|control-mode=dynamic"), 0);
    CHECK_EQ(options_of("aeron:udp?control=127.0.0.1:7|tags=1"), 0);
    CHECK_EQ(options_of("aeron:udp?control=127.0.0.1:0|control-mode=dynamic"), 0);
    CHECK_EQ(options_of("aeron:ipc?endpoint=127.0.0.1:0"), 0);
    CHECK_EQ(options_of("aeron:ipc"), 0);
}

TEST(bad_defaults_are_refused_too)
{
    CHECK_EQ(options_of("aeron:ipc"), 0);
    CHECK_EQ(rsti_publication_options(&options, &channel, 1409, 65536, 0), -RST_ECHANNEL);
    CHECK_EQ(rsti_publication_options(&options, &channel, 1408, 65535, 0), -RST_ECHANNEL);
}

CHECK_MAIN(RUN(defaults), RUN(given_values), RUN(limits), RUN(impossible_publication_options),
    RUN(bad_defaults_are_refused_too))
