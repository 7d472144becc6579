/* publication_image.h: one remote session as it is received here (wire reference 8). The conductor
 * owns life, loss detection and the window; the receiver inserts, and sends status messages and
 * NAKs. They meet in two sequence locks (conductor writes, receiver reads) and a few atomic words.
 * Law: every accepted datagram ends at or below last SM position + term / 2. */
#ifndef RSTI_DRIVER_PUBLICATION_IMAGE_H
#define RSTI_DRIVER_PUBLICATION_IMAGE_H

#include "concurrent/loss_report.h"
#include "driver/image_budget.h"
#include "driver/image_demand.h"
#include "driver/image_fill.h"
#include "driver/image_noop.h"
#include "driver/image_window.h"
#include "driver/publication.h"
#include "driver/receive_endpoint.h"
#include "flow/congestion.h"
#include "flow/pace.h"
#include "flow/rtt.h"
#include "flow/sm_repeat.h"
#include "loss/loss_detector.h"
#include "loss/repair.h"

/* Gaps on their way to the loss report. */
#define RSTI_IMAGE_LOST_MAX 32
#define RSTI_NO_SESSION INT64_MIN
#define RSTI_CONNECTION_ACTIVITY_NS (5 * RSTI_NS_PER_S)

/* One transport that carries this session; several with multi-destination subscriptions. */
typedef struct rsti_connection_t {
    rsti_receive_transport_t *transport; /* NULL: this transport has not brought the session yet */
    struct sockaddr_storage control; /* taken once, when the connection is made */
    int64_t last_activity_ns;
    int64_t last_frame_ns;
    int64_t eos_position;
    bool is_eos;
    bool is_revoked; /* its end of stream said so */
    bool is_rstream; /* its SETUP said so: additional status messages are understood */
    bool follows_fill; /* and that its rate follows fill NAKs */
    bool has_setup; /* else it came with data alone: what its source understands is not known */
    int32_t asked_count;
    int64_t ask_due_ns;
} rsti_connection_t;

/* What the next status message says. */
typedef struct rsti_image_sm_t {
    int64_t position, window;
    int64_t window_cut; /* for sources of Aeron's (image_window.h) */
} rsti_image_sm_t;

/* A gap to ask for, in words of eight bytes. */
typedef struct rsti_image_loss_t {
    int64_t term_id, term_offset, length;
} rsti_image_loss_t;

struct rsti_image_t {
    /* written by: conductor, before use */
    int64_t correlation_id;
    int32_t session_id;
    int32_t stream_id;
    rsti_receive_endpoint_t *endpoint;
    rsti_log_file_t file;
    int64_t join_position;
    int32_t mtu;
    char *uri; /* of the first subscription */
    char source[64];
    int32_t hwm_id, rcv_pos_id, naks_id;
    int64_t *hwm; /* written by: receiver; told, never read: high_water counts */
    int64_t *rcv_pos; /* written by: conductor; told, never read: received counts */
    int64_t *naks; /* written by: receiver */
    int32_t cc_rtt_id, cc_window_id; /* of laws that have counters */
    int64_t *cc_rtt;
    int64_t *cc_window;
    bool is_acked_soon; /* the sender is rstream: it may wait until it was understood */
    bool is_reliable;
    bool is_rejoin;
    bool wants_responses; /* the set-up said that its publisher waits for a response channel */
    /* written by: conductor */
    rsti_life_t life;
    int64_t life_changed_ns;
    bool is_told_unavailable;
    int64_t drained_ns; /* draining, and first seen with all of it read; INT64_MAX before */
    rsti_subscribers_t subscribers;
    int64_t received; /* end of contiguous data */
    rsti_loss_detector_t loss;
    rsti_loss_record_t loss_record; /* in the loss report */
    rsti_congestion_t congestion;
    int64_t next_sm_position;
    int32_t next_sm_window;
    int64_t sm_wake_position; /* a reader that comes there makes a status message due */
    int64_t ack_due_ns; /* before it, only the threshold makes a status message */
    int64_t clean_position;
    int64_t rebuilt_hwm; /* hwm and rebuild position of the last scan: nothing new, no scan */
    int64_t rebuilt_from;
    int64_t loss_due_ns;
    bool is_storage_error;
    char *reject_reason;
    /* written by: conductor, atomic */
    RSTI_MAILBOX(rsti_image_sm_t) sm;
    RSTI_MAILBOX(rsti_image_loss_t) loss_found;
    int64_t room_until; /* half a term beyond what was consumed */
    int32_t is_draining; /* status messages carry EOS */
    int32_t is_rejected;
    int64_t response_session; /* to be told to the publisher; RSTI_NO_SESSION */
    /* written by: receiver, atomic */
    int64_t high_water;
    int64_t last_packet_ns;
    int32_t has_frames; /* more than a SETUP came */
    int32_t is_end_of_stream;
    int32_t is_revoked;
    int32_t is_released;
    int64_t rtt_ns; /* smoothed round trip to the senders; 0: not measured yet */
    int64_t rtt_least_ns;
    int32_t has_rstream; /* some source is rstream: additional status messages are understood */
    /* written by: receiver */
    rsti_rtt_t rtt;
    int64_t rtt_asked_hwm;
    rsti_connection_t *connections; /* by slot of the transport */
    int32_t connection_capacity;
    int64_t sm_seen;
    int64_t loss_seen;
    int64_t last_sm_position;
    int64_t last_sm_window;
    int64_t overrun_threshold;
    int64_t sm_due_ns;
    int64_t response_told; /* session last sent in a response set-up */
    int64_t response_due_ns;
    rsti_sm_repeat_t sm_repeat;
    bool is_superseded; /* a newer image of the same session exists: no status messages */
    bool is_touched; /* got data in this burst: readers are woken at its end */
    bool is_eos_sm_sent;
    /* image_repair.c; written by: receiver */
    int32_t
        is_repaired; /* atomic: the receiver finds and repairs gaps, all its sources are rstream */
    rsti_repair_t repair;
    rsti_arrival_t arrival;
    bool has_news; /* for the sender: an additional status message is due */
    rsti_image_fill_t fill;
    rsti_image_demand_t demand;
    rsti_image_budget_t budget;
    rsti_image_noop_t noop;
    rsti_image_window_t cut;
    /* Ring: first asked for, for the conductor's report. */
    struct {
        int64_t begin, end;
    } lost[RSTI_IMAGE_LOST_MAX];
    int64_t lost_tail; /* atomic; written by: receiver */
    int64_t lost_head; /* atomic; written by: conductor */
    struct rsti_image_t *next;
};

