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
/* Closes everything that the client made. Its open handles then report that they are closed. Each
 * stays allocated until its own close call, in any order. */
RST_API void rst_client_close(rst_client_t *client);
RST_API int64_t rst_client_id(const rst_client_t *client);
RST_API int rst_client_state(const rst_client_t *client); /* rst_client_state_t, -RST_EFORKED */
RST_API const char *rst_client_dir(const rst_client_t *client);
RST_API int rst_client_is_aeron_driver(const rst_client_t *client);

/* A command returns at once and its answer is awaited, so a caller can interrupt the wait. add_*
 * returns a correlation id (> 0) or a negative error. */
RST_API int64_t rst_client_add_publication(rst_client_t *client, const char *channel,
    int32_t stream_id, bool is_exclusive);
RST_API int64_t rst_client_add_subscription(rst_client_t *client, const char *channel,
    int32_t stream_id);
/* A subscription that wants nothing before rst_subscription_request. Publishers know it from the
 * start. */
RST_API int64_t rst_client_add_subscription_on_demand(rst_client_t *client, const char *channel,
    int32_t stream_id);
/* Waits at most timeout_ns for the driver's answer: 1 ready, 0 not yet, negative: refused
 * (-RST_EREGISTRATION, rst_last_error_detail() is the driver's code), driver lost, timed out. */
RST_API int rst_client_await(rst_client_t *client, int64_t correlation_id, int64_t timeout_ns);
/* A command that makes no object (a destination, a rejection) is forgotten once its await has
 * returned 1. A command that finds the driver's ring full waits in the client, in order.
 * -RST_EFULL: 1024 commands wait already. */
/* Fetches the ready object, once. NULL: it is not ready. */
RST_API rst_publication_t *rst_client_take_publication(rst_client_t *client,
    int64_t correlation_id);
RST_API rst_subscription_t *rst_client_take_subscription(rst_client_t *client,
    int64_t correlation_id);
RST_API void rst_client_cancel(rst_client_t *client, int64_t correlation_id);
/* Asks for a session id that no publication of the stream uses. Returns a correlation id. A driver
 * with a control protocol older than 1.0.0 does not know the command: the id is then a random one,
 * ready at once. */
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

/* Claims a shared segment to write a message of at most 65 MiB into, which then lies once for all
 * readers: on streams in shared memory with a name, for readers that take parts
 * (rst_subscription_take_parts). *data: `length` bytes. Returns its number, 0 or more.
 * RST_BACK_PRESSURED: readers have not consumed what lies in the segments of this publication, of
 * which there are 32, with 260 MiB of memory. RST_CLOSED. RST_ERROR with a trail: no memory is left
 * (RST_ESTORAGE), or this publication cannot have segments. One thread at a time. */
RST_API int64_t rst_publication_claim_segment(rst_publication_t *publication, int64_t length,
    uint8_t **data);
/* As rst_publication_offer. After a position the segment belongs to the readers; after a reason it
 * may be offered again. RST_ERROR: it is not claimed. */
RST_API int64_t rst_publication_offer_segment(rst_publication_t *publication, int64_t number,
    int64_t reserved_value);
/* Gives a claimed segment up; readers never knew of it. */
RST_API void rst_publication_drop_segment(rst_publication_t *publication, int64_t number);
/* Tells tools that a message of so many bytes waits until readers have consumed earlier ones in
 * segments; 0: none does any more. */
RST_API void rst_publication_note_segment_wait(rst_publication_t *publication, int64_t length);
/* Bytes of memory of its segments. */
RST_API int64_t rst_publication_segment_bytes(const rst_publication_t *publication);
/* Bytes that were sent and that the slowest reader has not consumed: of the log, and of messages in
 * segments. RST_CLOSED. RST_NOT_CONNECTED: the driver is Aeron's and does not tell. */
RST_API int64_t rst_publication_unread_bytes(const rst_publication_t *publication);

/* Offers messages[0 … count) in order until one is refused. *taken is the number accepted. Returns
 * the position after the last accepted message, or the reason if none was accepted. Wakes readers
 * once. */
RST_API int64_t rst_publication_offer_many(rst_publication_t *publication,
    const rst_message_part_t *messages, size_t count, int64_t reserved_value, size_t *taken);
