/* rb.h: the common part of both ring buffers (docs/reference/aeron/memory.md 10 and 11): the layout
 * of records and trailer, the reading side, and commit and abort of claims. mpsc_rb.h and spsc_rb.h
 * move the tail. Records of type RSTI_RB_PADDING are never delivered. */
#ifndef RSTI_CONCURRENT_RB_H
#define RSTI_CONCURRENT_RB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RSTI_RB_TRAILER_LENGTH 768
#define RSTI_RB_HEADER_LENGTH 8
#define RSTI_RB_ALIGNMENT 8
#define RSTI_RB_PADDING (-1)

#define RSTI_RB_OK 0
#define RSTI_RB_FULL (-1)
#define RSTI_RB_INVALID (-2) /* type < 1 or longer than capacity / 8 */

typedef struct rsti_rb_trailer_t {
    uint8_t begin_pad[128];
    int64_t tail_position; /* written by: producers */
    uint8_t tail_pad[120];
    int64_t head_cache_position; /* written by: producers */
    uint8_t head_cache_pad[120];
    int64_t head_position; /* written by: consumer */
    uint8_t head_pad[120];
    int64_t correlation_counter; /* written by: anyone (fetch-add) */
    uint8_t correlation_pad[120];
    int64_t consumer_heartbeat_ms; /* written by: consumer; 0 not yet, -1 clean shutdown */
    uint8_t heartbeat_pad[120];
} rsti_rb_trailer_t;
_Static_assert(sizeof(rsti_rb_trailer_t) == RSTI_RB_TRAILER_LENGTH, "ring trailer");
_Static_assert(offsetof(rsti_rb_trailer_t, tail_position) == 128, "ring trailer");
_Static_assert(offsetof(rsti_rb_trailer_t, head_cache_position) == 256, "ring trailer");
_Static_assert(offsetof(rsti_rb_trailer_t, head_position) == 384, "ring trailer");
_Static_assert(offsetof(rsti_rb_trailer_t, correlation_counter) == 512, "ring trailer");
_Static_assert(offsetof(rsti_rb_trailer_t, consumer_heartbeat_ms) == 640, "ring trailer");

/* i32 length (with this header; negative while it is a claim), i32 type, payload. */
typedef struct rsti_rb_header_t {
    int32_t length;
    int32_t type;
} rsti_rb_header_t;
_Static_assert(sizeof(rsti_rb_header_t) == RSTI_RB_HEADER_LENGTH, "record header");

typedef struct rsti_rb_t {
    uint8_t *buffer;
    rsti_rb_trailer_t *trailer;
    size_t capacity;
    size_t max_message_length;
    int64_t corrupt_count; /* written by: consumer of this handle; impossible lengths skipped */
} rsti_rb_t;

typedef enum rsti_rb_action_t {
    RSTI_RB_CONTINUE = 0, /* consume, go on */
    RSTI_RB_BREAK = 1, /* consume this record, stop */
    RSTI_RB_ABORT = 2, /* leave this record in the ring, stop */
    RSTI_RB_COMMIT = 3 /* free the room of all records read so far, with this one; go on */
} rsti_rb_action_t;

/* record lies in the ring, 8-aligned: a hostile producer may still change it, so copy a field
 * before checking it, and use the copy. */
typedef rsti_rb_action_t (*rsti_rb_on_record_t)(void *arg, int32_t type, const void *record,
    size_t length);

/* length = capacity (power of two, at least 64) + trailer. The memory is used as it is (zeroed,
 * or a live ring of another process). 0, or -RST_EINVAL. */
int rsti_rb_init(rsti_rb_t *ring, void *buffer, size_t length);
/* For the producer of the claim at `offset` (the result of a try_claim), once. */
int rsti_rb_commit(rsti_rb_t *ring, int64_t offset);
int rsti_rb_abort(rsti_rb_t *ring, int64_t offset);
/* Consumer only. Delivers at most `limit` records; returns how many were consumed. 0: no record can
 * be read now, so the consumer may sleep (wake.h). */
size_t rsti_rb_read(rsti_rb_t *ring, size_t limit, rsti_rb_on_record_t on_record, void *arg);
/* Whether a committed record waits (padding counts); for the look after arming (wake.h). */
bool rsti_rb_has_records(const rsti_rb_t *ring);
size_t rsti_rb_size(const rsti_rb_t *ring); /* bytes written and not read */

/* ---- for the two rings ---- */

/* Other processes write the positions. For any position the index is inside the buffer and
 * aligned. */
size_t rsti_rb_index(const rsti_rb_t *ring, int64_t position);
rsti_rb_header_t *rsti_rb_header(const rsti_rb_t *ring, size_t index);
/* Contiguous claimed bytes from the head on. */
size_t rsti_rb_contiguous(const rsti_rb_t *ring, int64_t head, int64_t tail);
/* Whether a record of length bytes (at most max_message_length) and this type may be written. */
bool rsti_rb_is_writable(const rsti_rb_t *ring, int32_t type, size_t length);
/* Bytes that a record with this payload takes. */
size_t rsti_rb_need(size_t length);
/* The index for `need` contiguous bytes at this tail, or RSTI_RB_FULL. *padding: the unused bytes
 * before it at the end of the buffer. *head: the producer's cached head. */
int64_t rsti_rb_find_room(rsti_rb_t *ring, size_t need, int64_t tail, int64_t *head,
    size_t *padding);
void rsti_rb_put_padding(rsti_rb_t *ring, size_t index, int32_t length);
/* Makes the record at index a claim; returns its offset for commit and abort. */
int64_t rsti_rb_put_claim(rsti_rb_t *ring, size_t index, int32_t type, size_t length);
/* Writes the payload and, last, the length of the claim at `offset`: the record is complete. */
void rsti_rb_fill_claim(rsti_rb_t *ring, int64_t offset, const void *record, size_t length);

#endif
