/* proven.c: see proven.h. */
#include "driver/sender/proven.h"

#include "util/fault.h"

#include <string.h>

bool rsti_proven_by(int64_t position, int64_t sent_position, int32_t term_length)
{
    return position >= 0 && position <= sent_position
        && sent_position - position <= (int64_t)RSTI_PROVEN_TERMS * term_length;
}

static bool is_equal(const rsti_packed_address_t *a, const rsti_packed_address_t *b)
{
    return a->family == b->family && a->port == b->port
        && memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

static bool is_over(const rsti_proven_host_t *host, int64_t now_ns)
{
    return now_ns > host->last_ns + RSTI_PROVEN_NS;
}

bool rsti_proven_add(rsti_proven_t *proven, const struct sockaddr_storage *source, int64_t now_ns)
{
    const rsti_packed_address_t address = rsti_netaddr_pack(source);
    int32_t place = proven->count;
    for (int32_t i = 0; i < proven->count; i++) {
        if (is_equal(&proven->hosts[i].address, &address)) {
            proven->hosts[i].last_ns = now_ns;
            return true;
        }
        if (is_over(&proven->hosts[i], now_ns)) {
            place = i;
        }
    }
    if (place == RSTI_PROVEN_MAX) {
        return false;
    }
    if (place == proven->count) {
        proven->count++;
    }
    proven->hosts[place] = (rsti_proven_host_t){.address = address, .last_ns = now_ns};
    return true;
}

/* NULL: the source has no place. */
static const rsti_proven_host_t *find(const rsti_proven_t *proven,
    const struct sockaddr_storage *source)
{
    const rsti_packed_address_t address = rsti_netaddr_pack(source);
    for (int32_t i = 0; i < proven->count; i++) {
        if (is_equal(&proven->hosts[i].address, &address)) {
            return &proven->hosts[i];
        }
    }
    return NULL;
}

bool rsti_proven_has(const rsti_proven_t *proven, const struct sockaddr_storage *source,
    int64_t now_ns)
{
    const rsti_proven_host_t *host = find(proven, source);
    return host != NULL && !is_over(host, now_ns);
}

bool rsti_proven_is_due(const rsti_proven_t *proven, const struct sockaddr_storage *source,
    int64_t now_ns)
{
    const rsti_proven_host_t *host = find(proven, source);
    const bool is_due = host == NULL || now_ns > host->last_ns + RSTI_PROVEN_AGAIN_NS;
    return is_due && RSTI_FAULT != RSTI_FAULT_PROVEN;
}
