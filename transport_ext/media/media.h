/* media.h: datagrams in and out, behind one table of functions. This room alone calls sockets; the
 * simulator brings its own table, interceptors wrap one. No call blocks except wait(). */
#ifndef RSTI_MEDIA_MEDIA_H
#define RSTI_MEDIA_MEDIA_H

#include "seal/refusal.h"
#include "util/clock.h"
#include "util/rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define RSTI_DATAGRAM_MAX 65536
#define RSTI_MEDIA_BURST_MAX 64

typedef struct rsti_datagram_t {
    uint8_t *data;
    size_t length;                    /* recv: in capacity, out received; send: bytes */
    size_t segment; /* recv, with use_coalescing: data holds several datagrams of so many bytes, of
                     * which the last one may be shorter; 0: one datagram */
    struct sockaddr_storage address; /* recv: source; send: destination when !connected */
    rsti_refusal_t refusal; /* recv: why one of them was left out; media/sealing.h alone sets it */
    int64_t arrived_ns; /* recv: when the system got it, since 1970; 0: not known */
} rsti_datagram_t;

/* The length of the datagram that begins at so many bytes of data. */
static inline size_t rsti_datagram_length_at(const rsti_datagram_t *datagram, size_t at)
{
    const size_t left = datagram->length - at;
    return datagram->segment > 0 && datagram->segment < left ? datagram->segment : left;
}

typedef struct rsti_socket_params_t {
    struct sockaddr_storage
        bind_address; /* of a member of a group: wildcard and the group's port */
    struct sockaddr_storage connect_address; /* ss_family 0 = not connected */
    struct sockaddr_storage group_address; /* ss_family 0 = joins no group */
    /* Interface to join the group on and to send multicast from; wildcard or ss_family 0: the
     * system's choice. IPv6 also by interface_index. */
    struct sockaddr_storage interface_address;
    uint32_t interface_index; /* 0 = by address */
    int32_t multicast_ttl; /* 0 = leave */
    int32_t so_sndbuf; /* 0 = leave */
    int32_t so_rcvbuf;
    bool has_arrival_times; /* the system notes when each datagram arrives */
    bool use_segmentation; /* let the kernel cut runs of equal datagrams, when connected */
    bool use_coalescing; /* receive runs of equal datagrams at once; not with has_arrival_times */
    const struct rsti_keyring_t *keys; /* media/sealing.h; NULL: plain */
} rsti_socket_params_t;

typedef struct rsti_socket_t rsti_socket_t; /* opaque to callers */

typedef struct rsti_media_table_t {
    const char *name;
    /* 0, or -RST_EINUSE / -RST_EACCESS / -RST_ESYS with a trail naming the address. */
    int (*open)(void *media, const rsti_socket_params_t *params, rsti_socket_t **socket);
    void (*close)(void *media, rsti_socket_t *socket);
    /* Sends in order until a send would block. Returns how many were taken; a refused or
     * interrupted datagram counts as taken. Other errors: -RST_ESYS with a trail. */
    int (*send)(void *media, rsti_socket_t *socket, const rsti_datagram_t *datagrams, int count);
    /* Returns how many entries were received; 0: none is there. A datagram that was cut, or comes
     * from port 0, where no answer can be sent, or cannot be opened, has length 0: the receiving
     * agent counts it as invalid. */
    int (*receive)(void *media, rsti_socket_t *socket, rsti_datagram_t *datagrams, int capacity);
    void (*local_address)(void *media, rsti_socket_t *socket, struct sockaddr_storage *address);
    int (*fd)(void *media, rsti_socket_t *socket); /* for a poller; -1 when it has none */
    int32_t (*granted_rcvbuf)(void *media, rsti_socket_t *socket); /* usable bytes */
    /* Asks for a larger receive buffer, of which the system grants what it likes. May be NULL. */
    void (*widen_rcvbuf)(void *media, rsti_socket_t *socket, int32_t bytes);
    /* When a held datagram (of an interceptor) becomes due, or RSTI_NO_DEADLINE. A call of
     * receive() then delivers it, and sends those held on the way out. */
    int64_t (*next_deadline_ns)(void *media, rsti_socket_t *socket);
    /* Called when a wrapping table is destroyed; may be NULL. */
    void (*destroy)(void *media);
    /* Gives a connected socket another peer, because its name resolved to a new address. 0 or
     * -RST_ESYS. */
    int (*reconnect)(void *media, rsti_socket_t *socket, const struct sockaddr_storage *address);
} rsti_media_table_t;

typedef struct rsti_media_t {
    const rsti_media_table_t *table;
    void *arg;
} rsti_media_t;

/* Real UDP sockets: non-blocking, close-on-exec, sendmmsg / recvmmsg. */
int rsti_media_udp_create(rsti_media_t *media);
void rsti_media_udp_destroy(rsti_media_t *media);
/* Counts the datagrams that the system took and delivered. Call it before the first socket opens. A
 * wrapping interceptor is above this table: a datagram that it loses is not counted, one that it
 * doubles is counted twice. */
void rsti_media_udp_count(const rsti_media_t *media, int64_t *sent, int64_t *received);

/* A datagram that the system took or delivered. */
typedef struct rsti_tapped_t {
    const uint8_t *data;
    size_t length;
    struct sockaddr_storage local;
    struct sockaddr_storage peer;
    bool is_sent;
} rsti_tapped_t;
typedef struct rsti_tap_t {
    void (*tell)(void *arg, const rsti_tapped_t *datagram); /* NULL: no tap */
    void *arg;
} rsti_tap_t;
/* Sets the function that is told of every one of them, by the agents' threads. Call it before the
 * first socket opens. A datagram that the system refused because of an earlier one is not
 * reported, and none of a socket with keys is: media/sealing.h tells its plain frames. */
void rsti_media_udp_tap(const rsti_media_t *media, const rsti_tap_t *tap);

/* The usable bytes of the buffers of a socket that asks for these (0: asks for none). */
typedef struct rsti_socket_probe_t {
    int64_t rcvbuf;
    int64_t sndbuf;
} rsti_socket_probe_t;
int rsti_media_udp_probe(int64_t so_rcvbuf, int64_t so_sndbuf, rsti_socket_probe_t *probe);

/* The poller finds the readable sockets, and can be woken (wake_fd: a FIFO; -1: none). */
typedef struct rsti_poller_t {
    int epoll_fd;
    int wake_fd;
} rsti_poller_t;
int rsti_poller_open(rsti_poller_t *poller, int wake_fd);
void rsti_poller_close(rsti_poller_t *poller);
int rsti_poller_add(rsti_poller_t *poller, int fd, void *tag);
void rsti_poller_remove(rsti_poller_t *poller, int fd);
/* Waits until a socket is readable, the wake fd is written, or timeout_ns passed (0 = look only,
 * RSTI_NO_DEADLINE = for ever). Stores tags of readable sockets; returns their count; drains the
 * wake fd. */
int rsti_poller_wait(rsti_poller_t *poller, int64_t timeout_ns, void **tags, int capacity);

#endif
