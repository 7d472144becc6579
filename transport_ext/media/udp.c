/* udp.c: real UDP sockets. Bursts use sendmmsg and recvmmsg. Their headers lie in the socket, so
 * nothing is allocated while data flows, and the stack stays small. */
#include "media/media.h"
#include "media/tap.h"
#include "media/udp_socket.h"

#include "concurrent/atomics.h"
#include "util/alloc.h"
#include "util/error.h"
#include "util/netaddr.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* Attempts in one call. A pending ICMP error is reported once per datagram that caused it, and a
 * peer that refuses everything must not hold the agent. */
#define RECEIVE_ATTEMPTS_MAX 4

/* Segmentation offload: one message to the kernel may hold a run of datagrams of one length (the
 * last may be shorter), which the kernel cuts. The run has at most so many, and less than 64 KiB
 * together. */
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
/* The same when receiving: the kernel hands a run over as one message, and says how long its
 * datagrams are. */
#ifndef UDP_GRO
#define UDP_GRO 104
#endif
#define SEGMENTS_MAX 64
#define SEGMENTED_BYTES_MAX 65000

typedef struct scratch_t {
    struct mmsghdr messages[RSTI_MEDIA_BURST_MAX];
    struct iovec vectors[RSTI_MEDIA_BURST_MAX];
} scratch_t;

typedef struct segment_control_t {
    _Alignas(struct cmsghdr) uint8_t bytes[CMSG_SPACE(sizeof(uint16_t))];
} segment_control_t;

/* A time of arrival, or the length of the datagrams of a run. */
typedef struct receive_control_t {
    _Alignas(struct cmsghdr) uint8_t bytes[CMSG_SPACE(sizeof(struct timespec))];
} receive_control_t;

/* Sockets of several agents use the same two counters. */
typedef struct udp_media_t {
    int64_t *sent;     /* NULL: not counted */
    int64_t *received;
    rsti_tap_t tap;
} udp_media_t;

static const rsti_media_table_t udp_table;

struct rsti_socket_t {
    int fd;
    udp_media_t *media;
    bool is_connected;
    bool has_keys; /* media/sealing.h tells the tap */
    int32_t granted_rcvbuf;
    bool can_segment;
    scratch_t sending;
    segment_control_t controls[RSTI_MEDIA_BURST_MAX];
    int32_t spans[RSTI_MEDIA_BURST_MAX]; /* datagrams in each message being sent */
    scratch_t receiving;
    bool has_times; /* of arrival */
    receive_control_t *facts; /* RSTI_MEDIA_BURST_MAX of them; NULL: none is asked for */
};

static void scratch_init(scratch_t *scratch)
{
    for (int i = 0; i < RSTI_MEDIA_BURST_MAX; i++) {
        scratch->messages[i].msg_hdr.msg_iov = &scratch->vectors[i];
        scratch->messages[i].msg_hdr.msg_iovlen = 1;
    }
}

/* Linux doubles the requested size for its own accounting, and reports the double: half of the
 * report is for datagrams. */
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

/* The kernel joins datagrams to a run, which has one time of arrival. */
static bool can_coalesce(int fd, const rsti_socket_params_t *params)
{
    const int on = 1;
    return params->use_coalescing && !params->has_arrival_times
        && setsockopt(fd, IPPROTO_UDP, UDP_GRO, &on, sizeof on) == 0;
}

static int udp_open(void *media, const rsti_socket_params_t *params, rsti_socket_t **socket)
{
    const int fd = rsti_udp_open_fd(params);
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
    opened->has_keys = params->keys != NULL;
    opened->is_connected = params->connect_address.ss_family != AF_UNSPEC;
    opened->can_segment = opened->is_connected && params->use_segmentation;
    opened->granted_rcvbuf = usable_rcvbuf(fd);
    scratch_init(&opened->sending);
    scratch_init(&opened->receiving);
    opened->has_times = params->has_arrival_times;
    if (opened->has_times || can_coalesce(fd, params)) {
        opened->facts = rsti_alloc(RSTI_MEDIA_BURST_MAX * sizeof *opened->facts);
        if (opened->facts == NULL) {
            close(fd);
            rsti_free(opened);
            return -RST_ENOMEM;
        }
    }
    *socket = opened;
    return 0;
}

static void udp_close(void *media, rsti_socket_t *socket)
{
    (void)media;
    if (socket != NULL) {
        close(socket->fd);
        rsti_free(socket->facts);
        rsti_free(socket);
    }
}

/* The kernel only reads addresses when sending, hence the dropped const. */
static void *without_const(const void *pointer)
{
    void *result;
    memcpy(&result, &pointer, sizeof result);
    return result;
}

