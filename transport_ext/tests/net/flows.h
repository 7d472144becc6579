/* flows.h: what became of the packets of each flow in one direction. A flow is a protocol and the
 * port of the right-hand side, so both directions of a connection have the same name. */
#ifndef RSTI_TESTS_NET_FLOWS_H
#define RSTI_TESTS_NET_FLOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define NET_FLOWS_MAX 64

typedef struct net_flow_t {
    int protocol, port; /* 0, 0: all that no other entry counts */
    int64_t came, came_bytes; /* IP bytes, here and below */
    int64_t passed, passed_bytes;
    int64_t dropped; /* by the queue */
    int64_t lost; /* by chance */
} net_flow_t;

typedef struct net_flows_t {
    bool is_forward;
    int count; /* the first is for the rest */
    net_flow_t all[NET_FLOWS_MAX];
} net_flows_t;

void net_flows_init(net_flows_t *flows, bool is_forward);

/* The host that a packet goes to, by the last byte of its address: 10.88.0.1 is 0. Negative: it is
 * no packet of IPv4, or cut short. */
int net_host_of(const uint8_t *data, size_t length);

/* The entry of an IPv4 packet. */
int net_flows_find(net_flows_t *flows, const uint8_t *data, size_t length);

/* {"udp 40123": [came, came_bytes, passed, passed_bytes, dropped, lost], ...} */
void net_flows_print(const net_flows_t *flows, FILE *out);

#endif
