/* udp.c: real UDP sockets. Bursts go through sendmmsg / recvmmsg; the headers for them lie in the
 * socket, so that nothing is allocated or left to the stack's depth while data flows. */
#include "media/media.h"

#include "concurrent/atomics.h"
#include "util/alloc.h"
#include "util/error.h"
#include "util/netaddr.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* A pending ICMP error is handed out once per datagram that caused it; more attempts than this in
 * one call would let a peer that refuses everything hold the agent. */
#define RECEIVE_ATTEMPTS_MAX 4

typedef struct scratch_t {
    struct mmsghdr messages[RSTI_MEDIA_BURST_MAX];
    struct iovec vectors[RSTI_MEDIA_BURST_MAX];
} scratch_t;

/* Sockets of several agents count into the same two words. */
typedef struct udp_media_t {
    int64_t *sent;     /* NULL: nobody counts */
    int64_t *received;
} udp_media_t;

struct rsti_socket_t {
    int fd;
    udp_media_t *media;
    bool is_connected;
    int32_t granted_rcvbuf;
    scratch_t sending;
    scratch_t receiving;
};

static void scratch_init(scratch_t *scratch)
{
    for (int i = 0; i < RSTI_MEDIA_BURST_MAX; i++) {
        scratch->messages[i].msg_hdr.msg_iov = &scratch->vectors[i];
        scratch->messages[i].msg_hdr.msg_iovlen = 1;
    }
}

static int set_option(int fd, int level, int name, int value, const char *what)
{
    if (setsockopt(fd, level, name, &value, sizeof value) != 0) {
        return RST_SET_ERRNO("setting %s to %d", what, value);
    }
    return 0;
}

/* Linux doubles what is asked for, to cover its own book-keeping, and reports the double: half of
 * the report is what datagrams may fill. */
static int32_t usable_rcvbuf(int fd)
{
    int reported = 0;
    socklen_t length = sizeof reported;
    if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &reported, &length) != 0) {
        return 0;
    }
#ifdef __linux__
    return reported / 2;
#else
    return reported;
#endif
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
    return result;
}

static int bind_and_connect(int fd, const rsti_socket_params_t *params)
{
    char text[RSTI_NETADDR_TEXT_MAX];
    const struct sockaddr_storage *local = &params->bind_address;
    const struct sockaddr_storage *remote = &params->connect_address;
    if (local->ss_family != AF_UNSPEC &&
        bind(fd, (const struct sockaddr *)local, rsti_netaddr_length(local)) != 0) {
        return RST_SET_ERRNO("binding UDP socket to %s",
            rsti_netaddr_format(local, text, sizeof text));
    }
    if (remote->ss_family != AF_UNSPEC &&
        connect(fd, (const struct sockaddr *)remote, rsti_netaddr_length(remote)) != 0) {
        return RST_SET_ERRNO("connecting UDP socket to %s",
            rsti_netaddr_format(remote, text, sizeof text));
    }
    return 0;
}

static int open_fd(const rsti_socket_params_t *params)
{
    const sa_family_t family = params->bind_address.ss_family != AF_UNSPEC
        ? params->bind_address.ss_family : params->connect_address.ss_family;
    if (family != AF_INET && family != AF_INET6) {
        return RST_SET_ERR(RST_EINVAL, "UDP socket: address family %d is neither IPv4 nor IPv6",
            (int)family);
    }
    const int fd = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP);
    if (fd < 0) {
        return RST_SET_ERRNO("opening UDP socket");
    }
    int result = set_options(fd, family, params);
    if (result == 0) {
        result = bind_and_connect(fd, params);
    }
    if (result != 0) {
        close(fd);
        return result;
    }
    return fd;
}

static int udp_open(void *media, const rsti_socket_params_t *params, rsti_socket_t **socket)
{
    const int fd = open_fd(params);
    if (fd < 0) {
        return fd;
    }
    rsti_socket_t *opened = rsti_alloc(sizeof *opened);
    if (opened == NULL) {
        close(fd);
        return -RST_ENOMEM;
    }
    opened->fd = fd;
    opened->media = media;
    opened->is_connected = params->connect_address.ss_family != AF_UNSPEC;
    opened->granted_rcvbuf = usable_rcvbuf(fd);
    scratch_init(&opened->sending);
    scratch_init(&opened->receiving);
    *socket = opened;
    return 0;
}

static void udp_close(void *media, rsti_socket_t *socket)
{
    (void)media;
    if (socket != NULL) {
        close(socket->fd);
        rsti_free(socket);
    }
}

/* Addresses are only read by the kernel when sending, hence the dropped const. */
static void *without_const(const void *pointer)
{
    void *result;
    memcpy(&result, &pointer, sizeof result);
    return result;
}

static void prepare_send(rsti_socket_t *socket, const rsti_datagram_t *datagrams, int count)
{
    for (int i = 0; i < count; i++) {
        struct msghdr *header = &socket->sending.messages[i].msg_hdr;
        socket->sending.vectors[i].iov_base = datagrams[i].data;
        socket->sending.vectors[i].iov_len = datagrams[i].length;
        header->msg_name = socket->is_connected ? NULL : without_const(&datagrams[i].address);
        header->msg_namelen =
            socket->is_connected ? 0 : rsti_netaddr_length(&datagrams[i].address);
    }
}

static bool would_block(int errno_value)
{
    return errno_value == EAGAIN || errno_value == EWOULDBLOCK || errno_value == ENOBUFS;
}

static bool is_ignored(int errno_value)
{
    return errno_value == ECONNREFUSED || errno_value == EINTR;
}

