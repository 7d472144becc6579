/* receive_endpoint.h: the part that all subscriptions of a channel share: the dispatcher, the
 * receiver id, and the transports that bring datagrams. The conductor makes it, the receiver uses
 * it, and the conductor frees it when the receiver has released it. The functions are called by the
 * receiver alone. */
#ifndef RSTI_DRIVER_RECEIVER_RECEIVE_ENDPOINT_H
#define RSTI_DRIVER_RECEIVER_RECEIVE_ENDPOINT_H

#include "channel/channel.h"
#include "driver/base/group_keys_state.h"
#include "driver/receiver/dispatcher.h"
#include "driver/receiver/receive_transport.h"
#include "media/media.h"
#include "protocol/frame.h"
#include "util/source_list.h"

#define RSTI_ELICIT_INTERVAL_NS RSTI_NS_PER_S

struct rsti_receive_endpoint_t {
    /* written by: conductor, before use */
    rsti_udp_channel_t udp;
    bool is_manual; /* control-mode=manual: its transports are destinations */
    int32_t channel_status_id;
    int64_t registration_id;
    int64_t client_id;
    int64_t so_rcvbuf; /* of the first channel or the driver; 0: the system's */
    bool is_rcvbuf_given; /* by the channel */
    int64_t so_sndbuf;
    int64_t receive_timestamp; /* offset in the payload; RSTI_CHANNEL_UNSET: none */
    int64_t media_timestamp;
    rsti_group_keys_t *keys; /* NULL: plain */
    rsti_source_list_t sources; /* of the first channel */
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
    int64_t refusal_due_ns; /* driver/base/key_refusals.h */
    rsti_dispatcher_t dispatcher;
    rsti_receive_transport_t *transports;
    struct rsti_receive_endpoint_t *next;
};

/* Asks the publishers at explicit control addresses for a SETUP (docs/reference/aeron/wire.md 6.3).
 * Ids of 0: for the SETUPs of all their streams. */
void rsti_receive_endpoint_elicit(rsti_receiver_t *receiver, rsti_receive_endpoint_t *endpoint,
    int32_t stream_id, int32_t session_id);
/* Asks the sender at that address for the SETUP of one session whose data came already. */
void rsti_receive_transport_ask_setup(rsti_receiver_t *receiver,
    rsti_receive_transport_t *transport, int32_t stream_id, int32_t session_id,
    const struct sockaddr_storage *to);
/* The same to a stranger: an error of the system is not logged. */
void rsti_receive_transport_ask_stranger(rsti_receiver_t *receiver,
    rsti_receive_transport_t *transport, int32_t stream_id, int32_t session_id,
    const struct sockaddr_storage *to);
/* Asks for SETUPs once per interval while a subscription is interested. Returns the next deadline.
 */
int64_t rsti_receive_transport_elicit(rsti_receiver_t *receiver,
    rsti_receive_transport_t *transport, int64_t now_ns);
/* Writes the status message to frame, with the group tag of the endpoint when it has one. Returns
 * its length. */
size_t rsti_sm_with_tag(uint8_t frame[RSTI_SM_TAGGED_LENGTH], const rsti_sm_t *sm,
    const rsti_receive_endpoint_t *endpoint);

#endif
