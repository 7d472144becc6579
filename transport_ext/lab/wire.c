/* wire.c: see the header. */
#include "lab/wire.h"

#include "util/alloc.h"
#include "util/error.h"
#include "util/int_math.h"
#include "util/netaddr.h"

#include <arpa/inet.h>
#include <string.h>

#define NETWORK 0x0A000000U /* 10.0.0.0 */
#define PORT_FIRST 50000
#define PARCELS_FIRST 64
#define RCVBUF (64 * 1024 * 1024)

struct rsti_socket_t {
    struct sockaddr_storage local, remote, group; /* ss_family 0: none */
    bool is_open;
};

typedef struct stamp_t {
    int64_t time_ns; /* when it leaves its host; in a parcel: when it arrives */
    struct sockaddr_storage from, to;
} stamp_t;

typedef struct parcel_t {
    stamp_t stamp;
    size_t length;
    uint8_t data[RSTI_LAB_DATAGRAM_MAX];
} parcel_t;

struct rsti_lab_lane_t {
    bool is_laid;
    double loss;
    int64_t delay_ns;
    int64_t lost_bytes, sent_bytes;
    parcel_t *parcels; /* ring, in the order of arrival */
    int64_t capacity;
    int64_t head, tail; /* parcels since the beginning */
};

static rsti_lab_lane_t *lane_of(const rsti_lab_wire_t *wire, int32_t from, int32_t to)
{
    return &wire->lanes[from * wire->host_count + to];
}

/* ---- life ---- */

int rsti_lab_wire_init(rsti_lab_wire_t *wire, int32_t host_count, int64_t ahead_ns, uint64_t seed)
{
    *wire = (rsti_lab_wire_t){.host_count = host_count, .ahead_ns = ahead_ns};
    if (host_count < 1 || host_count > RSTI_LAB_HOSTS_MAX) {
        return RST_SET_ERR(RST_EINVAL, "%d senders and consumers: real agents take 1 ... %d",
            host_count, RSTI_LAB_HOSTS_MAX);
    }
    rsti_rng_init(&wire->dice, seed);
    const size_t count = (size_t)host_count;
    wire->ports = rsti_alloc(count * sizeof *wire->ports);
    wire->lanes = rsti_alloc(count * count * sizeof *wire->lanes);
    bool is_whole = wire->ports != NULL && wire->lanes != NULL;
    for (int32_t i = 0; is_whole && i < host_count; i++) {
        wire->ports[i] = (rsti_lab_port_t){.wire = wire, .host = i, .next_port = PORT_FIRST};
        wire->ports[i].sockets = rsti_alloc(RSTI_LAB_SOCKETS_MAX * sizeof(rsti_socket_t));
        is_whole = wire->ports[i].sockets != NULL;
    }
    if (!is_whole) {
        rsti_lab_wire_fini(wire);
        return RST_SET_ERR(RST_ENOMEM, "a wire between %d hosts", host_count);
    }
    return 0;
}

void rsti_lab_wire_fini(rsti_lab_wire_t *wire)
{
    for (int32_t i = 0; wire->ports != NULL && i < wire->host_count; i++) {
        rsti_free(wire->ports[i].sockets);
    }
    for (int32_t i = 0; wire->lanes != NULL && i < wire->host_count * wire->host_count; i++) {
        rsti_free(wire->lanes[i].parcels);
    }
    rsti_free(wire->ports);
    rsti_free(wire->lanes);
    *wire = (rsti_lab_wire_t){0};
}

void rsti_lab_wire_lay(rsti_lab_wire_t *wire, int32_t from, int32_t to, int64_t delay_ns,
    double loss)
{
    rsti_lab_lane_t *lane = lane_of(wire, from, to);
    lane->is_laid = true;
    lane->delay_ns = delay_ns;
    lane->loss = loss;
}

int64_t rsti_lab_wire_lost(const rsti_lab_wire_t *wire, int32_t from, int32_t to)
{
    return lane_of(wire, from, to)->lost_bytes;
}

int64_t rsti_lab_wire_sent(const rsti_lab_wire_t *wire, int32_t from, int32_t to)
{
    return lane_of(wire, from, to)->sent_bytes;
}

/* ---- addresses ---- */

static struct sockaddr_storage address_of(int32_t host, uint16_t port)
{
    struct sockaddr_storage address = {0};
    struct sockaddr_in *in = (struct sockaddr_in *)&address;
    in->sin_family = AF_INET;
    in->sin_addr.s_addr = htonl(NETWORK + (uint32_t)host + 1);
    in->sin_port = htons(port);
    return address;
}