typedef struct rsti_image_facts_t {
    rsti_receive_endpoint_t *endpoint;
    const rsti_setup_t *setup;
    rsti_receive_transport_t *transport; /* that brought the SETUP */
    const struct sockaddr_storage *source;
    const rsti_subscription_t *subscription; /* first that matches: its URI parameters count */
} rsti_image_facts_t;

/* Conductor's side. */
int rsti_publication_image_create(rst_driver_t *driver, rsti_image_t **image,
    const rsti_image_facts_t *facts, int64_t now_ns);
void rsti_publication_image_destroy(rst_driver_t *driver, rsti_image_t *image);
/* Rebuild pass (8.6). Returns when its loss timer is due. */
int64_t rsti_image_rebuild(rst_driver_t *driver, rsti_image_t *image, int64_t now_ns);
bool rsti_image_is_drained(const rsti_image_t *image);
bool rsti_image_accepts(const rsti_image_t *image);
int64_t rsti_image_join_position(const rsti_image_t *image);
/* A reader that reaches the first of them wakes the conductor: its position makes a status message
 * due, or an acknowledgement of the budget. */
void rsti_image_wake_at(rsti_image_t *image, int64_t sm_position, int64_t budget_position);
/* Before a subscriber leaves: what it has consumed goes into the next status message. */
void rsti_image_note_consumed(rst_driver_t *driver, rsti_image_t *image);
/* Every pass: true when the image may be freed. Lowers *next_deadline_ns to when time matters. */
bool rsti_image_on_life(rst_driver_t *driver, rsti_image_t *image, int64_t now_ns,
    int64_t *next_deadline_ns);

/* Receiver's side. */
void rsti_image_on_packet(rsti_receiver_t *receiver, rsti_image_t *image,
    rsti_receive_transport_t *transport, const uint8_t *datagram, size_t length,
    const struct sockaddr_storage *source, int64_t now_ns);
/* A SETUP of a session that has its image: its transport belongs to it from now on. */
void rsti_image_on_setup(rsti_image_t *image, rsti_receive_transport_t *transport,
    const rsti_setup_t *setup, const struct sockaddr_storage *source, int64_t now_ns);
void rsti_image_remove_transport(rsti_receiver_t *receiver, rsti_image_t *image,
    const rsti_receive_transport_t *transport);
/* To every connection that is alive; returns how many. */
int32_t rsti_image_send_to_live(rsti_receiver_t *receiver, rsti_image_t *image, const void *frame,
    size_t length, int64_t now_ns);
/* The last plain one with items behind it: to rstream sources alone, and more often than needed is
 * harmless (docs/wire.md, SM items). fill: value of that item, for those that follow it; NULL:
 * none. Demand, budget and NOOPs go along once they are known. */
void rsti_image_send_items(rsti_receiver_t *receiver, rsti_image_t *image, const uint8_t *fill,
    int64_t now_ns);

/* image_fill.c; conductor. Counters stand behind the image's others; wanted: its source follows
 * fill. */
