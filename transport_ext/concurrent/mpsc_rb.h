/* mpsc_rb.h: many-producer single-consumer ring of records (memory reference, section 10). Used
 * for clients -> conductor in the CnC file, and inside the driver for agent -> agent commands.
 * Records of type RSTI_RB_PADDING are never handed out. */
#ifndef RSTI_CONCURRENT_MPSC_RB_H
#define RSTI_CONCURRENT_MPSC_RB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RSTI_RB_TRAILER_LENGTH 768
#define RSTI_RB_HEADER_LENGTH 8
#define RSTI_RB_PADDING (-1)

#define RSTI_RB_OK 0
#define RSTI_RB_FULL (-1)
#define RSTI_RB_INVALID (-2) /* type < 1 or longer than capacity / 8 */

typedef struct rsti_rb_trailer_t {
    uint8_t begin_pad[128];
    int64_t tail_position; /* written by: producers (CAS) */
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

typedef struct rsti_mpsc_rb_t {
    uint8_t *buffer;
    rsti_rb_trailer_t *trailer;
    size_t capacity;
    size_t max_message_length;
    int64_t corrupt_count; /* written by: consumer of this handle; impossible lengths skipped */
} rsti_mpsc_rb_t;

typedef enum rsti_rb_action_t {
    RSTI_RB_CONTINUE = 0, /* consume, go on */
    RSTI_RB_BREAK = 1,    /* consume this one, stop */
    RSTI_RB_ABORT = 2     /* leave this one in the ring, stop */
} rsti_rb_action_t;

/* record lies in the ring, 8-aligned: a hostile producer may still change it, so copy a field
 * before checking it, and use the copy. */
typedef rsti_rb_action_t (*rsti_rb_on_record_t)(
    void *arg, int32_t type, const void *record, size_t length);

/* length = capacity (power of two, at least 64) + trailer. The memory is used as it is (zeroed,
 * or a live ring of another process). 0, or -RST_EINVAL. */
int rsti_mpsc_rb_init(rsti_mpsc_rb_t *ring, void *buffer, size_t length);
/* Any thread or process. RSTI_RB_OK / FULL / INVALID. */
int rsti_mpsc_rb_write(rsti_mpsc_rb_t *ring, int32_t type, const void *record, size_t length);
/* Claim for writing in place: offset of the payload in ring->buffer, or RSTI_RB_FULL / INVALID. */
int64_t rsti_mpsc_rb_try_claim(rsti_mpsc_rb_t *ring, int32_t type, size_t length);
int rsti_mpsc_rb_commit(rsti_mpsc_rb_t *ring, int64_t offset);
int rsti_mpsc_rb_abort(rsti_mpsc_rb_t *ring, int64_t offset);
/* Consumer only: hands over at most limit records; returns how many were consumed. */
size_t rsti_mpsc_rb_read(rsti_mpsc_rb_t *ring, size_t limit, rsti_rb_on_record_t on_record,
    void *arg);
/* Whether a committed record waits (padding counts); for the look after arming (wake.h). */
bool rsti_mpsc_rb_has_records(const rsti_mpsc_rb_t *ring);
/* Consumer only: skips a record whose producer died; true when something was unblocked. The caller
 * decides when (head unmoved for the client liveness timeout). */
bool rsti_mpsc_rb_unblock(rsti_mpsc_rb_t *ring);
int64_t rsti_mpsc_rb_next_correlation_id(rsti_mpsc_rb_t *ring);
void rsti_mpsc_rb_set_heartbeat(rsti_mpsc_rb_t *ring, int64_t now_ms);
int64_t rsti_mpsc_rb_heartbeat(const rsti_mpsc_rb_t *ring);
size_t rsti_mpsc_rb_size(const rsti_mpsc_rb_t *ring); /* bytes written and not read */

#endif
