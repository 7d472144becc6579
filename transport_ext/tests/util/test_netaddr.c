#include "util/net_interface.h"
#include "util/netaddr.h"

#include "tests/check.h"
#include "util/error.h"

typedef struct split_case_t {
    const char *text;
    const char *host; /* NULL = refused */
    int port;
} split_case_t;

/* F7: this file */
TEST(split_takes_host_and_port)
{
    static const split_case_t cases[] = {
        {"localhost:40123", "localhost", 40123},
        {"10.0.0.7:0", "10.0.0.7", 0},
        {"host:65535", "host", 65535},
        {"[::1]:8050", "::1", 8050},
        {"[fe80::1%eth0]:1", "fe80::1%eth0", 1},
        {"host:65536", NULL, 0},
        {"host:-1", NULL, 0},
        {"host:", NULL, 0},
        {"host", NULL, 0},
        {":40123", NULL, 0},
        {"[]:1", NULL, 0},
        {"[::1:1", NULL, 0},
        {"[::1]", NULL, 0},
        {"[::1]8050", NULL, 0},
        {"::1:8050", NULL, 0},
        {"host:80:90", NULL, 0},
        {"host:8x", NULL, 0},
        {"", NULL, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char host[64] = "";
        uint16_t port = 0;
        bool is_accepted = rsti_netaddr_split(cases[i].text, host, sizeof host, &port);
        if (is_accepted != (cases[i].host != NULL)) {
            CHECK_FAIL("\"%s\": accepted is %d", cases[i].text, is_accepted);
        }
        if (is_accepted) {
            CHECK_STR(host, cases[i].host);
            CHECK_EQ(port, cases[i].port);
        }
    }
    char small[5];
    uint16_t port;
    CHECK(rsti_netaddr_split("abcd:1", small, sizeof small, &port));
    CHECK(!rsti_netaddr_split("abcde:1", small, sizeof small, &port));
    char long_text[600];
    memset(long_text, 'a', sizeof long_text);
    memcpy(long_text + sizeof long_text - 3, ":1", 3);
    char host[600];
    CHECK(!rsti_netaddr_split(long_text, host, sizeof host, &port));
}

/* F7 */
TEST(resolve_and_format_round_trip)
{
    static const char *const texts[] = {
        "127.0.0.1:40123", "0.0.0.0:0", "[::1]:8050", "[ff02::1]:65535", "224.0.1.1:40456"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct sockaddr_storage address;
        char text[RSTI_NETADDR_TEXT_MAX];
        CHECK_EQ(rsti_netaddr_resolve(texts[i], &address), 0);
        CHECK_STR(rsti_netaddr_format(&address, text, sizeof text), texts[i]);
    }
    struct sockaddr_storage address;
    char text[RSTI_NETADDR_TEXT_MAX];
    CHECK_EQ(rsti_netaddr_resolve("localhost:5", &address), 0);
    CHECK_STR(rsti_netaddr_format(&address, text, sizeof text), "127.0.0.1:5");
    char tiny[6];
    CHECK_STR(rsti_netaddr_format(&address, tiny, sizeof tiny), "127.0");
    struct sockaddr_storage none = {0};
    CHECK_STR(rsti_netaddr_format(&none, text, sizeof text), "(no address)");
    CHECK_EQ(rsti_netaddr_length(&none), 0);
    CHECK_EQ(rsti_netaddr_port(&none), 0);
    CHECK(!rsti_netaddr_is_multicast(&none));
}

/* F7 */
TEST(resolve_names_the_error)
{
    struct sockaddr_storage address;
    CHECK_EQ(rsti_netaddr_resolve("10.0.0.7", &address), -RST_ECHANNEL);
    CHECK(strstr(rst_last_error_text(), "\"10.0.0.7\"") != NULL);
    CHECK_EQ(rsti_netaddr_resolve("no-such-host.invalid:1", &address), -RST_EUNKNOWNHOST);
    CHECK(strstr(rst_last_error_text(), "no-such-host.invalid") != NULL);
}

static struct sockaddr_storage address_of(const char *text)
{
    struct sockaddr_storage address = {0};
    if (rsti_netaddr_resolve(text, &address) < 0) {
        fprintf(stderr, "%s\n", rst_last_error_text());
        abort();
    }
    return address;
}

TEST(equality_and_kinds)
{
    struct sockaddr_storage a = address_of("127.0.0.1:1");
    struct sockaddr_storage b = address_of("127.0.0.1:1");
    struct sockaddr_storage six = address_of("[::1]:1");
    struct sockaddr_storage scoped = six;
    CHECK(rsti_netaddr_equal(&a, &b));
    rsti_netaddr_set_port(&b, 2);
    CHECK_EQ(rsti_netaddr_port(&b), 2);
    CHECK(!rsti_netaddr_equal(&a, &b));
    b = address_of("127.0.0.2:1");
    CHECK(!rsti_netaddr_equal(&a, &b));
    CHECK(!rsti_netaddr_equal(&a, &six));
    ((struct sockaddr_in6 *)&scoped)->sin6_scope_id = 3;
    CHECK(rsti_netaddr_equal(&scoped, &six));
    six = address_of("[::2]:1");
    CHECK(!rsti_netaddr_equal(&scoped, &six));
    CHECK_EQ(rsti_netaddr_length(&a), sizeof(struct sockaddr_in));
    CHECK_EQ(rsti_netaddr_length(&six), sizeof(struct sockaddr_in6));
    CHECK(!rsti_netaddr_is_multicast(&a));
    a = address_of("224.0.1.1:1");
    CHECK(rsti_netaddr_is_multicast(&a));
    six = address_of("[ff02::1]:1");
    CHECK(rsti_netaddr_is_multicast(&six));
}

static bool is_packed_again(const char *text, int32_t family, uint16_t port, uint8_t last)
{
    const struct sockaddr_storage address = address_of(text);
    const rsti_packed_address_t packed = rsti_netaddr_pack(&address);
    const struct sockaddr_storage again = rsti_netaddr_unpack(&packed);
    return packed.family == family && packed.port == port
        && packed.bytes[family == AF_INET ? 3 : 15] == last && rsti_netaddr_equal(&again, &address);
}

TEST(packed_and_unpacked)
{
    const struct sockaddr_storage nobody = {0};
    CHECK(is_packed_again("10.1.2.3:40123", AF_INET, 40123, 3));
    CHECK(is_packed_again("0.0.0.0:0", AF_INET, 0, 0));
    CHECK(is_packed_again("255.255.255.255:65535", AF_INET, 65535, 255));
    CHECK(is_packed_again("[fd00::7]:40123", AF_INET6, 40123, 7));
    CHECK(is_packed_again("[::]:65535", AF_INET6, 65535, 0));
    const rsti_packed_address_t packed = rsti_netaddr_pack(&nobody);
    CHECK_EQ(packed.family, AF_UNSPEC);
    const struct sockaddr_storage again = rsti_netaddr_unpack(&packed);
    CHECK_EQ(memcmp(&again, &nobody, sizeof again), 0);
}

/* F7, N19 */
TEST(interfaces_that_every_machine_has)
{
    static const struct {
        const char *text;
        const char *expected;
    } cases[] = {
        {"127.0.0.1", "127.0.0.1:0"},
        {"127.0.0.1:7", "127.0.0.1:7"},
        {"127.0.0.0/8", "127.0.0.1:0"},
        {"127.3.2.1/9:77", "127.0.0.1:77"},
        {"127.0.0.0:77/8", "127.0.0.1:77"},
        {"localhost", "127.0.0.1:0"},
        {"localhost:9", "127.0.0.1:9"},
        {"{lo}:9", "127.0.0.1:9"},
        {"0.0.0.0", "0.0.0.0:0"},
        {"0.0.0.0:5/0", "0.0.0.0:5"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rsti_net_interface_t found = {0};
        char text[RSTI_NETADDR_TEXT_MAX];
        if (rsti_net_interface_find(&rsti_system_resolver, cases[i].text, AF_INET, &found) < 0) {
            CHECK_FAIL("%s", rst_last_error_text());
        }
        CHECK_STR(rsti_netaddr_format(&found.address, text, sizeof text), cases[i].expected);
    }
}

/* F7 */
TEST(interfaces_that_are_refused)
{
    static const char *const texts[] = {"", "240.0.0.77", "240.0.0.0/24", "127.0.0.1/33",
        "127.0.0.1/x", "127.0.0.1:65536", "127.0.0.1:1:2", "127.0.0.1/8/8", "127.0.0.1:", "{}",
        "{lo", "{no-such}", "{lo}/8", "[::1]", "[::1]x", "no-such-host.invalid"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        rsti_net_interface_t found = {0};
        int result = rsti_net_interface_find(&rsti_system_resolver, texts[i], AF_INET, &found);
        if (result != -RST_ECHANNEL) {
            CHECK_FAIL("interface=%s gave %d", texts[i], result);
        }
        if (strstr(rst_last_error_text(), texts[i]) == NULL) {
            CHECK_FAIL("interface=%s is not named in: %s", texts[i], rst_last_error_text());
        }
    }
}

/* Who sealed stands beside the address: it is no part of it. */
TEST(sealers_beside_addresses)
{
    static const char *const texts[] = {
        "127.0.0.1:40456", "[fd00:ffff:ffff:ffff:ffff:ffff:ffff:1]:65535"};
    for (int i = 0; i < 2; i++) {
        struct sockaddr_storage plain = {0}, one, other;
        char text[RSTI_NETADDR_TEXT_MAX];
        CHECK_EQ(rsti_netaddr_resolve(texts[i], &plain), 0);
        CHECK_EQ(rsti_netaddr_sealer(&plain), 0);
        CHECK(!rsti_netaddr_is_overtaken(&plain));
        one = other = plain;
        rsti_netaddr_set_sealer(&one, UINT64_MAX);
        rsti_netaddr_set_overtaken(&one, true);
        rsti_netaddr_set_sealer(&other, 1);
        CHECK_STR(rsti_netaddr_format(&one, text, sizeof text), texts[i]);
        CHECK(rsti_netaddr_sealer(&one) == UINT64_MAX && rsti_netaddr_is_overtaken(&one));
        CHECK(rsti_netaddr_equal(&one, &other) && rsti_netaddr_equal(&one, &plain));
        CHECK(!rsti_netaddr_is_same_source(&one, &other));
        CHECK(!rsti_netaddr_is_same_source(&one, &plain));
        rsti_netaddr_set_sealer(&other, UINT64_MAX);
        CHECK(rsti_netaddr_is_same_source(&one, &other)); /* overtaken or not */
        rsti_netaddr_set_port(&other, 1);
        CHECK(!rsti_netaddr_is_same_source(&one, &other));
        rsti_netaddr_set_sealer(&one, 0);
        rsti_netaddr_set_overtaken(&one, false);
        CHECK(rsti_netaddr_is_same_source(&one, &plain) && !rsti_netaddr_is_overtaken(&one));
    }
}

CHECK_MAIN(RUN(sealers_beside_addresses), RUN(split_takes_host_and_port),
    RUN(resolve_and_format_round_trip), RUN(resolve_names_the_error), RUN(equality_and_kinds),
    RUN(packed_and_unpacked), RUN(interfaces_that_every_machine_has),
    RUN(interfaces_that_are_refused))
