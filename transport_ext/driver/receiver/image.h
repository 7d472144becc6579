/* image.h: the local copy of one remote session (docs/reference/aeron/wire.md 8). The conductor
 * owns life, loss detection and the window (conductor/image.h). The receiver inserts data, and
 * sends status messages and NAKs. They share two sequence locks (conductor writes, receiver reads)
 * and a few atomic words. The law for accepted data is in image_insert.c. */
#ifndef RSTI_DRIVER_RECEIVER_IMAGE_H
#define RSTI_DRIVER_RECEIVER_IMAGE_H

#include "concurrent/loss_report.h"
#include "concurrent/sequence.h"
#include "driver/base/publication.h"
#include "driver/receiver/image_budget.h"
#include "driver/receiver/image_demand.h"
#include "driver/receiver/image_fill.h"
#include "driver/receiver/image_noop.h"
#include "driver/receiver/image_overrun.h"
#include "driver/receiver/image_path.h"
#include "driver/receiver/image_window.h"
#include "driver/receiver/receive_endpoint.h"
#include "flow/congestion.h"
#include "flow/pace.h"
#include "flow/reader_window.h"
#include "flow/rtt.h"
#include "flow/sm_repeat.h"
#include "loss/loss_detector.h"
#include "loss/repair.h"

/* Gaps that wait to be written to the loss report. */
#define RSTI_IMAGE_LOST_MAX 32
#define RSTI_NO_SESSION INT64_MIN
#define RSTI_CONNECTION_ACTIVITY_NS (5 * RSTI_NS_PER_S)
/* What an admitted source may get at first: three bytes for each of its two SETUPs, less the two
 * frames that it was asked with (admission.h). */
#define RSTI_ADMITTED_ALLOWANCE (3 * 2 * RSTI_SETUP_LENGTH - 2 * RSTI_RTTM_LENGTH)

/* One transport that carries this session; several with multi-destination subscriptions. It is
 * bound to one source (image_connections.h). */
typedef struct rsti_connection_t {
    rsti_receive_transport_t *transport; /* NULL: the session does not come by it, or no longer */
    struct sockaddr_storage source; /* remembered when the transport has gone */
    struct sockaddr_storage control; /* set once, when the connection is made */
    bool is_proven; /* the source has echoed a stamp of ours (admission.h) */
    int64_t allowance; /* bytes that an unproven source may still get */
    int64_t last_activity_ns;
    int64_t last_frame_ns;
    int64_t eos_position;
    bool is_eos;
    bool is_revoked; /* its end of stream was a revocation */
    bool is_rstream; /* known from its SETUP: the source understands additional status messages */
    bool follows_fill; /* known from its SETUP: the rate of the source follows fill NAKs */
    bool follows_path; /* known from its first SETUP: it wants to know what arrives */
    bool has_setup; /* false: only data came, so the abilities of the source are unknown */
    int32_t asked_count;
    int64_t ask_due_ns;
} rsti_connection_t;

/* The contents of the next status message. */
typedef struct rsti_image_sm_t {
    int64_t position, window;
    int64_t window_cut; /* the window for Aeron's sources (image_window.h) */
} rsti_image_sm_t;

/* A gap to ask for, in words of eight bytes. */
typedef struct rsti_image_loss_t {
    int64_t term_id, term_offset, length;
} rsti_image_loss_t;