/* As rst_publication_offer_many, for count messages of `size` bytes that lie back to back. */
RST_API int64_t rst_publication_offer_block(rst_publication_t *publication, const void *data,
    size_t size, size_t count, int64_t reserved_value, size_t *taken);

/* Exclusive publications: copies `length` bytes of complete frames, for instance of a recorded
 * stream. They must be DATA frames of this session and stream. The first carries the publication's
 * next term id and offset; each begins at a multiple of 32; all fit the rest of the term. Otherwise
 * RST_ERROR with a text. */
RST_API int64_t rst_publication_offer_frames(rst_publication_t *publication, const void *frames,
    size_t length);
/* Exclusive publications: appends a PAD frame of `length` bytes and its header. Readers skip it.
 * length: 0 to max_message_length. */
RST_API int64_t rst_publication_append_padding(rst_publication_t *publication, size_t length);

/* Exclusive publications: as rst_publication_offer for one short message that must not wait behind
 * data, such as the end of the stream. Where readers are connected it is taken behind the limit, so
 * only their absence and the end of all positions refuse it. Longest: max_control_length. */
RST_API int64_t rst_publication_offer_control(rst_publication_t *publication, const void *data,
    size_t length, int64_t reserved_value);

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
    int32_t max_control_length; /* for rst_publication_offer_control */
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
/* Behind what an offer took last; 0: nothing yet. An offer that is refused leaves it, while padding
 * at the end of a term may move the position. With several producers: one of the last. */
RST_API int64_t rst_publication_sent_position(const rst_publication_t *publication);
RST_API int64_t rst_publication_position_limit(const rst_publication_t *publication);
RST_API bool rst_publication_is_connected(const rst_publication_t *publication);
RST_API bool rst_publication_is_closed(const rst_publication_t *publication);
/* The position up to which all readers have consumed. IPC: the least subscriber position. UDP: as
 * in the last status messages. Without readers: where the last one stopped, or where the next one
 * will begin. RST_NOT_CONNECTED: not known. */
RST_API int64_t rst_publication_consumed_position(const rst_publication_t *publication);
/* The demand of the readers (request(n)), so that a publisher makes no more than they want. IPC: of
 * all readers. Network: of one rstream reader; a group has no demand. position and messages are
 * copied at one moment: all messages up to position, and `messages` more, are wanted. Returns
 * reader_count, or RST_CLOSED …. A waiter with the publication attached by rst_waiter_attach_demand
 * wakes when it changes. */
typedef struct rst_demand_t {
    int64_t position;     /* all readers have consumed up to here; INT64_MAX: no reader reports */
    int64_t messages;     /* wanted behind it; INT64_MAX: no limit */
    int64_t change;       /* differs at least when a reader has asked for more */
    int32_t reader_count; /* readers that report their demand */
    bool is_connected;
} rst_demand_t;
RST_API int64_t rst_publication_demand(rst_publication_t *publication, rst_demand_t *demand);
/* Whether the demand has changed since the last rst_publication_demand: a reader asked, came or
 * went, or the slowest of several read on. Consuming by a single reader is no change. True after
 * the end. */
RST_API bool rst_publication_has_new_demand(const rst_publication_t *publication);
/* Bytes that may be offered now; 0 when the limit is reached. RST_CLOSED. */
RST_API int64_t rst_publication_available_window(const rst_publication_t *publication);
/* Where the next frame begins; exact for an exclusive publication. 0, or RST_CLOSED … */
RST_API int64_t rst_publication_next_frame(const rst_publication_t *publication, int32_t *term_id,
    int32_t *term_offset);
RST_API void rst_publication_close(rst_publication_t *publication);
/* Closes. Of an exclusive publication it also ends the stream at once: messages not yet sent or
 * consumed are lost, and readers see their images revoked. A shared publication is only closed, as
 * with Aeron. */
RST_API void rst_publication_revoke(rst_publication_t *publication);

/* Destinations of a channel with control-mode=manual. Correlation ids to be awaited; that of an
 * addition is also the id of the destination. */
