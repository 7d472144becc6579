/* resolution.h: frames in which drivers tell each other names and addresses
 * (docs/reference/aeron/wire.md 3.9): a frame header and entries, each aligned to 8 bytes. */
#ifndef RSTI_PROTOCOL_RESOLUTION_H
#define RSTI_PROTOCOL_RESOLUTION_H

#include "util/netaddr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RSTI_RESOLUTION_NAME_MAX 255

typedef struct rsti_resolution_t {
    rsti_packed_address_t address; /* of the driver's resolver */
    bool is_self; /* the sender speaks of itself */
    int32_t age_ms; /* since the sender heard of it; never negative */
    char name[RSTI_RESOLUTION_NAME_MAX + 1];
} rsti_resolution_t;

typedef struct rsti_resolution_reader_t {
    const uint8_t *data;
    size_t length;
    size_t at;
} rsti_resolution_reader_t;

/* Bytes from anywhere. False: no resolution frame. */
bool rsti_resolution_reader_init(rsti_resolution_reader_t *reader, const uint8_t *datagram,
    size_t length);
/* 1: an entry. 0: the end. -1: the rest is malformed: an unknown kind of address, a name that is
 * empty, too long or has a zero byte, or an entry that is longer than the frame. */
int rsti_resolution_next(rsti_resolution_reader_t *reader, rsti_resolution_t *entry);

/* Appends an entry to a frame of length bytes (0: begins the frame) and returns the new length; 0:
 * there is no room, and the frame is as it was. */
size_t rsti_resolution_append(uint8_t *datagram, size_t capacity, size_t length,
    const rsti_resolution_t *entry);

#endif
