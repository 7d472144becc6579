/* wire.h: sockets in memory between hosts, in virtual time: the network of the real agents.
 *
 * Hosts are 10.0.0.1, 10.0.0.2, ... A datagram takes, in this order:
 *
 *   the interface of its host   rate_bytes_per_s (0: endless). A datagram that would wait there
 *                               longer than ahead_ns is refused, as by a full socket buffer, and
 *                               the sender tries again
 *   a lane from host to host    delay_ns; each datagram is lost with the probability loss. A lane
 *                               that was not laid leads nowhere
 *
 * Datagrams of a lane keep their order. A datagram to a group is copied to each lane whose host is
 * a member. A host that is cut off neither receives nor sends. A guard sees each copy before its
 * lane and decides whether it passes. The owner of a wire can add datagrams that no host sent. */
#ifndef RSTI_LAB_WIRE_H
#define RSTI_LAB_WIRE_H

#include "media/media.h"
#include "util/rng.h"

#define RSTI_LAB_HOSTS_MAX 250
#define RSTI_LAB_SOCKETS_MAX 16 /* of a host */
#define RSTI_LAB_DATAGRAM_MAX 1536

typedef struct rsti_lab_wire_t rsti_lab_wire_t;
typedef struct rsti_lab_lane_t rsti_lab_lane_t;

/* A host's side of the wire: the media of its driver. */
typedef struct rsti_lab_port_t {
    rsti_lab_wire_t *wire;
    int32_t host;
    rsti_socket_t *sockets; /* RSTI_LAB_SOCKETS_MAX of them */
    uint16_t next_port;
    bool is_cut_off;
    int64_t rate_bytes_per_s;
    int64_t busy_until_ns;
    int64_t dropped; /* datagrams for a missing socket, or dropped for lack of memory */
} rsti_lab_port_t;

/* A datagram at the beginning of a lane. */
typedef struct rsti_lab_passing_t {
    int32_t from, to; /* hosts */
    const struct sockaddr_storage *source, *target;
    const uint8_t *data;
    size_t length;
} rsti_lab_passing_t;

struct rsti_lab_wire_t {
    int32_t host_count;
    int64_t now_ns;   /* turned by the owner */
    int64_t ahead_ns;
    rsti_rng_t dice;
    rsti_lab_port_t *ports;
    rsti_lab_lane_t *lanes; /* from * host_count + to */
    bool (*guard)(void *arg,
        const rsti_lab_passing_t *passing); /* NULL: none. It returns false to drop the datagram */
    void *guard_arg;
};

extern const rsti_media_table_t rsti_lab_wire_media;

/* 0 or a negative code with a text. */
int rsti_lab_wire_init(rsti_lab_wire_t *wire, int32_t host_count, int64_t ahead_ns, uint64_t seed);
void rsti_lab_wire_fini(rsti_lab_wire_t *wire);

void rsti_lab_wire_lay(rsti_lab_wire_t *wire, int32_t from, int32_t to, int64_t delay_ns,
    double loss);
/* Puts a datagram into the lane between these hosts now, without guard and interface. */
void rsti_lab_wire_post(rsti_lab_wire_t *wire, const rsti_lab_passing_t *passing);
/* Bytes lost, and bytes sent, on a lane since the beginning. */
int64_t rsti_lab_wire_lost(const rsti_lab_wire_t *wire, int32_t from, int32_t to);
int64_t rsti_lab_wire_sent(const rsti_lab_wire_t *wire, int32_t from, int32_t to);

#endif
