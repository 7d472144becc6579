/* image.h: one publisher's stream as one subscription sees it.
 *
 * Frames come from the memory of another process. A frame that does not carry the term id and
 * offset of its place ends the image as corrupt. The caller of every function except the reference
 * counting holds subscription->lock. */
#ifndef RSTI_CLIENT_IMAGE_H
#define RSTI_CLIENT_IMAGE_H

#include "client/assembler.h"
#include "client/shared_log.h"
#include "client/subscription.h"
#include "logbuffer/reader.h"
#include "protocol/command.h"
#include "protocol/data_header.h"

typedef enum rsti_image_state_t {
    RSTI_IMAGE_ACTIVE = 0,
    RSTI_IMAGE_CLOSING = 1, /* unavailable; the messages still in memory are handed out */
    RSTI_IMAGE_GONE = 2
} rsti_image_state_t;

/* A batch holds the image from `begin` on: the subscriber position does not pass it. */
typedef struct rsti_lease_t {
    rst_image_t *image;
    int64_t begin;
    struct rsti_lease_t *prev, *next; /* in the image's list, oldest first */
} rsti_lease_t;

/* image_gaps.h */
typedef struct rsti_image_gaps_t {
    bool is_watched;       /* the stream is unreliable */
    int64_t looked;        /* frames below it were looked at */
    int64_t begin;         /* of a gap whose end is not known yet; -1: none */
    int64_t message_begin; /* of a message of which only the first frames were seen; -1: none */
} rsti_image_gaps_t;

/* parts.h */
typedef struct rsti_parts_t {
    int64_t id;             /* of the message whose part was seen last; 0: none was seen */
    int64_t total;          /* its bytes */
    int64_t received;       /* of them, so many from the beginning are in `data` */
    int64_t at;             /* where the next fragment of the part under way goes */
    int64_t next_position;  /* of that fragment; -1: no part is under way */
    int64_t begin_position; /* of its first part that was seen */
    uint8_t *data;          /* NULL: it was handed out or skipped, or there was none */
    void *owner;            /* of `data` */
} rsti_parts_t;

struct rst_image_t {
    int32_t refs; /* atomic; the rest is under subscription->lock */
    rsti_image_state_t state;
    rst_subscription_t *subscription;
    rsti_shared_log_t *log;
    rsti_counter_value_t *counter;
    const rsti_counter_metadata_t *counter_metadata;
    int64_t correlation_id;
    int32_t session_id;
    bool is_corrupt;
    bool is_reading_told; /* rsti_demand_tell_reading */
    int64_t evicted_ms; /* when the driver evicted this reader; 0: it did not */
    int64_t goes_on_at; /* where the stream goes on after an overrun; 0: it was not overrun */
    bool is_let_go;     /* ends after the message handed out last, whatever the log still holds */
    int64_t join_position;
    int64_t joined_bytes;       /* of messages in segments below it */
    int64_t scan_position;      /* of the next frame to read */
    int64_t delivered_position; /* behind the last message handed out and its padding */
    int64_t released_position;  /* as last stored for the driver */
    int32_t lease_index;        /* in the batch that is being filled; -1: not in it */
    rsti_lease_t *oldest_lease, *youngest_lease;
    rsti_assembler_t assembler;
    rsti_image_gaps_t gaps;
    rsti_parts_t parts;
    int32_t receiver_counter_id; /* a cache; negative: not found yet */
    char source[sizeof((rst_image_event_t *)0)->source];
};

/* Maps the log and takes the position of an image that the driver has announced; the caller owns
 * the one reference. NULL with a trail; error detail ENOENT: the image has gone already. */
rst_image_t *rsti_image_create(rst_subscription_t *subscription, const rsti_response_t *response);
/* Any thread, without the lock. */
void rsti_image_ref(rst_image_t *image);
/* Any thread. Without the lock, unless another reference is left. */
void rsti_image_unref(rst_image_t *image);

/* Whether the subscriber position counter still belongs to this image. */
bool rsti_image_has_counter(const rst_image_t *image);
/* Whether the driver goes on without this reader: the log may change while it reads. */
bool rsti_image_is_evicted(const rst_image_t *image);
/* Whether everything handed out of the image is still as it was written. False after an eviction.
 * False also when the driver took the position counter back and its notice is not read yet: the
 * notice may tell of an eviction. */
bool rsti_image_is_kept(const rst_image_t *image);
/* Moves the subscriber position over everything that no batch holds any more. True: wake the
 * driver's conductor, it waits for that position. */
bool rsti_image_move_position(rst_image_t *image);
/* Whether the driver's conductor waits for this position, which the caller has just stored. */
bool rsti_image_is_awaited(const rst_image_t *image, int64_t position);
/* Whether a frame is committed at the scan position. */
bool rsti_image_is_readable(const rst_image_t *image);
/* Whether the next frame costs no demand (completion, failure, schema). */
bool rsti_image_next_is_free(const rst_image_t *image);
/* The end of the contiguous frames from the scan position on. */
int64_t rsti_image_contiguous_end(const rst_image_t *image);

/* ---- inlined into the polls ---- */

static inline uint8_t *rsti_image_term_at(const rst_image_t *image, int64_t position)
{
    const rsti_log_t *log = &image->log->file.log;
    return log->terms[rsti_position_index(position, log->position_bits)];
}

static inline bool rsti_fragment_is_in_place(const rsti_fragment_t *fragment, const uint8_t *term,
    int32_t term_id)
{
    return fragment->header->term_id == term_id
        && fragment->header->term_offset == (int32_t)((const uint8_t *)fragment->header - term);
}

/* Completion, failure and schema of an rstream stream are no elements: they cost no demand. */
static inline bool rsti_image_is_free_of_demand(const rst_image_t *image, int64_t reserved_value)
{
    const rsti_log_ext_t *ext = rsti_shared_log_ext(image->log);
    rsti_stream_header_t header;
    return ext->magic == RSTI_EXT_MAGIC && ext->name_hash != 0
        && rsti_stream_header_decode(reserved_value, &header)
        && (int32_t)header.name_hash == ext->name_hash
        && (header.kind == RSTI_KIND_COMPLETE || header.kind == RSTI_KIND_ERROR
            || header.kind == RSTI_KIND_SCHEMA);
}

#endif
