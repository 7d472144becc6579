/* data_header.h: rstream's own header in Aeron's 64-bit reserved value (docs/reference/wire.md).
 * Zero is a plain Aeron message. The same value stands on every fragment of a message.
 *
 *   bits  0-15  name hash   FNV-1a folded to 16 bits, never 0 for a named stream; 0 = unnamed
 *   bits 16-31  target      node of an ad hoc unicast; 0 = everybody
 *   bits 32-39  codec id    RSTI_CODEC_…
 *   bits 40-47  flags       1 unordered
 *   bits 48-55  kind        RSTI_KIND_…
 *   bits 56-63  version     1
 */
#ifndef RSTI_PROTOCOL_DATA_HEADER_H
#define RSTI_PROTOCOL_DATA_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RSTI_DATA_HEADER_VERSION 1

enum {
    RSTI_KIND_PLAIN = 0,
    RSTI_KIND_BATCH = 1,
    RSTI_KIND_PART = 2,
    RSTI_KIND_COMPLETE = 3,
    RSTI_KIND_ERROR = 4,
    RSTI_KIND_SCHEMA = 5,
    RSTI_KIND_SEGMENT = 6
};

typedef struct rsti_stream_header_t {
    uint8_t version;
    uint8_t kind;
    uint8_t flags;
    uint8_t codec_id;
    uint16_t target;
    uint16_t name_hash;
} rsti_stream_header_t;

/* Whether a message is a part of a larger one. */
static inline bool rsti_stream_header_is_part(int64_t reserved_value)
{
    return (uint64_t)reserved_value >> 48
        == ((uint64_t)RSTI_DATA_HEADER_VERSION << 8 | RSTI_KIND_PART);
}
/* Whether a message says only where it lies (protocol/segment.h). */
static inline bool rsti_stream_header_is_segment(int64_t reserved_value)
{
    return (uint64_t)reserved_value >> 48
        == ((uint64_t)RSTI_DATA_HEADER_VERSION << 8 | RSTI_KIND_SEGMENT);
}
/* The same value with another kind. */
static inline int64_t rsti_stream_header_with_kind(int64_t reserved_value, uint8_t kind)
{
    const uint64_t cleared = (uint64_t)reserved_value & ~(UINT64_C(0xFF) << 48);
    return (int64_t)(cleared | (uint64_t)kind << 48);
}
/* The value of the whole message, which is plain, from the value of one of its parts. */
static inline int64_t rsti_stream_header_of_whole(int64_t reserved_value)
{
    return rsti_stream_header_with_kind(reserved_value, RSTI_KIND_PLAIN);
}
int64_t rsti_stream_header_encode(const rsti_stream_header_t *header);
/* False for 0 and for an unknown version: treat it as a plain Aeron message. */
bool rsti_stream_header_decode(int64_t reserved_value, rsti_stream_header_t *header);
uint16_t rsti_name_hash(const char *name, size_t length);

#endif
