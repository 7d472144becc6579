/* receive_transport.h: a socket that brings datagrams to a receive endpoint, and the address that
 * control frames go to. A plain subscription has one, a multi-destination subscription one per
 * destination. The conductor makes and closes it; the receiver uses it in between and calls the
 * functions of this header. */
#ifndef RSTI_DRIVER_RECEIVER_RECEIVE_TRANSPORT_H
#define RSTI_DRIVER_RECEIVER_RECEIVE_TRANSPORT_H

#include "channel/channel.h"
#include "driver/receiver/receiver_state.h"
#include "media/media.h"

/* Transports of one endpoint. An image has as many connections: finding one costs an index, and
 * the limit bounds the memory of an image. */
#define RSTI_RECEIVE_TRANSPORTS_MAX 64

typedef struct rsti_receive_transport_t {
    /* written by: conductor, before use */
    rsti_receive_endpoint_t *endpoint;
    int32_t slot; /* the index of its connection in every image of the endpoint */
    int64_t registration_id;
    rsti_udp_channel_t udp;
    rsti_socket_t *socket;
    int32_t local_sockaddr_id;
    int32_t granted_rcvbuf;
    uint16_t managed_port; /* goes back to the port manager; 0: none */
    int32_t ttl; /* multicast; 0 = the system's */
    /* Control frames go to a fixed address: explicit control, or the control group of multicast.
     * Else to the source of the frame that made the connection. */
    bool has_control;
    char control_name[RSTI_CHANNEL_HOST_MAX]; /* name of the explicit control; "": none */
    bool is_eliciting; /* explicit control: asks for SETUPs before the first frame */
    /* written by: conductor */
    bool is_closing;
    struct sockaddr_storage resolved_control; /* last address of control_name */
    /* written by: the agent's thread */
    bool is_readable;
    /* written by: receiver */
    struct sockaddr_storage control;
    int64_t last_activity_ns;
    int64_t elicit_due_ns;
    int32_t is_released; /* atomic */
    struct rsti_receive_transport_t *next;
} rsti_receive_transport_t;

/* Returns the address for control frames about data from source. */
const struct sockaddr_storage *rsti_receive_transport_control(const rsti_receive_transport_t
                                                                  *transport,
    const struct sockaddr_storage *source);
/* Sends one control frame from the data socket. False: the system did not accept it. */
bool rsti_receive_transport_send(rsti_receiver_t *receiver, rsti_receive_transport_t *transport,
    const void *frame, size_t length, const struct sockaddr_storage *to);
/* The same to a stranger. An error is not logged, because any host can cause it by a forged source
 * that no route leads to. */
bool rsti_receive_transport_answer(rsti_receiver_t *receiver, rsti_receive_transport_t *transport,
    const void *frame, size_t length, const struct sockaddr_storage *to);

#endif
