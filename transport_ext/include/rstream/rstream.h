/* rstream.h: the client of the C library.
 *
 * A client maps a driver directory and has one conductor thread of its own (heartbeats, answers,
 * images coming and going). The data path (offer, poll) runs in the caller's thread, never blocks
 * and never allocates for messages that fit one frame.
 * Thread rules: client functions and concurrent publications from any thread; a subscription is
 * polled by one thread at a time; an exclusive publication belongs to one thread. After fork every
 * handle is dead in the child and says -RST_EFORKED (closing it there only frees memory). */
#ifndef RSTREAM_RSTREAM_H
#define RSTREAM_RSTREAM_H

#include "rstream/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rst_client_t rst_client_t;
typedef struct rst_publication_t rst_publication_t;
typedef struct rst_subscription_t rst_subscription_t;
typedef struct rst_image_t rst_image_t;
typedef struct rst_waiter_t rst_waiter_t;

typedef struct rst_client_params_t {
    const char *dir;               /* NULL: the default directory */
    const char *name;              /* shown in the heartbeat counter's label; NULL: none */
    int64_t driver_timeout_ms;     /* 10000 */
    int64_t keepalive_interval_ns; /* 500 ms */
} rst_client_params_t;
RST_API void rst_client_params_init(rst_client_params_t *params);

typedef enum rst_client_state_t {
    RST_CLIENT_OPEN = 0,
    RST_CLIENT_CLOSED = 1,
    RST_CLIENT_DRIVER_LOST = 2, /* died, or was shut down */
    RST_CLIENT_TIMED_OUT = 3    /* the driver gave this client up */
} rst_client_state_t;

/* Connects to a living driver: waits up to driver_timeout_ms for a driver that is starting;
 * -RST_ENODRIVER when there is none, -RST_EVERSION, -RST_EACCESS. */
RST_API int rst_client_open(rst_client_t **client, const rst_client_params_t *params);
/* Closes all that it made. Handles of it that are still open say that they are closed, and stay
 * allocated until their own close call, in any order. */
RST_API void rst_client_close(rst_client_t *client);
RST_API int64_t rst_client_id(const rst_client_t *client);
RST_API int rst_client_state(const rst_client_t *client); /* rst_client_state_t, -RST_EFORKED */
RST_API const char *rst_client_dir(const rst_client_t *client);
RST_API int rst_client_is_aeron_driver(const rst_client_t *client);

/* Commands are asked for and awaited, so that a caller can interrupt the wait. add_* returns a
 * correlation id (> 0) or a negative error. */
RST_API int64_t rst_client_add_publication(rst_client_t *client, const char *channel,
    int32_t stream_id, bool is_exclusive);
RST_API int64_t rst_client_add_subscription(rst_client_t *client, const char *channel,
    int32_t stream_id);
/* One that wants nothing before rst_subscription_request: publishers hear so from the start. */
RST_API int64_t rst_client_add_subscription_on_demand(rst_client_t *client, const char *channel,
    int32_t stream_id);
/* Waits at most timeout_ns for the driver's answer: 1 ready, 0 not yet, negative: refused
 * (-RST_EREGISTRATION, rst_last_error_detail() is the driver's code), driver lost, timed out. */
RST_API int rst_client_await(rst_client_t *client, int64_t correlation_id, int64_t timeout_ns);
/* A command that makes nothing (a destination, a rejection) is forgotten when its await said 1.
 * When the driver's ring is full a command waits in the client, in order, and goes when there is
 * room; -RST_EFULL only when 1024 wait already. */
/* Fetches what became ready, once. NULL when it is not. */
RST_API rst_publication_t *rst_client_take_publication(rst_client_t *client,
    int64_t correlation_id);
RST_API rst_subscription_t *rst_client_take_subscription(rst_client_t *client,
    int64_t correlation_id);
RST_API void rst_client_cancel(rst_client_t *client, int64_t correlation_id);
/* Asks for a session id that no publication of the stream uses: a correlation id. A driver whose
 * control protocol is older than 1.0.0 does not know the command: then it is a random one, at once.
 */
