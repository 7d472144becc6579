/* internal.h: the client's own structures.
 *
 * Locks, in the order in which they may be taken: client->lock, waiter->lock, subscription->lock,
 * client->logs_lock. offer takes none; poll takes its subscription's, which nobody else holds for
 * longer than a few list operations.
 *
 * Lives: client, publication and subscription are counted. A handle that the user holds is one
 * count; an image counts its subscription, everything counts its client, and what points into a
 * mapping counts the mapping. So nothing is unmapped while somebody can still look at it, in
 * whatever order a garbage collector closes the handles: rst_client_close marks everything dead,
 * and the memory goes with the last close call. */
#ifndef RSTI_CLIENT_INTERNAL_H
#define RSTI_CLIENT_INTERNAL_H

#include "client/outbox.h"
#include "cnc/cnc_file.h"
#include "cnc/driver_dir.h"
#include "cnc/log_file.h"
#include "cnc/wake_fifo.h"
#include "concurrent/agent.h"
#include "logbuffer/appender.h"
#include "logbuffer/reader.h"
#include "protocol/command.h"
#include "rstream/counter.h"
#include "rstream/image.h"
#include "rstream/rstream.h"
#include "util/hash_map.h"
#include "util/ptr_array.h"

#include <pthread.h>

#define RSTI_CLIENT_NAME_MAX 100
#define RSTI_CLIENT_RESPONSES_PER_PASS 64
#define RSTI_CLIENT_WATCH_INTERVAL_NS (100 * RSTI_NS_PER_MS)
#define RSTI_CLIENT_POLL_AWAITING_NS RSTI_NS_PER_MS
#define RSTI_CLIENT_POLL_IDLE_NS (16 * RSTI_NS_PER_MS)
#define RSTI_EVENTS_MAX 256
#define RSTI_COUNTER_EVENTS_MAX 256
#define RSTI_PUBLICATION_ERRORS_MAX 16

static inline int64_t rsti_client_now_ns(void)
{
    const rsti_clock_t clock = rsti_clock_system();
    return rsti_clock_nano_time(&clock);
}

/* ---- fork ---- */

/* Counts forks: a handle remembers the value at its birth and is dead when it differs. */
extern int32_t rsti_fork_generation;
void rsti_fork_guard_init(void);
static inline bool rsti_is_forked(int32_t generation)
{
    return generation != rsti_load_relaxed_i32(&rsti_fork_generation);
}
int rsti_set_forked_error(const char *what); /* -RST_EFORKED with a trail */

/* ---- mapped logs, shared by path ---- */

typedef struct rsti_shared_log_t {
    rsti_log_file_t file;
    int32_t refs;        /* under logs_lock */
    rst_client_t *client;
} rsti_shared_log_t;
int rsti_shared_log_open(rst_client_t *client, const char *path, size_t path_length,
    rsti_shared_log_t **log);
void rsti_shared_log_ref(rsti_shared_log_t *log);
void rsti_shared_log_unref(rsti_shared_log_t *log);
static inline rsti_log_ext_t *rsti_shared_log_ext(const rsti_shared_log_t *log)
{
    return &log->file.log.metadata->ext;
}

/* ---- client ---- */

/* Ring of RSTI_COUNTER_EVENTS_MAX; made at the first event. Under client->lock. */
typedef struct rsti_counter_events_t {
    rst_counter_event_t *events;
    uint32_t head, tail;
    int64_t lost;
} rsti_counter_events_t;

struct rst_client_t {
    int32_t refs; /* atomic */
    int32_t generation;
    int32_t state;       /* atomic, rst_client_state_t; written under lock */
    int32_t has_foreign_peers; /* atomic: clients that never wake us live beside us */
    bool is_rstream;
    char dir[RSTI_PATH_MAX];
    char name[RSTI_CLIENT_NAME_MAX + 1];
    int64_t driver_timeout_ns;
    int64_t keepalive_interval_ns;
    int64_t client_id;

    rsti_cnc_t cnc;
    rsti_mpsc_rb_t to_driver;
    rsti_outbox_t outbox; /* under lock */
    rsti_broadcast_rx_t to_clients;
    rsti_counters_t counters;
    rsti_waker_t *waker; /* NULL beside an Aeron driver */
    int lock_fd;         /* driver.lock, -1 beside an Aeron driver */
    int wake_fd;         /* the conductor sleeps on it */
    rsti_agent_runner_t runner;

