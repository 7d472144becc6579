/* send_endpoint.h: the socket that all publications of a channel share. A multicast channel has two
 * sockets: one is connected to the group and sends data; the other is a member of the control group
 * and receives control frames. The conductor makes the endpoint, the sender uses it and calls all
 * functions of this header. */
#ifndef RSTI_DRIVER_SENDER_SEND_ENDPOINT_H
#define RSTI_DRIVER_SENDER_SEND_ENDPOINT_H

#include "channel/channel.h"
#include "driver/base/group_keys_state.h"
#include "driver/base/proxies.h"
#include "driver/sender/challenge.h"
#include "driver/sender/destination_tracker.h"
#include "driver/sender/proven.h"
#include "driver/sender/send_budget_state.h"
#include "driver/sender/sender_state.h"
#include "media/media.h"
#include "util/ptr_array.h"

#define RSTI_SEND_BUCKETS 64

struct rsti_send_endpoint_t {
    /* written by: conductor, before use */
    rsti_udp_channel_t udp;
    rsti_socket_t *socket; /* control frames come here */
    rsti_socket_t *data_socket; /* the same, unless the channel is a connected group */
    bool is_readable; /* written by: the agent's thread */
    int32_t channel_status_id;
    int32_t local_sockaddr_id;
    int64_t so_sndbuf; /* of the first channel or the driver; 0: the system's */
    int64_t so_rcvbuf;
    int64_t send_timestamp; /* offset in the payload; RSTI_CHANNEL_UNSET: none */
    rsti_group_keys_t *keys; /* NULL: plain */
    bool is_connected; /* data_socket */
    bool is_group; /* multicast or several destinations: group rules for NAKs and flow control */
    uint16_t managed_port; /* goes back to the port manager; 0: none */
    bool has_name; /* its only peer is given by a name, so the address may change */
    int32_t ttl; /* multicast; 0 = the system's */
    int32_t destination_count_id; /* counter, when there are destinations */
    /* written by: conductor */
    char endpoint_text[RSTI_CHANNEL_HOST_MAX]; /* endpoint= of the first channel */
    rsti_ptr_array_t manual; /* rsti_manual_destination_t: what clients added */
    int32_t ref_count;
    bool is_closing;
    /* written by: sender */
    int32_t is_released; /* atomic */
    struct sockaddr_storage data_address; /* of a channel with one destination, if not connected */
    int64_t refusal_due_ns; /* driver/base/key_refusals.h */
    int64_t last_sm_ns; /* last status message for any of its publications */
    rsti_destination_tracker_t *destinations; /* NULL: one destination */
    rsti_proven_t proven;
    rsti_kept_sm_t kept[RSTI_CHALLENGE_PLACES];
    int32_t kept_next; /* place of the next host that has none */
    int32_t answer_bucket,
        answer_place; /* of the publication whose SETUP goes to a stranger next */
    rsti_connection_budget_t budget;
    rsti_network_publication_t *buckets[RSTI_SEND_BUCKETS]; /* chained by (stream, session) */
    struct rsti_send_endpoint_t *next;
};

/* A destination as a client wrote it. */
typedef struct rsti_manual_destination_t {
    int64_t registration_id;
    struct sockaddr_storage address; /* ss_family 0: its name has no address yet */
    bool has_name;
    char endpoint[RSTI_CHANNEL_HOST_MAX];
} rsti_manual_destination_t;

/* Any host can become a destination: the address that gets the data must be proven first. */
static inline bool rsti_send_endpoint_is_open(const rsti_send_endpoint_t *endpoint)
{
    return endpoint->udp.control_mode == RSTI_CONTROL_DYNAMIC
        || endpoint->udp.control_mode == RSTI_CONTROL_RESPONSE;
}
/* Link and unlink a publication, and find one by its ids (NULL: there is none). */
void rsti_send_endpoint_link(rsti_send_endpoint_t *endpoint,
    rsti_network_publication_t *publication);
void rsti_send_endpoint_unlink(rsti_send_endpoint_t *endpoint,
    rsti_network_publication_t *publication);
rsti_network_publication_t *rsti_send_endpoint_find(const rsti_send_endpoint_t *endpoint,
    int32_t stream_id, int32_t session_id);
/* Sends datagrams and returns how many the system accepted. Fewer than count is a short send: it is
 * counted, and the sender tries again soon. */
int32_t rsti_send_endpoint_send(rsti_sender_t *sender, rsti_send_endpoint_t *endpoint,
    rsti_datagram_t *datagrams, int32_t count);
/* Sends a control frame to one address only, from a socket that is not connected. */
void rsti_send_endpoint_send_to(rsti_sender_t *sender, const rsti_send_endpoint_t *endpoint,
    const void *frame, size_t length, const struct sockaddr_storage *address);
/* A status message came from a source that is proven, or is proven by it. The source becomes a
 * destination when these are dynamic. */
void rsti_send_endpoint_on_proof(rsti_sender_t *sender, rsti_send_endpoint_t *endpoint,
    int64_t receiver_id, const struct sockaddr_storage *source, int64_t now_ns);
/* Commands of the conductor: a manual destination is added or removed, a name has an address. */
void rsti_send_endpoint_on_destination(rsti_sender_t *sender, int32_t type,
    const rsti_agent_command_t *command);
void rsti_send_endpoint_on_resolved(rsti_sender_t *sender, const rsti_agent_command_t *command);
/* Asks the conductor to look up names again whose addresses are silent. True when the endpoint has
 * any name. */
bool rsti_send_endpoint_check_names(rsti_sender_t *sender, rsti_send_endpoint_t *endpoint,
    int64_t now_ns);
/* Removes expired dynamic destinations. */
void rsti_send_endpoint_check(rsti_sender_t *sender, rsti_send_endpoint_t *endpoint, int64_t now_ns,
    int64_t *next_deadline_ns);

#endif
