/* sm_path.h: the value of the item RSTI_SM_ITEM_PATH of an additional status message: what has
 * arrived, for a sender that follows the path (flow/path_arrival.h says when and what).
 * Little-endian, eight i64 in the order of the struct, 64 bytes; a later version may append.
 *
 * Untrusted: any 64 bytes are a value. The sender refuses one that contradicts itself
 * (flow/path_track.h). */
#ifndef RSTI_PROTOCOL_SM_PATH_H
#define RSTI_PROTOCOL_SM_PATH_H

#include <stdint.h>

#define RSTI_SM_PATH_LENGTH 64

/* Counts begin with the image; clock_ns has any origin. */
typedef struct rsti_sm_path_t {
    int64_t contiguous; /* position up to which everything has arrived */
    int64_t highest;    /* end of the furthest frame that has arrived */
    int64_t received;   /* bytes in total, resends included */
    int64_t since;      /* of these, after highest moved last */
    int64_t missing;    /* bytes first seen missing, in total */
    int64_t clock_ns;   /* arrival of the newest datagram, by the receiver's clock */
    int64_t hold_ns;    /* from the arrival of highest to the sending of this item */
    int64_t fresh_ns;   /* the same, of the newest datagram; at most hold_ns */
} rsti_sm_path_t;

/* Writes RSTI_SM_PATH_LENGTH bytes. */
void rsti_sm_path_encode(const rsti_sm_path_t *path, uint8_t *value);
void rsti_sm_path_decode(rsti_sm_path_t *path, const uint8_t *value);

#endif