    pthread_mutex_t lock;
    pthread_cond_t answered;
    rsti_hash_map_t pending;       /* correlation id -> rsti_pending_t */
    int32_t pending_count;         /* atomic: unanswered; written under lock */
    rsti_hash_map_t publications;  /* correlation id -> rst_publication_t, not counted */
    rsti_hash_map_t subscriptions; /* registration id -> rst_subscription_t, not counted */
    rsti_hash_map_t user_counters; /* correlation id -> rst_user_counter_t, not counted */
    rsti_counter_events_t counter_events;
    rsti_ptr_array_t waiters;      /* not counted */
    int32_t next_waiter_id;
    char failure[256];             /* why the state is what it is */

    /* conductor thread only */
    int32_t heartbeat_counter_id; /* atomic: written under the lock, read by the client's thread
                                     without it */
    int64_t keepalive_deadline_ns;
    int64_t watch_deadline_ns;
    int64_t last_work_ns; /* 0 before the first */
    int64_t driver_heartbeat_ms;
    int64_t driver_heartbeat_changed_ns;

    pthread_mutex_t logs_lock;
    rsti_ptr_array_t logs;
};

/* 0, or negative with a trail: NULL, forked, closed, driver lost, timed out. */
int rsti_client_check(const rst_client_t *client);
/* What can be judged of a channel without the driver: 0, or -RST_ECHANNEL with a trail. */
int rsti_client_check_channel(const rst_client_t *client, const char *channel);
int rsti_client_state_error(const rst_client_t *client, int32_t state);
void rsti_client_ref(rst_client_t *client);
void rsti_client_unref(rst_client_t *client);
void rsti_client_kick_conductor(rst_client_t *client);
void rsti_client_kick_waiters(rst_client_t *client); /* under client->lock */
/* Writes so that a sleeper on an own file descriptor wakes. */
void rsti_fd_kick(int fd);
static inline int32_t rsti_client_state_now(const rst_client_t *client)
{
    return rsti_load_acquire_i32(&client->state);
}
/* Wakes one of the driver's agents if it sleeps. */
void rsti_client_wake_agent(rst_client_t *client, rsti_agent_id_t agent);
void rsti_client_on_wake(void *arg, int64_t client_id, int32_t waiter_id);

/* conductor.c */
int rsti_client_conductor_init(rst_client_t *client);
int64_t rsti_client_do_work(void *arg, int64_t now_ns, int64_t *next_deadline_ns);
/* Under client->lock: everything the client made is dead from now on. */
void rsti_client_fail(rst_client_t *client, int32_t state, const char *text);
/* responses.c: under client->lock. Records handled; -1 when the client was lapped. */
int64_t rsti_client_receive(rst_client_t *client);

/* ---- commands ---- */

typedef enum rsti_pending_state_t {
    RSTI_PENDING_SENT,
    RSTI_PENDING_READY,
    RSTI_PENDING_FAILED,
    RSTI_PENDING_CANCELLED /* not wanted any more: undone when the answer comes */
} rsti_pending_state_t;

typedef enum rsti_pending_kind_t {
    RSTI_PENDING_PUBLICATION,
    RSTI_PENDING_SUBSCRIPTION,
    RSTI_PENDING_COUNTER,
    RSTI_PENDING_SESSION_ID,
    RSTI_PENDING_OPERATION /* makes nothing: forgotten when it was awaited */
} rsti_pending_kind_t;

typedef struct rsti_pending_t {
    int64_t correlation_id;
    rsti_pending_state_t state;
    rsti_pending_kind_t kind;
    int32_t stream_id;
    int64_t deadline_ns;
    char *channel; /* also: destination, label of a counter, reason: for the text of an error */
    rst_publication_t *publication;
    rst_subscription_t *subscription;
    rst_user_counter_t *counter;
    int64_t counter_registration_id; /* static counters */
    bool is_static;
    bool is_on_demand; /* a subscription that wants nothing before it is asked to */
    int32_t session_id;
    int error_code;
    int error_detail;
    char error_text[512];
} rsti_pending_t;
/* A new one, for stream_id and a text that tells it apart. NULL with a trail. */
rsti_pending_t *rsti_pending_create(const rst_client_t *client, rsti_pending_kind_t kind,
    const char *text, size_t text_length, int32_t stream_id);
/* Sends the command under a new correlation id, which is the result; takes the pending over, also
 * when it fails. */
int64_t rsti_client_ask(rst_client_t *client, rsti_pending_t *pending,
    const rsti_command_t *command);
