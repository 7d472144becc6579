/* descriptor.h: the layout of a log buffer file, and the arithmetic of terms and positions
 * (docs/reference/aeron/memory.md 2 and 3, docs/reference/aeron/wire.md 2). Client and driver share
 * this layout. */
#ifndef RSTI_LOGBUFFER_DESCRIPTOR_H
#define RSTI_LOGBUFFER_DESCRIPTOR_H

#include "concurrent/atomics.h"
#include "concurrent/wake.h"
#include "protocol/frame.h"
#include "util/bits.h"
#include "util/int_math.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RSTI_TERM_MIN_LENGTH (64 * 1024)
#define RSTI_TERM_MAX_LENGTH (1024 * 1024 * 1024)
#define RSTI_PARTITIONS 3
#define RSTI_LOG_METADATA_LENGTH 4096

#pragma pack(push, 1)
typedef struct rsti_log_metadata_t {
    int64_t term_tail_counters[RSTI_PARTITIONS]; /* written by: producers */
    int32_t active_term_count; /* written by: producers */
    uint8_t pad1[100];
    int64_t end_of_stream_position; /* written by: driver; INT64_MAX until known */
    int32_t is_connected; /* written by: driver */
    int32_t active_transport_count; /* written by: driver */
    uint8_t pad2[112];
    int64_t correlation_id; /* from here on written once by the driver, before use */
    int32_t initial_term_id;
    int32_t default_frame_header_length;
    int32_t mtu_length;
    int32_t term_length;
    int32_t page_size;
    int32_t publication_window_length;
    int32_t receiver_window_length;
    int32_t socket_sndbuf_length;
    int32_t os_default_socket_sndbuf_length;
    int32_t os_max_socket_sndbuf_length;
    int32_t socket_rcvbuf_length;
    int32_t os_default_socket_rcvbuf_length;
    int32_t os_max_socket_rcvbuf_length;
    int32_t max_resend;
    uint8_t default_header[128]; /* first 32 bytes: a DATA header template */
    int64_t entity_tag;
    int64_t response_correlation_id;
    int64_t linger_timeout_ns;
    int64_t untethered_window_limit_timeout_ns;
    int64_t untethered_resting_timeout_ns;
    uint8_t group;
    uint8_t is_response;
    uint8_t rejoin;
    uint8_t reliable;
    uint8_t sparse;
    uint8_t signal_eos;
    uint8_t spies_simulate_connection;
    uint8_t tether;
    uint8_t is_publication_revoked; /* atomic */
    uint8_t type; /* RSTI_LOG_… */
    uint8_t pad3[2];
    uint8_t untethered_linger_timeout_ns[8]; /* unaligned i64: rsti_get_i64 / rsti_put_i64 */
    uint8_t pad4[4];
    rsti_log_ext_t ext; /* ours, zero in Aeron's files */
} rsti_log_metadata_t;
#pragma pack(pop)
_Static_assert(offsetof(rsti_log_metadata_t, end_of_stream_position) == 128, "metadata");
_Static_assert(offsetof(rsti_log_metadata_t, correlation_id) == 256, "metadata");
_Static_assert(offsetof(rsti_log_metadata_t, default_header) == 320, "metadata");
_Static_assert(offsetof(rsti_log_metadata_t, entity_tag) == 448, "metadata");
_Static_assert(offsetof(rsti_log_metadata_t, is_publication_revoked) == 496, "metadata");
_Static_assert(offsetof(rsti_log_metadata_t, untethered_linger_timeout_ns) == 500, "metadata");
_Static_assert(offsetof(rsti_log_metadata_t, ext) == RSTI_LOG_EXT_OFFSET, "metadata");
_Static_assert(sizeof(rsti_log_metadata_t) <= RSTI_LOG_METADATA_LENGTH, "metadata");

enum {
    RSTI_LOG_CONCURRENT = 0,
    RSTI_LOG_EXCLUSIVE = 1,
    RSTI_LOG_IMAGE = 2
};

/* A mapped log. cnc/log_file maps it; all other rooms only read these fields. */
typedef struct rsti_log_t {
    uint8_t *base;
    size_t length;
    uint8_t *terms[RSTI_PARTITIONS];
    rsti_log_metadata_t *metadata;
    int32_t term_length;
    int32_t position_bits;
    int32_t initial_term_id;
    int32_t mtu;
} rsti_log_t;

/* Fills the view from a mapping whose metadata is written. Untrusted: checks term length, page
 * size, mtu, file length. 0 or -RST_ECORRUPT with a trail. */
int rsti_log_init(rsti_log_t *log, void *base, size_t length);

/* Writes metadata of a fresh (zeroed) mapping. Images keep tails and term count at 0. A name longer
 * than 239 bytes is cut (channels refuse it before). */
