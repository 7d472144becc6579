/* test_wire.c: the simulated wire: order, delay, loss, the interface, groups, and datagrams without
 * a destination. */
#include "lab/wire.h"
#include "tests/check.h"
#include "util/error.h"
#include "util/netaddr.h"

#define MS RSTI_NS_PER_MS
#define COUNT 2000

typedef struct net_t {
    rsti_lab_wire_t wire;
    rsti_media_t media[3];
} net_t;

static void net_open(net_t *net, int64_t ahead_ns)
{
    CHECK_EQ(rsti_lab_wire_init(&net->wire, 3, ahead_ns, check_seed()), 0);
    for (int i = 0; i < 3; i++) {
        net->media[i] = (rsti_media_t){&rsti_lab_wire_media, &net->wire.ports[i]};
    }
}

static struct sockaddr_storage address(const char *text)
{
    struct sockaddr_storage parsed;
    (void)rsti_netaddr_resolve(text, &parsed);
    return parsed;
}

/* group: NULL for none. */
static rsti_socket_t *open_socket(net_t *net, int host, const char *bind, const char *group)
{
    rsti_socket_params_t params = {.bind_address = address(bind)};
    if (group != NULL) {
        params.group_address = address(group);
    }
    rsti_socket_t *socket = NULL;
    (void)net->media[host].table->open(net->media[host].arg, &params, &socket);
    return socket;
}

static int send_number(net_t *net, int host, rsti_socket_t *from, const char *to, int32_t number)
{
    uint8_t bytes[1000] = {0};
    memcpy(bytes, &number, sizeof number);
    const rsti_datagram_t datagram = {
        .data = bytes, .length = sizeof bytes, .address = address(to)};
    return net->media[host].table->send(net->media[host].arg, from, &datagram, 1);
}

/* The number received; -1: nothing is there. */
static int32_t receive_number(net_t *net, int host, rsti_socket_t *socket)
{
    uint8_t bytes[2048];
    rsti_datagram_t datagram = {.data = bytes, .length = sizeof bytes};
    int32_t number = -1;
    if (net->media[host].table->receive(net->media[host].arg, socket, &datagram, 1) == 1) {
        memcpy(&number, bytes, sizeof number);
        number = datagram.length == 1000 ? number : INT32_MIN;
    }
    return number;
}

TEST(a_lane_keeps_order_and_takes_its_time)
{
    net_t net;
    net_open(&net, MS);
    rsti_lab_wire_lay(&net.wire, 0, 1, 3 * MS, 0.1);
    rsti_socket_t *from = open_socket(&net, 0, "10.0.0.1:0", NULL);
    rsti_socket_t *to = open_socket(&net, 1, "10.0.0.2:4000", NULL);
    for (int32_t i = 0; i < COUNT; i++) {
        CHECK_EQ(send_number(&net, 0, from, "10.0.0.2:4000", i), 1);
    }
    net.wire.now_ns = 3 * MS - 1;
    CHECK_EQ(receive_number(&net, 1, to), -1);
    net.wire.now_ns = 3 * MS;
    int32_t last = -1, count = 0;
    for (int32_t number; (number = receive_number(&net, 1, to)) >= 0; last = number, count++) {
        CHECK(number > last);
    }
    CHECK_EQ(count * 1000, COUNT * 1000 - rsti_lab_wire_lost(&net.wire, 0, 1));
    CHECK(count > COUNT * 0.86 && count < COUNT * 0.94);
    CHECK_EQ(rsti_lab_wire_sent(&net.wire, 0, 1), COUNT * 1000);
    rsti_lab_wire_fini(&net.wire);
}

/* 1 MB/s: a datagram takes a millisecond, and only two milliseconds of them may wait. */
TEST(an_interface_takes_no_more_than_it_can_soon_send)
{
    net_t net;
    net_open(&net, 2 * MS);
    rsti_lab_wire_lay(&net.wire, 0, 1, 0, 0);
    net.wire.ports[0].rate_bytes_per_s = 1000000;
    rsti_socket_t *from = open_socket(&net, 0, "10.0.0.1:0", NULL);
    rsti_socket_t *to = open_socket(&net, 1, "10.0.0.2:4000", NULL);
    int32_t taken = 0;
    while (send_number(&net, 0, from, "10.0.0.2:4000", taken) == 1) {
        taken++;
    }
    CHECK_EQ(taken, 3);
    for (int32_t i = 0; i < taken; i++) {
        CHECK_EQ(receive_number(&net, 1, to), -1);
        net.wire.now_ns += MS;
        CHECK_EQ(receive_number(&net, 1, to), i);
    }
    CHECK_EQ(send_number(&net, 0, from, "10.0.0.2:4000", 9), 1);
    rsti_lab_wire_fini(&net.wire);
}

