/* name_resolver.c: names as the system resolves them. */
#include "util/name_resolver.h"

#include "util/error.h"

#include <netdb.h>
#include <string.h>

/* Prefers IPv4: "localhost" must mean the same to every peer. */
static const struct addrinfo *choose(const struct addrinfo *found)
{
    const struct addrinfo *chosen = NULL;
    for (const struct addrinfo *info = found; info != NULL; info = info->ai_next) {
        if (info->ai_family == AF_INET) {
            return info;
        }
        if (info->ai_family == AF_INET6 && chosen == NULL) {
            chosen = info;
        }
    }
    return chosen;
}

static int resolve(void *arg, const char *host, int family, struct sockaddr_storage *address)
{
    (void)arg;
    const struct addrinfo hints = {.ai_family = family, .ai_socktype = SOCK_DGRAM};
    struct addrinfo *found = NULL;
    const int result = getaddrinfo(host, NULL, &hints, &found);
    if (result != 0) {
        return RST_SET_ERR(RST_EUNKNOWNHOST, "unknown host: Unable to resolve host=(%s): %s", host,
            gai_strerror(result));
    }
    const struct addrinfo *chosen = choose(found);
    if (chosen != NULL) {
        memset(address, 0, sizeof *address);
        memcpy(address, chosen->ai_addr, chosen->ai_addrlen);
    }
    const bool is_found = chosen != NULL;
    freeaddrinfo(found);
    if (!is_found) {
        return RST_SET_ERR(RST_EUNKNOWNHOST, "host \"%s\" has no IP address", host);
    }
    return 0;
}

const rsti_name_resolver_t rsti_system_resolver = {resolve, NULL};
