/* network_publication.h: a publication that is sent by UDP (docs/reference/aeron/wire.md 7).
 * Law: snd_pos never exceeds snd_lmt; limit <= snd_pos + window; memory below snd_pos - term is
 * zero before the limit rises. The conductor owns life and limit, the sender owns snd_pos, snd_lmt,
 * set-up, heartbeats, liveness and retransmits. */
#ifndef RSTI_DRIVER_SENDER_NETWORK_PUBLICATION_H
#define RSTI_DRIVER_SENDER_NETWORK_PUBLICATION_H

#include "driver/base/publication.h"
#include "driver/sender/send_budget_state.h"
#include "driver/sender/send_path.h"
#include "driver/sender/send_rate.h"
#include "flow/bucket.h"
#include "flow/flow_control.h"
#include "flow/noop.h"
#include "flow/pace.h"
#include "loss/retransmit_handler.h"
#include "util/clock.h"
#include "util/netaddr.h"

#define RSTI_RESEND_BYTES_PER_S (8 * 1024 * 1024) /* a minimum for retransmissions: resend.c */
/* Receivers whose liveness is tracked: of a unicast channel, and of a group. */
#define RSTI_RECEIVERS_MAX 1
#define RSTI_GROUP_RECEIVERS_MAX 256
/* After so long without a status message a receiver at another address may take the place. */
#define RSTI_RECEIVER_BINDING_NS RSTI_NS_PER_S
/* What an item of a status message has told expires when it is not repeated for so long, although
 * it should be. A receiver repeats its items at least once a second, and some may be lost. */
#define RSTI_ITEM_NS (10 * RSTI_NS_PER_S)
#define RSTI_HEARTBEAT_INTERVAL_NS (100 * RSTI_NS_PER_MS)
#define RSTI_SETUP_INTERVAL_NS (100 * RSTI_NS_PER_MS)

typedef struct rsti_send_endpoint_t rsti_send_endpoint_t;

typedef struct rsti_live_receiver_t {
    int64_t receiver_id;
    int64_t last_sm_ns;
    int64_t position; /* consumed, as the last status message said */
    int32_t window;   /* of that message */
    int64_t arrival_rate; /* bytes per second, 0: unknown */
    int64_t rtt_ns;   /* as an rstream receiver measured it; 0: unknown, or an Aeron receiver */
    int64_t rtt_position; /* sent position when rtt_ns was told */
    int64_t rtt_moved_ns; /* data sent later was consumed from this time on; 0: not yet */
    rsti_packed_address_t source; /* slowest_receiver.c; AF_UNSPEC: not known yet */
} rsti_live_receiver_t;

typedef struct rsti_network_publication_t {
    rsti_publication_t base;
    rsti_send_endpoint_t *endpoint;
    int64_t answered_image_id; /* its publisher is told our session id; -1: none, or connected */
    int32_t snd_pos_id, snd_lmt_id, snd_bpe_id, snd_naks_id, snd_consumed_id;
    int64_t *snd_pos; /* written by: sender; for display only: `position` is the one in use */
    int64_t *snd_lmt;
    int64_t *snd_bpe;
    int64_t *snd_naks;
    int64_t *snd_consumed; /* position that the slowest live receiver has consumed */
    int32_t fc_receivers_id;
    int64_t *fc_receivers; /* NULL: the flow control keeps no receivers */
    bool is_group;         /* multicast, or several destinations */
    /* written by: conductor, atomic */
    int64_t limit_wake_position; /* the sender wakes the conductor from here on */
    int64_t end_position;        /* INT64_MAX until no producer is left */
    int32_t is_revoked_shared;
    int32_t has_spies;    /* at least one working spy */
    int64_t spy_position; /* ssc: position of the fastest spy, at most the published position */
    /* written by: sender, atomic */
    int64_t position; /* sent up to here */
    int32_t is_corrupt; /* the log holds an invalid frame at position */
    int32_t has_receivers;
    int32_t has_unicast_eos;
    int32_t is_given_up; /* its receiver, by a NOOP; it may answer again */
    int32_t is_released;
    /* written by: sender */
    int64_t limit; /* of flow control */
    rsti_bucket_t resend_bytes; /* see resend.c */
    bool has_initial_connection;
    bool is_setup_elicited;
    bool is_blocked;  /* this stop by flow control is counted already */
    bool has_sent_eos;
    int64_t last_setup_ns;
    int64_t last_send_ns; /* data or heartbeat */
    int64_t last_data_ns; /* or the creation */
    int64_t rtt_ns;       /* the longest of the receivers', when all are rstream; else 0 */
    rsti_pacer_t pacer;
    rsti_send_path_t send_path;
    rsti_send_rate_t send_rate;
    rsti_stream_budget_t budget;
    rsti_noop_t noop;         /* noop.h */
    int64_t demand_position; /* sent, when the demand was told or checked last; see demand.h */
    int64_t demand_ns;
    int64_t noop_receiver_id; /* the receiver that did not answer */
    int64_t tail_ns; /* delay of the next heartbeat while data is unconfirmed; see tail.h */
    int64_t tail_error_due_ns; /* unknown tails of status messages are logged again from then on */
    bool is_refused_told; /* flow control had no room for a receiver: logged once */
    rsti_live_receiver_t *receivers; /* receiver_capacity of them */
    int32_t receiver_capacity;
    int32_t receiver_count;
    rsti_slowest_t slowest; /* of them; slowest_receiver.c */
    int64_t slowest_since_ms;
    int64_t slowest_window, slowest_gap; /* as told */
    int64_t gap; /* the least position that a NAK has asked for lately; see gap_of there */
    int64_t gap_ns;
    struct sockaddr_storage response_address; /* it asked for our SETUP; ss_family 0: none yet */
    rsti_flow_control_t flow;
    rsti_retransmit_handler_t retransmit;
    struct rsti_network_publication_t *next; /* sender's list */
    struct rsti_network_publication_t *bucket_next; /* endpoint's chain */
} rsti_network_publication_t;

#endif