void rsti_image_fill_init(const rst_driver_t *driver, rsti_image_t *image);
int rsti_image_fill_counters(rst_driver_t *driver, rsti_image_t *image, bool is_wanted);
void rsti_image_fill_fini(rst_driver_t *driver, rsti_image_t *image);
/* Each rebuild pass. Returns when to look again. */
int64_t rsti_image_fill_look(rst_driver_t *driver, rsti_image_t *image,
    const rsti_rebuild_facts_t *found);
/* Receiver: a SETUP changed a connection; data came; a fill NAK that is due. */
void rsti_image_fill_on_setup(rsti_image_t *image);
/* What the sender says by a status message: another receiver's fill NAK (its own is none), or the
 * delay aimed at. */
void rsti_image_fill_on_echo(rsti_receiver_t *receiver, rsti_image_t *image, const rsti_sm_t *sm);
void rsti_image_fill_on_data(rsti_receiver_t *receiver, rsti_image_t *image, int64_t hwm,
    int64_t now_ns);
void rsti_image_fill_pending(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns);

/* image_window.c; conductor. The window for Aeron's sources now: that of congestion, or less. */
int32_t rsti_image_window(const rsti_image_t *image);
/* It is told at once, though the status message for the others is not due. */
bool rsti_image_window_is_due(const rsti_image_t *image, int64_t consumed);
/* Receiver: the sources of the image are others. */
void rsti_image_window_on_sources(rsti_image_t *image);

/* Whether its sender is told demand, budget and NOOPs: of a group it keeps no state per receiver,
 * and Aeron's does not read them. Any agent. */
static inline bool rsti_image_tells_words(const rsti_image_t *image)
{
    return image->file.log.metadata->group == 0 && rsti_load_acquire_i32(&image->has_rstream) != 0;
}

/* image_demand.c; conductor: each rebuild pass. Returns when to look again. */
int64_t rsti_image_demand_look(rst_driver_t *driver, rsti_image_t *image, int64_t hwm,
    int64_t now_ns);
/* Receiver: true when there is something new to be told. */
bool rsti_image_demand_pending(rsti_image_t *image);

/* image_budget.c; conductor: what the stream is granted, and the connection that it belongs to,
 * made when there is none yet; 0 or negative with a trail. */
int rsti_image_budget_join(rst_driver_t *driver, rsti_image_t *image,
    const rsti_image_facts_t *facts);
/* It counts no more. Twice is harmless. */
void rsti_image_budget_leave(rst_driver_t *driver, rsti_image_t *image);
/* Each rebuild pass. Returns when to look again. */
int64_t rsti_image_budget_look(rst_driver_t *driver, rsti_image_t *image, int64_t hwm,
    int64_t consumed, int64_t now_ns);
/* Receiver: true when there is something new to be told. */
bool rsti_image_budget_pending(rsti_image_t *image);

/* image_noop.c; receiver: a heartbeat with a number. */
void rsti_image_noop_on_heartbeat(rsti_receiver_t *receiver, rsti_image_t *image, int64_t number);
/* Conductor: each rebuild pass. Returns when to look again. */
int64_t rsti_image_noop_look(rst_driver_t *driver, rsti_image_t *image, int64_t hwm,
    int64_t now_ns);
/* Receiver: true when there is something new to be told. */
bool rsti_image_noop_pending(rsti_image_t *image);

/* image_repair.c: between rstream peers the receiver repairs, many gaps at once. */
void rsti_image_repair_init(rsti_image_t *image, bool may_repair, int64_t delay_ns);
/* What was inserted, or a heartbeat: begin = end. */
void rsti_image_repair_on_data(rsti_image_t *image, int64_t begin, int64_t end, int64_t now_ns);
/* NAKs that are due, and news for the sender. Returns the next deadline. */
int64_t rsti_image_repair_pending(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns);
/* A round trip was measured. */
void rsti_image_repair_on_rtt(rsti_image_t *image);
/* Conductor's side: end of contiguous data from there on. */
int64_t rsti_image_repair_rebuild(rst_driver_t *driver, rsti_image_t *image, int64_t from,
    int64_t hwm, bool *has_loss);

/* Status message, NAK or gap fill that is due. Returns the next deadline. */
int64_t rsti_image_send_pending(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns);

/* image_congestion.c */
int rsti_image_congestion_init(rst_driver_t *driver, rsti_image_t *image,
    const rsti_image_facts_t *facts, int64_t now_ns);
int rsti_image_congestion_counters(rst_driver_t *driver, rsti_image_t *image);
void rsti_image_congestion_fini(rst_driver_t *driver, rsti_image_t *image);
/* One rebuild pass; true when a status message is to be scheduled. */
bool rsti_image_congestion_rebuild(rsti_image_t *image, const rsti_rebuild_facts_t *facts,
    bool is_ack_due);

/* image_rtt.c. Asks for the round trip when it is time. */
void rsti_image_check_rtt(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns);
void rsti_image_on_rtt_answer(rsti_image_t *image, const rsti_rttm_t *rttm, int64_t now_ns);

#endif