struct rsti_image_t {
    /* written by: conductor, before use */
    int64_t correlation_id;
    struct sockaddr_storage source_address; /* of the SETUP that made the image */
    int32_t session_id;
    int32_t stream_id;
    rsti_receive_endpoint_t *endpoint;
    rsti_log_file_t file;
    int64_t join_position;
    int32_t mtu;
    char *uri; /* of the first subscription */
    char source[64];
    int32_t hwm_id, rcv_pos_id, naks_id;
    /* An image whose source was not proven at first has no counters until it is: then the three
     * addresses below are these words. */
    bool is_hidden;
    int64_t hidden[3];
    int64_t *hwm; /* written by: receiver; for display only: `high_water` is the one in use */
    int64_t *rcv_pos; /* written by: conductor; for display only: `received` is the one in use */
    int64_t *naks; /* written by: receiver */
    int32_t cc_rtt_id, cc_window_id; /* of laws that have counters */
    int64_t *cc_rtt;
    int64_t *cc_window;
    bool is_acked_soon; /* the sender is rstream, and may wait for a status message */
    bool is_reliable;
    bool is_rejoin;
    bool wants_responses; /* known from its SETUP: the publisher waits for a response channel */
    /* written by: conductor */
    rsti_life_t life;
    int64_t life_changed_ns;
    bool is_told_unavailable;
    bool is_retired; /* another image took its place, and its readers have read everything */
    int64_t drained_ns; /* when all data was first seen read while draining; INT64_MAX before */
    rsti_subscribers_t subscribers;
    int64_t received; /* end of contiguous data */
    rsti_loss_detector_t loss;
    rsti_loss_record_t loss_record; /* in the loss report */
    rsti_congestion_t congestion;
    struct { /* conductor/image_reader.h */
        bool is_followed; /* before use */
        int64_t first; /* window, bytes; before use */
        int32_t frame; /* the MTU; before use */
        int32_t stopped; /* likewise, of a reader that has stopped: that of the subscription */
        int32_t least; /* likewise, ever; with reader-window=false that of the subscription */
        int64_t client_id; /* of the publisher, where this driver has it, or -1; before use */
        rsti_reader_window_t law;
    } reader;
    int64_t next_sm_position;
    int32_t next_sm_window;
    int64_t sm_wake_position; /* a reader that reaches it makes a status message due */
    int64_t ack_due_ns; /* before this time, only the threshold makes a status message due */
    int64_t clean_position;
    rsti_log_quiet_t quiet;
    int64_t rebuilt_hwm; /* hwm and rebuild position of the last scan; unchanged: no new scan */
    int64_t rebuilt_from;
    int64_t loss_due_ns;
    int64_t stuck_since_ns; /* an unproven image waits for lost data since then; 0: it does not */
    char *reject_reason;
    char *leave_reason; /* the receiver sends it when the image drains */
    /* written by: conductor, atomic */
    RSTI_MAILBOX(rsti_image_sm_t) sm;
    RSTI_MAILBOX(rsti_image_loss_t) loss_found;
    int64_t room_until; /* consumed position + half a term */
    int64_t reserved_until; /* the log has memory below it */
    int32_t is_draining; /* status messages carry EOS */
    int32_t is_rejected;
    int64_t response_session; /* to be sent to the publisher; RSTI_NO_SESSION: none */
    /* written by: receiver, atomic */
    int64_t high_water;
    int64_t last_packet_ns;
    int32_t is_proven; /* a source is; written by the conductor before use */
    int32_t is_end_of_stream;
    int32_t is_revoked;
    int32_t is_displaced; /* a proven source has taken the session over */
    int32_t is_wide; /* data came from beyond the memory of the window: half a term is wanted */
    int32_t is_released;
    int64_t rtt_ns; /* smoothed round trip to the senders; 0: not measured yet */
    int64_t rtt_least_ns;
    int32_t has_rstream; /* a source is rstream and understands additional status messages */
    /* written by: receiver */
    rsti_rtt_t rtt;
    int64_t rtt_key; /* hides the time in our round-trip frames, so that none can be forged */
    int64_t rtt_asked_hwm;
    int64_t proof_due_ns; /* when unproven sources are asked again */
    rsti_connection_t *connections; /* by slot of the transport */
    int32_t connection_capacity;
    int64_t sm_seen;
    int64_t loss_seen;
    int64_t last_sm_position; /* atomic; data from there on may come again */
    int64_t last_sm_window;
    int64_t overrun_threshold;
    int64_t sm_due_ns;
    int64_t response_told; /* session last sent in a response set-up */
    int64_t response_due_ns;
    rsti_sm_repeat_t sm_repeat;
    bool is_superseded; /* a newer image of the same session exists: no status messages */
    bool is_touched; /* got data in this burst: readers are woken at its end */
    bool is_eos_sm_sent;
    /* image_repair.h; written by: receiver */
    /* Atomic: all sources are rstream, so the receiver finds and repairs gaps. */
    int32_t is_repaired;
    rsti_repair_t repair;
    rsti_arrival_t arrival;
    bool has_news; /* an additional status message is due */
    rsti_image_fill_t fill;
    rsti_image_demand_t demand;
    rsti_image_budget_t budget;
    rsti_image_noop_t noop;
    rsti_image_window_t window_cut;
    rsti_image_overrun_t overrun;
    rsti_image_path_t path;
    /* Ring of gaps with a first NAK, for the loss report that the conductor writes. */
    struct {
        int64_t begin, end;
    } lost[RSTI_IMAGE_LOST_MAX];
    int64_t lost_tail; /* atomic; written by: receiver */
    int64_t lost_head; /* atomic; written by: conductor */
    struct rsti_image_t *next;
};

/* Whether demand, budget and NOOP answers are sent to the sender. In a group a sender keeps no
 * state per receiver, and Aeron's senders ignore these items. Any agent. */
static inline bool rsti_image_tells_words(const rsti_image_t *image)
{
    return image->file.log.metadata->group == 0 && rsti_load_acquire_i32(&image->has_rstream) != 0;
}

#endif
