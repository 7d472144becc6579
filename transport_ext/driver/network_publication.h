/* network_publication.h: a publication that is sent by UDP (wire reference 7).
 * Law: snd_pos never exceeds snd_lmt; limit <= snd_pos + window; memory below snd_pos - term
 * is zero before the limit rises. The conductor owns life and limit, the sender owns snd_pos,
 * snd_lmt, set-up, heartbeats, liveness and retransmits. */
#ifndef RSTI_DRIVER_NETWORK_PUBLICATION_H
#define RSTI_DRIVER_NETWORK_PUBLICATION_H

#include "driver/publication.h"
#include "driver/send_budget.h"
#include "driver/send_endpoint.h"
#include "driver/send_rate.h"
#include "flow/bucket.h"
#include "flow/flow_control.h"
#include "flow/noop.h"
#include "flow/pace.h"
#include "loss/retransmit_handler.h"
#include "protocol/sm_demand.h"
#include "util/netaddr.h"

#define RSTI_RESEND_BYTES_PER_S (8 * 1024 * 1024) /* besides what was sent once: allow_resend */
/* Receivers whose life is watched; of unicast channels, and of groups. */
#define RSTI_RECEIVERS_MAX 64
#define RSTI_GROUP_RECEIVERS_MAX 256
#define RSTI_HEARTBEAT_INTERVAL_NS (100 * RSTI_NS_PER_MS)
#define RSTI_SETUP_INTERVAL_NS (100 * RSTI_NS_PER_MS)

typedef struct rsti_live_receiver_t {
    int64_t receiver_id;
    int64_t last_sm_ns;
    int64_t position; /* consumed, as the last status message said */
    int32_t window;   /* of that one */
    int64_t arrival_rate; /* bytes per second, 0: unknown */
    int64_t rtt_ns;   /* as an rstream receiver measured it; 0: unknown, or an Aeron receiver */
    rsti_packed_address_t source; /* slowest.c; AF_UNSPEC: not known yet */
} rsti_live_receiver_t;

struct rsti_network_publication_t {
    rsti_publication_t base;
    rsti_send_endpoint_t *endpoint;
    int64_t answered_image_id; /* whose publisher is told our session; -1: none, or connected */
    int32_t snd_pos_id, snd_lmt_id, snd_bpe_id, snd_naks_id, snd_consumed_id;
    int64_t *snd_pos; /* written by: sender; told, never read: the words below count */
    int64_t *snd_lmt;
    int64_t *snd_bpe;
    int64_t *snd_naks;
    int64_t *snd_consumed; /* what the slowest living receiver has consumed */
    int32_t fc_receivers_id;
    int64_t *fc_receivers; /* NULL: the flow control keeps no receivers */
    bool is_group;         /* multicast, or several destinations */
    /* written by: conductor, atomic */
    int64_t limit_wake_position; /* the sender wakes the conductor from here on */
    int64_t end_position;        /* INT64_MAX until no producer is left */
    int32_t is_revoked_shared;
    int32_t has_spies;    /* working ones */
    int64_t spy_position; /* ssc: how far the fastest spy came, never beyond what was published */
    /* written by: sender, atomic */
    int64_t position; /* sent up to here */
    int32_t is_corrupt; /* what stands at position is no frame that a producer makes */
    int32_t has_receivers;
    int32_t has_unicast_eos;
    int32_t is_released;
    /* written by: sender */
    int64_t limit; /* of flow control */
    rsti_bucket_t resend_bytes; /* see allow_resend */
    bool has_initial_connection;
    bool is_setup_elicited;
    bool is_blocked;  /* flow control hit counted since the last successful send */
    bool has_sent_eos;
    int64_t last_setup_ns;
    int64_t last_send_ns; /* data or heartbeat */
    int64_t rtt_ns;       /* the longest of the receivers', when all are rstream; else 0 */
    rsti_pacer_t pacer;
    rsti_send_rate_t send_rate;
    rsti_stream_budget_t budget;
    rsti_noop_t noop;         /* noop_sender.c */
    int64_t noop_receiver_id; /* of whom it is dead */
    int64_t tail_ns; /* until the next heartbeat while they have not got all; see repair_sender.c */
    int64_t tail_error_due_ns; /* until then odd tails of status messages are not logged again */
    bool is_refused_told; /* flow control had no room for a receiver: logged once */
    rsti_live_receiver_t *receivers; /* receiver_capacity of them */
    int32_t receiver_capacity;
    int32_t receiver_count;
    rsti_slowest_t slowest; /* of them; slowest.c */
    int64_t slowest_since_ms;
    int64_t slowest_window;
    struct sockaddr_storage response_address; /* of who asked for our set-up; ss_family 0: nobody */
    rsti_flow_control_t flow;
    rsti_retransmit_handler_t retransmit;
    rsti_network_publication_t *next; /* sender's list */
    rsti_network_publication_t *bucket_next; /* endpoint's chain */
};

/* Conductor's side. */
int rsti_network_publication_create(rst_driver_t *driver, rsti_network_publication_t **publication,
    const rsti_publication_facts_t *facts, rsti_send_endpoint_t *endpoint);
void rsti_network_publication_destroy(rst_driver_t *driver,
    rsti_network_publication_t *publication);
void rsti_network_publication_update(rst_driver_t *driver, rsti_network_publication_t *publication,
    int64_t now_ns);
