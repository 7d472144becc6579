/* Which flow and host a packet of IPv4 belongs to, whatever bytes come. */
#include "tests/net/flows.h"

#include "tests/check.h"

#include <netinet/in.h>
#include <string.h>

#define BYTES 64
#define LEFT_PORT 50000
#define RIGHT_PORT 20100

static uint8_t packet[BYTES];

/* From a left host, 10.88.0.1, to a right one, 10.88.0.2, or back. words: of the IP header. */
static void make(int protocol, bool is_forward, size_t words)
{
    const int from = is_forward ? LEFT_PORT : RIGHT_PORT;
    const int to = is_forward ? RIGHT_PORT : LEFT_PORT;
    memset(packet, 0, sizeof packet);
    packet[0] = (uint8_t)(0x40 | words);
    packet[9] = (uint8_t)protocol;
    packet[15] = is_forward ? 1 : 2;
    packet[19] = is_forward ? 2 : 1;
    uint8_t *ports = packet + 4 * words;
    ports[0] = (uint8_t)(from >> 8);
    ports[1] = (uint8_t)from;
    ports[2] = (uint8_t)(to >> 8);
    ports[3] = (uint8_t)to;
}

static const net_flow_t *find(net_flows_t *flows, size_t length)
{
    return &flows->all[net_flows_find(flows, packet, length)];
}

TEST(both_directions_have_the_port_on_the_right)
{
    for (int is_forward = 0; is_forward < 2; is_forward++) {
        net_flows_t flows;
        net_flows_init(&flows, is_forward != 0);
        for (size_t words = 5; words <= 15; words++) {
            make(IPPROTO_UDP, is_forward != 0, words > 10 ? 10 : words);
            CHECK_EQ(find(&flows, BYTES)->port, RIGHT_PORT);
        }
        CHECK_EQ(flows.count, 2);
        make(IPPROTO_TCP, is_forward != 0, 5);
        CHECK_EQ(find(&flows, BYTES)->protocol, IPPROTO_TCP);
        CHECK_EQ(flows.count, 3);
        CHECK_EQ(net_host_of(packet, BYTES), is_forward);
    }
}

TEST(what_has_no_port_is_counted_by_its_protocol)
{
    net_flows_t flows;
    net_flows_init(&flows, true);
    make(IPPROTO_ICMP, true, 5);
    CHECK_EQ(find(&flows, BYTES)->port, 0);
    make(IPPROTO_UDP, true, 5);
    packet[7] = 1; /* a later fragment */
    CHECK_EQ(find(&flows, BYTES)->port, 0);
    packet[7] = 0;
    packet[6] = 0x40; /* must not be fragmented */
    CHECK_EQ(find(&flows, BYTES)->port, RIGHT_PORT);
    packet[6] = 0x20; /* the first fragment */
    CHECK_EQ(find(&flows, BYTES)->port, RIGHT_PORT);
}

TEST(short_and_foreign_packets_have_no_host)
{
    make(IPPROTO_UDP, true, 5);
    CHECK_EQ(net_host_of(packet, 19), -1);
    CHECK_EQ(net_host_of(packet, 0), -1);
    CHECK_EQ(net_host_of(packet, 20), 1);
    net_flows_t flows;
    net_flows_init(&flows, true);
    for (size_t length = 20; length < 24; length++) {
        CHECK_EQ(find(&flows, length)->port, 0); /* cut before its ports */
    }
    packet[0] = 0x60;
    CHECK_EQ(net_host_of(packet, BYTES), -1);
}

TEST(the_rest_is_counted_together)
{
    net_flows_t flows;
    net_flows_init(&flows, true);
    for (int i = 0; i < 2 * NET_FLOWS_MAX; i++) {
        make(IPPROTO_UDP, true, 5);
        packet[22] = (uint8_t)(i >> 8);
        packet[23] = (uint8_t)(i + 1);
        const int at = net_flows_find(&flows, packet, BYTES);
        CHECK_EQ(at, i < NET_FLOWS_MAX - 1 ? i + 1 : 0);
    }
}

CHECK_MAIN(RUN(both_directions_have_the_port_on_the_right),
    RUN(what_has_no_port_is_counted_by_its_protocol), RUN(short_and_foreign_packets_have_no_host),
    RUN(the_rest_is_counted_together))
