#include "tests/sim/network.h"

#include "concurrent/atomics.h"
#include "seal/sealed.h"
#include "tests/sim/hostile.h"
#include "tests/sim/keys.h"
#include "tests/sim/keys_oracle.h"
#include "tests/sim/links.h"
#include "tests/sim/on_path.h"
#include "tests/sim/resource_faults.h"
#include "tests/sim/wire_invariants.h"
#include "tests/sim/world.h"
#include "util/error.h"
#include "util/netaddr.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define FIRST_FREE_PORT 50000
#define RCVBUF 131072

struct rsti_socket_t {
    bool is_open;
    bool has_keys;
    int32_t number; /* of all sockets of the run */
    int32_t process_id;
    int32_t host;
    int fd; /* readable while the queue is not empty */
    uint16_t wanted_port;
    struct sockaddr_storage local, remote, group;
    sim_packet_t *first, *last;
    size_t queued_bytes, rcvbuf;
};

static rsti_socket_t sockets[SIM_SOCKETS_MAX];
static int32_t opened_count;
static uint16_t next_port[SIM_HOSTS_MAX];
static struct sockaddr_storage host_ipv4[SIM_HOSTS_MAX], host_ipv6[SIM_HOSTS_MAX];
static int32_t host_ids[SIM_HOSTS_MAX];

/* ---- addresses ---- */

const char *sim_host_address(int32_t host, bool is_ipv6)
{
    static char texts[8][24];
    static int next;
    char *text = texts[next++ % 8];
    snprintf(text, sizeof texts[0], is_ipv6 ? "[fd00::%d]" : "10.0.0.%d", host + 1);
    return text;
}

void sim_network_init(void)
{
    memset(sockets, 0, sizeof sockets);
    opened_count = 0;
    sim_links_init();
    for (int32_t host = 0; host < SIM_HOSTS_MAX; host++) {
        char text[64];
        host_ids[host] = host;
        next_port[host] = FIRST_FREE_PORT;
        snprintf(text, sizeof text, "%s:0", sim_host_address(host, false));
        (void)rsti_netaddr_resolve(text, &host_ipv4[host]);
        snprintf(text, sizeof text, "%s:0", sim_host_address(host, true));
        (void)rsti_netaddr_resolve(text, &host_ipv6[host]);
    }
}

static bool is_wildcard(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET) {
        return ((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr == 0;
    }
    return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)(const void *)address)
            ->sin6_addr);
}

static bool is_same_ip(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    struct sockaddr_storage x = *a, y = *b;
    rsti_netaddr_set_port(&x, 1);
    rsti_netaddr_set_port(&y, 1);
    return rsti_netaddr_equal(&x, &y);
}

/* Returns the host; -1: the address belongs to none. */
static int32_t host_of(const struct sockaddr_storage *address, int32_t from_host)
{
    if (rsti_netaddr_is_loopback(address)) {
        return from_host;
    }
    for (int32_t host = 0; host < SIM_HOSTS_MAX; host++) {
        if (is_same_ip(address, &host_ipv4[host]) || is_same_ip(address, &host_ipv6[host])) {
            return host;
        }
    }
    return -1;
}

/* ---- the media table ---- */

static bool can_bind(int32_t host, const rsti_socket_params_t *params)
{
    const struct sockaddr_storage *wanted = &params->bind_address;
    if (!is_wildcard(wanted) && !rsti_netaddr_is_multicast(wanted)
        && host_of(wanted, host) != host) {
        return false;
    }
    for (int i = 0; i < SIM_SOCKETS_MAX; i++) {
        const rsti_socket_t *other = &sockets[i];
        const bool are_groups = params->group_address.ss_family != 0 && other->group.ss_family != 0;
        if (other->is_open && other->host == host && !are_groups
            && other->local.ss_family == wanted->ss_family
            && rsti_netaddr_port(&other->local) == rsti_netaddr_port(wanted)
            && rsti_netaddr_port(wanted) != 0
            && (is_wildcard(wanted) || is_wildcard(&other->local)
                || is_same_ip(wanted, &other->local))) {
            return false;
        }
    }
    return true;
}

static rsti_socket_t *free_socket(void)
{
    for (int i = 0; i < SIM_SOCKETS_MAX; i++) {
        if (!sockets[i].is_open) {
            return &sockets[i];
        }
    }
    sim_fail("more than %d sockets", SIM_SOCKETS_MAX);
}

static int sim_open(void *media, const rsti_socket_params_t *params, rsti_socket_t **socket)
{
    const int32_t host = *(const int32_t *)media;
    char text[RSTI_NETADDR_TEXT_MAX];
    if (!can_bind(host, params)) {
        sim_count("media: address refused");
        return RST_SET_ERR(RST_EINUSE, "binding UDP socket to %s",
            rsti_netaddr_format(&params->bind_address, text, sizeof text));
    }
    if (sim_resource_fails(RESOURCE_DESCRIPTORS)) {
        errno = EMFILE;
        return RST_SET_ERRNO("opening UDP socket");
    }
    rsti_socket_t *made = free_socket();
    *made = (rsti_socket_t){.is_open = true,
        .has_keys = params->keys != NULL,
        .number = opened_count++,
        .host = host,
        .process_id = sim_process_current()->id,
        .local = params->bind_address,
        .remote = params->connect_address,
        .group = params->group_address};
    made->rcvbuf = params->so_rcvbuf > 0 ? (size_t)params->so_rcvbuf : RCVBUF;
    made->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (rsti_netaddr_port(&made->local) == 0) {
        rsti_netaddr_set_port(&made->local, next_port[host]++);
    }
    sim_event("host %d opens a socket on %s", host,
        rsti_netaddr_format(&made->local, text, sizeof text));
    *socket = made;
    return 0;
}