/* What is ready under this id and of this kind, taken out; NULL with a trail. */
rsti_pending_t *rsti_client_take(rst_client_t *client, int64_t correlation_id,
    rsti_pending_kind_t kind);
void rsti_pending_finish(rst_client_t *client, rsti_pending_t *pending, rsti_pending_state_t state);
void rsti_pending_fail(rst_client_t *client, rsti_pending_t *pending, int code, int detail,
    const char *text, size_t length);
void rsti_pending_free(rsti_pending_t *pending);
/* Under client->lock: fills in the client id, sends, wakes the driver. */
int rsti_client_send(rst_client_t *client, const rsti_command_t *command);
void rsti_client_send_remove(rst_client_t *client, int32_t type, int64_t registration_id,
    uint64_t flags);

/* channel_status.c: RST_CHANNEL_…; and 1 stored, 0 not so many. */
int64_t rsti_client_channel_status(const rst_client_t *client, int32_t channel_status_id);
int rsti_client_local_address(const rst_client_t *client, int32_t channel_status_id, int index,
    char *text, size_t size);

/* ---- user counters: user_counter.c, under client->lock ---- */

/* NULL with a trail. */
rst_user_counter_t *rsti_user_counter_create(rst_client_t *client, const rsti_pending_t *pending,
    int32_t counter_id);
void rsti_user_counter_kill(rst_user_counter_t *counter);
void rsti_user_counter_unref(rst_user_counter_t *counter);
/* A counter of any client came or went: event, and ours is dead. */
void rsti_client_on_counter(rst_client_t *client, int kind, int64_t registration_id,
    int32_t counter_id);

/* ---- publications ---- */

struct rst_publication_t {
    rsti_appender_t appender;
    int32_t is_closed;      /* atomic */
    int32_t generation;
    bool is_rstream;
    bool is_ipc;
    int32_t last_reason;    /* atomic: why the last offer was refused, for waiters */
    int32_t demand_was_connected; /* atomic, with the next: as rst_publication_demand told last */
    int64_t demand_seen;
    rsti_log_ext_t *ext;
    rst_client_t *client;
    rsti_shared_log_t *log;
    int32_t max_message_length;
    int32_t refs;           /* atomic */
    int64_t correlation_id; /* of our command */
    int64_t registration_id; /* of the publication, which may be shared */
    int32_t consumed_counter_id; /* atomic cache */
    int32_t channel_status_id;
    char *channel;
    /* under client->lock; ring of RSTI_PUBLICATION_ERRORS_MAX, made at the first error */
    rst_publication_error_t *errors;
    uint32_t errors_head, errors_tail;
    int64_t errors_lost;
};
/* Under client->lock. NULL with a trail. */
rst_publication_t *rsti_publication_create(rst_client_t *client, const rsti_pending_t *pending,
    const rsti_response_t *response);
void rsti_publication_ref(rst_publication_t *publication);
void rsti_publication_unref(rst_publication_t *publication);
void rsti_publication_kill(rst_publication_t *publication);
/* publication_errors.c: to every handle of the publication. Under client->lock. */
void rsti_client_on_publication_error(rst_client_t *client, const rsti_response_t *response);
/* What a waiter wants to know. */
bool rsti_publication_is_ready(const rst_publication_t *publication);
/* Whether the demand may change and nobody rings: of several readers of an IPC log the one that
 * lies behind reads on. */
bool rsti_publication_is_demand_polled(const rst_publication_t *publication);
/* The position counter of the next subscriber of an IPC log: each refers to the publication. From
 * *id on, which moves behind it; NULL: there is no other. */
const rsti_counter_value_t *rsti_publication_next_reader(const rst_publication_t *publication,
    int32_t *id);
/* Why a handle that is NULL, forked or closed does nothing: RST_ERROR with a trail, or RST_CLOSED.
 */
int64_t rsti_publication_refuse(const rst_publication_t *publication);

/* ---- assembler ---- */

typedef struct rsti_buffer_t {
    uint8_t *data;
    size_t capacity;
} rsti_buffer_t;