RST_API int64_t rst_client_next_session_id(rst_client_t *client, int32_t stream_id);
RST_API int rst_client_take_session_id(rst_client_t *client, int64_t correlation_id,
    int32_t *session_id); /* 0, -RST_EINVAL when it is not ready */

/* ---- publications ---- */

typedef struct rst_message_part_t {
    const void *data;
    size_t length;
} rst_message_part_t;

/* Position after the message (> 0), or RST_NOT_CONNECTED … RST_ERROR (error.h), or -RST_EFORKED. */
RST_API int64_t rst_publication_offer(rst_publication_t *publication, const void *data,
    size_t length, int64_t reserved_value);
RST_API int64_t rst_publication_offer_parts(rst_publication_t *publication,
    const rst_message_part_t *parts, size_t part_count, int64_t reserved_value);
/* Offers messages[0 … count) in order until one is not taken; *taken counts the taken ones. Returns
 * the position after the last taken, or the reason when none was. Wakes readers once. */
RST_API int64_t rst_publication_offer_many(rst_publication_t *publication,
    const rst_message_part_t *messages, size_t count, int64_t reserved_value, size_t *taken);
/* The same for count messages of size bytes that lie back to back. */
RST_API int64_t rst_publication_offer_block(rst_publication_t *publication, const void *data,
    size_t size, size_t count, int64_t reserved_value, size_t *taken);

/* Exclusive publications: length bytes of whole frames, made elsewhere (a stream that was
 * recorded), are copied as they are. They must be DATA frames of this session and stream that lie
 * where they say: the first at the publication's term id and offset, each on a multiple of 32, all
 * within the rest of the term. RST_ERROR when they do not, with a text. */
RST_API int64_t rst_publication_offer_frames(rst_publication_t *publication, const void *frames,
    size_t length);
/* Exclusive publications: moves the position by a PAD frame of length bytes and its header, which
 * no reader sees. length: 0 to max_message_length. */
RST_API int64_t rst_publication_append_padding(rst_publication_t *publication, size_t length);

typedef struct rst_claim_t {
    uint8_t *data; /* length bytes, writable until commit or abort */
    size_t length;
    int64_t position;
    void *frame;
    rst_publication_t *publication;
} rst_claim_t;
RST_API int64_t rst_publication_try_claim(rst_publication_t *publication, size_t length,
    int64_t reserved_value, rst_claim_t *claim);
RST_API int rst_claim_commit(rst_claim_t *claim);
RST_API int rst_claim_abort(rst_claim_t *claim);

typedef struct rst_publication_info_t {
    int64_t registration_id; /* of the publication, which several handles may share */
    int32_t session_id;
    int32_t stream_id;
    int32_t initial_term_id;
    int32_t term_length;
    int32_t mtu;
    int32_t max_payload_length;
    int32_t max_message_length;
    bool is_exclusive;
    bool is_ipc;
    const char *channel; /* as given; lives as long as the publication */
    int64_t correlation_id;    /* of this handle */
    int64_t max_position;      /* no message ends at it or behind it: 2^31 terms */
    int32_t position_bits;     /* position >> this = terms since the first */
    int32_t channel_status_id; /* counter; -1: IPC */
} rst_publication_info_t;
RST_API void rst_publication_info(const rst_publication_t *publication,
    rst_publication_info_t *info);
RST_API int64_t rst_publication_position(const rst_publication_t *publication);
RST_API int64_t rst_publication_position_limit(const rst_publication_t *publication);
RST_API bool rst_publication_is_connected(const rst_publication_t *publication);
RST_API bool rst_publication_is_closed(const rst_publication_t *publication);
/* Position that every reader is known to have consumed (IPC: least subscriber position; UDP: as the
 * last status messages said); without readers, where the last one stopped or the next will begin.
 * RST_NOT_CONNECTED where it is not known. */
