/* net_interface.c: finds the device of this machine that an interface= text names. */
#include "util/net_interface.h"

#include "util/error.h"
#include "util/netaddr.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <string.h>

typedef struct interface_query_t {
    char host[RSTI_NETADDR_HOST_MAX];   /* "" when a device is named */
    char device[RSTI_NETADDR_HOST_MAX]; /* {name} */
    int32_t prefix_bits;   /* -1: the whole address */
    uint16_t port;
    struct sockaddr_storage wanted;
} interface_query_t;

/* The prefix may stand before the port, or after it as in Aeron's own form "ip:port/prefix". */
static bool parse_interface(const char *text, interface_query_t *query)
{
    *query = (interface_query_t){.prefix_bits = -1};
    const char *at;
    if (text[0] == '{') {
        const char *name = text + 1;
        const char *end = strchr(name, '}');
        if (end == NULL || end == name
            || !rsti_netaddr_copy_text(query->device, sizeof query->device, name,
                (size_t)(end - name))) {
            return false;
        }
        at = end + 1;
    } else {
        at = rsti_netaddr_scan_host(text, ":/", query->host, sizeof query->host);
        if (at == NULL) {
            return false;
        }
    }
    bool has_port = false;
    while (*at != '\0') {
        char mark = *at++;
        size_t length = strcspn(at, ":/");
        char digits[8];
        int32_t number;
        if (!rsti_netaddr_copy_text(digits, sizeof digits, at, length)
            || !rsti_netaddr_parse_number(digits, mark == ':' ? UINT16_MAX : 128, &number)) {
            return false;
        }
        if (mark == ':' && !has_port) {
            query->port = (uint16_t)number;
            has_port = true;
        } else if (mark == '/' && query->prefix_bits < 0 && query->device[0] == '\0') {
            query->prefix_bits = number;
        } else {
            return false;
        }
        at += length;
    }
    return true;
}

static const uint8_t *address_bytes(const void *address, int family)
{
    return family == AF_INET ? (const uint8_t *)&((const struct sockaddr_in *)address)->sin_addr
                             : (const uint8_t *)&((const struct sockaddr_in6 *)address)->sin6_addr;
}

static int32_t address_bits(int family)
{
    return family == AF_INET ? 32 : 128;
}

static bool is_same_prefix(const uint8_t *a, const uint8_t *b, int32_t bits)
{
    size_t whole = (size_t)bits / 8;
    if (memcmp(a, b, whole) != 0) {
        return false;
    }
    int rest = bits % 8;
    return rest == 0 || ((a[whole] ^ b[whole]) >> (8 - rest)) == 0;
}

/* 0: no match. Among several matches the exact address wins, then a device that can multicast and
 * is not the loopback, then any other. */
static int match_quality(const interface_query_t *query, const struct ifaddrs *device, int family)
{
    if (device->ifa_addr == NULL || (device->ifa_flags & IFF_UP) == 0) {
        return 0;
    }
    int device_family = device->ifa_addr->sa_family;
    if ((device_family != AF_INET && device_family != AF_INET6)
        || (family != AF_UNSPEC && family != device_family)) {
        return 0;
    }
    bool is_preferred = (device->ifa_flags & IFF_MULTICAST) != 0
        && (device->ifa_flags & IFF_LOOPBACK) == 0;
    if (query->device[0] != '\0') {
        return strcmp(query->device, device->ifa_name) != 0 ? 0 : device_family == AF_INET ? 2 : 1;
    }
    if (query->wanted.ss_family != device_family) {
        return 0;
    }
    const uint8_t *wanted = address_bytes(&query->wanted, device_family);
    const uint8_t *have = address_bytes(device->ifa_addr, device_family);
    if (is_same_prefix(wanted, have, address_bits(device_family))) {
        return 3;
    }
    int32_t bits = query->prefix_bits < 0 ? address_bits(device_family) : query->prefix_bits;
    return !is_same_prefix(wanted, have, bits) ? 0 : is_preferred ? 2 : 1;
}

