/* receive_endpoint.h: one socket for all subscriptions of a channel. Made by the conductor,
 * used and closed by the receiver. */
#ifndef RSTI_DRIVER_RECEIVE_ENDPOINT_H
#define RSTI_DRIVER_RECEIVE_ENDPOINT_H

#include "rstream/driver.h"

#include "channel/channel.h"
#include "driver/dispatcher.h"
#include "media/media.h"
#include "protocol/frame.h"

typedef struct rsti_receiver_t rsti_receiver_t;

typedef struct rsti_receive_endpoint_t {
    /* written by: conductor, before use */
    rsti_udp_channel_t udp;
    rsti_socket_t *socket;
    bool is_readable; /* written by: the agent's thread */
    int32_t channel_status_id;
    int32_t local_sockaddr_id;
    int64_t so_rcvbuf;
    int64_t so_sndbuf;
    int32_t granted_rcvbuf;
    int64_t receiver_id;
    bool has_group_tag;
    int64_t group_tag;
    /* written by: conductor */
    int32_t subscription_count;
    int32_t image_count;
    bool is_closing;
    /* written by: receiver */
    int32_t is_released; /* atomic */
    rsti_dispatcher_t dispatcher;
    struct rsti_receive_endpoint_t *next;
} rsti_receive_endpoint_t;

int rsti_receive_endpoint_create(rst_driver_t *driver, rsti_receive_endpoint_t **endpoint,
    const rsti_channel_t *channel, const rsti_udp_channel_t *udp, int64_t registration_id,
    int64_t client_id);
void rsti_receive_endpoint_destroy(rst_driver_t *driver, rsti_receive_endpoint_t *endpoint);

/* Receiver's side: one datagram that passed the first gate. */
void rsti_receive_endpoint_on_data(rsti_receiver_t *receiver, rsti_receive_endpoint_t *endpoint,
    const uint8_t *datagram, size_t length, const struct sockaddr_storage *source,
    int64_t now_ns);
void rsti_receive_endpoint_on_setup(rsti_receiver_t *receiver, rsti_receive_endpoint_t *endpoint,
    const rsti_setup_t *setup, const struct sockaddr_storage *source, int64_t now_ns);
void rsti_receive_endpoint_on_rttm(rsti_receiver_t *receiver, rsti_receive_endpoint_t *endpoint,
    const rsti_rttm_t *rttm, int64_t now_ns);
/* Sends one control frame from the data socket. */
bool rsti_receive_endpoint_send(rsti_receiver_t *receiver, rsti_receive_endpoint_t *endpoint,
    const void *frame, size_t length, const struct sockaddr_storage *to);

#endif
