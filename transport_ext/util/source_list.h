/* source_list.h: addresses and networks of which datagrams are taken: "10.0.0.0/8,192.168.1.7",
 * "[fd00::]/8" or "fd00::/8". Pure. */
#ifndef RSTI_UTIL_SOURCE_LIST_H
#define RSTI_UTIL_SOURCE_LIST_H

#include "util/netaddr.h"

#define RSTI_SOURCES_MAX 16
#define RSTI_SOURCES_TEXT_MAX 255

typedef struct rsti_source_network_t {
    rsti_packed_address_t address; /* its port means nothing */
    int32_t bits;
} rsti_source_network_t;

typedef struct rsti_source_list_t {
    rsti_source_network_t networks[RSTI_SOURCES_MAX];
    int32_t count; /* 0: every source is taken */
} rsti_source_list_t;

/* text "": every source. False: it is none; then no source is taken. */
bool rsti_source_list_parse(rsti_source_list_t *list, const char *text);
/* An IPv4 address that a socket of IPv6 shows (::ffff:a.b.c.d) counts as the IPv4 address. */
bool rsti_source_list_takes(const rsti_source_list_t *list, const struct sockaddr_storage *address);
/* The same networks in the same order. */
bool rsti_source_list_equal(const rsti_source_list_t *a, const rsti_source_list_t *b);

#endif
