#include "util/netaddr.h"

#include "util/bits.h"
#include "util/error.h"
#include "util/parse.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>

#define HOST_MAX 256

static bool copy_text(char *to, size_t to_size, const char *from, size_t length)
{
    if (length >= to_size) {
        return false;
    }
    memcpy(to, from, length);
    to[length] = '\0';
    return true;
}

static bool parse_number(const char *text, int32_t max, int32_t *value)
{
    return text[0] != '-' && rsti_parse_i32(text, value) && *value <= max;
}

/* Host text at the start of text, brackets taken off; where it ends, or NULL. Ends at one of the
 * characters of stops, or at the end. */
static const char *scan_host(const char *text, const char *stops, char *host, size_t host_size)
{
    const char *begin = text;
    const char *end;
    const char *after;
    if (text[0] == '[') {
        begin = text + 1;
        end = strchr(begin, ']');
        if (end == NULL) {
            return NULL;
        }
        after = end + 1;
        if (*after != '\0' && strchr(stops, *after) == NULL) {
            return NULL;
        }
    } else {
        end = begin + strcspn(begin, stops);
        after = end;
    }
    if (end == begin || !copy_text(host, host_size, begin, (size_t)(end - begin))) {
        return NULL;
    }
    return after;
}

bool rsti_netaddr_split(const char *text, char *host, size_t host_size, uint16_t *port)
{
    char scanned[HOST_MAX];
    const char *after = scan_host(text, ":", scanned, sizeof scanned);
    int32_t number;
    if (after == NULL || *after != ':' || !parse_number(after + 1, UINT16_MAX, &number)) {
        return false;
    }
    if (!copy_text(host, host_size, scanned, strlen(scanned))) {
        return false;
    }
    *port = (uint16_t)number;
    return true;
}

static bool parse_numeric(const char *host, struct sockaddr_storage *address)
{
    *address = (struct sockaddr_storage){0};
    struct sockaddr_in *v4 = (struct sockaddr_in *)address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)address;
    if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        return true;
    }
    if (inet_pton(AF_INET6, host, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        return true;
    }
    return false;
}

/* Names give an IPv4 address when there is one: "localhost" must mean the same to every peer. */
static int resolve_host(const char *host, int family, struct sockaddr_storage *address)
{
    if (parse_numeric(host, address)) {
        return 0;
    }
    struct addrinfo hints = {.ai_family = family, .ai_socktype = SOCK_DGRAM};
    struct addrinfo *found = NULL;
    int result = getaddrinfo(host, NULL, &hints, &found);
    if (result != 0) {
        return RST_SET_ERR(
            RST_EUNKNOWNHOST, "cannot resolve host \"%s\": %s", host, gai_strerror(result));
    }
    const struct addrinfo *chosen = NULL;
    for (const struct addrinfo *info = found; info != NULL; info = info->ai_next) {
        bool is_usable = info->ai_family == AF_INET || info->ai_family == AF_INET6;
        if (is_usable && (chosen == NULL || (chosen->ai_family != AF_INET
                                                && info->ai_family == AF_INET))) {
            chosen = info;
        }
    }
    if (chosen != NULL) {
        *address = (struct sockaddr_storage){0};
        memcpy(address, chosen->ai_addr, chosen->ai_addrlen);
    }
    freeaddrinfo(found);
    if (chosen == NULL) {
        return RST_SET_ERR(RST_EUNKNOWNHOST, "host \"%s\" has no IP address", host);
    }
    return 0;
}

int rsti_netaddr_resolve(const char *text, struct sockaddr_storage *address)
{
    char host[HOST_MAX];
    uint16_t port;
    if (!rsti_netaddr_split(text, host, sizeof host, &port)) {
        return RST_SET_ERR(RST_ECHANNEL,
            "address \"%s\": must be host:port or [ipv6]:port with a port of 0 to 65535", text);
    }
    struct sockaddr_storage resolved;
    int result = resolve_host(host, AF_UNSPEC, &resolved);
    if (result < 0) {
        return result;
    }
    rsti_netaddr_set_port(&resolved, port);
    *address = resolved;
    return 0;
}

const char *rsti_netaddr_format(const struct sockaddr_storage *address, char *text, size_t size)
{
    char host[INET6_ADDRSTRLEN] = "?";
    unsigned port = rsti_netaddr_port(address);
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
        (void)inet_ntop(AF_INET, &v4->sin_addr, host, sizeof host);
        (void)snprintf(text, size, "%s:%u", host, port);
    } else if (address->ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
        (void)inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof host);
        (void)snprintf(text, size, "[%s]:%u", host, port);
    } else {
        (void)snprintf(text, size, "(no address)");
    }
    return text;
}

bool rsti_netaddr_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    if (a->ss_family != b->ss_family || rsti_netaddr_port(a) != rsti_netaddr_port(b)) {
        return false;
    }
    if (a->ss_family == AF_INET) {
        return ((const struct sockaddr_in *)a)->sin_addr.s_addr
               == ((const struct sockaddr_in *)b)->sin_addr.s_addr;
    }
    if (a->ss_family == AF_INET6) {
        const struct sockaddr_in6 *a6 = (const struct sockaddr_in6 *)a;
        const struct sockaddr_in6 *b6 = (const struct sockaddr_in6 *)b;
        /* A configured address has no scope; one that came with a datagram may have. */
        bool is_same_scope = a6->sin6_scope_id == b6->sin6_scope_id || a6->sin6_scope_id == 0
                             || b6->sin6_scope_id == 0;
        return is_same_scope
               && memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof a6->sin6_addr) == 0;
    }
    return a->ss_family == AF_UNSPEC;
}