static uint32_t ip_of(const struct sockaddr_storage *address)
{
    return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr);
}

/* -1: no host has the address. */
static int32_t host_of(const rsti_lab_wire_t *wire, const struct sockaddr_storage *address)
{
    const uint32_t ip = ip_of(address);
    const bool is_ours = address->ss_family == AF_INET && ip > NETWORK
        && ip <= NETWORK + (uint32_t)wire->host_count;
    return is_ours ? (int32_t)(ip - NETWORK - 1) : -1;
}

static bool is_for(const rsti_socket_t *socket, const struct sockaddr_storage *to)
{
    if (!socket->is_open || rsti_netaddr_port(&socket->local) != rsti_netaddr_port(to)) {
        return false;
    }
    return rsti_netaddr_is_multicast(to) ? ip_of(&socket->group) == ip_of(to)
                                         : socket->group.ss_family == 0;
}

static bool has_socket_for(const rsti_lab_port_t *port, const struct sockaddr_storage *to)
{
    for (int32_t i = 0; i < RSTI_LAB_SOCKETS_MAX; i++) {
        if (is_for(&port->sockets[i], to)) {
            return true;
        }
    }
    return false;
}

/* ---- sockets ---- */

static int wire_open(void *arg, const rsti_socket_params_t *params, rsti_socket_t **opened)
{
    rsti_lab_port_t *port = arg;
    for (int32_t i = 0; i < RSTI_LAB_SOCKETS_MAX; i++) {
        rsti_socket_t *socket = &port->sockets[i];
        if (socket->is_open) {
            continue;
        }
        const uint16_t wanted = rsti_netaddr_port(&params->bind_address);
        *socket = (rsti_socket_t){
            .local = address_of(port->host, wanted != 0 ? wanted : port->next_port),
            .remote = params->connect_address,
            .group = params->group_address,
            .is_open = true,
        };
        port->next_port = (uint16_t)(port->next_port + (wanted == 0));
        *opened = socket;
        return 0;
    }
    return RST_SET_ERR(RST_EFULL, "a host of the laboratory has %d sockets", RSTI_LAB_SOCKETS_MAX);
}

static void wire_close(void *arg, rsti_socket_t *socket)
{
    (void)arg;
    socket->is_open = false;
}

static bool grow(rsti_lab_lane_t *lane)
{
    const int64_t capacity = lane->capacity > 0 ? 2 * lane->capacity : PARCELS_FIRST;
    parcel_t *parcels = rsti_alloc((size_t)capacity * sizeof *parcels);
    if (parcels == NULL) {
        return false;
    }
    for (int64_t at = lane->head; at < lane->tail; at++) {
        parcels[at % capacity] = lane->parcels[at % lane->capacity];
    }
    rsti_free(lane->parcels);
    lane->parcels = parcels;
    lane->capacity = capacity;
    return true;
}

static bool is_open(const rsti_lab_wire_t *wire, int32_t from, int32_t to)
{
    return lane_of(wire, from, to)->is_laid && !wire->ports[to].is_cut_off;
}

/* left_ns: when it leaves its host. */
static void enter(rsti_lab_wire_t *wire, const rsti_lab_passing_t *passing, int64_t left_ns)
{
    rsti_lab_lane_t *lane = lane_of(wire, passing->from, passing->to);
    lane->sent_bytes += (int64_t)passing->length;
    if (lane->loss > 0 && rsti_rng_unit(&wire->dice) < lane->loss) {
        lane->lost_bytes += (int64_t)passing->length;
        return;
    }
    if (passing->length > RSTI_LAB_DATAGRAM_MAX
        || (lane->tail - lane->head == lane->capacity && !grow(lane))) {
        wire->ports[passing->from].dropped++;
        return;
    }
    parcel_t *parcel = &lane->parcels[lane->tail++ % lane->capacity];
    parcel->stamp = (stamp_t){left_ns + lane->delay_ns, *passing->source, *passing->target};
    parcel->length = passing->length;
    memcpy(parcel->data, passing->data, passing->length);
}

static void put(rsti_lab_port_t *port, int32_t to_host, const stamp_t *stamp,
    const rsti_datagram_t *datagram)
{
    rsti_lab_wire_t *wire = port->wire;
    const rsti_lab_passing_t passing = {
        .from = port->host,
        .to = to_host,
        .source = &stamp->from,
        .target = &stamp->to,
        .data = datagram->data,
        .length = datagram->length,
    };
    if (is_open(wire, port->host, to_host)
        && (wire->guard == NULL || wire->guard(wire->guard_arg, &passing))) {
        enter(wire, &passing, stamp->time_ns);
    }
}

