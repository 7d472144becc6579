/* opener.h: opens what one socket receives. Law: a datagram is opened at most once, and only if a
 * holder of a key of the group has sealed it, on another socket.
 *
 *     strangers   cost a look at their key id; what names a known one costs a key derivation and
 *                 an AEAD call
 *     senders     are remembered once one of their datagrams was authentic, at most
 *                 RSTI_OPENER_SENDERS. A further one takes the place of the one that was silent
 *                 longest, if that is RSTI_OPENER_SILENT_NS or more
 *
 * What a forgotten sender sent may be opened once more. So a sealed datagram alone does not prove
 * that its sender is there now: a challenge does (decision 41). Memory for a sender is taken when
 * it is first heard, never for a stranger: what strangers are opened with is kept for the next one.
 * Owner: the agent that receives. */
#ifndef RSTI_SEAL_OPENER_H
#define RSTI_SEAL_OPENER_H

#include "seal/keyring.h"
#include "seal/replay.h"

#define RSTI_OPENER_SENDERS 1024
#define RSTI_OPENER_SILENT_NS INT64_C(60000000000)

typedef enum rsti_opened_t {
    RSTI_OPENED,
    RSTI_OPENED_PLAIN,     /* not: it does not claim to be sealed */
    RSTI_OPENED_MALFORMED, /* it does, and contradicts itself */
    RSTI_OPENED_UNKNOWN_KEY,
    RSTI_OPENED_OWN,  /* it has come back */
    RSTI_OPENED_REPLAY, /* or later than 1 024 others */
    RSTI_OPENED_FORGED, /* or altered */
    RSTI_OPENED_FULL, /* too many senders, or no memory */
    RSTI_OPENED_COUNT
} rsti_opened_t;

typedef struct rsti_sealed_sender_t {
    uint8_t salt[RSTI_SEALED_SALT];
    uint32_t key_id;
    rsti_aead_t aead;
    rsti_replay_t replay;
    int64_t heard_ns;
    bool has_twin; /* another one has this salt and another key: its counter goes on */
} rsti_sealed_sender_t;

typedef struct rsti_opener_t {
    rsti_keys_t keys;
    uint8_t own_salt[RSTI_SEALED_SALT];
    rsti_sealed_sender_t *senders[RSTI_OPENER_SENDERS];
    uint64_t marks[RSTI_OPENER_SENDERS]; /* the first bytes of the salt of each */
    rsti_aead_t spares[RSTI_AEAD_CHACHA20_POLY1305 + 1]; /* by kind: for the next stranger */
    rsti_hash_t hash;
    int32_t sender_count;
    int32_t newest; /* index of the one that was heard last */
    bool is_overtaken; /* the last one that was opened; its sender sealed an earlier one later */
    int64_t counts[RSTI_OPENED_COUNT];
    uint32_t refused_id; /* of the last datagram with an unknown key */
} rsti_opener_t;

/* own_salt: of the sealer of the same socket. */
void rsti_opener_init(rsti_opener_t *opener, const uint8_t *own_salt);
void rsti_opener_fini(rsti_opener_t *opener);
/* What was sealed with others is not opened any more. */
void rsti_opener_set_keys(rsti_opener_t *opener, const rsti_keys_t *keys);
/* Opens a datagram in place. RSTI_OPENED: the frame has length - RSTI_SEALED_OVERHEAD bytes, and
 * begins at data + RSTI_SEALED_HEADER. Else data is undefined from there on. */
rsti_opened_t rsti_opener_open(rsti_opener_t *opener, uint8_t *data, size_t length, int64_t now_ns);
/* A number for the sender of the datagram that was opened last, never 0. Only a holder of the key
 * can make datagrams of a sender. Of two senders it is the same by chance alone: 64 random bits. */
uint64_t rsti_opener_sender(const rsti_opener_t *opener);

#endif