typedef struct rsti_log_params_t {
    int64_t correlation_id;
    int32_t session_id;
    int32_t stream_id;
    int32_t initial_term_id;
    int32_t term_id; /* start position; == initial_term_id by default */
    int32_t term_offset;
    int32_t term_length;
    int32_t mtu;
    int32_t page_size;
    int32_t publication_window;
    int32_t receiver_window;
    int32_t socket_sndbuf, socket_rcvbuf;
    int32_t max_resend;
    int64_t entity_tag, response_correlation_id; /* images: 0 */
    int64_t linger_ns;
    int64_t untethered_window_limit_ns, untethered_resting_ns, untethered_linger_ns;
    uint8_t type;
    uint8_t group, is_response, rejoin, reliable, sparse, signal_eos, spies_simulate_connection;
    uint8_t tether;
    const char *name; /* stream name or NULL */
} rsti_log_params_t;
void rsti_log_metadata_init(rsti_log_metadata_t *metadata, const rsti_log_params_t *params);

/* Bytes of the file for a term length, rounded up to page_size. */
int64_t rsti_log_file_length(int32_t term_length, int32_t page_size);

static inline int64_t rsti_position(int32_t term_id, int32_t term_offset, int32_t position_bits,
    int32_t initial_term_id)
{
    /* A term before the initial one gives a negative position, which C must not shift. */
    const int64_t term_count = rsti_wrap_sub_i32(term_id, initial_term_id);
    return (int64_t)((uint64_t)term_count << position_bits) + term_offset;
}

static inline int32_t rsti_position_term_id(int64_t position, int32_t position_bits,
    int32_t initial_term_id)
{
    return rsti_wrap_add_i32(initial_term_id, (int32_t)(position >> position_bits));
}

static inline int32_t rsti_position_index(int64_t position, int32_t position_bits)
{
    return (int32_t)((position >> position_bits) % RSTI_PARTITIONS);
}

static inline int32_t rsti_position_offset(int64_t position, int32_t term_length)
{
    return (int32_t)(position & (term_length - 1));
}

static inline int64_t rsti_max_position(int32_t term_length)
{
    return (int64_t)term_length << 31;
}

static inline int32_t rsti_tail_term_id(int64_t raw_tail)
{
    return (int32_t)(raw_tail >> 32);
}

/* Clamped to the term length: producers may over-claim. */
static inline int32_t rsti_tail_offset(int64_t raw_tail, int32_t term_length)
{
    const int64_t offset = raw_tail & INT64_C(0xFFFFFFFF);
    return offset < term_length ? (int32_t)offset : term_length;
}

static inline int64_t rsti_tail_pack(int32_t term_id, int32_t term_offset)
{
    return (int64_t)(((uint64_t)(uint32_t)term_id << 32) | (uint32_t)term_offset);
}

static inline int32_t *rsti_frame_length_address(uint8_t *term, int32_t offset)
{
    return (int32_t *)(void *)(term + offset);
}

/* The partition of a term count. Unsigned, so that a corrupt count stays inside. */
static inline int32_t rsti_term_index(int32_t term_count)
{
    return (int32_t)((uint32_t)term_count % RSTI_PARTITIONS);
}

/* Whether a positive frame length read from shared memory covers a header and stays inside the
 * remaining bytes of its term (remaining >= 32). One comparison for both sides. */
static inline bool rsti_frame_fits(int32_t length, int32_t remaining)
{
    return (uint32_t)length - RSTI_DATA_HEADER_LENGTH
        <= (uint32_t)remaining - RSTI_DATA_HEADER_LENGTH;
}

/* Bytes a frame of this length occupies. Only for lengths that fit. */
static inline int32_t rsti_frame_span(int32_t length)
{
    return (length + (RSTI_FRAME_ALIGNMENT - 1)) & ~(RSTI_FRAME_ALIGNMENT - 1);
}

/* The producer position, from the tail of the active partition. */
int64_t rsti_log_producer_position(const rsti_log_t *log);
/* The publication window for a configured value (docs/reference/aeron/wire.md 2): the value itself
 * if it is below half a term. */
static inline int32_t rsti_producer_window(int32_t configured, int32_t term_length)
{
    return configured > 0 && configured < term_length / 2 ? configured : term_length / 2;
}

/* How far the last message that begins below the publication limit may end behind it. */
int32_t rsti_limit_overshoot(int32_t term_length, int32_t mtu);
/* How far anything may end behind the limit: a control message of at most one mtu may follow that
 * last message, after the padding at the end of a term (rsti_append_control). */
int32_t rsti_limit_reach(int32_t term_length, int32_t mtu);
/* The longest payload of a control message. */
int32_t rsti_max_control_length(int32_t term_length, int32_t mtu);

/* Rotates to the next term (docs/reference/aeron/memory.md 3). True: this caller moved the term
 * count. */
bool rsti_log_rotate(rsti_log_metadata_t *metadata, int32_t current_term_count,
    int32_t current_term_id);

#endif
