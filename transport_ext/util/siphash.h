/* siphash.h: a keyed hash (SipHash-2-4). Without the key nobody can compute the hash of chosen
 * bytes, or find bytes with a given hash. Pure. */
#ifndef RSTI_UTIL_SIPHASH_H
#define RSTI_UTIL_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t rsti_siphash(const uint64_t key[2], const void *data, size_t length);

#endif
