/* msgpack.h: what a message of msgpack becomes, seen before it is decoded.
 *
 * A byte of msgpack may be an object: a list of empty maps takes 88 bytes of a reader's memory for
 * each of its own. The length of a message therefore bounds nothing. Source: msgpack/spec.md. */
#ifndef RSTI_UTIL_MSGPACK_H
#define RSTI_UTIL_MSGPACK_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that the first value takes as objects of CPython 3.11, about, without what lies in the
 * message as it is: texts and bytes. It stops when that is more than `enough`. -1: the value is not
 * whole, which its decoder finds as well. Foreign bytes; no recursion, no allocation, at most one
 * step for each byte. */
int64_t rsti_msgpack_cost(const uint8_t *data, size_t length, int64_t enough);

#endif