/* The number of datagrams, from the first on, that one segmented message can carry. */
static int run_length(const rsti_socket_t *socket, const rsti_datagram_t *datagrams, int count)
{
    const size_t segment = datagrams[0].length;
    size_t bytes = segment;
    int run = 1;
    if (!socket->can_segment || segment == 0) {
        return 1;
    }
    while (run < count && run < SEGMENTS_MAX && datagrams[run].length <= segment
        && datagrams[run].length > 0 && bytes + datagrams[run].length <= SEGMENTED_BYTES_MAX) {
        bytes += datagrams[run].length;
        run++;
        if (datagrams[run - 1].length < segment) {
            break; /* a shorter datagram ends the run */
        }
    }
    return run;
}

static void set_segment(struct msghdr *header, segment_control_t *control, size_t segment)
{
    const uint16_t length = (uint16_t)segment;
    memset(control, 0, sizeof *control);
    header->msg_control = control->bytes;
    header->msg_controllen = sizeof control->bytes;
    struct cmsghdr *first = CMSG_FIRSTHDR(header);
    first->cmsg_level = IPPROTO_UDP;
    first->cmsg_type = UDP_SEGMENT;
    first->cmsg_len = CMSG_LEN(sizeof length);
    memcpy(CMSG_DATA(first), &length, sizeof length);
}

/* Returns how many messages carry the datagrams. */
static int prepare_send(rsti_socket_t *socket, const rsti_datagram_t *datagrams, int count)
{
    int messages = 0;
    for (int i = 0; i < count; messages++) {
        const int run = run_length(socket, datagrams + i, count - i);
        struct msghdr *header = &socket->sending.messages[messages].msg_hdr;
        header->msg_iov = &socket->sending.vectors[i];
        header->msg_iovlen = (size_t)run;
        header->msg_name = socket->is_connected ? NULL : without_const(&datagrams[i].address);
        header->msg_namelen = socket->is_connected ? 0 : rsti_netaddr_length(&datagrams[i].address);
        header->msg_control = NULL;
        header->msg_controllen = 0;
        if (run > 1) {
            set_segment(header, &socket->controls[messages], datagrams[i].length);
        }
        for (int k = 0; k < run; k++, i++) {
            socket->sending.vectors[i].iov_base = datagrams[i].data;
            socket->sending.vectors[i].iov_len = datagrams[i].length;
        }
        socket->spans[messages] = run;
    }
    return messages;
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

static void udp_local_address(void *media, rsti_socket_t *socket, struct sockaddr_storage *address)
{
    (void)media;
    socklen_t length = sizeof *address;
    memset(address, 0, sizeof *address);
    if (getsockname(socket->fd, (struct sockaddr *)address, &length) != 0) {
        memset(address, 0, sizeof *address);
    }
}

static void tell_tap(rsti_socket_t *socket, const rsti_datagram_t *datagrams, int count,
    bool is_sent)
{
    const rsti_media_t media = {.table = &udp_table, .arg = socket->media};
    if (!socket->has_keys) {
        rsti_tap_tell(&socket->media->tap, &media, socket, datagrams, count, is_sent);
    }
}

/* One of these errors means that the path, the device or the kernel does not cut. */
static bool is_segmentation_refused(int errno_value)
{
    return errno_value == EINVAL || errno_value == EIO || errno_value == EOPNOTSUPP
        || errno_value == EMSGSIZE;
}

static int datagrams_in(const rsti_socket_t *socket, int first_message, int messages)
{
    int datagrams = 0;
    for (int i = first_message; i < first_message + messages; i++) {
        datagrams += socket->spans[i];
    }
    return datagrams;
}

/* Sends at most one burst. A refusal belongs to an earlier datagram and clears itself, so the
 * datagram that met it is tried once more. Otherwise every second SETUP to a peer that is starting
 * would be lost, and connecting would take twice as long. */
static int send_burst(rsti_socket_t *socket, const rsti_datagram_t *datagrams, int count)
{
    const int messages = prepare_send(socket, datagrams, count);
    int done = 0;     /* messages */
    int taken = 0;    /* datagrams */
    int retried = -1; /* the message that was already tried again */
    while (done < messages) {
        const int sent = sendmmsg(socket->fd, socket->sending.messages + done,
            (unsigned)(messages - done), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent > 0) {
            const int span = datagrams_in(socket, done, sent);
            tally(socket->media->sent, span);
            tell_tap(socket, datagrams + taken, span, true);
            taken += span;
            done += sent;
        } else if (sent < 0 && is_ignored(errno)) {
            if (retried == done) {
                taken += socket->spans[done++];
            } else {
                retried = done;
            }
        } else if (sent < 0 && socket->spans[done] > 1 && is_segmentation_refused(errno)) {
            socket->can_segment = false;
            break; /* the caller goes on behind the taken ones, with single datagrams */
        } else if (sent < 0 && !would_block(errno) && taken == 0) {
            return send_failure(&datagrams[0], socket->is_connected);
        } else {
            break; /* full, or an error: the next call reports it for its first datagram */
        }
    }
    return taken;
}

static int udp_send(void *media, rsti_socket_t *socket, const rsti_datagram_t *datagrams, int count)
{
    (void)media;
    int total = 0;
    while (total < count) {
        const int burst = count - total < RSTI_MEDIA_BURST_MAX ? count - total
                                                               : RSTI_MEDIA_BURST_MAX;
        const bool could_segment = socket->can_segment;
        const int taken = send_burst(socket, datagrams + total, burst);
        if (taken < 0) {
            return total > 0 ? total : taken;
        }
        total += taken;
        if (taken < burst && socket->can_segment == could_segment) {
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
        if (socket->facts != NULL) {
            header->msg_control = socket->facts[i].bytes;
            header->msg_controllen = sizeof socket->facts[i].bytes;
        }
    }
}

static int64_t arrival_of(struct msghdr *header)
{
    struct timespec time;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c != NULL; c = CMSG_NXTHDR(header, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_TIMESTAMPNS) {
            memcpy(&time, CMSG_DATA(c), sizeof time);
            return (int64_t)time.tv_sec * RSTI_NS_PER_S + time.tv_nsec;
        }
    }
    return 0;
}

/* The length of the datagrams of a run; 0: there is one datagram. */
static size_t segment_of(struct msghdr *header, size_t received)
{
    int length = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c != NULL; c = CMSG_NXTHDR(header, c)) {
        if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO) {
            memcpy(&length, CMSG_DATA(c), sizeof length);
        }
    }
    return length > 0 && (size_t)length < received ? (size_t)length : 0;
}