/* Puts the fragments of one message of one image together, in owned memory. */
typedef struct rsti_assembler_t {
    rsti_buffer_t buffer;
    int32_t length;
    int32_t length_max;
    int64_t next_position; /* where the next fragment must begin; -1: no message begun */
    /* of the frame that began the message */
    int64_t reserved_value;
    int32_t term_id;
    int32_t term_offset;
} rsti_assembler_t;
void rsti_assembler_init(rsti_assembler_t *assembler, int32_t length_max);
void rsti_assembler_fini(rsti_assembler_t *assembler);
void rsti_assembler_reset(rsti_assembler_t *assembler);
/* Any kind of poll may end the message: it tells of the frame that began it. */
void rsti_assembler_begin(rsti_assembler_t *assembler, const rsti_data_header_t *header);
/* Length after this fragment; -1: it does not belong to the message begun (joined in the middle, a
 * gap that was filled, too long) and is dropped. Changes nothing. */
int32_t rsti_assembler_would_be(const rsti_assembler_t *assembler, uint8_t flags,
    int32_t fragment_length, int64_t position);
/* 0, or -RST_ENOMEM. Only for a fragment that would_be() accepted. */
int rsti_assembler_append(rsti_assembler_t *assembler, uint8_t flags, const uint8_t *payload,
    int32_t length, int64_t position, int64_t end_position);

/* ---- images ---- */

typedef enum rsti_image_state_t {
    RSTI_IMAGE_ACTIVE = 0,
    RSTI_IMAGE_CLOSING = 1, /* unavailable: what lies in memory is still handed out */
    RSTI_IMAGE_GONE = 2
} rsti_image_state_t;

typedef struct rsti_lease_t {
    rst_image_t *image;
    int64_t begin;
    struct rsti_lease_t *prev, *next; /* in the image's list, oldest first */
} rsti_lease_t;

/* Everything under subscription->lock. */
struct rst_image_t {
    int32_t refs; /* atomic */
    rsti_image_state_t state;
    rst_subscription_t *subscription;
    rsti_shared_log_t *log;
    rsti_counter_value_t *counter;
    const rsti_counter_metadata_t *counter_metadata;
    int64_t correlation_id;
    int32_t session_id;
    bool is_corrupt;
    bool is_drained;
    int64_t evicted_ms; /* as the driver told; 0: it was not */
    bool is_let_go; /* it ends here, whatever lies behind what was handed out */
    int64_t join_position;
    int64_t scan_position;      /* of the next frame to read */
    int64_t delivered_position; /* after the last message handed out, and padding behind it */
    int64_t released_position;  /* as last told to the driver */
    int32_t lease_index;        /* in the batch being filled, -1 */
    rsti_lease_t *oldest_lease, *youngest_lease;
    rsti_assembler_t assembler;
    int32_t receiver_counter_id;
    char source[sizeof((rst_image_event_t *)0)->source];
};

typedef enum rsti_stop_t {
    RSTI_STOP_EMPTY,    /* nothing committed behind it */
    RSTI_STOP_TERM_END,
    RSTI_STOP_FULL,     /* room, bytes or demand used up */
    RSTI_STOP_CORRUPT,
    RSTI_STOP_ERROR     /* poll->error says which */
} rsti_stop_t;

typedef struct rsti_poll_t {
    rst_batch_t *batch;
    int32_t room;
    int64_t bytes_left;
    int64_t limit_position; /* only what begins below it */
    int64_t only_image;     /* correlation id; -1: all of them */
    int32_t block_length_max; /* > 0: one block of raw frames instead of messages */
    bool is_demanded;
    int64_t demand;
    int64_t charged;
    int error;
} rsti_poll_t;

rst_image_t *rsti_client_image_create(rst_subscription_t *subscription,
    const rsti_response_t *response);
void rsti_image_ref(rst_image_t *image);
void rsti_image_unref(rst_image_t *image);
/* Whether the subscriber position counter is still this image's. */
bool rsti_image_has_counter(const rst_image_t *image);
/* The driver goes on without this reader: what it reads may change under it. */
bool rsti_image_is_evicted(const rst_image_t *image);
/* Under subscription->lock: what was handed out of it is as it was. Not when the driver let its
 * reader go, nor when it took the position counter back and the notice that says why is not read
 * yet: then the word of an eviction may be gone with it. */
bool rsti_image_is_kept(const rst_image_t *image);
/* Reads to the end of the term at most. */
rsti_stop_t rsti_image_poll_term(rst_image_t *image, rsti_poll_t *poll);
/* image_poll.c: raw frames from the scan position on, as rst_image_poll_block says: their length.
 */
int32_t rsti_image_block(const rst_image_t *image, int32_t bytes_max, const uint8_t **frames,
    bool *is_corrupt);
