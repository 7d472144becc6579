/* net_interface.h: the local address (and device) that interface= text means
 * (docs/reference/aeron/wire.md 18).
 */
#ifndef RSTI_UTIL_NET_INTERFACE_H
#define RSTI_UTIL_NET_INTERFACE_H

#include "util/name_resolver.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct rsti_net_interface_t {
    struct sockaddr_storage
        address; /* with the port of the text; the wildcard if the text names it */
    uint32_t index;                  /* of the device; 0: no particular one */
} rsti_net_interface_t;

/* "ip", "ip/prefix", "host" or "{device}", each with an optional ":port". 0, RSTI_LOOKUP_PENDING
 * when the resolver is still looking, or -RST_ECHANNEL naming the text. */
int rsti_net_interface_find(const rsti_name_resolver_t *resolver, const char *text, int family,
    rsti_net_interface_t *found);
/* The device for joining groups without interface=: the first that can multicast, otherwise the
 * loopback. False: the family has no device. */
bool rsti_net_interface_for_multicast(int family, rsti_net_interface_t *found);
/* The index of the device with exactly this address; 0 for the wildcard and foreign addresses. */
uint32_t rsti_net_interface_index(const struct sockaddr_storage *address);

#endif