RST_API int64_t rst_publication_add_destination(rst_publication_t *publication, const char *uri);
RST_API int64_t rst_publication_remove_destination(rst_publication_t *publication, const char *uri);
RST_API int64_t rst_publication_remove_destination_by_id(rst_publication_t *publication,
    int64_t destination_id);

/* Sets another rate, written as in the channel key rs-rate ("fixed,r:200m"). Returns a correlation
 * id. The rate belongs to the publication: all its handles share it, and the last one set
 * counts. */
RST_API int64_t rst_publication_set_rate(rst_publication_t *publication, const char *rate);
/* The reason of the publisher limit: RST_HELD_BY_… or RST_CLOSED. */
#define RST_HELD_BY_WINDOW 0 /* the readers, or nothing */
#define RST_HELD_BY_RATE 1
#define RST_HELD_BY_BUDGET 2 /* the peer's budget of bytes on the way to it; UDP unicast */
#define RST_HELD_BY_STORAGE 3 /* the driver directory has no room for the log's next term */
#define RST_HELD_BY_PATH 5 /* what is under way on the path, or its pace */
#define RST_HELD_BY_ENDED 4 /* of rst_tool_held_by alone: it was closed, nothing more comes */
typedef struct rst_storage_t {
    int64_t needed; /* bytes; 0: storage holds nothing back */
    int64_t usable; /* bytes; -1: the driver could not open the file of the log */
} rst_storage_t;
/* storage may be NULL; it is all 0 unless the reason is RST_HELD_BY_STORAGE. */
RST_API int64_t rst_publication_held_by(const rst_publication_t *publication,
    rst_storage_t *storage);

/* The last time that the reader left: of a group, the last reader. Whoever looks only now and then
 * learns by the count that another reader reads now. */
typedef struct rst_left_t {
    int64_t count;    /* how often so far; 0 beside an Aeron driver */
    int64_t consumed; /* up to here it had consumed */
    int64_t joined;   /* here the next reader began; -1: there is none yet */
    int64_t sent;     /* up to here the network was sent; the next reader gets the rest. -1: not
                       * known, as in shared memory */
    int64_t pid;      /* its process; 0: not known */
    char name[96];    /* of its client, or "ip:port" of a receiver; "": not known */
} rst_left_t;
/* 0, or RST_CLOSED or RST_ERROR. */
RST_API int64_t rst_publication_left(const rst_publication_t *publication, rst_left_t *left);

/* The state of the channel's endpoint, from its counter: -1 errored, 0 initialising, 1 active, 2
 * closing. IPC and spies have no endpoint: 1. RST_CLOSED: the handle is closed. */
#define RST_CHANNEL_ERRORED (-1)
#define RST_CHANNEL_INITIALISING 0
#define RST_CHANNEL_ACTIVE 1
#define RST_CHANNEL_CLOSING 2
RST_API int64_t rst_publication_channel_status(const rst_publication_t *publication);
/* Local address number index, "ip:port": 1 stored, 0 there are not so many. */
RST_API int rst_publication_local_address(const rst_publication_t *publication, int index,
    char *text, size_t size);

/* An error that a receiver reported: it rejected the image of the publication. */
typedef struct rst_publication_error_t {
    int32_t code;           /* 13: image rejected */
    int32_t session_id;
    int64_t receiver_id;
    int64_t group_tag;      /* -1: none */
    int64_t destination_id; /* -1: none */
    char source[64];        /* "ip:port" of the receiver; "" for a local one */
    char text[1024];
} rst_publication_error_t;
/* The next error. 1: stored; 0: none. The queue holds 16; a full queue drops its oldest. */
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
    void *owner;            /* of the memory of a message that came in parts; else NULL */
} rst_message_t;

/* In flags: data lies in memory of the batch, not in the log. */
#define RST_MESSAGE_OWNED 0x100

typedef struct rst_batch_t rst_batch_t;
/* One subscription uses a batch again and again. capacity: the most messages of one poll. */
RST_API int rst_batch_create(rst_batch_t **batch, int32_t capacity);
RST_API void rst_batch_destroy(rst_batch_t *batch); /* releases first */
RST_API const rst_message_t *rst_batch_messages(const rst_batch_t *batch, int32_t *count);
/* Moves the subscriber positions over the messages of the batch. Idempotent. */
RST_API void rst_batch_release(rst_batch_t *batch);
/* Moves the positions over the first `count` messages, whose memory must not be read any more; the
 * rest stays on loan. */
