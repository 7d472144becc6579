/* name_gossip.h: how drivers learn each other's names and addresses: a table of names, a list of
 * neighbors, and the times at which what is told to whom. Pure: it has no socket, time is an
 * argument.
 *
 *     every self_interval:  our own entry, to all neighbors, to bootstrap addresses, and to the
 *                           addresses that neighbors have told since the last time
 *     every list_interval:  all names that we know, with their ages, to all neighbors
 *     after timeout:        a name, or a neighbor that does not speak of itself, is forgotten
 *
 * A neighbor is an address that has proved itself. Who speaks of itself at the address that its
 * datagram comes from is asked: by an entry about ourselves whose name is '?' and a keyed hash of
 * that address. A driver of Aeron takes it for one more name of ours and repeats it in its next
 * list; rstream's repeats it at once and keeps nothing. Only who reads what is sent there can do
 * so. Strangers get one such question of 32 bytes (IPv6: 48) for a datagram, and what they tell is
 * not believed. A neighbor is asked again after RSTI_GOSSIP_PROOF_NS, and given up after twice that
 * time without an answer.
 *
 * A name has the address of the freshest entry. Who forges the source of a neighbor can still claim
 * a name. The tables are bounded; a full table refuses newcomers and never drops what it has. */
#ifndef RSTI_DRIVER_BASE_NAME_GOSSIP_H
#define RSTI_DRIVER_BASE_NAME_GOSSIP_H

#include "protocol/resolution.h"
#include "util/clock.h"

#define RSTI_GOSSIP_NAMES_MAX 256
#define RSTI_GOSSIP_NEIGHBORS_MAX 128
#define RSTI_GOSSIP_BOOTSTRAPS_MAX 20
#define RSTI_GOSSIP_PROOF_NS (60 * RSTI_NS_PER_S)
#define RSTI_GOSSIP_ASKED_LENGTH 10 /* of the name in a question */
/* A list that is longer goes out in several datagrams. */
#define RSTI_GOSSIP_DATAGRAM_MAX 1408

typedef struct rsti_gossip_params_t {
    const char *name; /* ours; copied, at most RSTI_RESOLUTION_NAME_MAX bytes */
    struct sockaddr_storage local; /* of our socket; a wildcard is replaced by the receivers */
    int64_t self_interval_ns;
    int64_t list_interval_ns;
    int64_t timeout_ns;
    uint64_t key[2]; /* secret */
} rsti_gossip_params_t;

typedef struct rsti_gossip_name_t {
    char name[RSTI_RESOLUTION_NAME_MAX + 1];
    rsti_packed_address_t address;
    int64_t heard_ns;
} rsti_gossip_name_t;

typedef struct rsti_gossip_neighbor_t {
    rsti_packed_address_t address;
    int64_t heard_ns; /* a fresher entry that it sends about itself moves it */
    int64_t proved_ns;
} rsti_gossip_neighbor_t;

typedef struct rsti_gossip_t {
    rsti_resolution_t self;
    int64_t self_interval_ns, list_interval_ns, timeout_ns;
    int64_t self_due_ns, list_due_ns;
    rsti_gossip_name_t names[RSTI_GOSSIP_NAMES_MAX];
    int32_t name_count;
    rsti_gossip_neighbor_t neighbors[RSTI_GOSSIP_NEIGHBORS_MAX];
    int32_t neighbor_count;
    rsti_packed_address_t told[RSTI_GOSSIP_NEIGHBORS_MAX]; /* they hear of us next time */
    int32_t told_count;
    uint64_t key[2];
    /* Set by the owner; family AF_UNSPEC: no address yet. */
    rsti_packed_address_t bootstraps[RSTI_GOSSIP_BOOTSTRAPS_MAX];
    int32_t bootstrap_count;
} rsti_gossip_t;

void rsti_gossip_init(rsti_gossip_t *gossip, const rsti_gossip_params_t *params, int64_t now_ns);

typedef enum rsti_gossip_result_t {
    RSTI_GOSSIP_OK,
    RSTI_GOSSIP_INVALID, /* malformed; entries before the fault were taken */
    RSTI_GOSSIP_FULL /* an entry found no room in a table */
} rsti_gossip_result_t;
typedef void (*rsti_gossip_send_t)(void *arg, const uint8_t *datagram, size_t length,
    const struct sockaddr_storage *to);
/* A datagram from anywhere. Sends at most one, to its source. */
rsti_gossip_result_t rsti_gossip_on_datagram(rsti_gossip_t *gossip, const uint8_t *datagram,
    size_t length, const struct sockaddr_storage *source, int64_t now_ns, rsti_gossip_send_t send,
    void *arg);

/* Forgets what is old and sends what is due. Lowers the deadline to the time of the next call. */
void rsti_gossip_run(rsti_gossip_t *gossip, int64_t now_ns, rsti_gossip_send_t send, void *arg,
    int64_t *next_deadline_ns);

/* The address of a name, ours included, without a port. family: AF_INET, AF_INET6, or AF_UNSPEC:
 * either, IPv4 first. False: nobody told it. */
bool rsti_gossip_find(const rsti_gossip_t *gossip, const char *name, int family,
    struct sockaddr_storage *address);
bool rsti_gossip_is_neighbor(const rsti_gossip_t *gossip, const rsti_packed_address_t *address);

#endif