/* The best match for a query. False: there is none, or the devices cannot be listed. */
static bool search_devices(const interface_query_t *query, int family, rsti_net_interface_t *found)
{
    struct ifaddrs *devices = NULL;
    int best_quality = 0;
    if (getifaddrs(&devices) != 0) {
        return false;
    }
    for (const struct ifaddrs *device = devices; device != NULL; device = device->ifa_next) {
        const int quality = match_quality(query, device, family);
        if (quality > best_quality) {
            const size_t length = device->ifa_addr->sa_family == AF_INET
                ? sizeof(struct sockaddr_in)
                : sizeof(struct sockaddr_in6);
            best_quality = quality;
            found->address = (struct sockaddr_storage){0};
            memcpy(&found->address, device->ifa_addr, length);
            rsti_netaddr_set_port(&found->address, query->port);
            found->index = if_nametoindex(device->ifa_name);
        }
    }
    freeifaddrs(devices);
    return best_quality > 0;
}

static bool is_wildcard(const struct sockaddr_storage *address)
{
    static const uint8_t zeros[16];
    return memcmp(address_bytes(address, address->ss_family), zeros,
               (size_t)address_bits(address->ss_family) / 8)
        == 0;
}

/* *is_any: the text names the wildcard, so no device is needed. */
static int resolve_query(const rsti_name_resolver_t *resolver, const char *text, int family,
    interface_query_t *query, bool *is_any)
{
    *is_any = false;
    if (!rsti_netaddr_parse_numeric(query->host, &query->wanted)) {
        const int result = resolver->resolve(resolver->arg, query->host, family, &query->wanted);
        if (result == RSTI_LOOKUP_PENDING) {
            return result;
        }
        if (result != 0) {
            (void)RST_APPEND_ERR("interface=%s", text);
            return RST_SET_ERR(RST_ECHANNEL, "%s", rst_last_error_text());
        }
    }
    const int wanted_family = query->wanted.ss_family;
    if (family != AF_UNSPEC && family != wanted_family) {
        return RST_SET_ERR(RST_ECHANNEL, "interface=%s: address family differs from the endpoint's",
            text);
    }
    if (query->prefix_bits > address_bits(wanted_family)) {
        return RST_SET_ERR(RST_ECHANNEL, "interface=%s: prefix longer than %d bits", text,
            address_bits(wanted_family));
    }
    *is_any = is_wildcard(&query->wanted) && query->prefix_bits <= 0;
    return 0;
}

int rsti_net_interface_find(const rsti_name_resolver_t *resolver, const char *text, int family,
    rsti_net_interface_t *found)
{
    interface_query_t query;
    if (!parse_interface(text, &query)) {
        return RST_SET_ERR(RST_ECHANNEL,
            "interface=%s: must be ip, ip/prefix, host or {device}, each with an optional :port",
            text);
    }
    if (query.device[0] == '\0') {
        bool is_any;
        const int result = resolve_query(resolver, text, family, &query, &is_any);
        if (result != 0) {
            return result;
        }
        if (is_any) {
            *found = (rsti_net_interface_t){.address = query.wanted};
            rsti_netaddr_set_port(&found->address, query.port);
            return 0;
        }
    }
    if (!search_devices(&query, family, found)) {
        return RST_SET_ERR(RST_ECHANNEL,
            "interface=%s: no network device of this machine matches: could not find matching "
            "interface='%s'",
            text, text);
    }
    return 0;
}

bool rsti_net_interface_for_multicast(int family, rsti_net_interface_t *found)
{
    interface_query_t query = {.prefix_bits = 0};
    query.wanted.ss_family = (sa_family_t)family;
    return search_devices(&query, family, found);
}

uint32_t rsti_net_interface_index(const struct sockaddr_storage *address)
{
    rsti_net_interface_t found;
    interface_query_t query = {.prefix_bits = -1, .wanted = *address};
    if ((address->ss_family != AF_INET && address->ss_family != AF_INET6) || is_wildcard(address)
        || !search_devices(&query, address->ss_family, &found)) {
        return 0;
    }
    return found.index;
}