static int send_failure(const rsti_datagram_t *datagram, bool is_connected)
{
    const int errno_value = errno;
    char text[RSTI_NETADDR_TEXT_MAX];
    return rsti_error_set_errno(errno_value, "sending %zu bytes to %s", datagram->length,
        is_connected ? "the connected peer"
                     : rsti_netaddr_format(&datagram->address, text, sizeof text));
}

static void tally(int64_t *counter, int64_t amount)
{
    if (counter != NULL) {
        (void)rsti_fetch_add_i64(counter, amount);
    }
}

/* At most one burst. A refusal belongs to an earlier datagram and clears itself, so the one that
 * met it is tried once more: else every second SETUP to a peer that is about to come up would be
 * lost, and connecting would take twice as long. */
static int send_burst(rsti_socket_t *socket, const rsti_datagram_t *datagrams, int count)
{
    prepare_send(socket, datagrams, count);
    int taken = 0;
    int retried = -1; /* index that was already tried again */
    while (taken < count) {
        const int sent = sendmmsg(socket->fd, socket->sending.messages + taken,
            (unsigned)(count - taken), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent > 0) {
            tally(socket->media->sent, sent);
            taken += sent;
        } else if (sent < 0 && is_ignored(errno)) {
            if (retried == taken) {
                taken++;
            } else {
                retried = taken;
            }
        } else if (sent < 0 && !would_block(errno) && taken == 0) {
            return send_failure(&datagrams[0], socket->is_connected);
        } else {
            break; /* full, or an error that the next call reports for its first datagram */
        }
    }
    return taken;
}

static int udp_send(void *media, rsti_socket_t *socket, const rsti_datagram_t *datagrams,
    int count)
{
    (void)media;
    int total = 0;
    while (total < count) {
        const int burst =
            count - total < RSTI_MEDIA_BURST_MAX ? count - total : RSTI_MEDIA_BURST_MAX;
        const int taken = send_burst(socket, datagrams + total, burst);
        if (taken < 0) {
            return total > 0 ? total : taken;
        }
        total += taken;
        if (taken < burst) {
            break;
        }
    }
    return total;
}

static void prepare_receive(rsti_socket_t *socket, rsti_datagram_t *datagrams, int count)
{
    for (int i = 0; i < count; i++) {
        struct msghdr *header = &socket->receiving.messages[i].msg_hdr;
        socket->receiving.vectors[i].iov_base = datagrams[i].data;
        socket->receiving.vectors[i].iov_len = datagrams[i].length;
        header->msg_name = &datagrams[i].address;
        header->msg_namelen = sizeof datagrams[i].address;
        header->msg_flags = 0;
    }
}

static int udp_receive(void *media, rsti_socket_t *socket, rsti_datagram_t *datagrams,
    int capacity)
{
    (void)media;
    const int count = capacity < RSTI_MEDIA_BURST_MAX ? capacity : RSTI_MEDIA_BURST_MAX;
    if (count <= 0) {
        return 0;
    }
    prepare_receive(socket, datagrams, count);
    int received = -1;
    for (int attempt = 0; attempt < RECEIVE_ATTEMPTS_MAX && received < 0; attempt++) {
        received = recvmmsg(socket->fd, socket->receiving.messages, (unsigned)count, MSG_DONTWAIT,
            NULL);
        if (received < 0 && would_block(errno)) {
            return 0;
        }
        if (received < 0 && !is_ignored(errno)) {
            return RST_SET_ERRNO("receiving from a UDP socket");
        }
    }
    if (received > 0) {
        tally(socket->media->received, received);
    }
    for (int i = 0; i < received; i++) {
        const struct mmsghdr *message = &socket->receiving.messages[i];
        /* A cut datagram is handed on empty: the first gate counts it as invalid. */
        datagrams[i].length = (message->msg_hdr.msg_flags & MSG_TRUNC) != 0 ? 0 : message->msg_len;
    }
    return received > 0 ? received : 0;
}

static void udp_local_address(void *media, rsti_socket_t *socket,
    struct sockaddr_storage *address)
{
    (void)media;
    socklen_t length = sizeof *address;
    memset(address, 0, sizeof *address);
    if (getsockname(socket->fd, (struct sockaddr *)address, &length) != 0) {
        memset(address, 0, sizeof *address);
    }
}

static int udp_fd(void *media, rsti_socket_t *socket)
{
    (void)media;
    return socket->fd;
}

static int32_t udp_granted_rcvbuf(void *media, rsti_socket_t *socket)
{
    (void)media;
    return socket->granted_rcvbuf;
}

static int64_t udp_next_deadline_ns(void *media, rsti_socket_t *socket)
{
    (void)media;
    (void)socket;
    return RSTI_NO_DEADLINE;
}

static void udp_destroy(void *media)
{
    rsti_free(media);
}

static const rsti_media_table_t udp_table = {
    .name = "udp",
    .open = udp_open,
    .close = udp_close,
    .send = udp_send,
    .receive = udp_receive,
    .local_address = udp_local_address,
    .fd = udp_fd,
    .granted_rcvbuf = udp_granted_rcvbuf,
    .next_deadline_ns = udp_next_deadline_ns,
    .destroy = udp_destroy,
};

int rsti_media_udp_create(rsti_media_t *media)
{
    udp_media_t *made = rsti_alloc(sizeof *made);
    if (made == NULL) {
        return -RST_ENOMEM;
    }
    media->table = &udp_table;
    media->arg = made;
    return 0;
}

void rsti_media_udp_destroy(rsti_media_t *media)
{
    udp_destroy(media->arg);
    media->table = NULL;
    media->arg = NULL;
}

void rsti_media_udp_count(const rsti_media_t *media, int64_t *sent, int64_t *received)
{
    udp_media_t *counting = media->arg;
    counting->sent = sent;
    counting->received = received;
}
