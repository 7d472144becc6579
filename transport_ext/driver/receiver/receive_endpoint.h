/* receive_endpoint.h: what all subscriptions of a channel share: the dispatcher, the receiver id,
 * and the transports that bring datagrams. Made by the conductor, used by the receiver, freed by
 * the conductor when the receiver has released it. */
#ifndef RSTI_DRIVER_RECEIVE_ENDPOINT_H
#define RSTI_DRIVER_RECEIVE_ENDPOINT_H

#include "rstream/driver.h"

#include "channel/channel.h"
#include "driver/receiver/dispatcher.h"
#include "driver/receiver/receive_transport.h"
#include "media/media.h"
#include "protocol/frame.h"

#define RSTI_ELICIT_INTERVAL_NS RSTI_NS_PER_S

struct rsti_receive_endpoint_t {
    /* written by: conductor, before use */
    rsti_udp_channel_t udp;
    bool is_manual; /* control-mode=manual: its transports are destinations */
    int32_t channel_status_id;
    int64_t registration_id;
    int64_t client_id;
    int64_t so_rcvbuf; /* as asked for by the first channel; RSTI_CHANNEL_UNSET */
    int64_t so_sndbuf;
    int64_t receiver_id;
    bool has_group_tag;
    int64_t group_tag;
    /* written by: conductor */
    int32_t subscription_count;
    int32_t image_count;
    bool is_closing;
    rsti_receive_transport_t *owned[RSTI_RECEIVE_TRANSPORTS_MAX]; /* by slot */
    int32_t owned_count;
    /* written by: receiver */
    int32_t is_released; /* atomic */
    rsti_dispatcher_t dispatcher;
    rsti_receive_transport_t *transports;
    struct rsti_receive_endpoint_t *next;
};

/* Without transports. */
int rsti_receive_endpoint_create(rst_driver_t *driver, rsti_receive_endpoint_t **endpoint,
    const rsti_channel_t *channel, const rsti_udp_channel_t *udp, int64_t registration_id,
    int64_t client_id);
/* With those that it has left. */
void rsti_receive_endpoint_destroy(rst_driver_t *driver, rsti_receive_endpoint_t *endpoint);

/* Receiver's side: one datagram that passed the first gate. */
void rsti_receive_endpoint_on_data(rsti_receiver_t *receiver, rsti_receive_transport_t *transport,
    const uint8_t *datagram, size_t length, const struct sockaddr_storage *source, int64_t now_ns);
void rsti_receive_endpoint_on_setup(rsti_receiver_t *receiver, rsti_receive_transport_t *transport,
    const rsti_setup_t *setup, const struct sockaddr_storage *source, int64_t now_ns);
void rsti_receive_endpoint_on_rttm(rsti_receiver_t *receiver, rsti_receive_transport_t *transport,
    const rsti_rttm_t *rttm, int64_t now_ns);
/* A status message from a sender: an echo to its group, or its own (docs/wire.md, "Target delay");
 * datagram of its whole length. */
void rsti_receive_endpoint_on_echo(rsti_receiver_t *receiver, rsti_receive_transport_t *transport,
    const rsti_sm_t *sm, size_t length);
/* Asks the publishers at explicit control addresses for a SETUP (wire reference 6.3); ids of 0: for
 * all they have. */
void rsti_receive_endpoint_elicit(rsti_receiver_t *receiver, rsti_receive_endpoint_t *endpoint,
    int32_t stream_id, int32_t session_id);
/* Of one session, from a sender of whom it has data already. */
void rsti_receive_transport_ask_setup(rsti_receiver_t *receiver,
    rsti_receive_transport_t *transport, int32_t stream_id, int32_t session_id,
    const struct sockaddr_storage *to);
/* The same, repeated while somebody is interested. Returns when the next one is due. */
int64_t rsti_receive_transport_elicit(rsti_receiver_t *receiver,
    rsti_receive_transport_t *transport, int64_t now_ns);

#endif
