/* test_channel.c: the URI grammar and every parameter, both sides of each limit. */
#include "channel/channel.h"

#include "rstream/error.h"
#include "tests/check.h"
#include "tests/hex.h"
#include "tests/vectors/channel.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NONE RSTI_CHANNEL_UNSET

static rsti_channel_t channel;

static int parse(const char *uri)
{
    size_t length = strlen(uri);
    uint8_t *exact = hex_copy(uri, length); /* without the final zero */
    int result = rsti_channel_parse(&channel, (const char *)exact, length);
    free(exact);
    return result;
}

static int parse_udp(const char *params)
{
    char uri[8192];
    (void)snprintf(uri, sizeof uri, "aeron:udp?endpoint=127.0.0.1:40456|%s", params);
    return parse(uri);
}

/* F8 */
TEST(channels_match_the_vectors)
{
    for (size_t i = 0; i < COUNT(vector_channels); i++) {
        const vector_channel_t *vector = &vector_channels[i];
        rsti_udp_channel_t udp;
        bool is_accepted = parse(vector->uri) == 0 && rsti_udp_channel_resolve(&udp, &channel) == 0;
        if (is_accepted != vector->is_accepted) {
            CHECK_FAIL("%s: accepted %d: %s", vector->uri, is_accepted, rst_last_error_text());
        }
        if (!is_accepted) {
            continue;
        }
        CHECK_STR(udp.canonical, vector->canonical);
        CHECK_EQ(udp.is_multicast, vector->is_multicast);
        CHECK_EQ(udp.has_explicit_endpoint, vector->has_explicit_endpoint);
        CHECK_EQ(udp.has_explicit_control, vector->has_explicit_control);
        CHECK_EQ(channel.control_mode, vector->control_mode);
        CHECK_EQ(channel.channel_tag, vector->tag == -1 ? NONE : vector->tag);
        CHECK_EQ(channel.ttl == NONE ? 0 : channel.ttl, vector->ttl);
    }
}

