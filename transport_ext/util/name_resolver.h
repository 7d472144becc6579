/* name_resolver.h: host names to addresses, behind one function. So a driver can resolve them in a
 * thread of its own, or in a table whose answers change. */
#ifndef RSTI_UTIL_NAME_RESOLVER_H
#define RSTI_UTIL_NAME_RESOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* Not known yet: ask again. */
#define RSTI_LOOKUP_PENDING 1

typedef struct rsti_name_resolver_t {
    /* host is no numeric address. family: AF_INET, AF_INET6, or AF_UNSPEC for either, IPv4 first.
     * 0, -RST_EUNKNOWNHOST with a trail, or RSTI_LOOKUP_PENDING: ask again later. */
    int (*resolve)(void *arg, const char *host, int family, struct sockaddr_storage *address);
    void *arg;
} rsti_name_resolver_t;

/* getaddrinfo: blocks. */
extern const rsti_name_resolver_t rsti_system_resolver;

#endif
