/* assembler.h: puts the fragments of one message of one image together, in owned memory.
 *
 * Bounded by length_max. Not thread-safe: the image's poller owns it. A steady flow of large
 * messages allocates nothing, because a batch gives its buffers back. */
#ifndef RSTI_CLIENT_ASSEMBLER_H
#define RSTI_CLIENT_ASSEMBLER_H

#include "protocol/frame.h"

#include <stddef.h>
#include <stdint.h>

typedef struct rsti_buffer_t {
    uint8_t *data;
    size_t capacity;
} rsti_buffer_t;

typedef struct rsti_assembler_t {
    rsti_buffer_t buffer;
    int32_t length;
    int32_t length_max;
    int64_t next_position; /* where the next fragment must begin; -1: no message has begun */
    /* of the frame that began the message */
    int64_t reserved_value;
    int32_t term_id;
    int32_t term_offset;
} rsti_assembler_t;

void rsti_assembler_init(rsti_assembler_t *assembler, int32_t length_max);
void rsti_assembler_fini(rsti_assembler_t *assembler);
/* Drops the message that has begun; keeps the buffer. */
void rsti_assembler_reset(rsti_assembler_t *assembler);
/* Remembers the header of the frame that begins a message: it describes the whole message. */
void rsti_assembler_begin(rsti_assembler_t *assembler, const rsti_data_header_t *header);
/* The length of the message after this fragment. -1: the fragment does not continue the message
 * (the reader joined in the middle, a gap was filled, the message is too long), drop it. Changes
 * nothing. */
int32_t rsti_assembler_would_be(const rsti_assembler_t *assembler, uint8_t flags,
    int32_t fragment_length, int64_t position);
/* Copies a fragment that rsti_assembler_would_be() accepted. 0, or -RST_ENOMEM. */
int rsti_assembler_append(rsti_assembler_t *assembler, uint8_t flags, const uint8_t *payload,
    int32_t length, int64_t position, int64_t end_position);

#endif
