/* netaddr.h: address text to sockaddr and back. rsti_netaddr_resolve may block (getaddrinfo): the
 * driver gives a resolver of its own. */
#ifndef RSTI_UTIL_NETADDR_H
#define RSTI_UTIL_NETADDR_H

#include "util/name_resolver.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define RSTI_NETADDR_TEXT_MAX 64
#define RSTI_NETADDR_HOST_MAX 256

/* "h:p" or "[v6]:p" split into host and port; false when the port is missing or not 0…65535. */
bool rsti_netaddr_split(const char *text, char *host, size_t host_size, uint16_t *port);
/* Resolves "h:p". 0, or -RST_EUNKNOWNHOST / -RST_ECHANNEL with a trail. */
int rsti_netaddr_resolve(const char *text, struct sockaddr_storage *address);
/* The same with another resolver; family as there. RSTI_LOOKUP_PENDING: ask again later. */
int rsti_netaddr_resolve_with(const rsti_name_resolver_t *resolver, const char *text, int family,
    struct sockaddr_storage *address);
/* Whether "h:p" has a name in it that may come to mean another address. */
bool rsti_netaddr_has_name(const char *text);
/* "a.b.c.d:port" or "[v6]:port"; always terminated. Returns text. */
const char *rsti_netaddr_format(const struct sockaddr_storage *address, char *text, size_t size);
bool rsti_netaddr_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b);
/* A source may be more than its address: media/sealing.h notes which sender sealed what came from
 * there, in bytes of the storage that no address uses. 0: the datagram was plain. */
uint64_t rsti_netaddr_sealer(const struct sockaddr_storage *address);
void rsti_netaddr_set_sealer(struct sockaddr_storage *address, uint64_t sealer);
/* Whether something that the same sealer sealed later came earlier: kept beside the sealer. */
bool rsti_netaddr_is_overtaken(const struct sockaddr_storage *address);
void rsti_netaddr_set_overtaken(struct sockaddr_storage *address, bool is_overtaken);
/* The same address, and the same sealer. */
bool rsti_netaddr_is_same_source(const struct sockaddr_storage *a,
    const struct sockaddr_storage *b);
bool rsti_netaddr_is_multicast(const struct sockaddr_storage *address);
bool rsti_netaddr_is_loopback(const struct sockaddr_storage *address);
uint16_t rsti_netaddr_port(const struct sockaddr_storage *address);
void rsti_netaddr_set_port(struct sockaddr_storage *address, uint16_t port);
socklen_t rsti_netaddr_length(const struct sockaddr_storage *address);

/* An address in few bytes. */
typedef struct rsti_packed_address_t {
    int32_t family;    /* AF_INET, AF_INET6, or AF_UNSPEC: no address */
    uint16_t port;     /* host order */
    uint8_t bytes[16]; /* network order; IPv4: the first four, the others are zero */
} rsti_packed_address_t;

rsti_packed_address_t rsti_netaddr_pack(const struct sockaddr_storage *address);
/* Without what was not packed (an IPv6 scope). */
struct sockaddr_storage rsti_netaddr_unpack(const rsti_packed_address_t *packed);
bool rsti_netaddr_packed_equal(const rsti_packed_address_t *a, const rsti_packed_address_t *b);
/* Whether both are addresses of one host; their ports may differ. */
bool rsti_netaddr_is_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b);

/* The parts of the grammar, for interface= too. */
bool rsti_netaddr_copy_text(char *to, size_t to_size, const char *from, size_t length);
bool rsti_netaddr_parse_number(const char *text, int32_t max, int32_t *value);
/* Host text at the start of text, brackets taken off; where it ends, or NULL. Ends at one of the
 * characters of stops, or at the end. */
const char *rsti_netaddr_scan_host(const char *text, const char *stops, char *host,
    size_t host_size);
bool rsti_netaddr_parse_numeric(const char *host, struct sockaddr_storage *address);

#endif
