/* network.h: a network in memory behind the drivers' media table: hosts with an IPv4 and an IPv6
 * address each, sockets, multicast groups, and between any two hosts one link per direction with
 * its own faults (links.h). */
#ifndef RSTI_SIM_NETWORK_H
#define RSTI_SIM_NETWORK_H

#include "media/media.h"
#include "tests/sim/process.h"

#define SIM_HOSTS_MAX 7
#define SIM_HOSTILE_HOST 5 /* hostile.c; no driver runs there */
#define SIM_SOCKETS_MAX 256

typedef struct sim_packet_t {
    struct sim_packet_t *next;
    struct sockaddr_storage from, to;
    int32_t from_host, to_host;
    size_t length;
    uint8_t data[];
} sim_packet_t;

/* A datagram on its way. */
typedef struct sim_passage_t {
    int32_t from_host, to_host;
    const struct sockaddr_storage *from, *to;
    const uint8_t *data;
    size_t length;
    const uint8_t *frame; /* what is in it, for those who have the key; data when it is plain */
    size_t frame_length;
} sim_passage_t;

void sim_network_init(void);
/* The media table of the drivers on that host. */
rsti_media_t sim_network_media(int32_t host);
/* "10.0.0.1" or "fd00::1" in the notation of endpoints. */
const char *sim_host_address(int32_t host, bool is_ipv6);
/* Takes ownership of the packet; it arrives now, at the socket that has its address on its host. */
void sim_network_deliver(sim_packet_t *packet);
sim_packet_t *sim_packet_make(const uint8_t *data, size_t length);
void sim_packet_address(sim_packet_t *packet, const sim_passage_t *passage);
int sim_network_open_sockets(void);
/* The number of the socket that was opened last, among all of the run. */
int32_t sim_network_last_socket(void);

#endif