void rsti_lab_wire_post(rsti_lab_wire_t *wire, const rsti_lab_passing_t *passing)
{
    if (is_open(wire, passing->from, passing->to)) {
        enter(wire, passing, wire->now_ns);
    }
}

static void send_one(rsti_lab_port_t *port, const rsti_socket_t *socket,
    const rsti_datagram_t *datagram)
{
    const rsti_lab_wire_t *wire = port->wire;
    stamp_t stamp = {
        .time_ns = wire->now_ns,
        .from = socket->local,
        .to = socket->remote.ss_family != 0 ? socket->remote : datagram->address,
    };
    if (port->rate_bytes_per_s > 0) {
        port->busy_until_ns = rsti_max_i64(port->busy_until_ns, wire->now_ns)
            + (int64_t)datagram->length * RSTI_NS_PER_S / port->rate_bytes_per_s;
        stamp.time_ns = port->busy_until_ns;
    }
    if (!rsti_netaddr_is_multicast(&stamp.to)) {
        const int32_t to_host = host_of(wire, &stamp.to);
        if (to_host >= 0) {
            put(port, to_host, &stamp, datagram);
        }
        return;
    }
    for (int32_t i = 0; i < wire->host_count; i++) {
        if (i != port->host && has_socket_for(&wire->ports[i], &stamp.to)) {
            put(port, i, &stamp, datagram);
        }
    }
}

static int wire_send(void *arg, rsti_socket_t *socket, const rsti_datagram_t *datagrams, int count)
{
    rsti_lab_port_t *port = arg;
    for (int i = 0; i < count && !port->is_cut_off; i++) {
        if (port->busy_until_ns - port->wire->now_ns > port->wire->ahead_ns) {
            return i;
        }
        send_one(port, socket, &datagrams[i]);
    }
    return count;
}

/* The next parcel of a lane that has arrived and is for a socket of its host; others are dropped.
 */
static const parcel_t *arrived(rsti_lab_port_t *port, rsti_lab_lane_t *lane)
{
    while (lane->head < lane->tail) {
        const parcel_t *parcel = &lane->parcels[lane->head % lane->capacity];
        if (parcel->stamp.time_ns > port->wire->now_ns) {
            return NULL;
        }
        if (has_socket_for(port, &parcel->stamp.to)) {
            return parcel;
        }
        lane->head++;
        port->dropped++;
    }
    return NULL;
}

/* One lane after the other: the order between lanes is not defined. */
static int wire_receive(void *arg, rsti_socket_t *socket, rsti_datagram_t *datagrams, int capacity)
{
    rsti_lab_port_t *port = arg;
    int count = 0;
    for (int32_t from = 0; from < port->wire->host_count && !port->is_cut_off; from++) {
        rsti_lab_lane_t *lane = lane_of(port->wire, from, port->host);
        const parcel_t *parcel;
        while (count < capacity && (parcel = arrived(port, lane)) != NULL
            && is_for(socket, &parcel->stamp.to)) {
            memcpy(datagrams[count].data, parcel->data, parcel->length);
            datagrams[count].length = parcel->length;
            datagrams[count].address = parcel->stamp.from;
            count++;
            lane->head++;
        }
    }
    return count;
}

static void wire_local_address(void *arg, rsti_socket_t *socket, struct sockaddr_storage *address)
{
    (void)arg;
    *address = socket->local;
}

static int wire_fd(void *arg, rsti_socket_t *socket)
{
    (void)arg;
    (void)socket;
    return -1;
}

static int32_t wire_rcvbuf(void *arg, rsti_socket_t *socket)
{
    (void)arg;
    (void)socket;
    return RCVBUF;
}

static int64_t wire_deadline(void *arg, rsti_socket_t *socket)
{
    (void)arg;
    (void)socket;
    return RSTI_NO_DEADLINE;
}

static int wire_reconnect(void *arg, rsti_socket_t *socket, const struct sockaddr_storage *address)
{
    (void)arg;
    socket->remote = *address;
    return 0;
}

const rsti_media_table_t rsti_lab_wire_media = {
    .name = "laboratory",
    .open = wire_open,
    .close = wire_close,
    .send = wire_send,
    .receive = wire_receive,
    .local_address = wire_local_address,
    .fd = wire_fd,
    .granted_rcvbuf = wire_rcvbuf,
    .next_deadline_ns = wire_deadline,
    .reconnect = wire_reconnect,
};