/* Puts them into the batch. */
rsti_stop_t rsti_image_poll_block(rst_image_t *image, rsti_poll_t *poll);
/* Moves the position over everything that no batch holds any more. True: the driver's conductor
 * waits for that position. */
bool rsti_image_move_position(rst_image_t *image);
bool rsti_image_is_readable(const rst_image_t *image);
/* Whether the next frame is one that costs no demand (completion, failure, schema). */
bool rsti_image_next_is_free(const rst_image_t *image);
/* End of the contiguous frames from the scan position. */
int64_t rsti_image_contiguous_end(const rst_image_t *image);

/* ---- batches ---- */

struct rst_batch_t {
    int32_t capacity;
    int32_t count;
    int32_t generation;
    rst_message_t *messages;
    rsti_lease_t *leases;
    int32_t lease_count;
    int32_t lease_capacity;
    rst_subscription_t *subscription; /* counted while leases are held */
    int64_t lent;                     /* of its messages, those that cost demand */
    rsti_buffer_t *owned;             /* assembled messages, then spare ones to use again */
    int32_t owned_count;
    int32_t owned_capacity;
    rsti_buffer_t spare[4];
    int32_t spare_count;
};
/* No lease may be held. */
int rsti_batch_prepare(rst_batch_t *batch, size_t image_count);
void rsti_batch_lease(rst_batch_t *batch, rst_image_t *image, int64_t begin);
/* Takes the assembler's buffer and gives it a spare one. */
int rsti_batch_own(rst_batch_t *batch, rsti_assembler_t *assembler, const uint8_t **data);
/* Under subscription->lock; true: wake the driver's conductor. Leases are dropped, not their
 * counts of images: those go in rsti_batch_drop_images, without the lock. */
bool rsti_batch_unlease(rst_batch_t *batch);
void rsti_batch_drop_images(rst_batch_t *batch);

/* ---- subscriptions ---- */

struct rst_subscription_t {
    int32_t refs;      /* atomic */
    int32_t generation;
    int32_t is_closed; /* atomic */
    int32_t is_polling; /* atomic: somebody is inside poll (for -RST_EBUSY) */
    rst_client_t *client;
    int64_t registration_id;
    int32_t stream_id;
    int32_t channel_status_id;
    char *channel;
    int64_t demand;      /* atomic */
    int64_t requested;   /* atomic; all that was ever asked for */
    int64_t lent;        /* delivered for demand and not released. Under lock */
    int64_t told_requested, told_remaining; /* to publishers; -1: an image is new. Under lock */
    int32_t is_demanded; /* atomic: request was called once */
    bool may_hold; /* publishers back, by what it asks for; not when the driver may go on without it
                    */
    int64_t mean_bytes; /* of a message with its header; 0: none came yet. Under lock */
    int32_t version; /* atomic: changes with the list of images */

    pthread_mutex_t lock;
    rsti_ptr_array_t images; /* rst_image_t, counted */
    rsti_ptr_array_t heirs; /* the same: wait for the end of an image of their session */
    size_t round_robin;
    int pending_error; /* an image could not be mapped, or was corrupt: told once by poll */
    char pending_error_text[256];
    rst_image_event_t *events; /* ring of RSTI_EVENTS_MAX */
    uint32_t events_head, events_tail;
    int64_t events_lost;
};
rst_subscription_t *rsti_subscription_create(rst_client_t *client, const rsti_pending_t *pending,
    int32_t channel_status_id);
void rsti_subscription_ref(rst_subscription_t *subscription);
void rsti_subscription_unref(rst_subscription_t *subscription);
/* Conductor. */
void rsti_subscription_add_image(rst_subscription_t *subscription, const rsti_response_t *response);
void rsti_subscription_image_unavailable(rst_subscription_t *subscription,
    int64_t image_correlation_id, bool is_let_go, int64_t evicted_ms);
/* can_drain: what lies in memory may still be read. */
void rsti_subscription_lose_images(rst_subscription_t *subscription, bool can_drain);
void rsti_subscription_kill(rst_subscription_t *subscription); /* closed; images dropped */
int rsti_subscription_poll(rst_subscription_t *subscription, int32_t limit, int64_t bytes_max,
    bool is_demanded, rst_batch_t *batch);
/* Under subscription->lock: images that are let go, and those that are closing and drained, end
 * with their event. Not while a callback runs: what it is given counts as handed out, and the event
 * tells how far. */