RST_API void rst_batch_consume(rst_batch_t *batch, int32_t count);
/* Releases the batch, but counts only what rst_batch_consume has counted. The next poll reads the
 * rest again; after a close, the next reader does. A message that came in parts does not come
 * again, because the position has passed its first parts: it is told as RST_IMAGE_SKIPPED. */
RST_API void rst_batch_give_back(rst_batch_t *batch);
/* As rst_batch_give_back, but the memory stays on loan, and the messages before number `first`
 * count as consumed with the release. The batch must not be consumed further. */
RST_API void rst_batch_unread(rst_batch_t *batch, int32_t first);
/* Moves the positions as rst_batch_release does, but the data of messages with RST_MESSAGE_OWNED
 * stays valid until the release. That of the others, also of those that came in parts, must not be
 * read any more. */
RST_API void rst_batch_keep_owned(rst_batch_t *batch);
/* Moves the loan of the batch into a new one, *aside, that stays when the subscription is polled
 * again with `batch`. The data of the messages must not be read any more. Consume, release or give
 * back *aside, and destroy it; any thread, one at a time. Give several back youngest first. 0, or
 * -RST_EINVAL (nothing is on loan), -RST_ENOMEM. */
RST_API int rst_batch_set_aside(rst_batch_t *batch, rst_batch_t **aside);
/* Whether everything read from the batch so far is as the publisher wrote it. False: the driver
 * evicted one of its readers (rs-evict) and may have changed the memory, so copies made since are
 * worthless. */
RST_API bool rst_batch_is_intact(const rst_batch_t *batch);

/* Fills the batch with up to min(limit, capacity) complete messages that are already here, about
 * bytes_max bytes at most (the first message always fits; <= 0: no bound). Returns their number. A
 * batch that is still held is released first. -RST_EBUSY: another thread polls; -RST_ECLOSED;
 * -RST_EFORKED. After the driver was lost, the messages in memory come first, then
 * -RST_EDRIVERLOST. */
RST_API int rst_subscription_poll(rst_subscription_t *subscription, int32_t limit,
    int64_t bytes_max, rst_batch_t *batch);
/* As rst_subscription_poll, from one image (by correlation id) and only messages that begin below
 * limit_position: for readers that must not overtake something else. */
RST_API int rst_subscription_poll_bounded(rst_subscription_t *subscription,
    int64_t image_correlation_id, int64_t limit_position, int32_t limit, rst_batch_t *batch);
/* Raw frames, for recording. The batch gets one entry: contiguous frames with their headers, about
 * bytes_max bytes at most (0: the first frame is longer), within one term. A PAD frame comes alone;
 * the bytes behind its header have no meaning and may change. Images take turns. Returns 1, 0 or as
 * rst_subscription_poll. */
RST_API int rst_subscription_poll_block(rst_subscription_t *subscription, int32_t bytes_max,
    rst_batch_t *batch);
/* Demand (request(n) of Reactive Streams). poll_demanded hands out no more than was requested and
 * not yet delivered. The demand saturates at INT64_MAX. n >= 1. Any thread. After the first request
 * (or poll_demanded) a waiter counts data as ready only while there is demand. On a named stream
 * the kinds complete, error and schema (docs/reference/wire.md) are no elements: they cost no
 * demand. */
RST_API void rst_subscription_request(rst_subscription_t *subscription, int64_t n);
/* Tells publishers that n more messages are wanted, and limits no poll: for a reader that takes
 * what comes. Every message that it is handed lowers the demand, down to 0. For readers that use
 * neither rst_subscription_request nor rst_subscription_poll_demanded. n >= 1. Any thread. */
RST_API void rst_subscription_tell_demand(rst_subscription_t *subscription, int64_t n);
RST_API int64_t rst_subscription_demand(const rst_subscription_t *subscription);
RST_API int rst_subscription_poll_demanded(rst_subscription_t *subscription, int32_t limit,
    int64_t bytes_max, rst_batch_t *batch);