static void drop_queue(rsti_socket_t *socket)
{
    while (socket->first != NULL) {
        sim_packet_t *packet = socket->first;
        socket->first = packet->next;
        free(packet);
    }
    socket->last = NULL;
    socket->queued_bytes = 0;
}

static void sim_close(void *media, rsti_socket_t *socket)
{
    (void)media;
    if (!socket->is_open) {
        sim_fail("a socket is closed twice");
    }
    drop_queue(socket);
    socket->is_open = false;
    close(socket->fd);
}

/* The sender's address as others see it. */
static struct sockaddr_storage source_of(const rsti_socket_t *socket,
    const struct sockaddr_storage *to)
{
    struct sockaddr_storage source = socket->local;
    if (rsti_netaddr_is_loopback(to)) {
        source = *to;
    } else if (is_wildcard(&source) || rsti_netaddr_is_multicast(&source)) {
        source = to->ss_family == AF_INET ? host_ipv4[socket->host] : host_ipv6[socket->host];
    }
    rsti_netaddr_set_port(&source, rsti_netaddr_port(&socket->local));
    return source;
}

static bool is_member(int32_t host, const struct sockaddr_storage *group)
{
    for (int i = 0; i < SIM_SOCKETS_MAX; i++) {
        if (sockets[i].is_open && sockets[i].host == host && sockets[i].group.ss_family != 0
            && rsti_netaddr_port(&sockets[i].local) == rsti_netaddr_port(group)
            && is_same_ip(&sockets[i].group, group)) {
            return true;
        }
    }
    return false;
}

static void carry(sim_passage_t *passage, int32_t to_host)
{
    passage->to_host = to_host;
    if (!sim_on_path_takes(passage)) {
        sim_link_carry(passage);
    }
}

/* What the laws of the wire are about: a refusal is none, and who sees it need not believe it. */
static void look(const rsti_socket_t *socket, const rsti_datagram_t *sent,
    const sim_passage_t *passage)
{
    const rsti_datagram_t frame = {
        .data = (uint8_t *)(uintptr_t)passage->frame, .length = passage->frame_length};
    const bool is_sealed = passage->frame != passage->data;
    if (socket->has_keys) {
        sim_oracle_on_send(socket->number, sent, is_sealed ? &frame : sent);
    }
    if (is_sealed || !rsti_sealed_is_claimed(passage->data, passage->length)) {
        sim_wire_on_send(socket->host, socket->process_id, passage->to, frame.data, frame.length);
        sim_hostile_hear(socket->host, passage->from, passage->to_host, passage->to, frame.data,
            frame.length);
    }
}

static void send_one(const rsti_socket_t *socket, const rsti_datagram_t *datagram)
{
    const struct sockaddr_storage *to = socket->remote.ss_family != 0 ? &socket->remote
                                                                      : &datagram->address;
    const struct sockaddr_storage from = source_of(socket, to);
    const int32_t to_host = rsti_netaddr_is_multicast(to) ? -1 : host_of(to, socket->host);
    const rsti_datagram_t *frame = sim_keys_frame_of(datagram);
    if (to_host == SIM_HOSTILE_HOST) { /* its sessions are its own, and follow no rule */
        sim_hostile_got(datagram->data, datagram->length);
        return;
    }
    sim_passage_t passage = {.from_host = socket->host,
        .to_host = to_host,
        .from = &from,
        .to = to,
        .data = datagram->data,
        .length = datagram->length,
        .frame = frame->data,
        .frame_length = frame->length};
    look(socket, datagram, &passage);
    if (rsti_netaddr_is_multicast(to)) {
        for (int32_t host = 0; host < SIM_HOSTS_MAX; host++) {
            if (is_member(host, to)) {
                carry(&passage, host);
            }
        }
        return;
    }
    if (to_host >= 0) {
        carry(&passage, to_host);
    }
}

static int sim_send(void *media, rsti_socket_t *socket, const rsti_datagram_t *datagrams, int count)
{
    (void)media;
    /* Sometimes the system takes only some of the datagrams. */
    if (!world.is_calm && sim_chance(RNG_NETWORK, 0.002)) {
        count = (int)sim_below(RNG_NETWORK, (uint64_t)count + 1);
        sim_count("media: short send");
    }
    for (int i = 0; i < count; i++) {
        send_one(socket, &datagrams[i]);
    }
    return count;
}

