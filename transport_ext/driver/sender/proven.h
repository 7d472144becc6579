/* proven.h: the hosts that have shown that they read what we send to them (docs/reference/wire.md,
 * "Proofs towards a sender"). NAKs, error frames and the like of other hosts, the strangers, have
 * no effect. Pure, but for the memory. Owner: the sender; init and fini: the conductor.
 *
 * Strangers have no place in the table, so they cannot fill it. A host keeps its place while it
 * proves itself again. The places are found by a keyed hash of the address: nobody can choose
 * addresses that fall together. A host with RSTI_PROVEN_PROBES living ones before it waits until
 * one is gone; in a table that is half full this does not happen. */
#ifndef RSTI_DRIVER_SENDER_PROVEN_H
#define RSTI_DRIVER_SENDER_PROVEN_H

#include "util/clock.h"
#include "util/netaddr.h"

#include <stdbool.h>
#include <stdint.h>

/* Places: of a group or a socket with responses, and of a unicast channel. Powers of two. */
#define RSTI_PROVEN_MANY 4096
#define RSTI_PROVEN_FEW 64
#define RSTI_PROVEN_PROBES 64
/* A proof holds for so long, and is asked for again after the second time. */
#define RSTI_PROVEN_NS (5 * RSTI_NS_PER_S)
#define RSTI_PROVEN_AGAIN_NS (2 * RSTI_NS_PER_S)
/* A status message that is further behind than this proves nothing. */
#define RSTI_PROVEN_TERMS 64

typedef struct rsti_proven_host_t {
    rsti_packed_address_t address;
    int64_t last_ns;
} rsti_proven_host_t;

typedef struct rsti_proven_t {
    rsti_proven_host_t *hosts;
    uint32_t capacity;
    uint64_t key[2];
} rsti_proven_t;

/* 0 or -RST_ENOMEM. */
int rsti_proven_init(rsti_proven_t *proven, uint32_t capacity, const uint64_t key[2]);
void rsti_proven_fini(rsti_proven_t *proven);
/* Whether a status message with this position has seen our SETUP: its session and initial term id
 * are random, and the position follows from both. */
bool rsti_proven_by(int64_t position, int64_t sent_position, int32_t term_length);
/* The source is proven now. False: it found no place. */
bool rsti_proven_add(rsti_proven_t *proven, const struct sockaddr_storage *source, int64_t now_ns);
bool rsti_proven_has(const rsti_proven_t *proven, const struct sockaddr_storage *source,
    int64_t now_ns);
/* True: the proof of the source is missing or old. */
bool rsti_proven_is_due(const rsti_proven_t *proven, const struct sockaddr_storage *source,
    int64_t now_ns);

#endif