/* Messages that come in parts (docs/reference/wire.md, "Parts"). Each part is copied once, into the
 * memory of its message, and the position moves on at once. The message is handed out in the place
 * of its last part, and costs demand there; without demand no part is read. */

/* Where the memory of such messages comes from. Neither function may call rstream. `free` is called
 * once for each owner, in any thread that releases a batch, closes, or learns of the end of an
 * image. All memory is given back when the subscription is closed and its batches are released. */
typedef struct rst_memory_t {
    /* In polls only. NULL: there is none. *owner: what `free` gets. Need not be zeroed. */
    void *(*alloc)(void *arg, size_t length, void **owner);
    void (*free)(void *arg, void *owner);
    void *arg;
} rst_memory_t;
typedef struct rst_parts_params_t {
    uint16_t name_hash;  /* parts of the stream with this name; 0: of any named stream */
    int32_t length_max;  /* longer messages are skipped; at least 1 */
    rst_memory_t memory; /* alloc NULL: the heap */
} rst_parts_params_t;
/* From the next poll on, parts are put together; before, each one is a message. Only for polls into
 * a batch. 0, -RST_EINVAL, -RST_ECLOSED, -RST_EFORKED. */
RST_API int rst_subscription_take_parts(rst_subscription_t *subscription,
    const rst_parts_params_t *params);
/* Bytes held of messages whose last part has not come. */
RST_API int64_t rst_subscription_partial_bytes(const rst_subscription_t *subscription);

typedef enum rst_skip_reason_t {
    RST_SKIP_TOO_LONG = 1,  /* longer than length_max */
    RST_SKIP_NO_MEMORY = 2, /* none was given, or this process holds 4 GiB of partial messages */
    RST_SKIP_PART_LOST = 3,
    RST_SKIP_ABANDONED = 4, /* its publisher gave it up */
    RST_SKIP_INVALID = 5,   /* parts that contradict each other */
    RST_SKIP_ENDED = 6,     /* the image ended before its last part */
    RST_SKIP_GIVEN_BACK = 7, /* rst_batch_give_back */
    RST_SKIP_SEGMENT = 8,    /* the shared segment in which it lies cannot be mapped */
    RST_SKIP_CUT = 9         /* another program has cut that segment short, perhaps while the
                              * message was on loan: then what was read of it may be zeros */
} rst_skip_reason_t;

typedef enum rst_image_event_kind_t {
    RST_IMAGE_AVAILABLE = 1,
    RST_IMAGE_UNAVAILABLE = 2,
    RST_IMAGE_GAP = 3,    /* only on unreliable streams: messages are lost */
    RST_IMAGE_SKIPPED = 4 /* one message that comes in parts is not handed out */
} rst_image_event_kind_t;
typedef struct rst_image_event_t {
    int kind;
    int32_t session_id;
    int64_t correlation_id;
    int64_t position; /* join position / position consumed when it went / begin of the gap */
    int64_t end_position; /* unavailable: end-of-stream position; INT64_MAX when the stream did
                             * not end in good order; gap: its end */
    int64_t received_position; /* unavailable: all bytes below it were received; gap: the bytes that
                                * are missing, which is all between unless several gaps, more than
                                * are kept, had to be told as one */
    char source[64]; /* "ip:port" or "aeron:ipc" */
    /* unavailable: the time (ms since 1970) since which the stream goes on without this reader,
     * because it stood still for its rs-evict; 0: another reason */
    int64_t evicted_ms;
    /* unavailable: where the stream goes on in an image that follows, because its group has left
     * this reader behind. What lies between `position` and there is lost. 0: another reason */
    int64_t goes_on_at;
    /* skipped: its first part that was seen begins at `position`, and it was given up at
     * `end_position`; `received_position` counts its bytes that had come. Other messages may lie
     * between the two. */
    int64_t message_length; /* skipped: 0 when it is not known */
    int32_t skip_reason; /* skipped: rst_skip_reason_t */
    int32_t segment; /* skipped: number of the shared segment; -1: it lies in none */
    int32_t initial_term_id; /* available, unavailable: another one of a session that comes back:
                              * its publisher has begun anew */
} rst_image_event_t;
/* The next event. 1: stored; 0: none. The unavailable event of an image follows its last message. A
 * new image of the same session follows that event. */
