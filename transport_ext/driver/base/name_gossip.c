/* name_gossip.c: see name_gossip.h. */
#include "driver/base/name_gossip.h"

#include "util/bits.h"
#include "util/clock.h"
#include "util/int_math.h"

#include <string.h>

static bool is_wildcard(const rsti_packed_address_t *address)
{
    static const uint8_t zeros[sizeof address->bytes];
    return memcmp(address->bytes, zeros, sizeof zeros) == 0;
}

void rsti_gossip_init(rsti_gossip_t *gossip, const rsti_gossip_params_t *params, int64_t now_ns)
{
    memset(gossip, 0, sizeof *gossip);
    gossip->self.address = rsti_netaddr_pack(&params->local);
    gossip->self.is_self = true;
    const size_t length = strnlen(params->name, RSTI_RESOLUTION_NAME_MAX);
    memcpy(gossip->self.name, params->name, length);
    gossip->self_interval_ns = params->self_interval_ns;
    gossip->list_interval_ns = params->list_interval_ns;
    gossip->timeout_ns = params->timeout_ns;
    gossip->self_due_ns = now_ns;
    gossip->list_due_ns = now_ns + params->list_interval_ns;
}

/* ---- what others tell ---- */

static bool add_name(rsti_gossip_t *gossip, const rsti_resolution_t *entry, int64_t heard_ns)
{
    rsti_gossip_name_t *name = NULL;
    for (int32_t i = 0; i < gossip->name_count && name == NULL; i++) {
        if (gossip->names[i].address.family == entry->address.family
            && strcmp(gossip->names[i].name, entry->name) == 0) {
            name = &gossip->names[i];
        }
    }
    if (name == NULL) {
        if (gossip->name_count == RSTI_GOSSIP_NAMES_MAX) {
            return false;
        }
        name = &gossip->names[gossip->name_count++];
        memcpy(name->name, entry->name, sizeof name->name);
        name->heard_ns = heard_ns;
    }
    if (heard_ns >= name->heard_ns) {
        name->address = entry->address;
        name->heard_ns = heard_ns;
    }
    return true;
}

static bool add_neighbor(rsti_gossip_t *gossip, const rsti_resolution_t *entry, int64_t heard_ns)
{
    for (int32_t i = 0; i < gossip->neighbor_count; i++) {
        rsti_gossip_neighbor_t *neighbor = &gossip->neighbors[i];
        if (rsti_netaddr_packed_equal(&neighbor->address, &entry->address)) {
            if (entry->is_self) {
                neighbor->heard_ns = rsti_max_i64(neighbor->heard_ns, heard_ns);
            }
            return true;
        }
    }
    if (gossip->neighbor_count == RSTI_GOSSIP_NEIGHBORS_MAX) {
        return false;
    }
    gossip->neighbors[gossip->neighbor_count++] = (rsti_gossip_neighbor_t){
        entry->address, heard_ns};
    return true;
}

/* Our own entry comes back in the lists of others. Entries without an address or a port, and those
 * as old as the timeout, tell nothing. */
static bool is_news(const rsti_gossip_t *gossip, const rsti_resolution_t *entry)
{
    const bool is_ours = entry->address.port == gossip->self.address.port
        && strcmp(entry->name, gossip->self.name) == 0;
    return !is_ours && !is_wildcard(&entry->address) && entry->address.port != 0
        && entry->age_ms < gossip->timeout_ns / RSTI_NS_PER_MS;
}

rsti_gossip_result_t rsti_gossip_on_datagram(rsti_gossip_t *gossip, const uint8_t *datagram,
    size_t length, const struct sockaddr_storage *source, int64_t now_ns)
{
    rsti_resolution_reader_t reader;
    rsti_resolution_t entry;
    rsti_gossip_result_t result = RSTI_GOSSIP_OK;
    int found = -1;
    if (!rsti_resolution_reader_init(&reader, datagram, length)) {
        return RSTI_GOSSIP_INVALID;
    }
    while ((found = rsti_resolution_next(&reader, &entry)) == 1) {
        if (entry.is_self && is_wildcard(&entry.address)) {
            entry.address = rsti_netaddr_pack(source);
        }
        if (!is_news(gossip, &entry)) {
            continue;
        }
        const int64_t heard_ns = now_ns - entry.age_ms * RSTI_NS_PER_MS;
        const bool has_name = add_name(gossip, &entry, heard_ns);
        const bool has_neighbor = add_neighbor(gossip, &entry, heard_ns);
        result = has_name && has_neighbor ? result : RSTI_GOSSIP_FULL;
    }
    return found < 0 ? RSTI_GOSSIP_INVALID : result;
}

/* ---- what we tell ---- */

static void expire(rsti_gossip_t *gossip, int64_t now_ns, int64_t *next_deadline_ns)
{
    for (int32_t i = gossip->name_count; i > 0; i--) {
        rsti_gossip_name_t *name = &gossip->names[i - 1];
        if (name->heard_ns + gossip->timeout_ns <= now_ns) {
            *name = gossip->names[--gossip->name_count];
        } else {
            *next_deadline_ns = rsti_min_i64(*next_deadline_ns,
                name->heard_ns + gossip->timeout_ns);
        }
    }
    for (int32_t i = gossip->neighbor_count; i > 0; i--) {
        rsti_gossip_neighbor_t *neighbor = &gossip->neighbors[i - 1];
        if (neighbor->heard_ns + gossip->timeout_ns <= now_ns) {
            *neighbor = gossip->neighbors[--gossip->neighbor_count];
        } else {
            *next_deadline_ns = rsti_min_i64(*next_deadline_ns,
                neighbor->heard_ns + gossip->timeout_ns);
        }
    }
}

