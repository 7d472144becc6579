/* Real sockets: two groups on one port, and a channel with a host name. Skips the groups, with the
 * reason, where the loopback has no multicast. */
#include "tests/system/transport.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

static int base_port(void)
{
    return 30000 + (int)(getpid() % 3000) * 10;
}

/* Whether a datagram to a group comes back on the loopback. */
static bool has_multicast(void)
{
    struct sockaddr_in group = {.sin_family = AF_INET, .sin_port = htons((uint16_t)base_port())};
    struct sockaddr_in any = group;
    inet_pton(AF_INET, "224.20.30.37", &group.sin_addr);
    struct ip_mreqn member = {.imr_multiaddr = group.sin_addr};
    inet_pton(AF_INET, "127.0.0.1", &member.imr_address);
    const int fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct pollfd watched = {.fd = fd, .events = POLLIN};
    const bool has = fd >= 0 && bind(fd, (struct sockaddr *)&any, sizeof any) == 0
        && setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &member, sizeof member) == 0
        && setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &member, sizeof member) == 0
        && sendto(fd, "x", 1, 0, (struct sockaddr *)&group, sizeof group) == 1
        && poll(&watched, 1, 1000) == 1;
    if (!has) {
        printf("skipped: no multicast on the loopback here (%s)\n", strerror(errno));
    }
    close(fd);
    return has;
}

/* N19; driver.md 13, lesson 1: the same stream id on two groups of one port, at once. */
TEST(two_groups_on_one_port_are_two_streams)
{
    if (!has_multicast()) {
        return;
    }
    const char *options[] = {"term-buffer-length=64k", NULL};
    rst_driver_t *driver = open_driver("groups", options);
    CHECK(driver != NULL);
    rst_client_t *client = open_client(driver);
    CHECK(client != NULL);
    rst_publication_t *publications[2];
    rst_subscription_t *subscriptions[2];
    for (int i = 0; i < 2; i++) {
        char channel[128];
        snprintf(channel, sizeof channel, "aeron:udp?endpoint=224.20.30.%d:%d|interface=127.0.0.1",
            39 + 2 * i, base_port() + 1);
        subscriptions[i] = add_subscription(client, channel);
        publications[i] = add_publication(client, channel, false);
        CHECK(subscriptions[i] != NULL && publications[i] != NULL);
    }
    /* A foreign message would appear in place of the next number. */
    for (int round = 0; round < 4; round++) {
        CHECK(stream(publications[round & 1], subscriptions[round & 1], 2000, 1000,
                  INT64_C(30000000000))
            >= 0);
    }
    for (int i = 0; i < 2; i++) {
        rst_publication_close(publications[i]);
        rst_subscription_close(subscriptions[i]);
    }
    rst_client_close(client);
    rst_driver_close(driver);
}

/* N15: names are resolved in a thread of their own; both ends wait for the answer to their command.
 */
TEST(a_named_endpoint_is_served)
{
    static const char *const threading[] = {"threading=shared", "threading=dedicated"};
    for (int i = 0; i < 2; i++) {
        char channel[128];
        const char *options[] = {threading[i], "term-buffer-length=64k", NULL};
        rst_driver_t *driver = open_driver("named", options);
        CHECK(driver != NULL);
        rst_client_t *client = open_client(driver);
        CHECK(client != NULL);
        snprintf(channel, sizeof channel, "aeron:udp?endpoint=localhost:%d", base_port() + 3 + i);
        rst_subscription_t *subscription = add_subscription(client, channel);
        rst_publication_t *publication = add_publication(client, channel, false);
        CHECK(subscription != NULL && publication != NULL);
        CHECK(stream(publication, subscription, 500, 1000, INT64_C(30000000000)) >= 0);
        rst_publication_close(publication);
        rst_subscription_close(subscription);
        rst_client_close(client);
        rst_driver_close(driver);
    }
}

CHECK_MAIN(RUN(two_groups_on_one_port_are_two_streams), RUN(a_named_endpoint_is_served))
