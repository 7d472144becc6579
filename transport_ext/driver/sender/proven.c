/* proven.c: see proven.h. */
#include "driver/sender/proven.h"

#include "util/alloc.h"
#include "util/bits.h"
#include "util/error.h"
#include "util/fault.h"
#include "util/siphash.h"

#include <string.h>

bool rsti_proven_by(int64_t position, int64_t sent_position, int32_t term_length)
{
    return position >= 0 && position <= sent_position
        && sent_position - position <= (int64_t)RSTI_PROVEN_TERMS * term_length;
}

static bool is_over(const rsti_proven_host_t *host, int64_t now_ns)
{
    return now_ns > host->last_ns + RSTI_PROVEN_NS;
}

int rsti_proven_init(rsti_proven_t *proven, uint32_t capacity, const uint64_t key[2])
{
    RST_ASSERT(rsti_is_power_of_two((int32_t)capacity));
    *proven = (rsti_proven_t){.capacity = capacity, .key = {key[0], key[1]}};
    proven->hosts = rsti_alloc(capacity * sizeof *proven->hosts);
    return proven->hosts != NULL ? 0 : -RST_ENOMEM;
}

void rsti_proven_fini(rsti_proven_t *proven)
{
    rsti_free(proven->hosts);
    proven->hosts = NULL;
}

/* The n-th place where the address may be. */
static rsti_proven_host_t *place(const rsti_proven_t *proven, uint64_t hash, uint32_t n)
{
    return &proven->hosts[((uint32_t)hash + n) & (proven->capacity - 1)];
}

static uint64_t hash_of(const rsti_proven_t *proven, const rsti_packed_address_t *address)
{
    uint8_t bytes[sizeof address->bytes + sizeof address->port];
    memcpy(bytes, address->bytes, sizeof address->bytes);
    memcpy(bytes + sizeof address->bytes, &address->port, sizeof address->port);
    return rsti_siphash(proven->key, bytes, sizeof bytes);
}

/* Returns the place of the address. NULL: it has none; *free_place is the first place that a new
 * host may take, or stays NULL. */
static rsti_proven_host_t *find(const rsti_proven_t *proven, const rsti_packed_address_t *address,
    int64_t now_ns, rsti_proven_host_t **free_place)
{
    const uint64_t hash = hash_of(proven, address);
    const uint32_t most = proven->capacity < RSTI_PROVEN_PROBES ? proven->capacity
                                                                : RSTI_PROVEN_PROBES;
    for (uint32_t n = 0; n < most; n++) {
        rsti_proven_host_t *host = place(proven, hash, n);
        const bool is_unused = host->address.family == AF_UNSPEC;
        if (rsti_netaddr_packed_equal(&host->address, address)) {
            return host;
        }
        if (*free_place == NULL && (is_unused || is_over(host, now_ns))) {
            *free_place = host;
        }
        if (is_unused) {
            break; /* places are never emptied: it lies in none behind this one */
        }
    }
    return NULL;
}

bool rsti_proven_add(rsti_proven_t *proven, const struct sockaddr_storage *source, int64_t now_ns)
{
    const rsti_packed_address_t address = rsti_netaddr_pack(source);
    rsti_proven_host_t *free_place = NULL;
    rsti_proven_host_t *host = find(proven, &address, now_ns, &free_place);
    if (host == NULL && free_place == NULL) {
        return false;
    }
    host = host != NULL ? host : free_place;
    *host = (rsti_proven_host_t){.address = address, .last_ns = now_ns};
    return true;
}

bool rsti_proven_has(const rsti_proven_t *proven, const struct sockaddr_storage *source,
    int64_t now_ns)
{
    const rsti_packed_address_t address = rsti_netaddr_pack(source);
    rsti_proven_host_t *free_place = NULL;
    const rsti_proven_host_t *host = find(proven, &address, now_ns, &free_place);
    return host != NULL && !is_over(host, now_ns);
}

bool rsti_proven_is_due(const rsti_proven_t *proven, const struct sockaddr_storage *source,
    int64_t now_ns)
{
    const rsti_packed_address_t address = rsti_netaddr_pack(source);
    rsti_proven_host_t *free_place = NULL;
    const rsti_proven_host_t *host = find(proven, &address, now_ns, &free_place);
    const bool is_due = host == NULL || now_ns > host->last_ns + RSTI_PROVEN_AGAIN_NS;
    return is_due && RSTI_FAULT != RSTI_FAULT_PROVEN;
}
