/* name_gossip.h: how drivers learn each other's names and addresses: a table of names, a list of
 * neighbors, and the times at which what is told to whom. Pure: it has no socket, time is an
 * argument.
 *
 *     every self_interval:  our own entry, to all neighbors and bootstrap addresses
 *     every list_interval:  all names that we know, with their ages, to all neighbors
 *     after timeout:        a name, or a neighbor that does not speak of itself, is forgotten
 *
 * Who hears of an entry takes the address in it for a neighbor. A name has the address of the
 * freshest entry. There is no proof of who sends: whoever reaches the socket can claim a name. The
 * tables are bounded; a full table refuses newcomers and never drops what it has. */
#ifndef RSTI_DRIVER_BASE_NAME_GOSSIP_H
#define RSTI_DRIVER_BASE_NAME_GOSSIP_H

#include "protocol/resolution.h"

#define RSTI_GOSSIP_NAMES_MAX 256
#define RSTI_GOSSIP_NEIGHBORS_MAX 128
#define RSTI_GOSSIP_BOOTSTRAPS_MAX 20
/* A list that is longer goes out in several datagrams. */
#define RSTI_GOSSIP_DATAGRAM_MAX 1408

typedef struct rsti_gossip_params_t {
    const char *name; /* ours; copied, at most RSTI_RESOLUTION_NAME_MAX bytes */
    struct sockaddr_storage local; /* of our socket; a wildcard is replaced by the receivers */
    int64_t self_interval_ns;
    int64_t list_interval_ns;
    int64_t timeout_ns;
} rsti_gossip_params_t;

typedef struct rsti_gossip_name_t {
    char name[RSTI_RESOLUTION_NAME_MAX + 1];
    rsti_packed_address_t address;
    int64_t heard_ns;
} rsti_gossip_name_t;

typedef struct rsti_gossip_neighbor_t {
    rsti_packed_address_t address;
    int64_t heard_ns; /* a fresher entry that it sends about itself moves it */
} rsti_gossip_neighbor_t;

typedef struct rsti_gossip_t {
    rsti_resolution_t self;
    int64_t self_interval_ns, list_interval_ns, timeout_ns;
    int64_t self_due_ns, list_due_ns;
    rsti_gossip_name_t names[RSTI_GOSSIP_NAMES_MAX];
    int32_t name_count;
    rsti_gossip_neighbor_t neighbors[RSTI_GOSSIP_NEIGHBORS_MAX];
    int32_t neighbor_count;
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
/* A datagram from anywhere. */
rsti_gossip_result_t rsti_gossip_on_datagram(rsti_gossip_t *gossip, const uint8_t *datagram,
    size_t length, const struct sockaddr_storage *source, int64_t now_ns);

typedef void (*rsti_gossip_send_t)(void *arg, const uint8_t *datagram, size_t length,
    const struct sockaddr_storage *to);
/* Forgets what is old and sends what is due. Lowers the deadline to the time of the next call. */
void rsti_gossip_run(rsti_gossip_t *gossip, int64_t now_ns, rsti_gossip_send_t send, void *arg,
    int64_t *next_deadline_ns);

/* The address of a name, ours included, without a port. family: AF_INET, AF_INET6, or AF_UNSPEC:
 * either, IPv4 first. False: nobody told it. */
bool rsti_gossip_find(const rsti_gossip_t *gossip, const char *name, int family,
    struct sockaddr_storage *address);
bool rsti_gossip_is_neighbor(const rsti_gossip_t *gossip, const rsti_packed_address_t *address);

#endif
