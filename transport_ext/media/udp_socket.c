/* udp_socket.c: the options of a socket before data flows (docs/reference/aeron/wire.md 5.2). A
 * member of a group shares its port with other members on this machine, and must not receive the
 * groups that they joined. */
#include "media/udp_socket.h"

#include "util/error.h"
#include "util/net_interface.h"
#include "util/netaddr.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

/* Newer than some C libraries' headers. */
#ifndef IP_MULTICAST_ALL
#define IP_MULTICAST_ALL 49
#endif
#ifndef IPV6_MULTICAST_ALL
#define IPV6_MULTICAST_ALL 29
#endif

static int set_option(int fd, int level, int name, int value, const char *what)
{
    if (setsockopt(fd, level, name, &value, sizeof value) != 0) {
        return RST_SET_ERRNO("setting %s to %d", what, value);
    }
    return 0;
}

/* A kernel without it (before 4.20 for IPv6) leaves it to the user not to share a port. */
static int set_option_if_known(int fd, int level, int name, int value, const char *what)
{
    if (setsockopt(fd, level, name, &value, sizeof value) != 0 && errno != ENOPROTOOPT) {
        return RST_SET_ERRNO("setting %s to %d", what, value);
    }
    return 0;
}

static int set_options(int fd, sa_family_t family, const rsti_socket_params_t *params)
{
    int result = 0;
    if (family == AF_INET6) {
        /* Without this a socket on [::] would also take IPv4 and report mapped addresses, which
         * compare unequal to the IPv4 addresses of the same peer. */
        result = set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1, "IPV6_V6ONLY");
    }
    if (result == 0 && params->so_rcvbuf > 0) {
        result = set_option(fd, SOL_SOCKET, SO_RCVBUF, params->so_rcvbuf, "SO_RCVBUF");
    }
    if (result == 0 && params->so_sndbuf > 0) {
        result = set_option(fd, SOL_SOCKET, SO_SNDBUF, params->so_sndbuf, "SO_SNDBUF");
    }
    if (result == 0 && params->has_arrival_times) {
        result = set_option(fd, SOL_SOCKET, SO_TIMESTAMPNS, 1, "SO_TIMESTAMPNS");
    }
    return result;
}

/* ---- multicast ---- */

static struct in_addr v4_of(const struct sockaddr_storage *address)
{
    struct in_addr any = {0};
    return address->ss_family == AF_INET ? ((const struct sockaddr_in *)address)->sin_addr : any;
}

static uint32_t index_of(const rsti_socket_params_t *params)
{
    return params->interface_index != 0 ? params->interface_index
                                        : rsti_net_interface_index(&params->interface_address);
}

/* A member also sends to its group: both directions use one device. */
static int set_outgoing(int fd, sa_family_t family, const rsti_socket_params_t *params)
{
    const int ttl = params->multicast_ttl;
    const uint32_t index = family == AF_INET6 ? index_of(params) : params->interface_index;
    char text[RSTI_NETADDR_TEXT_MAX];
    rsti_netaddr_format(&params->interface_address, text, sizeof text);
    if (family == AF_INET6) {
        if (index != 0
            && setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, &index, sizeof index) != 0) {
            return RST_SET_ERRNO("setting IPV6_MULTICAST_IF to %s", text);
        }
        return ttl > 0
            ? set_option(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, ttl, "IPV6_MULTICAST_HOPS")
            : 0;
    }
    const struct ip_mreqn by = {
        .imr_address = v4_of(&params->interface_address),
        .imr_ifindex = (int)index,
    };
    if ((by.imr_address.s_addr != INADDR_ANY || index != 0)
        && setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &by, sizeof by) != 0) {
        return RST_SET_ERRNO("setting IP_MULTICAST_IF to %s", text);
    }
    return ttl > 0 ? set_option(fd, IPPROTO_IP, IP_MULTICAST_TTL, ttl, "IP_MULTICAST_TTL") : 0;
}

/* Several sockets may share the port of their groups: before the bind. On Linux SO_REUSEADDR is
 * enough, also beside sockets that have set both; with SO_REUSEPORT the kernel (6.18 does) hands a
 * datagram that came from another host to one socket of the port, chosen by its source, be it a
 * member of the group or not. */
static int share_port(int fd, sa_family_t family)
{
    int result = set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
#ifndef __linux__
    if (result == 0) {
        result = set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1, "SO_REUSEPORT");
    }