static int udp_receive(void *media, rsti_socket_t *socket, rsti_datagram_t *datagrams, int capacity)
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
    int64_t count_received = 0;
    for (int i = 0; i < received; i++) {
        struct mmsghdr *message = &socket->receiving.messages[i];
        const bool is_valid = (message->msg_hdr.msg_flags & MSG_TRUNC) == 0
            && rsti_netaddr_port(&datagrams[i].address) != 0;
        datagrams[i].length = is_valid ? message->msg_len : 0;
        datagrams[i].arrived_ns = socket->has_times ? arrival_of(&message->msg_hdr) : 0;
        datagrams[i].segment = socket->facts != NULL && !socket->has_times
            ? segment_of(&message->msg_hdr, datagrams[i].length)
            : 0;
        count_received += datagrams[i].segment == 0
            ? 1
            : (int64_t)((datagrams[i].length + datagrams[i].segment - 1) / datagrams[i].segment);
    }
    if (received > 0) {
        tally(socket->media->received, count_received);
    }
    tell_tap(socket, datagrams, received, false);
    return received > 0 ? received : 0;
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

static void udp_widen_rcvbuf(void *media, rsti_socket_t *socket, int32_t bytes)
{
    (void)media;
    if (bytes > socket->granted_rcvbuf) {
        (void)setsockopt(socket->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
        socket->granted_rcvbuf = usable_rcvbuf(socket->fd);
    }
}

static int64_t udp_next_deadline_ns(void *media, rsti_socket_t *socket)
{
    (void)media;
    (void)socket;
    return RSTI_NO_DEADLINE;
}

static int udp_reconnect(void *media, rsti_socket_t *socket, const struct sockaddr_storage *address)
{
    (void)media;
    char text[RSTI_NETADDR_TEXT_MAX];
    if (connect(socket->fd, (const struct sockaddr *)address, rsti_netaddr_length(address)) != 0) {
        return RST_SET_ERRNO("connecting UDP socket to %s",
            rsti_netaddr_format(address, text, sizeof text));
    }
    socket->is_connected = true;
    return 0;
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
    .widen_rcvbuf = udp_widen_rcvbuf,
    .next_deadline_ns = udp_next_deadline_ns,
    .destroy = udp_destroy,
    .reconnect = udp_reconnect,
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

void rsti_media_udp_tap(const rsti_media_t *media, const rsti_tap_t *tap)
{
    udp_media_t *tapped = media->arg;
    tapped->tap = *tap;
}