RST_API int64_t rst_publication_consumed_position(const rst_publication_t *publication);
/* What its readers ask for by request(n), so that a publisher can make no more than they want: on
 * IPC of all of them, on the network of one that reads by rstream; a group does not tell. Copied at
 * one moment; whoever counts its messages by position knows how many are wanted in all: those up to
 * position, and messages more. Returns reader_count, or RST_CLOSED … A waiter to which the
 * publication is attached by rst_waiter_attach_demand wakes when it changes. */
typedef struct rst_demand_t {
    int64_t position;     /* that all of them have consumed; INT64_MAX: nobody tells */
    int64_t messages;     /* wanted behind it; INT64_MAX: no limit */
    int64_t change;       /* differs at least when a reader has asked for more */
    int32_t reader_count; /* that tell what they ask for */
    bool is_connected;
} rst_demand_t;
RST_API int64_t rst_publication_demand(rst_publication_t *publication, rst_demand_t *demand);
/* Whether rst_publication_demand would tell of more: they have asked, came or went since it was
 * called last, or of several the one that holds the others back has read on; true after the end.
 * What a single reader has only consumed is no news. */
RST_API bool rst_publication_has_new_demand(const rst_publication_t *publication);
/* Bytes that may be offered now; 0 when the limit is reached. RST_CLOSED. */
RST_API int64_t rst_publication_available_window(const rst_publication_t *publication);
/* Where the next frame goes, of an exclusive publication exactly: 0, or RST_CLOSED … */
RST_API int64_t rst_publication_next_frame(const rst_publication_t *publication, int32_t *term_id,
    int32_t *term_offset);
RST_API void rst_publication_close(rst_publication_t *publication);
/* Closes, and ends the stream of an exclusive publication at once: what was not sent or consumed
 * yet is given up, and readers see their images revoked. A shared one is only closed, as by Aeron.
 */
RST_API void rst_publication_revoke(rst_publication_t *publication);

/* Destinations of a channel with control-mode=manual. Correlation ids to be awaited; that of an
 * addition is also the id of the destination. */
RST_API int64_t rst_publication_add_destination(rst_publication_t *publication, const char *uri);
RST_API int64_t rst_publication_remove_destination(rst_publication_t *publication, const char *uri);
RST_API int64_t rst_publication_remove_destination_by_id(rst_publication_t *publication,
    int64_t destination_id);

/* Another rate, in the words of the channel key rs-rate ("fixed,r:200m"): a correlation id to be
 * awaited. It is the publication's: whoever shares it gets it too, and the last one counts. */
RST_API int64_t rst_publication_set_rate(rst_publication_t *publication, const char *rate);
/* What the publisher limit waits for when it is reached: RST_HELD_BY_… or RST_CLOSED. */
#define RST_HELD_BY_WINDOW 0 /* the readers, or nothing */
#define RST_HELD_BY_RATE 1
#define RST_HELD_BY_BUDGET 2 /* what the peer lets be under way to it; UDP unicast */
RST_API int64_t rst_publication_held_by(const rst_publication_t *publication);

/* State of a channel's endpoint, as its counter says: -1 errored, 0 initialising, 1 active, 2
 * closing. IPC and spies have no endpoint: 1. RST_CLOSED when the handle is closed. */
#define RST_CHANNEL_ERRORED (-1)
#define RST_CHANNEL_INITIALISING 0
#define RST_CHANNEL_ACTIVE 1
#define RST_CHANNEL_CLOSING 2
RST_API int64_t rst_publication_channel_status(const rst_publication_t *publication);
/* Local address number index, "ip:port": 1 stored, 0 there are not so many. */
RST_API int rst_publication_local_address(const rst_publication_t *publication, int index,
    char *text, size_t size);

/* A receiver told the publication something is wrong (it rejected its image). */
typedef struct rst_publication_error_t {
    int32_t code;           /* 13: image rejected */
    int32_t session_id;
    int64_t receiver_id;
    int64_t group_tag;      /* -1: none */
    int64_t destination_id; /* -1: none */
    char source[64];        /* "ip:port" of the receiver; "" for a local one */
    char text[1024];
} rst_publication_error_t;
/* Next one in order: 1 stored, 0 none. A bounded queue of 16: the oldest goes when it is full. */
RST_API int rst_publication_next_error(rst_publication_t *publication,
    rst_publication_error_t *error);
