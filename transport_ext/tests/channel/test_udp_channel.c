#include "channel/channel.h"

#include "rstream/error.h"
#include "tests/check.h"
#include "util/netaddr.h"

static rsti_channel_t channel;
static rsti_udp_channel_t udp;

static int resolve(const char *uri)
{
    int result = rsti_channel_parse(&channel, uri, strlen(uri));
    return result < 0 ? result : rsti_udp_channel_resolve(&udp, &channel);
}

#define CHECK_ADDRESS(address, expected)                                                           \
    do {                                                                                           \
        char address_text[RSTI_NETADDR_TEXT_MAX];                                                  \
        CHECK_STR(rsti_netaddr_format(&(address), address_text, sizeof address_text), expected);   \
    } while (0)

/* F7, F8: this file */
TEST(endpoint_alone)
{
    CHECK_EQ(resolve("aeron:udp?endpoint=127.0.0.1:40456"), 0);
    CHECK_ADDRESS(udp.remote_data, "127.0.0.1:40456");
    CHECK_ADDRESS(udp.remote_control, "127.0.0.1:40456");
    CHECK_ADDRESS(udp.local_data, "0.0.0.0:0");
    CHECK_ADDRESS(udp.local_control, "0.0.0.0:0");
    CHECK_ADDRESS(udp.interface_address, "0.0.0.0:0");
    CHECK(udp.is_unique && !udp.is_multicast);
}

/* F8 */
TEST(interface_binds_the_sender)
{
    CHECK_EQ(resolve("aeron:udp?endpoint=127.0.0.1:40456|interface=127.0.0.1:5000"), 0);
    CHECK_ADDRESS(udp.local_data, "127.0.0.1:5000");
    CHECK_STR(udp.canonical, "UDP-127.0.0.1:5000-127.0.0.1:40456");
}

/* F8 */
TEST(control_binds_the_sender)
{
    CHECK_EQ(resolve("aeron:udp?endpoint=127.0.0.1:40456|control=127.0.0.1:40457"), 0);
    CHECK_ADDRESS(udp.remote_data, "127.0.0.1:40456");
    CHECK_ADDRESS(udp.remote_control, "127.0.0.1:40457");
    CHECK_ADDRESS(udp.local_data, "127.0.0.1:40457");
    CHECK_ADDRESS(udp.local_control, "127.0.0.1:40457");
    CHECK_EQ(resolve("aeron:udp?control=[::1]:40457|control-mode=dynamic"), 0);
    CHECK_ADDRESS(udp.remote_data, "[::]:0");
    CHECK_ADDRESS(udp.local_data, "[::1]:40457");
    CHECK_STR(udp.canonical, "UDP-[::1]:40457-[::]:0");
}

/* F7 */
TEST(multicast_control_is_the_next_address)
{
    CHECK_EQ(resolve("aeron:udp?endpoint=224.0.1.1:40456|interface=127.0.0.1"), 0);
    CHECK(udp.is_multicast);
    CHECK_ADDRESS(udp.remote_data, "224.0.1.1:40456");
    CHECK_ADDRESS(udp.remote_control, "224.0.1.2:40456");
    CHECK_ADDRESS(udp.local_data, "127.0.0.1:0");
    CHECK_EQ(resolve("aeron:udp?endpoint=[ff02::3]:40456"), 0);
    CHECK(udp.is_multicast);
    CHECK_ADDRESS(udp.remote_control, "[ff02::4]:40456");
    CHECK_EQ(resolve("aeron:udp?endpoint=[ff02::4]:40456"), -RST_ECHANNEL);
    CHECK(strstr(rst_last_error_text(), "[ff02::4]:40456") != NULL);
}

/* F8 */
TEST(ambiguous_forms_ask_for_a_suffix)
{
    CHECK_EQ(resolve("aeron:udp?endpoint=127.0.0.1:0"), 0);
    CHECK(!udp.is_unique);
    CHECK_STR(udp.canonical, "UDP-0.0.0.0:0-127.0.0.1:0");
    CHECK_EQ(resolve("aeron:udp?endpoint=127.0.0.1:0|tags=-3"), 0);
    CHECK(udp.is_unique);
    CHECK_STR(udp.canonical, "UDP-0.0.0.0:0-127.0.0.1:0#-3");
    CHECK_EQ(resolve("aeron:udp?control-mode=manual"), 0);
    CHECK(!udp.is_unique);
    CHECK_EQ(resolve("aeron:udp?control=127.0.0.1:0|control-mode=dynamic"), 0);
    CHECK(!udp.is_unique);
    CHECK_EQ(resolve("aeron:udp?endpoint=127.0.0.1:1|tags=5"), 0);
    CHECK_STR(udp.canonical, "UDP-0.0.0.0:0-127.0.0.1:1");
}