bool rsti_netaddr_is_multicast(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET) {
        return IN_MULTICAST(ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr));
    }
    if (address->ss_family == AF_INET6) {
        return IN6_IS_ADDR_MULTICAST(&((const struct sockaddr_in6 *)address)->sin6_addr) != 0;
    }
    return false;
}

uint16_t rsti_netaddr_port(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET) {
        return ntohs(((const struct sockaddr_in *)address)->sin_port);
    }
    if (address->ss_family == AF_INET6) {
        return ntohs(((const struct sockaddr_in6 *)address)->sin6_port);
    }
    return 0;
}

void rsti_netaddr_set_port(struct sockaddr_storage *address, uint16_t port)
{
    if (address->ss_family == AF_INET) {
        ((struct sockaddr_in *)address)->sin_port = htons(port);
    } else if (address->ss_family == AF_INET6) {
        ((struct sockaddr_in6 *)address)->sin6_port = htons(port);
    }
}

socklen_t rsti_netaddr_length(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET) {
        return sizeof(struct sockaddr_in);
    }
    if (address->ss_family == AF_INET6) {
        return sizeof(struct sockaddr_in6);
    }
    return 0;
}

/* --- interface= ----------------------------------------------------------------------------- */

typedef struct interface_query_t {
    char host[HOST_MAX];   /* "" when a device is named */
    char device[HOST_MAX]; /* {name} */
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
            || !copy_text(query->device, sizeof query->device, name, (size_t)(end - name))) {
            return false;
        }
        at = end + 1;
    } else {
        at = scan_host(text, ":/", query->host, sizeof query->host);
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
        if (!copy_text(digits, sizeof digits, at, length)
            || !parse_number(digits, mark == ':' ? UINT16_MAX : 128, &number)) {
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
    return family == AF_INET
               ? (const uint8_t *)&((const struct sockaddr_in *)address)->sin_addr
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

/* 0: does not match. Among several matches the very address wins, then a device that can multicast
 * and is not the loopback, then any. */
static int match_quality(
    const interface_query_t *query, const struct ifaddrs *device, int family)
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

static int search_devices(const char *text, const interface_query_t *query, int family,
    struct sockaddr_storage *address)
{
    struct ifaddrs *devices = NULL;
    if (getifaddrs(&devices) != 0) {
        return RST_SET_ERR(RST_ECHANNEL, "interface=%s: cannot list the network devices", text);
    }
    int best_quality = 0;
    const struct ifaddrs *best = NULL;
    for (const struct ifaddrs *device = devices; device != NULL; device = device->ifa_next) {
        int quality = match_quality(query, device, family);
        if (quality > best_quality) {
            best_quality = quality;
            best = device;
        }
    }
    if (best != NULL) {
        struct sockaddr_storage found = {0};
        memcpy(&found, best->ifa_addr,
            best->ifa_addr->sa_family == AF_INET ? sizeof(struct sockaddr_in)
                                                 : sizeof(struct sockaddr_in6));
        rsti_netaddr_set_port(&found, query->port);
        *address = found;
    }
    freeifaddrs(devices);
    if (best == NULL) {
        return RST_SET_ERR(
            RST_ECHANNEL, "interface=%s: no network device of this machine matches", text);
    }
    return 0;
}

static bool is_wildcard(const struct sockaddr_storage *address)
{
    static const uint8_t zeros[16];
    return memcmp(address_bytes(address, address->ss_family), zeros,
               (size_t)address_bits(address->ss_family) / 8)
           == 0;
}

int rsti_netaddr_interface(const char *text, int family, struct sockaddr_storage *address)
{
    interface_query_t query;
    if (!parse_interface(text, &query)) {
        return RST_SET_ERR(RST_ECHANNEL,
            "interface=%s: must be ip, ip/prefix, host or {device}, each with an optional :port",
            text);
    }
    if (query.device[0] == '\0') {
        if (resolve_host(query.host, family, &query.wanted) < 0) {
            (void)RST_APPEND_ERR("interface=%s", text);
            return RST_SET_ERR(RST_ECHANNEL, "%s", rst_last_error_text());
        }
        int wanted_family = query.wanted.ss_family;
        if (family != AF_UNSPEC && family != wanted_family) {
            return RST_SET_ERR(RST_ECHANNEL,
                "interface=%s: address family differs from the endpoint's", text);
        }
        if (query.prefix_bits > address_bits(wanted_family)) {
            return RST_SET_ERR(RST_ECHANNEL, "interface=%s: prefix longer than %d bits", text,
                address_bits(wanted_family));
        }
        if (is_wildcard(&query.wanted) && query.prefix_bits <= 0) {
            rsti_netaddr_set_port(&query.wanted, query.port);
            *address = query.wanted;
            return 0;
        }
    }
    return search_devices(text, &query, family, address);
}