RST_API int rst_subscription_next_event(rst_subscription_t *subscription, rst_image_event_t *event);
/* The number of events dropped from the full queue; normally 0. */
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
/* As above, for one of several destinations, by index. 0: there are not so many. */
RST_API int rst_subscription_local_address_at(const rst_subscription_t *subscription, int index,
    char *text, size_t size);
RST_API int64_t rst_subscription_channel_status(const rst_subscription_t *subscription);
/* Destinations of a subscription with control-mode=manual, as those of a publication. An Aeron
 * driver removes them by channel only. */
RST_API int64_t rst_subscription_add_destination(rst_subscription_t *subscription, const char *uri);
RST_API int64_t rst_subscription_remove_destination(rst_subscription_t *subscription,
    const char *uri);
RST_API int64_t rst_subscription_remove_destination_by_id(rst_subscription_t *subscription,
    int64_t destination_id);
/* Rejects a publisher's session (its image, by correlation id). The driver stops receiving it and
 * sends the reason to the publisher, at most 1023 bytes. Returns a correlation id. */
RST_API int64_t rst_subscription_reject_image(rst_subscription_t *subscription,
    int64_t image_correlation_id, const char *reason);
/* Says the error with which the subscription is about to be closed, for people: the tools and the
 * publisher of an image in shared memory tell it when no other reader is there. Returns a
 * correlation id. */
RST_API int64_t rst_subscription_say_why(rst_subscription_t *subscription,
    int64_t image_correlation_id, const char *reason);
RST_API bool rst_subscription_is_closed(const rst_subscription_t *subscription);
RST_API void rst_subscription_close(rst_subscription_t *subscription);
/* The fill of the fullest image: bytes received and not consumed, and its window. */
RST_API void rst_subscription_fill(const rst_subscription_t *subscription, int64_t *fill_bytes,
    int64_t *window_bytes);
/* Of the image that batches hold most: bytes from its oldest held batch to the next message to
 * read, and its window; and the largest MTU of all images. */
RST_API void rst_subscription_held(const rst_subscription_t *subscription, int64_t *held_bytes,
    int64_t *window_bytes, int32_t *mtu_max);
/* Messages in shared segments: how many the image has in which most of their bytes are sent and not
 * consumed, and how many the image has of which batches hold most. The log, and so the functions
 * above, have 64 bytes of each. */
typedef struct rst_segment_use_t {
    int64_t unread_bytes;
    int64_t held_bytes;
    int32_t unread_count;
    int32_t held_count;
} rst_segment_use_t;
RST_API void rst_subscription_segments(const rst_subscription_t *subscription,
    rst_segment_use_t *use);

/* ---- waiting ---- */

/* A waiter sleeps on one file descriptor for any number of attached subscriptions (new data, image
 * events, end) and publications (room, connection). One thread waits at a time. */
RST_API int rst_waiter_create(rst_waiter_t **waiter, rst_client_t *client);
RST_API void rst_waiter_destroy(rst_waiter_t *waiter);
RST_API int rst_waiter_attach_subscription(rst_waiter_t *waiter, rst_subscription_t *subscription);
RST_API int rst_waiter_attach_publication(rst_waiter_t *waiter, rst_publication_t *publication);
RST_API void rst_waiter_detach_subscription(rst_waiter_t *waiter, rst_subscription_t *subscription);
RST_API void rst_waiter_detach_publication(rst_waiter_t *waiter, rst_publication_t *publication);
/* Waits for demand (rst_publication_demand) instead of room. Both may be attached. */
RST_API int rst_waiter_attach_demand(rst_waiter_t *waiter, rst_publication_t *publication);
RST_API void rst_waiter_detach_demand(rst_waiter_t *waiter, rst_publication_t *publication);
/* Waits until something attached may be ready: 1. 0: timeout_ns passed. When nothing is left to
 * read: -RST_EDRIVERLOST, -RST_ECLIENTTIMEOUT, -RST_ECLOSED; also -RST_EFORKED. It may return 1
 * early. An image event ends one wait of each waiter, read or not. spin_ns: how long to look before
 * sleeping. */
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
/* A client of the directory. */
typedef struct rst_client_facts_t {
    int64_t client_id;
    int64_t pid; /* its process, 0: not known (a client of Aeron's) */
    int64_t heartbeat_ms; /* its last heartbeat, ms since 1970 */
    char name[128]; /* "" when it has none */
} rst_client_facts_t;
/* Calls per client; returns how many. */
RST_API int rst_tool_clients(rst_tool_t *tool,
    void (*on_client)(void *arg, const rst_client_facts_t *client), void *arg);