RST_API int64_t rst_publication_errors_lost(const rst_publication_t *publication);

/* ---- subscriptions ---- */

/* One message or fragment group as handed out. data points into the log, or into memory that the
 * batch owns (assembled), and is valid until the batch is released. */
typedef struct rst_message_t {
    const uint8_t *data;
    int32_t length;
    int32_t session_id;
    int64_t position;       /* of the stream, after this message */
    int64_t reserved_value;
    int32_t image_index;    /* into the batch's images */
    int32_t flags;
} rst_message_t;

typedef struct rst_batch_t rst_batch_t;
/* A batch is made once and used again and again by one subscription. capacity: most messages. */
RST_API int rst_batch_create(rst_batch_t **batch, int32_t capacity);
RST_API void rst_batch_destroy(rst_batch_t *batch); /* releases first */
RST_API const rst_message_t *rst_batch_messages(const rst_batch_t *batch, int32_t *count);
/* Moves the subscriber positions over what was handed out. Idempotent. */
RST_API void rst_batch_release(rst_batch_t *batch);
/* Whether what was read from the batch up to now was what the publisher wrote. false: the driver
 * let one of its readers go (rs-evict) and may have changed the memory; copies made since are
 * worthless. */
RST_API bool rst_batch_is_intact(const rst_batch_t *batch);

/* Fills the batch with up to min(limit, capacity) whole messages that are already here, at most
 * about bytes_max bytes (the first always fits; <= 0: no bound). Returns the count; -RST_EBUSY when
 * another thread is inside, -RST_ECLOSED, -RST_EFORKED; a batch still held is released first.
 * When the client was lost: what is in memory is handed out first, then -RST_EDRIVERLOST. */
RST_API int rst_subscription_poll(rst_subscription_t *subscription, int32_t limit,
    int64_t bytes_max, rst_batch_t *batch);
/* The same from one image (by correlation id) and only what begins below limit_position: for
 * readers that may not run ahead of something else. */
RST_API int rst_subscription_poll_bounded(rst_subscription_t *subscription,
    int64_t image_correlation_id, int64_t limit_position, int32_t limit, rst_batch_t *batch);
/* Raw frames, for recording: the batch gets one entry, whose data are contiguous frames with their
 * headers, about bytes_max bytes at most (a frame that is longer: 0) and never beyond a term's end.
 * A PAD frame comes alone, and what lies behind its header means nothing and may change. Images
 * take turns. 1, 0 or as above. */
RST_API int rst_subscription_poll_block(rst_subscription_t *subscription, int32_t bytes_max,
    rst_batch_t *batch);
/* Demand (request(n) of Reactive Streams), enforced here: poll_demanded hands out no more than was
 * requested and not yet delivered. Saturates at INT64_MAX. n >= 1. Any thread. From the first
 * request (or poll_demanded) on, a waiter counts data as ready only while there is demand. On a
 * named stream the kinds complete, error and schema (docs/wire.md) are no elements: they cost no
 * demand. */
RST_API void rst_subscription_request(rst_subscription_t *subscription, int64_t n);
RST_API int64_t rst_subscription_demand(const rst_subscription_t *subscription);
RST_API int rst_subscription_poll_demanded(rst_subscription_t *subscription, int32_t limit,
    int64_t bytes_max, rst_batch_t *batch);

typedef enum rst_image_event_kind_t {
    RST_IMAGE_AVAILABLE = 1,
    RST_IMAGE_UNAVAILABLE = 2
} rst_image_event_kind_t;
typedef struct rst_image_event_t {
    int kind;
    int32_t session_id;
    int64_t correlation_id;
    int64_t position;       /* join position / position consumed when it went */
    int64_t end_position;   /* unavailable: end-of-stream position; INT64_MAX when the stream did
                             * not end in good order */
    int64_t received_position; /* unavailable: everything below was received */
    char source[64];        /* "ip:port" or "aeron:ipc" */
    int64_t evicted_ms; /* unavailable: since when (ms since 1970) the stream goes on without this
                         * reader, which stood still for its rs-evict; 0: another reason */
} rst_image_event_t;
/* Next event in order: 1 stored, 0 none. The unavailable event of an image comes only after its
 * messages have been polled, and an image that comes for the same session is there only after it.
 */