#endif
    /* Otherwise this socket would receive the groups of other sockets on its port. */
    if (result == 0) {
        result = family == AF_INET6
            ? set_option_if_known(fd, IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0, "IPV6_MULTICAST_ALL")
            : set_option_if_known(fd, IPPROTO_IP, IP_MULTICAST_ALL, 0, "IP_MULTICAST_ALL");
    }
    return result;
}

static int join(int fd, sa_family_t family, const rsti_socket_params_t *params)
{
    int result;
    if (family == AF_INET6) {
        const struct ipv6_mreq group = {
            .ipv6mr_multiaddr = ((const struct sockaddr_in6 *)&params->group_address)->sin6_addr,
            .ipv6mr_interface = index_of(params),
        };
        result = setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &group, sizeof group);
    } else {
        const struct ip_mreqn group = {
            .imr_multiaddr = v4_of(&params->group_address),
            .imr_address = v4_of(&params->interface_address),
            .imr_ifindex = (int)params->interface_index,
        };
        result = setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof group);
    }
    if (result != 0) {
        const int errno_value = errno;
        char group[RSTI_NETADDR_TEXT_MAX];
        char device[RSTI_NETADDR_TEXT_MAX];
        return rsti_error_set_errno(errno_value, "joining %s on the interface %s",
            rsti_netaddr_format(&params->group_address, group, sizeof group),
            rsti_netaddr_format(&params->interface_address, device, sizeof device));
    }
    return 0;
}

/* ---- addresses ---- */

static int bind_to(int fd, const struct sockaddr_storage *local)
{
    char text[RSTI_NETADDR_TEXT_MAX];
    if (local->ss_family != AF_UNSPEC
        && bind(fd, (const struct sockaddr *)local, rsti_netaddr_length(local)) != 0) {
        return RST_SET_ERRNO("binding UDP socket to %s",
            rsti_netaddr_format(local, text, sizeof text));
    }
    return 0;
}

static int connect_to(int fd, const struct sockaddr_storage *remote)
{
    char text[RSTI_NETADDR_TEXT_MAX];
    if (remote->ss_family != AF_UNSPEC
        && connect(fd, (const struct sockaddr *)remote, rsti_netaddr_length(remote)) != 0) {
        return RST_SET_ERRNO("connecting UDP socket to %s",
            rsti_netaddr_format(remote, text, sizeof text));
    }
    return 0;
}

/* Groups of a scope smaller than global exist once per device. */
static struct sockaddr_storage with_scope(const struct sockaddr_storage *remote,
    const rsti_socket_params_t *params)
{
    struct sockaddr_storage scoped = *remote;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&scoped;
    if (scoped.ss_family == AF_INET6 && rsti_netaddr_is_multicast(&scoped)
        && v6->sin6_scope_id == 0) {
        v6->sin6_scope_id = index_of(params);
    }
    return scoped;
}

static int prepare(int fd, sa_family_t family, const rsti_socket_params_t *params)
{
    const bool is_member = params->group_address.ss_family != AF_UNSPEC;
    const bool is_multicast = is_member || rsti_netaddr_is_multicast(&params->connect_address);
    if (is_member && params->group_address.ss_family != family) {
        return RST_SET_ERR(RST_EINVAL, "UDP socket: the group's address family is another");
    }
    if (set_options(fd, family, params) < 0 || (is_member && share_port(fd, family) < 0)
        || bind_to(fd, &params->bind_address) < 0 || (is_member && join(fd, family, params) < 0)
        || (is_multicast && set_outgoing(fd, family, params) < 0)) {
        return -rst_last_error_code();
    }
    const struct sockaddr_storage remote = with_scope(&params->connect_address, params);
    return connect_to(fd, &remote);
}

int rsti_udp_open_fd(const rsti_socket_params_t *params)
{
    const sa_family_t family = params->bind_address.ss_family != AF_UNSPEC
        ? params->bind_address.ss_family
        : params->connect_address.ss_family;
    if (family != AF_INET && family != AF_INET6) {
        return RST_SET_ERR(RST_EINVAL, "UDP socket: address family %d is neither IPv4 nor IPv6",
            (int)family);
    }
    const int fd = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP);
    if (fd < 0) {
        return RST_SET_ERRNO("opening UDP socket");
    }
    const int result = prepare(fd, family, params);
    if (result < 0) {
        close(fd);
        return result;
    }
    return fd;
}
