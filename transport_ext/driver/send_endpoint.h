/* send_endpoint.h: one socket for all publications of a channel. Made by the conductor, used and
 * closed by the sender. */
#ifndef RSTI_DRIVER_SEND_ENDPOINT_H
#define RSTI_DRIVER_SEND_ENDPOINT_H

#include "rstream/driver.h"

#include "channel/channel.h"
#include "media/media.h"

#define RSTI_SEND_BUCKETS 64

typedef struct rsti_network_publication_t rsti_network_publication_t;

typedef struct rsti_send_endpoint_t {
    /* written by: conductor, before use */
    rsti_udp_channel_t udp;
    rsti_socket_t *socket;
    bool is_readable; /* written by: the agent's thread */
    int32_t channel_status_id;
    int32_t local_sockaddr_id;
    int64_t so_sndbuf; /* as asked for by the first channel; RSTI_CHANNEL_UNSET */
    int64_t so_rcvbuf;
    bool is_connected;
    /* written by: conductor */
    int32_t ref_count;
    bool is_closing;
    /* written by: sender */
    int32_t is_released; /* atomic */
    rsti_network_publication_t *buckets[RSTI_SEND_BUCKETS]; /* chained by (stream, session) */
    struct rsti_send_endpoint_t *next;
} rsti_send_endpoint_t;

int rsti_send_endpoint_create(rst_driver_t *driver, rsti_send_endpoint_t **endpoint,
    const rsti_channel_t *channel, const rsti_udp_channel_t *udp, int64_t registration_id,
    int64_t client_id);
void rsti_send_endpoint_destroy(rst_driver_t *driver, rsti_send_endpoint_t *endpoint);
/* Sender's side. */
void rsti_send_endpoint_link(rsti_send_endpoint_t *endpoint,
    rsti_network_publication_t *publication);
void rsti_send_endpoint_unlink(rsti_send_endpoint_t *endpoint,
    rsti_network_publication_t *publication);
rsti_network_publication_t *rsti_send_endpoint_find(const rsti_send_endpoint_t *endpoint,
    int32_t stream_id, int32_t session_id);

#endif