/* F1, F2 */
TEST(grammar)
{
    static const struct {
        const char *uri;
        bool is_accepted;
    } rows[] = {
        {"aeron:ipc", true},
        {"aeron:ipc?", true},
        {"aeron:ipc?alias=x", true},
        {"aeron-spy:aeron:ipc", true},
        {"aeron-spy:aeron:udp?endpoint=a:1", true},
        {"aeron:udp?endpoint=a:1", true},
        {"aeron:udp?endpoint=a:1|x=y=z", true},
        {"aeron:udp?endpoint=a:1|no-such-key=?", true},
        {"aeron:udp?tags=7", true},
        {"aeron:udp?control-mode=manual", true},
        {"", false},
        {"aeron", false},
        {"aeron:", false},
        {"aeron:tcp?endpoint=a:1", false},
        {"aeron:udp", false},
        {"aeron:udp?", false},
        {"aeron:udpendpoint=a:1", false},
        {"aeron:ipcx", false},
        {"aeron:ipcalias=x", false},
        {"AERON:ipc", false},
        {" aeron:ipc", false},
        {"aeron-spy:ipc", false},
        {"aeron-spy:aeron-spy:aeron:ipc", false},
        {"aeron:udp?endpoint", false},
        {"aeron:udp?endpoint=", false},
        {"aeron:udp?=a:1", false},
        {"aeron:udp?endpoint=a:1|", false},
        {"aeron:udp?|endpoint=a:1", false},
        {"aeron:udp?endpoint=a:1||mtu=64", false},
        {"aeron:udp?endpoint=a:1|tags=", false},
        {"aeron:udp?endpoint=a:1|x=", false},
        {"aeron:udp?endpoint=a:1|endpoint=a:1", false},
        {"aeron:udp?alias=only", false},
        {"aeron:udp?control-mode=dynamic", false},
        {"aeron:udp?control-mode=dynamic|endpoint=a:1", false},
        {"aeron:udp?endpoint=a:1|rs-unknown=1", false},
        {"aeron:udp?endpointx=a:1", false},
        {"aeron:udp?endpoin=a:1", false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        int result = parse(rows[i].uri);
        if (result != (rows[i].is_accepted ? 0 : -RST_ECHANNEL)) {
            CHECK_FAIL("%s: %d %s", rows[i].uri, result, rst_last_error_text());
        }
    }
}

/* F1 */
TEST(length_limit_and_zero_bytes)
{
    static char uri[RSTI_CHANNEL_URI_MAX + 2];
    int used = snprintf(uri, sizeof uri, "aeron:ipc?x=");
    memset(uri + used, 'y', sizeof uri - (size_t)used);
    CHECK_EQ(rsti_channel_parse(&channel, uri, RSTI_CHANNEL_URI_MAX), 0);
    CHECK_EQ(channel.uri_length, RSTI_CHANNEL_URI_MAX);
    CHECK_EQ(strlen(channel.uri), RSTI_CHANNEL_URI_MAX);
    CHECK_EQ(rsti_channel_parse(&channel, uri, RSTI_CHANNEL_URI_MAX + 1), -RST_ECHANNEL);
    CHECK_EQ(rsti_channel_parse(&channel, "aeron:ipc\0?", 11), -RST_ECHANNEL);
    CHECK_EQ(rsti_channel_parse(&channel, NULL, 0), -RST_ECHANNEL);
}

/* F6 */
TEST(defaults)
{
    CHECK_EQ(parse("aeron:ipc"), 0);
    CHECK_STR(channel.uri, "aeron:ipc");
    CHECK_EQ(channel.media, RSTI_MEDIA_IPC);
    CHECK(!channel.is_spy && !channel.ssc && !channel.is_reliable_set && !channel.is_sparse_set);
    CHECK(channel.reliable && channel.sparse && channel.eos && channel.tether && channel.rejoin);
    CHECK_EQ(channel.group, RSTI_INFER);
    CHECK_EQ(channel.control_mode, RSTI_CONTROL_NONE);
    CHECK_STR(channel.endpoint, "");
    CHECK_STR(channel.name, "");
    CHECK_STR(channel.rate, "");
    const int64_t numbers[] = {channel.session_id, channel.session_tag, channel.mtu,
        channel.term_length, channel.ttl, channel.initial_term_id, channel.term_id,
        channel.term_offset, channel.linger_ns, channel.so_sndbuf, channel.so_rcvbuf,
        channel.receiver_window, channel.publication_window, channel.nak_delay_ns,
        channel.max_resend, channel.channel_tag, channel.entity_tag, channel.group_tag,
        channel.response_correlation_id, channel.untethered_window_limit_ns,
        channel.untethered_linger_ns, channel.untethered_resting_ns};
    for (size_t i = 0; i < COUNT(numbers); i++) {
        CHECK_EQ(numbers[i], NONE);
    }
}

/* F3, F6, F2 */
TEST(every_parameter_arrives)
{
    CHECK_EQ(
        parse("aeron-spy:aeron:udp?endpoint=[::1]:40456|interface={lo}:7|control=h:0|"
              "control-mode=dynamic|ttl=255|session-id=-7|stream-id=any|mtu=8k|"
              "term-length=64K|init-term-id=2147483647|term-id=-2147483648|term-offset=64|"
              "linger=5s|reliable=false|sparse=true|eos=false|tether=false|rejoin=false|"
              "ssc=true|group=false|fc=min,g:/3|gtag=-100|cc=cubic|tags=12,-13|alias=a=b|"
              "so-sndbuf=1m|so-rcvbuf=2m|rcv-wnd=256k|pub-wnd=32k|nak-delay=1us|"
              "max-resend=16|untethered-window-limit-timeout=1|"
              "untethered-linger-timeout=2ms|untethered-resting-timeout=3ns|"
              "response-correlation-id=-1|ats=false|rs-name=ticks of a|rs-rate=fixed,r:200m|x=y"),
        0);
    CHECK(channel.is_spy);
    CHECK_EQ(channel.media, RSTI_MEDIA_UDP);
    CHECK_STR(channel.endpoint, "[::1]:40456");
    CHECK_STR(channel.interface_text, "{lo}:7");
    CHECK_STR(channel.control, "h:0");
    CHECK_EQ(channel.control_mode, RSTI_CONTROL_DYNAMIC);
    CHECK_EQ(channel.ttl, 255);
    CHECK_EQ(channel.session_id, -7);
    CHECK_EQ(channel.session_tag, NONE);
    CHECK_EQ(channel.mtu, 8192);
    CHECK_EQ(channel.term_length, 65536);
    CHECK_EQ(channel.initial_term_id, INT32_MAX);
    CHECK_EQ(channel.term_id, INT32_MIN);
    CHECK_EQ(channel.term_offset, 64);
    CHECK_EQ(channel.linger_ns, INT64_C(5000000000));
    CHECK(!channel.reliable && channel.is_reliable_set);
    CHECK(channel.sparse && channel.is_sparse_set);
    CHECK(!channel.eos && !channel.tether && !channel.rejoin && channel.ssc);
    CHECK_EQ(channel.group, RSTI_FALSE);
    CHECK_STR(channel.fc, "min,g:/3");
    CHECK_EQ(channel.group_tag, -100);
    CHECK_STR(channel.cc, "cubic");
    CHECK_EQ(channel.channel_tag, 12);
    CHECK_EQ(channel.entity_tag, -13);
    CHECK_STR(channel.alias, "a=b");
    CHECK_EQ(channel.so_sndbuf, 1 << 20);
    CHECK_EQ(channel.so_rcvbuf, 2 << 20);
    CHECK_EQ(channel.receiver_window, 256 << 10);
    CHECK_EQ(channel.publication_window, 32 << 10);
    CHECK_EQ(channel.nak_delay_ns, 1000);
    CHECK_EQ(channel.max_resend, 16);
    CHECK_EQ(channel.untethered_window_limit_ns, 1);
    CHECK_EQ(channel.untethered_linger_ns, 2000000);
    CHECK_EQ(channel.untethered_resting_ns, 3);
    CHECK_EQ(channel.response_correlation_id, -1);
    CHECK_STR(channel.name, "ticks of a");
    CHECK_STR(channel.rate, "fixed,r:200m");
}

/* F3, F6, F5 */
TEST(values)
{
    static const struct {
        const char *param;
        bool is_accepted;
    } rows[] = {
        {"ttl=0", true},
        {"ttl=255", true},
        {"ttl=256", false},
        {"ttl=-1", false},
        {"session-id=-2147483648", true},
        {"session-id=2147483647", true},
        {"session-id=2147483648", false},
        {"session-id=-2147483649", false},
        {"session-id=0x7", false},
        {"session-id=tag:7", true},
        {"session-id=tag:-7", true},
        {"session-id=tag:", false},
        {"session-id=tag:x", false},
        {"session-id= 7", false},
        {"mtu=1408", true},
        {"mtu=1kk", false},
        {"mtu=-1", false},
        {"mtu=2g", false},
        {"mtu=abc", false},
        {"mtu=99999999999999999999", false},
        {"term-length=1g", true},
        {"term-length=k", false},
        {"term-id=1", false},
        {"init-term-id=1|term-id=1", false},
        {"init-term-id=1|term-id=1|term-offset=0", true},
        {"init-term-id=2147483648|term-id=1|term-offset=0", false},
        {"init-term-id=1|term-id=1|term-offset=-32", false},
        {"init-term-id=1|term-id=1|term-offset=1073741824", true},
        {"init-term-id=1|term-id=1|term-offset=1073741825", false},
        {"linger=0", true},
        {"linger=1.5s", false},
        {"linger=-1s", false},
        {"linger=1m", false},
        {"reliable=true", true},
        {"reliable=TRUE", false},
        {"reliable=truely", false},
        {"reliable=t", false},
        {"reliable=1", false},
        {"group=true", true},
        {"group=infer", true},
        {"group=maybe", false},
        {"control-mode=manual", true},
        {"control-mode=response", true},
        {"control-mode=none", false},
        {"control-mode=Dynamic", false},
        {"gtag=9223372036854775807", true},
        {"gtag=9223372036854775808", false},
        {"gtag=x", false},
        {"tags=1", true},
        {"tags=1,2", true},
        {"tags=-1,-2", true},
        {"tags=,2", false},
        {"tags=1,", false},
        {"tags=1,2,3", false},
        {"tags=a", false},
        {"tags=1111111111111111111111111111", false},
        {"rcv-wnd=1", true},
        {"rcv-wnd=0", false},
        {"rcv-wnd=1g", true},
        {"rcv-wnd=1073741825", false},
        {"pub-wnd=0", false},
        {"so-rcvbuf=0", true},
        {"so-sndbuf=2147483647", true},
        {"so-sndbuf=2147483648", false},
        {"max-resend=1", true},
        {"max-resend=256", true},
        {"max-resend=0", false},
        {"max-resend=257", false},
        {"nak-delay=9223372036s", true},
        {"nak-delay=9223372037s", false},
        {"response-correlation-id=prototype", true},
        {"response-correlation-id=-2", false},
        {"response-correlation-id=proto", false},
        {"control=h:65535", true},
        {"control=h:65536", false},
        {"control=h", false},
        {"control=[::1]:1", true},
        {"control=:1", false},
        {"control=h:", false},
        {"ats=false", true},
        {"ats=no", false},
        {"rs-name=a", true},
        {"rs-nam=a", false},
        {"rs-=a", false},
        {"rs-names=a", false},
        {"rs-rate=adaptive,d:5ms", true},
        {"rs-rate=", false},
        {"rs-rates=a", false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        int result = parse_udp(rows[i].param);
        if (result != (rows[i].is_accepted ? 0 : -RST_ECHANNEL)) {
            CHECK_FAIL("%s: %d %s", rows[i].param, result, rst_last_error_text());
        }
    }
}

/* F3 */
TEST(tags_and_prototype)
{
    CHECK_EQ(parse_udp("session-id=tag:77|tags=5|response-correlation-id=prototype"), 0);
    CHECK_EQ(channel.session_id, NONE);
    CHECK_EQ(channel.session_tag, 77);
    CHECK_EQ(channel.channel_tag, 5);
    CHECK_EQ(channel.entity_tag, NONE);
    CHECK_EQ(channel.response_correlation_id, RSTI_CHANNEL_PROTOTYPE);
}

/* F3 */
TEST(text_limits)
{
    static const char *const keys[] = {"interface", "fc", "rs-name", "rs-rate", "cc", "alias"};
    for (size_t i = 0; i < COUNT(keys); i++) {
        size_t most = strcmp(keys[i], "cc") == 0 ? 31 : RSTI_CHANNEL_HOST_MAX - 1;
        char param[512];
        int used = snprintf(param, sizeof param, "%s=", keys[i]);
        memset(param + used, 'n', most + 1);
        param[used + (int)most] = '\0';
        CHECK_EQ(parse_udp(param), 0);
        param[used + (int)most] = 'n';
        param[used + (int)most + 1] = '\0';
        bool is_label = strcmp(keys[i], "alias") == 0;
        CHECK_EQ(parse_udp(param), is_label ? 0 : -RST_ECHANNEL);
        if (is_label) {
            CHECK_EQ(strlen(channel.alias), most);
        }
    }
}

/* F1, F6, N25 */
TEST(refusals_name_the_parameter_and_its_value)
{
    static const struct {
        const char *param;
        int code;
    } rows[] = {{"mtu=1kk", RST_ECHANNEL}, {"ttl=256", RST_ECHANNEL},
        {"reliable=maybe", RST_ECHANNEL}, {"group=maybe", RST_ECHANNEL},
        {"control-mode=x", RST_ECHANNEL}, {"session-id=tag:x", RST_ECHANNEL},
        {"tags=a,b", RST_ECHANNEL}, {"rs-x=1", RST_ECHANNEL}, {"control=h", RST_ECHANNEL},
        {"response-correlation-id=-2", RST_ECHANNEL}, {"linger=1.5s", RST_ECHANNEL},
        {"ats=true", RST_ENOTSUP}, {"channel-snd-ts-offset=-8", RST_ECHANNEL},
        {"channel-rcv-ts-offset=x", RST_ECHANNEL}, {"media-rcv-ts-offset=2147483648", RST_ECHANNEL},
        {"channel-rcv-ts-offset=8|media-rcv-ts-offset=15", RST_ECHANNEL},
        {"channel-rcv-ts-offset=reserved|media-rcv-ts-offset=reserved", RST_ECHANNEL},
        {"rs-name=ticks|channel-snd-ts-offset=reserved", RST_ECHANNEL}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        CHECK_EQ(parse_udp(rows[i].param), -rows[i].code);
        if (strstr(rst_last_error_text(), rows[i].param) == NULL) {
            CHECK_FAIL("%s: not named in \"%s\"", rows[i].param, rst_last_error_text());
        }
    }
}

/* N25, F6 */
TEST(time_stamp_offsets)
{
    CHECK_EQ(parse_udp("alias=a"), 0);
    CHECK_EQ(channel.send_timestamp, RSTI_CHANNEL_UNSET);
    CHECK_EQ(channel.receive_timestamp, RSTI_CHANNEL_UNSET);
    CHECK_EQ(channel.media_timestamp, RSTI_CHANNEL_UNSET);
    CHECK_EQ(parse_udp("channel-snd-ts-offset=0|channel-rcv-ts-offset=8|media-rcv-ts-offset=16"),
        0);
    CHECK_EQ(channel.send_timestamp, 0);
    CHECK_EQ(channel.receive_timestamp, 8);
    CHECK_EQ(channel.media_timestamp, 16);
    CHECK_EQ(parse_udp("channel-snd-ts-offset=reserved|channel-rcv-ts-offset=0"
                       "|media-rcv-ts-offset=reserved"),
        0);
    CHECK_EQ(channel.send_timestamp, RSTI_CHANNEL_TIMESTAMP_RESERVED);
    CHECK_EQ(channel.media_timestamp, RSTI_CHANNEL_TIMESTAMP_RESERVED);
    CHECK_EQ(parse_udp("rs-name=ticks|channel-rcv-ts-offset=0"), 0);
    static const char *const refused[] = {"aeron:ipc?channel-snd-ts-offset=0",
        "aeron-spy:aeron:udp?endpoint=h:1|channel-rcv-ts-offset=0",
        "aeron-spy:aeron:udp?endpoint=h:1|media-rcv-ts-offset=0"};
    for (size_t i = 0; i < COUNT(refused); i++) {
        CHECK_EQ(rsti_channel_parse(&channel, refused[i], strlen(refused[i])), -RST_ENOTSUP);
        CHECK(strstr(rst_last_error_text(), refused[i]) != NULL);
    }
    static const char spy[] = "aeron-spy:aeron:udp?endpoint=h:1|channel-snd-ts-offset=0";
    CHECK_EQ(rsti_channel_parse(&channel, spy, strlen(spy)), 0); /* the publication's */
}

#define SECRET "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

TEST(where_a_key_is)
{
    static const char *const forms[] = {
        "file:/k", "file:/etc/rstream/group a.key", "id:0a1b2c3d", "id:00000000", "id:ffffffff"};
    CHECK_EQ(parse_udp("mtu=1408"), 0);
    CHECK_STR(channel.key, "");
    CHECK_EQ(parse_udp("rs-key=none"), 0);
    CHECK_STR(channel.key, "");
    for (size_t i = 0; i < COUNT(forms); i++) {
        char param[128];
        snprintf(param, sizeof param, "rs-key=%s", forms[i]);
        CHECK_EQ(parse_udp(param), 0);
        CHECK_STR(channel.key, forms[i]);
    }
    char param[64 + RSTI_CHANNEL_HOST_MAX] = "rs-key=file:/";
    memset(param + strlen(param), 'p', RSTI_CHANNEL_HOST_MAX - 1 - strlen("file:/"));
    CHECK_EQ(parse_udp(param), 0);
    CHECK_EQ(strlen(channel.key), RSTI_CHANNEL_HOST_MAX - 1);
    param[strlen(param)] = 'p';
    CHECK_EQ(parse_udp(param), -RST_ECHANNEL);
    CHECK(strstr(rst_last_error_text(), "rs-key=file:/p") != NULL);
}

/* The value may be the key itself, given by mistake: no error text repeats it. */
TEST(what_is_no_place_of_a_key)
{
    static const char *const values[] = {SECRET, "id:" SECRET, "file:" SECRET, "hex:" SECRET,
        "id:0a1b2c3", "id:0a1b2c3d4", "id:0A1B2C3D", "id:0a1b2c3g", "id:", "file:relative/path",
        "file:", "env:KEY", "None", "FILE:/x"};
    for (size_t i = 0; i < COUNT(values); i++) {
        char param[160];
        snprintf(param, sizeof param, "rs-key=%s", values[i]);
        CHECK_EQ(parse_udp(param), -RST_ECHANNEL);
        const char *text = rst_last_error_text();
        CHECK(strstr(text, "rs-key") != NULL && strstr(text, "file:/PATH") != NULL);
        CHECK(strstr(text, values[i]) == NULL || strlen(values[i]) < 6);
        CHECK(strstr(text, SECRET) == NULL);
    }
    static const char *const misplaced[] = {"rs-kye=" SECRET, "mtu=" SECRET, "tags=" SECRET,
        "rs-key=none|rs-key=" SECRET, "session-id=" SECRET, SECRET, "rs-fill-window=" SECRET,
        "control=" SECRET, "rs-key=" SECRET "|bogus"};
    for (size_t i = 0; i < COUNT(misplaced); i++) {
        CHECK_EQ(parse_udp(misplaced[i]), -RST_ECHANNEL);
        if (strstr(rst_last_error_text(), SECRET) != NULL) {
            CHECK_FAIL("\"%s\" has the key", rst_last_error_text());
        }
    }
}

TEST(a_key_is_of_a_network_channel)
{
    CHECK_EQ(parse("aeron:ipc?rs-key=none"), 0);
    CHECK_EQ(parse("aeron:ipc?rs-key=id:0a1b2c3d"), -RST_ECHANNEL);
    CHECK(strstr(rst_last_error_text(), "rs-key=id:0a1b2c3d: shared memory") != NULL);
    CHECK_EQ(parse_udp("rs-key=id:0a1b2c3d"), 0);
    CHECK_EQ(rsti_channel_check_destination(&channel), -RST_ECHANNEL);
    CHECK(strstr(rst_last_error_text(), "rs-key=id:0a1b2c3d: belongs to the publication") != NULL);
    CHECK_EQ(parse_udp("rs-key=none"), 0);
    CHECK_EQ(rsti_channel_check_destination(&channel), 0);
}

CHECK_MAIN(RUN(where_a_key_is), RUN(what_is_no_place_of_a_key), RUN(a_key_is_of_a_network_channel),
    RUN(channels_match_the_vectors), RUN(grammar), RUN(length_limit_and_zero_bytes), RUN(defaults),
    RUN(every_parameter_arrives), RUN(values), RUN(tags_and_prototype), RUN(text_limits),
    RUN(time_stamp_offsets), RUN(refusals_name_the_parameter_and_its_value))
