/* timestamp.h: time-stamps that drivers write into frames (docs/reference/aeron/wire.md 17). */
#ifndef RSTI_PROTOCOL_TIMESTAMP_H
#define RSTI_PROTOCOL_TIMESTAMP_H

#include <stddef.h>
#include <stdint.h>

/* The reserved value lies right before the payload. */
#define RSTI_TIMESTAMP_RESERVED (-8)
#define RSTI_TIMESTAMP_LENGTH 8

/* Writes time_ns (since 1970) at this offset of the payload of every DATA frame of the datagram
 * that begins a message. Frames that are too short for it, and heartbeats, stay as they are. The
 * bytes may come from anywhere: the first impossible frame ends the walk. */
void rsti_timestamp_write(uint8_t *datagram, size_t length, int64_t offset, int64_t time_ns);

#endif