void rsti_network_publication_on_spies_changed(rst_driver_t *driver,
    rsti_network_publication_t *publication);
/* Time-based part of life; earlier calls are harmless. True when it may be freed. */
bool rsti_network_publication_on_life(rst_driver_t *driver, rsti_network_publication_t *publication,
    int64_t now_ns);
/* When it is to be called again. */
int64_t rsti_network_publication_life_due_ns(const rst_driver_t *driver,
    const rsti_network_publication_t *publication);

/* Sender's side. */
typedef struct rsti_sender_t rsti_sender_t;
/* slowest.c: an accepted status message came from source; and: receivers went. */
void rsti_slowest_on_sm(rsti_sender_t *sender, rsti_network_publication_t *publication,
    int64_t receiver_id, const struct sockaddr_storage *source, int64_t now_ns);
void rsti_slowest_on_receivers(rsti_sender_t *sender, rsti_network_publication_t *publication,
    int64_t now_ns);
/* repair_sender.c: towards rstream receivers (docs/wire.md, "Repair"). */
/* Items behind a status message: what they say of its receiver. */
/* What lies at position was sent and can be sent again. */
bool rsti_network_publication_holds(const rsti_network_publication_t *publication, int64_t position,
    int64_t snd_pos);
/* A status message from further behind than counts (wire reference 4.2), of a receiver whose log
 * and ours still hold what it lacks: its fill NAK does. A buffer of half a term that is full lies
 * behind by what is under way too, so it is the fullest that would not be heard. */
void rsti_network_publication_on_laggard(rsti_sender_t *sender,
    rsti_network_publication_t *publication, const rsti_sm_t *sm, const rsti_sm_facts_t *facts,
    int64_t now_ns);
void rsti_network_publication_on_items(rsti_sender_t *sender,
    rsti_network_publication_t *publication, const rsti_sm_t *sm, int64_t now_ns);
/* demand_sender.c: what its one receiver's readers ask for; and: it is another one, or gone. */
void rsti_network_publication_on_demand(rsti_sender_t *sender,
    rsti_network_publication_t *publication, const rsti_sm_demand_t *demand);
void rsti_network_publication_forget_demand(rsti_sender_t *sender,
    rsti_network_publication_t *publication);
/* noop_sender.c: is its one receiver's path alive, up to its readers? Each pass; and what a status
 * message, looked at before all else, says: true when it comes from one that is dead and stays so.
 */
void rsti_network_publication_check_noop(rsti_sender_t *sender,
    rsti_network_publication_t *publication, int64_t snd_pos, int64_t now_ns,
    int64_t *next_deadline_ns);
bool rsti_network_publication_is_shut(rsti_network_publication_t *publication, const rsti_sm_t *sm,
    int64_t now_ns);
/* network_sender.c: a control frame by the way of the data; false: it was not taken. */
bool rsti_network_publication_send_frame(rsti_sender_t *sender,
    rsti_network_publication_t *publication, const void *frame, size_t length);
/* network_sender.c: a heartbeat, which carries the newest NOOP; false: it was not taken. */
bool rsti_network_publication_send_heartbeat(rsti_sender_t *sender,
    rsti_network_publication_t *publication, int64_t snd_pos, uint8_t flags);
/* sender_receivers.c: it is given up, and who publishes hears why. */
void rsti_network_publication_drop(rsti_sender_t *sender, rsti_network_publication_t *publication,
    const rsti_err_t *err, const char *text, const struct sockaddr_storage *source, int64_t now_ns);
/* The receivers have changed. */
void rsti_network_publication_update_repair(rsti_network_publication_t *publication);
/* Another law of rate. */
void rsti_network_publication_set_rate(rsti_network_publication_t *publication,
    const rsti_rate_choice_t *choice, const rsti_rate_counters_t *counters, int64_t now_ns);
/* Data went out, or a heartbeat did: when the next heartbeat is due after it. */
void rsti_network_publication_on_tail(rsti_network_publication_t *publication, bool is_data);
int64_t rsti_network_publication_heartbeat_ns(const rsti_network_publication_t *publication);
int64_t rsti_network_publication_send(rsti_sender_t *sender,
    rsti_network_publication_t *publication, int64_t now_ns, int64_t *next_deadline_ns);
/* A pass in which nothing was sent: limit at idle, and receivers that went silent. */
void rsti_network_publication_on_idle(rsti_sender_t *sender,
    rsti_network_publication_t *publication, int64_t snd_pos, int64_t now_ns);
/* Whether it was accepted. */
bool rsti_network_publication_on_sm(rsti_sender_t *sender, rsti_network_publication_t *publication,
    const rsti_sm_t *sm, int64_t now_ns);
void rsti_network_publication_on_nak(rsti_sender_t *sender, rsti_network_publication_t *publication,
    const rsti_nak_t *nak, int64_t now_ns);
void rsti_network_publication_on_rttm(rsti_sender_t *sender,
    rsti_network_publication_t *publication, const rsti_rttm_t *rttm);
void rsti_network_publication_on_response_setup(rsti_sender_t *sender,
    const rsti_network_publication_t *publication, const rsti_rsp_setup_t *setup);
void rsti_network_publication_on_err(rsti_sender_t *sender, rsti_network_publication_t *publication,
    const rsti_err_t *err, const struct sockaddr_storage *source, int64_t now_ns);

#endif