static int sim_receive(void *media, rsti_socket_t *socket, rsti_datagram_t *datagrams, int capacity)
{
    (void)media;
    int count = 0;
    while (count < capacity && socket->first != NULL) {
        sim_packet_t *packet = socket->first;
        rsti_datagram_t *datagram = &datagrams[count++];
        if (!sim_has_keys()) { /* else keys.c sees what is in it */
            sim_wire_on_arrival(socket->process_id, packet->data, packet->length);
        }
        const bool is_cut = packet->length > datagram->length;
        memcpy(datagram->data, packet->data, is_cut ? datagram->length : packet->length);
        datagram->length = is_cut ? 0 : packet->length;
        datagram->address = packet->from;
        socket->queued_bytes -= packet->length;
        socket->first = packet->next;
        free(packet);
    }
    if (socket->first == NULL && count > 0) {
        uint64_t signals;
        socket->last = NULL;
        (void)!read(socket->fd, &signals, sizeof signals);
    }
    return count;
}

static void sim_local_address(void *media, rsti_socket_t *socket, struct sockaddr_storage *address)
{
    (void)media;
    *address = socket->local;
}

static int sim_fd(void *media, rsti_socket_t *socket)
{
    (void)media;
    return socket->fd;
}

static int32_t sim_granted_rcvbuf(void *media, rsti_socket_t *socket)
{
    (void)media;
    return (int32_t)socket->rcvbuf;
}

static int64_t sim_next_deadline_ns(void *media, rsti_socket_t *socket)
{
    (void)media;
    (void)socket;
    return RSTI_NO_DEADLINE;
}

static int sim_reconnect(void *media, rsti_socket_t *socket, const struct sockaddr_storage *address)
{
    (void)media;
    socket->remote = *address;
    return 0;
}

static const rsti_media_table_t table = {
    .name = "sim",
    .open = sim_open,
    .close = sim_close,
    .send = sim_send,
    .receive = sim_receive,
    .local_address = sim_local_address,
    .fd = sim_fd,
    .granted_rcvbuf = sim_granted_rcvbuf,
    .next_deadline_ns = sim_next_deadline_ns,
    .reconnect = sim_reconnect,
};

rsti_media_t sim_network_media(int32_t host)
{
    return (rsti_media_t){&table, &host_ids[host]};
}

/* ---- arrival ---- */

sim_packet_t *sim_packet_make(const uint8_t *data, size_t length)
{
    sim_packet_t *packet = malloc(sizeof *packet + length);
    if (packet == NULL) {
        sim_fail("no memory for a packet");
    }
    memset(packet, 0, sizeof *packet);
    memcpy(packet->data, data, length);
    packet->length = length;
    return packet;
}

static bool takes(const rsti_socket_t *socket, const sim_packet_t *packet)
{
    if (!socket->is_open || socket->host != packet->to_host
        || socket->local.ss_family != packet->to.ss_family
        || rsti_netaddr_port(&socket->local) != rsti_netaddr_port(&packet->to)
        || (socket->remote.ss_family != 0 && !rsti_netaddr_equal(&socket->remote, &packet->from))) {
        return false;
    }
    if (rsti_netaddr_is_multicast(&packet->to)) {
        return socket->group.ss_family != 0 && is_same_ip(&socket->group, &packet->to);
    }
    return is_wildcard(&socket->local) || is_same_ip(&socket->local, &packet->to);
}

static void enqueue(rsti_socket_t *socket, const sim_packet_t *packet)
{
    if (socket->queued_bytes + packet->length > socket->rcvbuf) {
        sim_count("media: receive buffer full");
        return;
    }
    sim_packet_t *copy = sim_packet_make(packet->data, packet->length);
    copy->from = packet->from;
    if (socket->last == NULL) {
        const uint64_t one = 1;
        socket->first = copy;
        (void)!write(socket->fd, &one, sizeof one);
    } else {
        socket->last->next = copy;
    }
    socket->last = copy;
    socket->queued_bytes += packet->length;
}

void sim_packet_address(sim_packet_t *packet, const sim_passage_t *passage)
{
    packet->from = *passage->from;
    packet->to = *passage->to;
    packet->from_host = passage->from_host;
    packet->to_host = passage->to_host;
}

void sim_network_deliver(sim_packet_t *packet)
{
    const bool is_group = rsti_netaddr_is_multicast(&packet->to);
    for (int i = 0; i < SIM_SOCKETS_MAX; i++) {
        if (takes(&sockets[i], packet)) {
            enqueue(&sockets[i], packet);
            if (!is_group) {
                break;
            }
        }
    }
    free(packet);
}

void sim_network_forget_process(int32_t process_id)
{
    for (int i = 0; i < SIM_SOCKETS_MAX; i++) {
        if (sockets[i].is_open && sockets[i].process_id == process_id) {
            drop_queue(&sockets[i]);
            sockets[i].is_open = false;
        }
    }
}

int32_t sim_network_last_socket(void)
{
    return opened_count - 1;
}

int sim_network_open_sockets(void)
{
    int count = 0;
    for (int i = 0; i < SIM_SOCKETS_MAX; i++) {
        count += sockets[i].is_open;
    }
    return count;
}
