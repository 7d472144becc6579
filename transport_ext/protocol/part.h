/* part.h: the prefix of a part of a large message (docs/reference/wire.md, "Parts").
 *
 * A part is an ordinary message of kind RSTI_KIND_PART: this prefix, then bytes of the message.
 *
 *   0  i64  id      of the message within its session; grows, from 1 on
 *   8  i64  total   bytes of the message
 *  16  i64  offset  of this part's first byte in the message; RSTI_PART_ABANDONED: none follows
 *
 * All little endian. A session sends the parts of one message in order, and one message at a
 * time. */
#ifndef RSTI_PROTOCOL_PART_H
#define RSTI_PROTOCOL_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RSTI_PART_PREFIX_LENGTH 24
/* The publisher sends no more of the message: readers drop what they have of it. */
#define RSTI_PART_ABANDONED INT64_C(-1)

typedef struct rsti_part_t {
    int64_t id;
    int64_t total;
    int64_t offset;
} rsti_part_t;

/* Writes RSTI_PART_PREFIX_LENGTH bytes. */
void rsti_part_encode(const rsti_part_t *part, uint8_t *prefix);
/* The payload begins with the prefix. False: it is too short, or id, total and offset contradict
 * each other (id >= 1, total >= 1, -1 <= offset < total). */
bool rsti_part_decode(const uint8_t *payload, size_t length, rsti_part_t *part);

#endif