/* The client that owns a publication, or (is_reader) one that reads it in shared memory. 1; 0:
 * there is none; or an error. */
RST_API int rst_tool_client_at(rst_tool_t *tool, int64_t registration_id, int32_t is_reader,
    rst_client_facts_t *client);
/* The slowest reader of one publication, which holds it back when the window is full; or the reader
 * whose report its rate follows. */
typedef struct rst_holder_t {
    int64_t registration_id; /* the publication's */
    int32_t is_report; /* the rate follows it; then position and window are 0 */
    int32_t is_local; /* a subscriber in shared memory, or a spy; 0: a receiver */
    int64_t id; /* receiver id, or registration id of the subscription */
    int64_t client_id; /* local: of the subscription; -1 of receivers */
    int64_t pid; /* local: its process, 0: not known (a client of Aeron's) */
    int64_t since_ms; /* since when (ms since 1970) no other is slower; local: to a second */
    int64_t position; /* it has consumed up to here */
    int64_t window; /* bytes by which the publisher may be ahead of it */
    int64_t gap; /* a receiver waits for the data from here on to be sent again; 0: it does not */
    int64_t allowed, drain; /* is_report: bytes per second that it asks for, and that it takes */
    char source[64]; /* "ip:port" of a receiver, "" when local */
} rst_holder_t;
/* Calls per publication and kind of reader; returns how many. Drivers of rstream only. */
RST_API int rst_tool_holders(rst_tool_t *tool,
    void (*on_holder)(void *arg, const rst_holder_t *holder), void *arg);
/* The reason of a publication's limit: RST_HELD_BY_…, read from its log. storage may be NULL; see
 * rst_publication_held_by. */
RST_API int64_t rst_tool_held_by(rst_tool_t *tool, int64_t registration_id, rst_storage_t *storage);
/* The last reader of a publication that has none now. */
typedef struct rst_last_reader_t {
    int64_t left_ms; /* when it left, ms since 1970; 0: none has left, or one is there */
    char why[168]; /* the error with which it left, as it said; "": it said none */
    int64_t pid; /* its process; 0: not known */
    char name[96]; /* of its client, or "ip:port" of a receiver; "": not known */
} rst_last_reader_t;
/* 0 or an error. */
RST_API int rst_tool_last_reader(rst_tool_t *tool, int64_t registration_id,
    rst_last_reader_t *last);
/* The messages of a publication that lie in shared segments, as its log tells: the newest of each
 * segment, in no order, with the position behind it and the bytes of all that were sent before it.
 * Returns the bytes of all. *wait: the bytes of one that waits until readers have consumed earlier
 * ones; 0: none does. A reader that has consumed the stream up to a position has consumed as
 * many of them as bytes_before says of the first message behind that position; all, if there is
 * none. */
RST_API int64_t rst_tool_segments(rst_tool_t *tool, int64_t registration_id, int64_t *wait,
    void (*on_segment)(void *arg, int64_t end_position, int64_t bytes_before), void *arg);
/* How many messages the readers of a publication want beyond what they have consumed: the least of
 * its local readers, or that of its receiver. INT64_MAX: no limit, or they do not tell. */
RST_API int64_t rst_tool_demand(rst_tool_t *tool, int64_t registration_id);
/* Asks the driver of dir (NULL: the default one) to end. It ends if its termination-validator
 * accepts the token. There is no answer but the end of the driver, or an error in its error log.
 * -RST_EINVAL: the token is longer than 384 bytes; -RST_EFULL. */
RST_API int rst_tool_terminate(const char *dir, const void *token, size_t length);

#endif
