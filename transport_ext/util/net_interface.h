/* net_interface.h: the local address (and device) that interface= text means (wire reference 18).
 */
#ifndef RSTI_UTIL_NET_INTERFACE_H
#define RSTI_UTIL_NET_INTERFACE_H

#include "util/name_resolver.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct rsti_net_interface_t {
    struct sockaddr_storage
        address; /* with the text's port; the wildcard when that was asked for */
    uint32_t index;                  /* of the device; 0 = of none in particular */
} rsti_net_interface_t;

/* "ip", "ip/prefix", "host" or "{device}", each with an optional ":port". 0, RSTI_LOOKUP_PENDING
 * when the resolver is still looking, or -RST_ECHANNEL naming the text. */
int rsti_net_interface_find(const rsti_name_resolver_t *resolver, const char *text, int family,
    rsti_net_interface_t *found);
/* Where groups are joined without interface=: the first device that can multicast, else the
 * loopback. False when the family has no device. */
bool rsti_net_interface_for_multicast(int family, rsti_net_interface_t *found);
/* Of the device that has this very address; 0 for the wildcard and foreign addresses. */
uint32_t rsti_net_interface_index(const struct sockaddr_storage *address);

#endif
