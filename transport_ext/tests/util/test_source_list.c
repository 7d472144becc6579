/* test_source_list.c: which addresses lists of networks take. */
#include "tests/check.h"
#include "util/source_list.h"

static bool takes(const char *list_text, const char *address_text)
{
    rsti_source_list_t list;
    struct sockaddr_storage address;
    if (!rsti_source_list_parse(&list, list_text)
        || !rsti_netaddr_parse_numeric(address_text, &address)) {
        abort();
    }
    return rsti_source_list_takes(&list, &address);
}

TEST(addresses_and_networks)
{
    CHECK(takes("", "10.1.2.3") && takes("", "fd00::1"));
    CHECK(takes("10.1.2.3", "10.1.2.3") && !takes("10.1.2.3", "10.1.2.4"));
    CHECK(takes("10.0.0.0/8", "10.255.0.1") && !takes("10.0.0.0/8", "11.0.0.1"));
    CHECK(takes("10.1.2.64/26", "10.1.2.127") && !takes("10.1.2.64/26", "10.1.2.128"));
    CHECK(takes("1.1.1.1,192.168.0.0/16", "192.168.9.9"));
    CHECK(takes("0.0.0.0/0", "8.8.8.8") && !takes("0.0.0.0/0", "fd00::1"));
    CHECK(takes("fd00::/8", "fd12::1") && takes("[fd00::]/8", "fd12::1"));
    CHECK(!takes("fd00::/8", "fe00::1") && takes("::1", "::1") && !takes("::1", "::2"));
    CHECK(takes("10.0.0.0/8", "::ffff:10.0.0.1") && !takes("10.0.0.0/8", "::ffff:11.0.0.1"));
}

TEST(equal_lists)
{
    rsti_source_list_t a, b;
    CHECK(rsti_source_list_parse(&a, "10.0.0.0/8,fd00::/8"));
    CHECK(rsti_source_list_parse(&b, "10.0.0.0/8,[fd00::]/8"));
    CHECK(rsti_source_list_equal(&a, &b));
    CHECK(rsti_source_list_parse(&b, "10.0.0.0/9,fd00::/8") && !rsti_source_list_equal(&a, &b));
    CHECK(rsti_source_list_parse(&b, "10.0.0.0/8") && !rsti_source_list_equal(&a, &b));
    CHECK(rsti_source_list_parse(&a, "") && rsti_source_list_parse(&b, ""));
    CHECK(rsti_source_list_equal(&a, &b));
}

/* A list that cannot be read takes nothing. */
TEST(what_is_no_list)
{
    static const char *const texts[] = {"x", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", ",",
        "10.0.0.1,", "10.0.0.1,,10.0.0.2", "fd00::/129", "[fd00::/8", "10.0.0.1 ", "host.example"};
    struct sockaddr_storage address;
    CHECK(rsti_netaddr_parse_numeric("10.0.0.1", &address));
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        rsti_source_list_t list;
        if (rsti_source_list_parse(&list, texts[i])) {
            fprintf(stderr, "taken: %s\n", texts[i]);
            CHECK(false);
        }
        CHECK(!rsti_source_list_takes(&list, &address));
    }
    char many[RSTI_SOURCES_MAX * 9 + 16] = "";
    for (int i = 0; i <= RSTI_SOURCES_MAX; i++) {
        strcat(many, i == 0 ? "10.0.0.1" : ",10.0.0.1");
    }
    rsti_source_list_t list;
    CHECK(!rsti_source_list_parse(&list, many));
    many[strlen(many) - 9] = '\0';
    CHECK(rsti_source_list_parse(&list, many));
}

CHECK_MAIN(RUN(addresses_and_networks), RUN(equal_lists), RUN(what_is_no_list))