TEST(a_group_is_its_members)
{
    net_t net;
    net_open(&net, MS);
    for (int32_t i = 0; i < 3; i++) {
        for (int32_t j = 0; j < 3; j++) {
            rsti_lab_wire_lay(&net.wire, i, j, 0, 0);
        }
    }
    rsti_socket_t *from = open_socket(&net, 0, "0.0.0.0:0", NULL);
    rsti_socket_t *member = open_socket(&net, 1, "0.0.0.0:4000", "224.0.1.1:4000");
    rsti_socket_t *other = open_socket(&net, 2, "0.0.0.0:4000", "224.0.1.3:4000");
    CHECK_EQ(send_number(&net, 0, from, "224.0.1.1:4000", 1), 1);
    CHECK_EQ(receive_number(&net, 1, member), 1);
    CHECK_EQ(receive_number(&net, 2, other), -1);
    CHECK_EQ(send_number(&net, 0, from, "10.0.0.2:4000", 2),
        1); /* only the member's socket receives the group */
    CHECK_EQ(receive_number(&net, 1, member), -1);
    CHECK_EQ(net.wire.ports[1].dropped, 1);
    rsti_lab_wire_fini(&net.wire);
}

TEST(datagrams_without_a_destination_vanish)
{
    net_t net;
    net_open(&net, MS);
    rsti_lab_wire_lay(&net.wire, 0, 1, 0, 0);
    rsti_socket_t *from = open_socket(&net, 0, "10.0.0.1:0", NULL);
    rsti_socket_t *to = open_socket(&net, 1, "10.0.0.2:4000", NULL);
    rsti_socket_t *apart = open_socket(&net, 2, "10.0.0.3:4000", NULL);
    CHECK_EQ(send_number(&net, 0, from, "10.0.0.3:4000", 1), 1); /* no lane */
    CHECK_EQ(send_number(&net, 0, from, "10.0.0.9:4000", 1), 1); /* no receiver */
    CHECK_EQ(send_number(&net, 0, from, "10.0.0.2:4001", 1),
        1); /* no socket: dropped by its host */
    CHECK_EQ(send_number(&net, 0, from, "10.0.0.2:4000", 2), 1);
    CHECK_EQ(receive_number(&net, 2, apart), -1);
    CHECK_EQ(receive_number(&net, 1, to), 2);
    CHECK_EQ(net.wire.ports[1].dropped, 1);
    net.wire.ports[1].is_cut_off = true;
    CHECK_EQ(send_number(&net, 0, from, "10.0.0.2:4000", 3), 1);
    net.wire.ports[1].is_cut_off = false;
    CHECK_EQ(receive_number(&net, 1, to), -1);
    rsti_lab_wire_fini(&net.wire);
    CHECK_EQ(rsti_lab_wire_init(&net.wire, RSTI_LAB_HOSTS_MAX + 1, MS, 1), -RST_EINVAL);
}

/* Drops even numbers, and records the last datagram. */
typedef struct guard_t {
    int32_t seen_count, from, to;
    uint16_t source_port;
} guard_t;

static bool let_even_ones_through(void *arg, const rsti_lab_passing_t *passing)
{
    guard_t *guard = arg;
    int32_t number;
    memcpy(&number, passing->data, sizeof number);
    guard->seen_count++;
    guard->from = passing->from;
    guard->to = passing->to;
    guard->source_port = rsti_netaddr_port(passing->source);
    return number % 2 == 0;
}

TEST(a_guard_sees_what_enters_a_lane_and_what_is_posted_it_does_not)
{
    net_t net;
    guard_t guard = {0};
    net_open(&net, MS);
    rsti_lab_wire_lay(&net.wire, 1, 0, 2 * MS, 0);
    net.wire.guard = let_even_ones_through;
    net.wire.guard_arg = &guard;
    rsti_socket_t *from = open_socket(&net, 1, "10.0.0.2:7000", NULL);
    rsti_socket_t *to = open_socket(&net, 0, "10.0.0.1:4000", NULL);
    for (int32_t i = 0; i < 3; i++) {
        CHECK_EQ(send_number(&net, 1, from, "10.0.0.1:4000", i), 1);
    }
    CHECK_EQ(send_number(&net, 1, from, "10.0.0.3:4000", 4), 1); /* no lane: no lock needed */
    CHECK_EQ(guard.seen_count, 3);
    CHECK_EQ(guard.from, 1);
    CHECK_EQ(guard.to, 0);
    CHECK_EQ(guard.source_port, 7000);
    uint8_t bytes[1000] = {5};
    const struct sockaddr_storage source = address("10.0.0.2:7001"),
                                  target = address("10.0.0.1:4000");
    rsti_lab_passing_t passing = {1, 0, &source, &target, bytes, sizeof bytes};
    rsti_lab_wire_post(&net.wire, &passing);
    passing.to = 2;
    rsti_lab_wire_post(&net.wire, &passing); /* no lane */
    CHECK_EQ(guard.seen_count, 3);
    CHECK_EQ(rsti_lab_wire_sent(&net.wire, 1, 0), 3000);
    net.wire.now_ns = 2 * MS - 1;
    CHECK_EQ(receive_number(&net, 0, to), -1);
    net.wire.now_ns = 2 * MS;
    CHECK_EQ(receive_number(&net, 0, to), 0);
    CHECK_EQ(receive_number(&net, 0, to), 2);
    CHECK_EQ(receive_number(&net, 0, to), 5);
    CHECK_EQ(receive_number(&net, 0, to), -1);
    rsti_lab_wire_fini(&net.wire);
}

CHECK_MAIN(RUN(a_lane_keeps_order_and_takes_its_time),
    RUN(an_interface_takes_no_more_than_it_can_soon_send), RUN(a_group_is_its_members),
    RUN(datagrams_without_a_destination_vanish),
    RUN(a_guard_sees_what_enters_a_lane_and_what_is_posted_it_does_not))