/* F8 */
TEST(the_longest_texts_fit_the_canonical_form)
{
    /* Host names of this length do not resolve; ports may have leading zeros. */
    char uri[1024] = "aeron:udp?tags=-9223372036854775807|endpoint=127.0.0.1:";
    for (int text = 0; text < 2; text++) {
        size_t at = strlen(uri);
        memset(uri + at, '0', 244);
        (void)snprintf(uri + at + 244, sizeof uri - at - 244, "%s",
            text == 0 ? "1|control=127.0.0.1:" : "1");
    }
    CHECK_EQ(resolve(uri), 0);
    CHECK_EQ(strlen(udp.canonical), 4 + 255 + 1 + 255);
    uri[strlen(uri) - 1] = '0'; /* port 0: now the tag is there too */
    CHECK_EQ(resolve(uri), 0);
    CHECK_EQ(strlen(udp.canonical), 4 + 255 + 1 + 255 + strlen("#-9223372036854775807"));
}

/* F7, F8 */
TEST(unresolvable_names_are_named)
{
    CHECK_EQ(resolve("aeron:udp?endpoint=no-such-host.invalid:1"), -RST_EUNKNOWNHOST);
    CHECK(strstr(rst_last_error_text(), "no-such-host.invalid") != NULL);
    CHECK(strstr(rst_last_error_text(), "endpoint") != NULL);
    CHECK_EQ(resolve("aeron:udp?endpoint=127.0.0.1:1|interface=203.0.113.7"), -RST_ECHANNEL);
    CHECK(strstr(rst_last_error_text(), "203.0.113.7") != NULL);
    CHECK_EQ(resolve("aeron:udp?endpoint=127.0.0.1:1|control=[::1]:2"), -RST_ECHANNEL);
    CHECK_EQ(resolve("aeron:ipc"), -RST_ECHANNEL);
}

/* A key is no part of the address: the same form with another key is the same socket, which the
 * driver refuses or, for a sender, does not share. */
TEST(the_key_of_a_socket)
{
    static rsti_udp_channel_t keyed, other, plain, tagged, tagged_keyed;
    CHECK_EQ(resolve("aeron:udp?endpoint=127.0.0.1:40456|rs-key=id:0a1b2c3d|tags=7"), 0);
    keyed = udp;
    CHECK_STR(keyed.key, "id:0a1b2c3d");
    CHECK_EQ(resolve("aeron:udp?endpoint=127.0.0.1:40456|rs-key=file:/k"), 0);
    other = udp;
    CHECK_EQ(resolve("aeron:udp?endpoint=127.0.0.1:40456"), 0);
    plain = udp;
    CHECK_EQ(resolve("aeron:udp?tags=7"), 0);
    tagged = udp;
    CHECK_EQ(resolve("aeron:udp?tags=7|rs-key=file:/k"), 0);
    tagged_keyed = udp;
    CHECK(rsti_udp_channel_matches_form(&other, &keyed));
    CHECK(rsti_udp_channel_matches_form(&plain, &keyed));
    CHECK_EQ(rsti_udp_channel_matches_tag(&tagged, &keyed), 1);
    CHECK(strstr(keyed.canonical, "0a1b2c3d") == NULL);
    CHECK(rsti_udp_channel_has_same_key(&keyed, &keyed));
    CHECK(rsti_udp_channel_has_same_key(&plain, &plain));
    CHECK(!rsti_udp_channel_has_same_key(&other, &keyed));
    CHECK(!rsti_udp_channel_has_same_key(&keyed, &other));
    CHECK(!rsti_udp_channel_has_same_key(&plain, &keyed)); /* it names the address, and no key */
    CHECK(!rsti_udp_channel_has_same_key(&keyed, &plain));
    CHECK(rsti_udp_channel_has_same_key(&tagged, &keyed)); /* the tag alone */
    CHECK(!rsti_udp_channel_has_same_key(&tagged_keyed, &keyed));
}

CHECK_MAIN(RUN(the_key_of_a_socket), RUN(endpoint_alone), RUN(interface_binds_the_sender),
    RUN(control_binds_the_sender), RUN(multicast_control_is_the_next_address),
    RUN(ambiguous_forms_ask_for_a_suffix), RUN(the_longest_texts_fit_the_canonical_form),
    RUN(unresolvable_names_are_named))
