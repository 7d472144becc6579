/* interfaces.c: replaces getifaddrs(): a process sees the interfaces of its host. */
#include "tests/sim/network.h"
#include "tests/sim/process.h"
#include "util/netaddr.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct interfaces_t {
    struct ifaddrs items[2]; /* the caller holds the address of the first one */
    struct sockaddr_storage addresses[2], masks[2];
} interfaces_t;

int __wrap_getifaddrs(struct ifaddrs **found);
void __wrap_freeifaddrs(struct ifaddrs *found);

int __wrap_getifaddrs(struct ifaddrs **found)
{
    static char name[] = "sim0";
    const int32_t host = sim_process_current()->host;
    interfaces_t *made = calloc(1, sizeof *made);
    if (made == NULL || host < 0) {
        free(made);
        return -1;
    }
    for (int i = 0; i < 2; i++) {
        char text[64];
        snprintf(text, sizeof text, "%s:0", sim_host_address(host, i == 1));
        (void)rsti_netaddr_resolve(text, &made->addresses[i]);
        made->masks[i].ss_family = made->addresses[i].ss_family;
        made->items[i] = (struct ifaddrs){.ifa_name = name,
            .ifa_flags = IFF_UP | IFF_MULTICAST,
            .ifa_addr = (struct sockaddr *)&made->addresses[i],
            .ifa_netmask = (struct sockaddr *)&made->masks[i]};
    }
    made->items[0].ifa_next = &made->items[1];
    *found = made->items;
    return 0;
}

void __wrap_freeifaddrs(struct ifaddrs *found)
{
    free(found);
}