RST_API int rst_subscription_next_event(rst_subscription_t *subscription, rst_image_event_t *event);
/* How long the bounded queue of events has lost any: 0 normally. */
RST_API int64_t rst_subscription_events_lost(const rst_subscription_t *subscription);

typedef struct rst_subscription_info_t {
    int64_t registration_id;
    int32_t stream_id;
    const char *channel;
    int32_t channel_status_id; /* counter; -1: IPC, spy */
} rst_subscription_info_t;
RST_API void rst_subscription_info(const rst_subscription_t *subscription,
    rst_subscription_info_t *info);
RST_API bool rst_subscription_is_connected(const rst_subscription_t *subscription);
RST_API int rst_subscription_image_count(const rst_subscription_t *subscription);
/* Resolved bound address "ip:port" of a UDP subscription (port 0 resolved); 1 stored, 0 not known.
 */
RST_API int rst_subscription_local_address(const rst_subscription_t *subscription, char *text,
    size_t size);
/* The same for number index of several (destinations): 0 when there are not so many. */
RST_API int rst_subscription_local_address_at(const rst_subscription_t *subscription, int index,
    char *text, size_t size);
RST_API int64_t rst_subscription_channel_status(const rst_subscription_t *subscription);
/* Destinations of a subscription with control-mode=manual: as those of a publication. Aeron's
 * driver removes them by channel only. */
RST_API int64_t rst_subscription_add_destination(rst_subscription_t *subscription, const char *uri);
RST_API int64_t rst_subscription_remove_destination(rst_subscription_t *subscription,
    const char *uri);
RST_API int64_t rst_subscription_remove_destination_by_id(rst_subscription_t *subscription,
    int64_t destination_id);
/* Refuses a publisher's session (its image, by correlation id): the driver stops receiving it and
 * tells its publisher the reason, at most 1023 bytes. A correlation id to be awaited. */
RST_API int64_t rst_subscription_reject_image(rst_subscription_t *subscription,
    int64_t image_correlation_id, const char *reason);
RST_API bool rst_subscription_is_closed(const rst_subscription_t *subscription);
RST_API void rst_subscription_close(rst_subscription_t *subscription);
/* Fill of the fullest image: received and not consumed bytes, and its window in bytes. */
RST_API void rst_subscription_fill(const rst_subscription_t *subscription, int64_t *fill_bytes,
    int64_t *window_bytes);

/* ---- waiting ---- */

/* A waiter sleeps on one file descriptor for any number of attached subscriptions (new data, image
 * events, end) and publications (room, connection). One thread waits at a time. */
RST_API int rst_waiter_create(rst_waiter_t **waiter, rst_client_t *client);
RST_API void rst_waiter_destroy(rst_waiter_t *waiter);
RST_API int rst_waiter_attach_subscription(rst_waiter_t *waiter, rst_subscription_t *subscription);
RST_API int rst_waiter_attach_publication(rst_waiter_t *waiter, rst_publication_t *publication);
RST_API void rst_waiter_detach_subscription(rst_waiter_t *waiter, rst_subscription_t *subscription);
RST_API void rst_waiter_detach_publication(rst_waiter_t *waiter, rst_publication_t *publication);
/* The publication as one that waits to be asked for more messages (rst_publication_demand), not for
 * room; both may be attached. */
RST_API int rst_waiter_attach_demand(rst_waiter_t *waiter, rst_publication_t *publication);
RST_API void rst_waiter_detach_demand(rst_waiter_t *waiter, rst_publication_t *publication);
/* Waits until something attached may be ready: 1; 0 after timeout_ns; when nothing is left to read
 * -RST_EDRIVERLOST, -RST_ECLIENTTIMEOUT, -RST_ECLOSED; -RST_EFORKED. May return 1 early. An image
 * event ends one wait of each waiter, taken or not. spin_ns: busy-wait that long before sleeping.
 */
