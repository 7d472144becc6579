#include "util/netaddr.h"

#include "util/bits.h"
#include "util/error.h"
#include "util/parse.h"

#include <arpa/inet.h>
#include <stdio.h>

bool rsti_netaddr_copy_text(char *to, size_t to_size, const char *from, size_t length)
{
    if (length >= to_size) {
        return false;
    }
    memcpy(to, from, length);
    to[length] = '\0';
    return true;
}

bool rsti_netaddr_parse_number(const char *text, int32_t max, int32_t *value)
{
    return text[0] != '-' && rsti_parse_i32(text, value) && *value <= max;
}

const char *rsti_netaddr_scan_host(const char *text, const char *stops, char *host,
    size_t host_size)
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
    if (end == begin || !rsti_netaddr_copy_text(host, host_size, begin, (size_t)(end - begin))) {
        return NULL;
    }
    return after;
}

bool rsti_netaddr_split(const char *text, char *host, size_t host_size, uint16_t *port)
{
    char scanned[RSTI_NETADDR_HOST_MAX];
    const char *after = rsti_netaddr_scan_host(text, ":", scanned, sizeof scanned);
    int32_t number;
    if (after == NULL || *after != ':'
        || !rsti_netaddr_parse_number(after + 1, UINT16_MAX, &number)) {
        return false;
    }
    if (!rsti_netaddr_copy_text(host, host_size, scanned, strlen(scanned))) {
        return false;
    }
    *port = (uint16_t)number;
    return true;
}

bool rsti_netaddr_parse_numeric(const char *host, struct sockaddr_storage *address)
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

int rsti_netaddr_resolve_with(const rsti_name_resolver_t *resolver, const char *text, int family,
    struct sockaddr_storage *address)
{
    char host[RSTI_NETADDR_HOST_MAX];
    uint16_t port;
    if (!rsti_netaddr_split(text, host, sizeof host, &port)) {
        return RST_SET_ERR(RST_ECHANNEL,
            "address \"%s\": must be host:port or [ipv6]:port with a port of 0 to 65535", text);
    }
    struct sockaddr_storage resolved;
    const int result = rsti_netaddr_parse_numeric(host, &resolved)
        ? 0
        : resolver->resolve(resolver->arg, host, family, &resolved);
    if (result != 0) {
        return result;
    }
    rsti_netaddr_set_port(&resolved, port);
    *address = resolved;
    return 0;
}

int rsti_netaddr_resolve(const char *text, struct sockaddr_storage *address)
{
    return rsti_netaddr_resolve_with(&rsti_system_resolver, text, AF_UNSPEC, address);
}

bool rsti_netaddr_has_name(const char *text)
{
    char host[RSTI_NETADDR_HOST_MAX];
    uint16_t port;
    struct sockaddr_storage address;
    return rsti_netaddr_split(text, host, sizeof host, &port)
        && !rsti_netaddr_parse_numeric(host, &address);
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
        return is_same_scope && memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof a6->sin6_addr) == 0;
    }
    return a->ss_family == AF_UNSPEC;
}

#define SEALER_AT (sizeof(struct sockaddr_storage) - sizeof(uint64_t))
#define OVERTAKEN_AT (SEALER_AT - 1)
_Static_assert(OVERTAKEN_AT >= sizeof(struct sockaddr_in6), "no address has bytes there");

uint64_t rsti_netaddr_sealer(const struct sockaddr_storage *address)
{
    uint64_t sealer;
    memcpy(&sealer, (const uint8_t *)address + SEALER_AT, sizeof sealer);
    return sealer;
}

void rsti_netaddr_set_sealer(struct sockaddr_storage *address, uint64_t sealer)
{
    memcpy((uint8_t *)address + SEALER_AT, &sealer, sizeof sealer);
}

bool rsti_netaddr_is_overtaken(const struct sockaddr_storage *address)
{
    return ((const uint8_t *)address)[OVERTAKEN_AT] != 0;
}

void rsti_netaddr_set_overtaken(struct sockaddr_storage *address, bool is_overtaken)
{
    ((uint8_t *)address)[OVERTAKEN_AT] = is_overtaken;
}

bool rsti_netaddr_is_same_source(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    return rsti_netaddr_equal(a, b) && rsti_netaddr_sealer(a) == rsti_netaddr_sealer(b);
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

bool rsti_netaddr_is_loopback(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET) {
        return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
    }
    if (address->ss_family == AF_INET6) {
        return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr) != 0;
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

rsti_packed_address_t rsti_netaddr_pack(const struct sockaddr_storage *address)
{
    rsti_packed_address_t packed = {.port = rsti_netaddr_port(address)};
    if (address->ss_family == AF_INET) {
        packed.family = AF_INET;
        memcpy(packed.bytes, &((const struct sockaddr_in *)address)->sin_addr, 4);
    } else if (address->ss_family == AF_INET6) {
        packed.family = AF_INET6;
        memcpy(packed.bytes, &((const struct sockaddr_in6 *)address)->sin6_addr, 16);
    }
    return packed;
}

struct sockaddr_storage rsti_netaddr_unpack(const rsti_packed_address_t *packed)
{
    struct sockaddr_storage address = {0};
    if (packed->family == AF_INET) {
        memcpy(&((struct sockaddr_in *)&address)->sin_addr, packed->bytes, 4);
        address.ss_family = AF_INET;
    } else if (packed->family == AF_INET6) {
        memcpy(&((struct sockaddr_in6 *)&address)->sin6_addr, packed->bytes, 16);
        address.ss_family = AF_INET6;
    }
    rsti_netaddr_set_port(&address, packed->port);
    return address;
}

bool rsti_netaddr_packed_equal(const rsti_packed_address_t *a, const rsti_packed_address_t *b)
{
    return a->family == b->family && a->port == b->port
        && memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

bool rsti_netaddr_is_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    const rsti_packed_address_t packed_a = rsti_netaddr_pack(a), packed_b = rsti_netaddr_pack(b);
    return packed_a.family == packed_b.family
        && memcmp(packed_a.bytes, packed_b.bytes, sizeof packed_a.bytes) == 0;
}
