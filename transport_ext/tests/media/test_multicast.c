/* test_multicast.c: members of groups on the loopback: datagrams that a member receives, and
 * datagrams of other groups on the same port that it must not receive. Skips, with the reason,
 * where the machine has no multicast. */
#include "media/media.h"
#include "util/error.h"
#include "util/net_interface.h"
#include "util/netaddr.h"

#include "tests/check.h"

#include <poll.h>

#define SLOT_SIZE 256

static rsti_media_t media;

static struct sockaddr_storage address_of(const char *text)
{
    struct sockaddr_storage address = {0};
    (void)rsti_netaddr_resolve(text, &address);
    return address;
}

typedef struct family_t {
    const char *interface_text;
    int family;
    const char *any;
    const char *groups[2]; /* without port */
} family_t;

static const family_t v4 = {"127.0.0.1", AF_INET, "0.0.0.0:0", {"224.20.30.39", "224.20.30.41"}};
static const family_t v6 = {"[::1]", AF_INET6, "[::]:0", {"[ff01::39]", "[ff01::41]"}};

static struct sockaddr_storage group_of(const family_t *family, int i, uint16_t port)
{
    char text[RSTI_NETADDR_TEXT_MAX];
    snprintf(text, sizeof text, "%s:%u", family->groups[i], (unsigned)port);
    return address_of(text);
}

/* NULL with a trail. */
static rsti_socket_t *open_member(const family_t *family, int i, uint16_t port)
{
    rsti_socket_params_t params = {.bind_address = address_of(family->any)};
    rsti_net_interface_t device;
    rsti_socket_t *socket = NULL;
    if (rsti_net_interface_find(&rsti_system_resolver, family->interface_text, family->family,
            &device)
        < 0) {
        return NULL;
    }
    rsti_netaddr_set_port(&params.bind_address, port);
    params.group_address = group_of(family, i, port);
    params.interface_address = device.address;
    params.interface_index = device.index;
    return media.table->open(media.arg, &params, &socket) == 0 ? socket : NULL;
}

static rsti_socket_t *open_sender(const family_t *family, int i, uint16_t port, int32_t ttl)
{
    rsti_socket_params_t params = {
        .bind_address = address_of(family->any),
        .connect_address = group_of(family, i, port),
        .multicast_ttl = ttl,
    };
    rsti_net_interface_t device;
    rsti_socket_t *socket = NULL;
    (void)rsti_net_interface_find(&rsti_system_resolver, family->interface_text, family->family,
        &device);
    params.interface_address = device.address;
    params.interface_index = device.index;
    return media.table->open(media.arg, &params, &socket) == 0 ? socket : NULL;
}

static bool is_readable(rsti_socket_t *socket, int timeout_ms)
{
    struct pollfd watched = {.fd = media.table->fd(media.arg, socket), .events = POLLIN};
    return poll(&watched, 1, timeout_ms) == 1;
}

static int send_text(rsti_socket_t *socket, const char *text)
{
    uint8_t bytes[SLOT_SIZE];
    rsti_datagram_t datagram = {.data = bytes, .length = strlen(text)};
    memcpy(bytes, text, datagram.length);
    return media.table->send(media.arg, socket, &datagram, 1);
}

/* The next datagram, as text; "" when there is none. */
static const char *received(rsti_socket_t *socket)
{
    static uint8_t bytes[SLOT_SIZE];
    rsti_datagram_t datagram = {.data = bytes, .length = SLOT_SIZE - 1};
    if (media.table->receive(media.arg, socket, &datagram, 1) != 1) {
        return "";
    }
    bytes[datagram.length] = '\0';
    return (const char *)bytes;
}

/* A free port: taken from the system and given back. */
static uint16_t free_port(const family_t *family)
{
    const rsti_socket_params_t params = {.bind_address = address_of(family->any)};
    struct sockaddr_storage bound = {0};
    rsti_socket_t *socket = NULL;
    if (media.table->open(media.arg, &params, &socket) == 0) {
        media.table->local_address(media.arg, socket, &bound);
        media.table->close(media.arg, socket);
    }
    return rsti_netaddr_port(&bound);
}

/* Whether a datagram to a group comes back on the loopback. */
static bool has_multicast(const family_t *family)
{
    const uint16_t port = free_port(family);
    rsti_socket_t *member = open_member(family, 0, port);
    rsti_socket_t *sender = member == NULL ? NULL : open_sender(family, 0, port, 0);
    bool has = false;
    if (sender != NULL && send_text(sender, "probe") == 1) {
        has = is_readable(member, 1000);
    }
    if (!has) {
        printf("skipped: no multicast on %s here (%s)\n", family->interface_text,
            member == NULL || sender == NULL || rst_last_error_code() != 0 ? rst_last_error_text()
                                                                           : "nothing came back");
    }
    if (sender != NULL) {
        media.table->close(media.arg, sender);
    }
    if (member != NULL) {
        media.table->close(media.arg, member);
    }
    rsti_error_clear();
    return has;
}