void rsti_subscription_settle(rst_subscription_t *subscription);
void rsti_subscription_end_let_go(rst_subscription_t *subscription); /* only the former */
void rsti_subscription_finish_image(rst_subscription_t *subscription, rst_image_t *image);
/* *events_told: tail of the events when this waiter was last ended by one; moved on. An event ends
 * one wait of each waiter, not every wait: who never asks for events must be able to sleep. */
bool rsti_subscription_is_ready(rst_subscription_t *subscription, uint32_t *events_told);
bool rsti_subscription_wants_data(const rst_subscription_t *subscription);
/* Under subscription->lock: whether a new frame in the image would make anybody ready. */
bool rsti_subscription_awaits_frame(const rst_subscription_t *subscription,
    const rst_image_t *image);

/* events.c: under subscription->lock. */
void rsti_events_push(rst_subscription_t *subscription, int kind, const rst_image_t *image);
bool rsti_events_pop(rst_subscription_t *subscription, rst_image_event_t *event);

/* demand.c */
int64_t rsti_demand_now(const rst_subscription_t *subscription);
void rsti_demand_spend(rst_subscription_t *subscription, int64_t count);
/* Under subscription->lock: what was asked for before a poll, and what it handed out, for the
 * driver. */
void rsti_demand_tell(rst_subscription_t *subscription, int64_t demand, int64_t bytes,
    int64_t count);
/* Under subscription->lock: what is asked for now, for publishers; they are woken when it is more.
 * Costs nothing while it stays the same. */
void rsti_demand_cross(rst_subscription_t *subscription);
/* noop.c, under subscription->lock: every way to poll begins with it. */
void rsti_noop_answer(const rst_subscription_t *subscription);

/* ---- waiters ---- */

typedef struct rsti_attached_image_t {
    rst_image_t *image; /* counted */
    size_t slot; /* index into the waiter's slots */
} rsti_attached_image_t;

typedef struct rsti_attached_t {
    rst_subscription_t *subscription; /* counted; or */
    rst_publication_t *publication; /* counted */
    bool is_demand; /* waits for what its readers ask for, not for room */
    int32_t seen_version; /* of the subscription's images, when copied */
    uint32_t events_told; /* see rsti_subscription_is_ready */
    rsti_attached_image_t *images;
    size_t image_count;
    size_t slot; /* the publication's */
} rsti_attached_t;

/* One per log: a log may serve several attached images and publications. */
typedef struct rsti_log_slot_t {
    rsti_shared_log_t *log; /* counted; NULL: entry is free */
    int32_t uses;
    int32_t kinds; /* RSTI_WAIT_… to arm */
    int slot; /* in the log's table; -1: none was free, poll */
} rsti_log_slot_t;

struct rst_waiter_t {
    int32_t generation;
    int32_t armed; /* atomic: sleeps on fd */
    int32_t is_woken; /* atomic: rst_waiter_wake was called */
    int64_t last_sleep_ns; /* written by: the thread that waits */
    int32_t is_loop_polled; /* atomic: armed for an event loop and needs polling by the conductor */
    rst_client_t *client;
    int32_t waiter_id;
    int fd;
    pthread_mutex_t lock;
    rsti_attached_t *attached;
    size_t attached_count, attached_capacity;
    rsti_log_slot_t *slots;
    size_t slot_count, slot_capacity;
};
/* waiter_slots.c: under waiter->lock. */
int rsti_waiter_refresh(rst_waiter_t *waiter);
/* Arms everything; true: somebody of interest cannot wake us, sleep in slices. */
bool rsti_waiter_arm_slots(rst_waiter_t *waiter);
void rsti_waiter_disarm_slots(rst_waiter_t *waiter);
int rsti_waiter_take_slot(rst_waiter_t *waiter, rsti_shared_log_t *log, size_t *index);
void rsti_waiter_drop_slot(rst_waiter_t *waiter, size_t index);
void rsti_waiter_drop_images(rst_waiter_t *waiter, rsti_attached_t *attached);
void rsti_waiter_kick(rst_waiter_t *waiter);
/* Conductor: looks for work on behalf of an event loop that nobody wakes. */
void rsti_waiter_poll_for_loop(rst_waiter_t *waiter);

/* As the driver told it; what another process's memory says is one of the three. */
static inline int64_t rsti_held_by_told(int32_t held_by)
{
    return held_by == RSTI_HELD_BY_RATE  ? RST_HELD_BY_RATE
        : held_by == RSTI_HELD_BY_BUDGET ? RST_HELD_BY_BUDGET
                                         : RST_HELD_BY_WINDOW;
}

#endif