static void send_to(const rsti_packed_address_t *address, const uint8_t *datagram, size_t length,
    rsti_gossip_send_t send, void *arg)
{
    const struct sockaddr_storage to = rsti_netaddr_unpack(address);
    send(arg, datagram, length, &to);
}

static bool is_bootstrap(const rsti_gossip_t *gossip, const rsti_packed_address_t *address,
    int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        if (rsti_netaddr_packed_equal(&gossip->bootstraps[i], address)) {
            return true;
        }
    }
    return false;
}

static void send_self(const rsti_gossip_t *gossip, rsti_gossip_send_t send, void *arg)
{
    uint8_t datagram[RSTI_GOSSIP_DATAGRAM_MAX];
    const size_t length = rsti_resolution_append(datagram, sizeof datagram, 0, &gossip->self);
    for (int32_t i = 0; i < gossip->bootstrap_count; i++) {
        const rsti_packed_address_t *address = &gossip->bootstraps[i];
        if (address->family != AF_UNSPEC && !is_bootstrap(gossip, address, i)) {
            send_to(address, datagram, length, send, arg);
        }
    }
    for (int32_t i = 0; i < gossip->neighbor_count; i++) {
        const rsti_packed_address_t *address = &gossip->neighbors[i].address;
        if (!is_bootstrap(gossip, address, gossip->bootstrap_count)) {
            send_to(address, datagram, length, send, arg);
        }
    }
}

static void send_to_neighbors(const rsti_gossip_t *gossip, const uint8_t *datagram, size_t length,
    rsti_gossip_send_t send, void *arg)
{
    for (int32_t i = 0; i < gossip->neighbor_count && length > 0; i++) {
        send_to(&gossip->neighbors[i].address, datagram, length, send, arg);
    }
}

static void send_list(const rsti_gossip_t *gossip, int64_t now_ns, rsti_gossip_send_t send,
    void *arg)
{
    uint8_t datagram[RSTI_GOSSIP_DATAGRAM_MAX];
    size_t length = 0;
    for (int32_t i = 0; i < gossip->name_count; i++) {
        const rsti_gossip_name_t *name = &gossip->names[i];
        rsti_resolution_t entry = {
            .address = name->address,
            /* Rounded up: an entry must not get younger on its way through several drivers. */
            .age_ms = (int32_t)((now_ns - name->heard_ns + RSTI_NS_PER_MS - 1) / RSTI_NS_PER_MS),
        };
        memcpy(entry.name, name->name, sizeof entry.name);
        size_t longer = rsti_resolution_append(datagram, sizeof datagram, length, &entry);
        if (longer == 0) {
            send_to_neighbors(gossip, datagram, length, send, arg);
            longer = rsti_resolution_append(datagram, sizeof datagram, 0, &entry);
        }
        length = longer;
    }
    send_to_neighbors(gossip, datagram, length, send, arg);
}

void rsti_gossip_run(rsti_gossip_t *gossip, int64_t now_ns, rsti_gossip_send_t send, void *arg,
    int64_t *next_deadline_ns)
{
    expire(gossip, now_ns, next_deadline_ns);
    if (now_ns >= gossip->self_due_ns) {
        send_self(gossip, send, arg);
        gossip->self_due_ns = now_ns + gossip->self_interval_ns;
    }
    if (now_ns >= gossip->list_due_ns) {
        send_list(gossip, now_ns, send, arg);
        gossip->list_due_ns = now_ns + gossip->list_interval_ns;
    }
    *next_deadline_ns = rsti_min_i64(*next_deadline_ns,
        rsti_min_i64(gossip->self_due_ns, gossip->list_due_ns));
}

/* ---- questions ---- */

static bool find_in_family(const rsti_gossip_t *gossip, const char *name, int family,
    struct sockaddr_storage *address)
{
    const rsti_packed_address_t *found = NULL;
    for (int32_t i = 0; i < gossip->name_count && found == NULL; i++) {
        const rsti_gossip_name_t *known = &gossip->names[i];
        found = known->address.family == family && strcmp(known->name, name) == 0 ? &known->address
                                                                                  : NULL;
    }
    if (found == NULL && gossip->self.address.family == family
        && strcmp(gossip->self.name, name) == 0) {
        found = &gossip->self.address;
    }
    if (found == NULL) {
        return false;
    }
    *address = rsti_netaddr_unpack(found);
    rsti_netaddr_set_port(address, 0);
    return true;
}

bool rsti_gossip_find(const rsti_gossip_t *gossip, const char *name, int family,
    struct sockaddr_storage *address)
{
    return family != AF_UNSPEC ? find_in_family(gossip, name, family, address)
                               : find_in_family(gossip, name, AF_INET, address)
            || find_in_family(gossip, name, AF_INET6, address);
}

bool rsti_gossip_is_neighbor(const rsti_gossip_t *gossip, const rsti_packed_address_t *address)
{
    for (int32_t i = 0; i < gossip->neighbor_count; i++) {
        if (rsti_netaddr_packed_equal(&gossip->neighbors[i].address, address)) {
            return true;
        }
    }
    return false;
}