RST_API int rst_waiter_wait(rst_waiter_t *waiter, int64_t timeout_ns, int64_t spin_ns);
/* For event loops: readable after arm() returned 0 and something happened. arm(): 1 = ready now. */
RST_API int rst_waiter_fd(const rst_waiter_t *waiter);
RST_API int rst_waiter_arm(rst_waiter_t *waiter);
RST_API void rst_waiter_disarm(rst_waiter_t *waiter);
RST_API void rst_waiter_wake(rst_waiter_t *waiter); /* from any thread: ends a wait */

/* ---- looking into a directory ---- */

typedef struct rst_counter_t {
    int32_t id;
    int32_t type_id;
    int64_t value;
    int64_t registration_id;
    int64_t owner_id;
    int64_t reference_id;
    char label[381];
} rst_counter_t;
typedef struct rst_tool_t rst_tool_t;
/* Maps cnc.dat of dir read-only; works on a dead or foreign driver's directory too. */
RST_API int rst_tool_open(rst_tool_t **tool, const char *dir);
RST_API void rst_tool_close(rst_tool_t *tool);
RST_API int rst_tool_counters(rst_tool_t *tool, rst_counter_t *counters, int capacity);
RST_API int64_t rst_tool_heartbeat_age_ms(rst_tool_t *tool); /* -1: shut down in good order */
RST_API int64_t rst_tool_pid(rst_tool_t *tool);
/* Calls per distinct error; returns how many. */
RST_API int rst_tool_errors_since(rst_tool_t *tool, int64_t since_ms,
    void (*on_error)(void *arg, int32_t observations, int64_t first_ms, int64_t last_ms,
        const char *text),
    void *arg);
RST_API int rst_tool_errors(rst_tool_t *tool,
    void (*on_error)(void *arg, int32_t observations, int64_t first_ms, int64_t last_ms,
        const char *text),
    void *arg);

typedef struct rst_loss_t { /* what one image lost */
    int64_t observations;
    int64_t bytes_lost;
    int64_t first_ms;
    int64_t last_ms;
    int32_t session_id;
    int32_t stream_id;
    char channel[4096];
    char source[512];
} rst_loss_t;
/* Calls per image that lost something; returns how many. */
RST_API int rst_tool_losses(rst_tool_t *tool, void (*on_entry)(void *arg, const rst_loss_t *loss),
    void *arg);
/* The reader of the least position of one publication: who holds it back when its window is full.
 */
typedef struct rst_holder_t {
    int64_t registration_id; /* the publication's */
    int32_t is_local; /* a subscriber in shared memory, or a spy; 0: a receiver */
    int64_t id; /* receiver id, or registration id of the subscription */
    int64_t client_id; /* local: who subscribed; -1 of receivers */
    int64_t pid; /* local: its process, 0: not known (a client of Aeron's) */
    int64_t since_ms; /* since when (ms since 1970) no other is slower; local: to a second */
    int64_t position; /* it has consumed up to here */
    int64_t window; /* bytes that it lets the publisher be ahead */
    char source[64]; /* "ip:port" of a receiver, "" when local */
} rst_holder_t;
/* Calls per publication and kind of reader; returns how many. Drivers of rstream only. */
RST_API int rst_tool_holders(rst_tool_t *tool,
    void (*on_holder)(void *arg, const rst_holder_t *holder), void *arg);
/* What the publisher limit of a publication waits for when it is reached: RST_HELD_BY_…, from its
 * log. */
RST_API int64_t rst_tool_held_by(rst_tool_t *tool, int64_t registration_id);
/* Asks the driver of dir (NULL: the default one) to end; it does when its termination-validator
 * allows it and the token is right. No answer comes back but the driver's end, or an error in its
 * error log. -RST_EINVAL for a token longer than 384 bytes, -RST_EFULL. */
RST_API int rst_tool_terminate(const char *dir, const void *token, size_t length);

#endif