/* N19: one port, two groups, a member of each, and two members of one. */
static void each_sees_its_own(const family_t *family)
{
    if (!has_multicast(family)) {
        return;
    }
    const uint16_t port = free_port(family);
    rsti_socket_t *first = open_member(family, 0, port);
    rsti_socket_t *second = open_member(family, 1, port);
    rsti_socket_t *again = open_member(family, 0, port);
    CHECK(first != NULL && second != NULL && again != NULL);
    rsti_socket_t *to_first = open_sender(family, 0, port, 0);
    rsti_socket_t *to_second = open_sender(family, 1, port, 3);
    CHECK(to_first != NULL && to_second != NULL);
    CHECK_EQ(send_text(to_first, "one"), 1);
    CHECK_EQ(send_text(to_second, "two"), 1);
    CHECK(is_readable(first, 5000) && is_readable(second, 5000) && is_readable(again, 5000));
    CHECK_STR(received(first), "one");
    CHECK_STR(received(second), "two");
    CHECK_STR(received(again), "one");
    /* The loopback has no delay: a datagram that is not there now never comes. */
    CHECK_STR(received(first), "");
    CHECK_STR(received(second), "");
    media.table->close(media.arg, first);
    media.table->close(media.arg, second);
    media.table->close(media.arg, again);
    media.table->close(media.arg, to_first);
    media.table->close(media.arg, to_second);
}

/* N19 */
TEST(two_groups_on_one_port_ipv4)
{
    each_sees_its_own(&v4);
}

/* N19 */
TEST(two_groups_on_one_port_ipv6)
{
    each_sees_its_own(&v6);
}

/* N19: a member can send to another group, as receivers do with the control group. */
TEST(members_send_by_their_interface)
{
    if (!has_multicast(&v4)) {
        return;
    }
    const uint16_t port = free_port(&v4);
    rsti_socket_t *receiver = open_member(&v4, 0, port);
    rsti_socket_t *control = open_member(&v4, 1, port);
    CHECK(receiver != NULL && control != NULL);
    uint8_t bytes[] = "status";
    const rsti_datagram_t datagram = {
        .data = bytes,
        .length = 6,
        .address = group_of(&v4, 1, port),
    };
    CHECK_EQ(media.table->send(media.arg, receiver, &datagram, 1), 1);
    CHECK(is_readable(control, 5000));
    CHECK_STR(received(control), "status");
    CHECK_STR(received(receiver), "");
    media.table->close(media.arg, receiver);
    media.table->close(media.arg, control);
}

/* Only members share their port. */
TEST(unicast_sockets_share_nothing)
{
    const uint16_t port = free_port(&v4);
    rsti_socket_params_t params = {.bind_address = address_of("0.0.0.0:0")};
    rsti_socket_t *first = NULL, *second = NULL;
    rsti_netaddr_set_port(&params.bind_address, port);
    CHECK_EQ(media.table->open(media.arg, &params, &first), 0);
    CHECK_EQ(media.table->open(media.arg, &params, &second), -RST_EINUSE);
    media.table->close(media.arg, first);
}

TEST(failed_joins_are_named)
{
    rsti_socket_params_t params = {
        .bind_address = address_of("0.0.0.0:0"),
        .group_address = address_of("127.0.0.5:4000"), /* no group */
        .interface_address = address_of("127.0.0.1:0"),
    };
    rsti_socket_t *socket = NULL;
    CHECK_EQ(media.table->open(media.arg, &params, &socket), -RST_ESYS);
    CHECK(strstr(rst_last_error_text(), "127.0.0.5:4000") != NULL);
    CHECK(strstr(rst_last_error_text(), "127.0.0.1") != NULL);
    params.group_address = address_of("[ff01::39]:4000");
    CHECK_EQ(media.table->open(media.arg, &params, &socket), -RST_EINVAL);
}

/* J4: the peer's name now has another address. */
TEST(a_connected_socket_gets_another_peer)
{
    rsti_socket_params_t params = {.bind_address = address_of("127.0.0.1:0")};
    rsti_socket_t *old = NULL, *new = NULL, *sender = NULL;
    CHECK_EQ(media.table->open(media.arg, &params, &old), 0);
    CHECK_EQ(media.table->open(media.arg, &params, &new), 0);
    media.table->local_address(media.arg, old, &params.connect_address);
    CHECK_EQ(media.table->open(media.arg, &params, &sender), 0);
    struct sockaddr_storage address;
    media.table->local_address(media.arg, new, &address);
    CHECK_EQ(media.table->reconnect(media.arg, sender, &address), 0);
    CHECK_EQ(send_text(sender, "moved"), 1);
    CHECK(is_readable(new, 5000));
    CHECK_STR(received(new), "moved");
    CHECK_STR(received(old), "");
    media.table->close(media.arg, old);
    media.table->close(media.arg, new);
    media.table->close(media.arg, sender);
}

int main(int argc, char **argv)
{
    static const check_case_t cases[] = {
        RUN(two_groups_on_one_port_ipv4),
        RUN(two_groups_on_one_port_ipv6),
        RUN(members_send_by_their_interface),
        RUN(unicast_sockets_share_nothing),
        RUN(failed_joins_are_named),
        RUN(a_connected_socket_gets_another_peer),
    };
    (void)rsti_media_udp_create(&media);
    const int result = check_run(cases, sizeof cases / sizeof cases[0], argc > 1 ? argv[1] : NULL);
    rsti_media_udp_destroy(&media);
    return result;
}
