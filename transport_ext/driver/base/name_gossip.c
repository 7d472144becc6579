/* name_gossip.c: see name_gossip.h. */
#include "driver/base/name_gossip.h"

#include "util/bits.h"
#include "util/clock.h"
#include "util/int_math.h"
#include "util/siphash.h"

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
    memcpy(gossip->key, params->key, sizeof gossip->key);
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

static rsti_gossip_neighbor_t *find_neighbor(rsti_gossip_t *gossip,
    const rsti_packed_address_t *address)
{
    for (int32_t i = 0; i < gossip->neighbor_count; i++) {
        if (rsti_netaddr_packed_equal(&gossip->neighbors[i].address, address)) {
            return &gossip->neighbors[i];
        }
    }
    return NULL;
}

static bool has_address(const rsti_packed_address_t *list, int32_t count,
    const rsti_packed_address_t *address)
{
    for (int32_t i = 0; i < count; i++) {
        if (rsti_netaddr_packed_equal(&list[i], address)) {
            return true;
        }
    }
    return false;
}

/* A neighbor told us of it, so it hears of us, and proves itself when it answers. */
static bool add_told(rsti_gossip_t *gossip, const rsti_packed_address_t *address)
{
    if (find_neighbor(gossip, address) != NULL
        || has_address(gossip->told, gossip->told_count, address)) {
        return true;
    }
    if (gossip->told_count + gossip->neighbor_count >= RSTI_GOSSIP_NEIGHBORS_MAX) {
        return false;
    }
    gossip->told[gossip->told_count++] = *address;
    return true;
}

/* ---- proofs ---- */

static bool is_question(const rsti_resolution_t *entry)
{
    return entry->name[0] == '?';
}

/* The name in the question to that address, for a period of RSTI_GOSSIP_PROOF_NS. */
static void question_for(const rsti_gossip_t *gossip, const rsti_packed_address_t *address,
    int64_t period, char *name)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    struct {
        uint8_t bytes[sizeof address->bytes];
        int64_t port, period;
    } facts = {.port = address->port, .period = period};
    memcpy(facts.bytes, address->bytes, sizeof facts.bytes);
    uint64_t hash = rsti_siphash(gossip->key, &facts, sizeof facts);
    name[0] = '?';
    for (int i = 1; i < RSTI_GOSSIP_ASKED_LENGTH; i++, hash >>= 6) {
        name[i] = letters[hash & 63];
    }
    name[RSTI_GOSSIP_ASKED_LENGTH] = '\0';
}

static bool is_answer(const rsti_gossip_t *gossip, const rsti_resolution_t *entry,
    const rsti_packed_address_t *source, int64_t now_ns)
{
    const int64_t period = now_ns / RSTI_GOSSIP_PROOF_NS;
    char now[RSTI_GOSSIP_ASKED_LENGTH + 1], before[RSTI_GOSSIP_ASKED_LENGTH + 1];
    question_for(gossip, source, period, now);
    question_for(gossip, source, period - 1, before);
    return strcmp(entry->name, now) == 0 || strcmp(entry->name, before) == 0;
}

static bool prove(rsti_gossip_t *gossip, const rsti_packed_address_t *source, int64_t now_ns)
{
    rsti_gossip_neighbor_t *neighbor = find_neighbor(gossip, source);
    if (neighbor == NULL) {
        if (gossip->neighbor_count == RSTI_GOSSIP_NEIGHBORS_MAX) {
            return false;
        }
        neighbor = &gossip->neighbors[gossip->neighbor_count++];
        *neighbor = (rsti_gossip_neighbor_t){.address = *source, .heard_ns = now_ns};
    }
    neighbor->proved_ns = now_ns;
    return true;
}

static void send_to(const rsti_packed_address_t *address, const uint8_t *datagram, size_t length,
    rsti_gossip_send_t send, void *arg)
{
    const struct sockaddr_storage to = rsti_netaddr_unpack(address);
    send(arg, datagram, length, &to);
}

/* Half as old as what is forgotten: Aeron repeats it twice and then drops it. */
static void ask(const rsti_gossip_t *gossip, const rsti_packed_address_t *source, int64_t now_ns,
    rsti_gossip_send_t send, void *arg)
{
    uint8_t datagram[RSTI_GOSSIP_DATAGRAM_MAX];
    rsti_resolution_t question = {
        .address = gossip->self.address,
        .is_self = true,
        .age_ms = (int32_t)(gossip->timeout_ns / 2 / RSTI_NS_PER_MS),
    };
    question_for(gossip, source, now_ns / RSTI_GOSSIP_PROOF_NS, question.name);
    send_to(source, datagram, rsti_resolution_append(datagram, sizeof datagram, 0, &question), send,
        arg);
}

/* Repeats a question of source. Who is known gets our own entry with it. */
static void repeat(const rsti_gossip_t *gossip, const rsti_resolution_t *question,
    const rsti_packed_address_t *source, bool is_known, rsti_gossip_send_t send, void *arg)
{
    uint8_t datagram[RSTI_GOSSIP_DATAGRAM_MAX];
    rsti_resolution_t answer = *question;
    answer.address = *source;
    answer.is_self = false;
    answer.age_ms = 0;
    size_t length = rsti_resolution_append(datagram, sizeof datagram, 0, &answer);
    if (is_known) {
        length = rsti_resolution_append(datagram, sizeof datagram, length, &gossip->self);
    }
    send_to(source, datagram, length, send, arg);
}

/* ---- datagrams ---- */

/* Our own entry comes back in the lists of others. Entries without an address or a port, and those
 * as old as the timeout, tell nothing. */
static bool is_news(const rsti_gossip_t *gossip, const rsti_resolution_t *entry)
{
    const bool is_ours = entry->address.port == gossip->self.address.port
        && strcmp(entry->name, gossip->self.name) == 0;
    return !is_ours && !is_wildcard(&entry->address) && entry->address.port != 0
        && entry->age_ms < gossip->timeout_ns / RSTI_NS_PER_MS;
}

typedef struct heard_t {
    rsti_packed_address_t source;
    bool is_proven;
    bool speaks_of_itself; /* at the address that it comes from */
    bool is_full;
    bool is_asked;
    rsti_resolution_t question;
} heard_t;

static void on_entry(rsti_gossip_t *gossip, heard_t *heard, rsti_resolution_t *entry,
    int64_t now_ns)
{
    if (entry->is_self && is_wildcard(&entry->address)) {
        entry->address = heard->source;
    }
    const bool is_source = rsti_netaddr_packed_equal(&entry->address, &heard->source);
    if (is_question(entry)) {
        if (is_answer(gossip, entry, &heard->source, now_ns)) {
            heard->is_proven = prove(gossip, &heard->source, now_ns);
            heard->is_full = heard->is_full || !heard->is_proven;
        } else if (entry->is_self && is_source && strlen(entry->name) == RSTI_GOSSIP_ASKED_LENGTH) {
            heard->is_asked = true;
            heard->question = *entry;
        }
        return;
    }
    if (!is_news(gossip, entry) || (entry->is_self && !is_source)) {
        return;
    }
    heard->speaks_of_itself = heard->speaks_of_itself || entry->is_self;
    if (!heard->is_proven) {
        return;
    }
    const int64_t heard_ns = now_ns - entry->age_ms * RSTI_NS_PER_MS;
    const bool has_name = add_name(gossip, entry, heard_ns);
    bool has_place = true;
    if (entry->is_self) {
        rsti_gossip_neighbor_t *neighbor = find_neighbor(gossip, &heard->source);
        neighbor->heard_ns = rsti_max_i64(neighbor->heard_ns, heard_ns);
    } else {
        has_place = add_told(gossip, &entry->address);
    }
    heard->is_full = heard->is_full || !has_name || !has_place;
}

rsti_gossip_result_t rsti_gossip_on_datagram(rsti_gossip_t *gossip, const uint8_t *datagram,
    size_t length, const struct sockaddr_storage *source, int64_t now_ns, rsti_gossip_send_t send,
    void *arg)
{
    rsti_resolution_reader_t reader;
    rsti_resolution_t entry;
    heard_t heard = {.source = rsti_netaddr_pack(source)};
    int found = -1;
    if (!rsti_resolution_reader_init(&reader, datagram, length) || heard.source.port == 0) {
        return RSTI_GOSSIP_INVALID;
    }
    heard.is_proven = find_neighbor(gossip, &heard.source) != NULL;
    while ((found = rsti_resolution_next(&reader, &entry)) == 1) {
        on_entry(gossip, &heard, &entry, now_ns);
    }
    const rsti_gossip_neighbor_t *neighbor = find_neighbor(gossip, &heard.source);
    const bool is_known = neighbor != NULL
        || has_address(gossip->bootstraps, gossip->bootstrap_count, &heard.source)
        || has_address(gossip->told, gossip->told_count, &heard.source);
    if (heard.is_asked) {
        repeat(gossip, &heard.question, &heard.source, is_known, send, arg);
    } else if (heard.speaks_of_itself
        && (neighbor == NULL || now_ns > neighbor->proved_ns + RSTI_GOSSIP_PROOF_NS)) {
        ask(gossip, &heard.source, now_ns, send, arg);
    }
    return found < 0 ? RSTI_GOSSIP_INVALID : heard.is_full ? RSTI_GOSSIP_FULL : RSTI_GOSSIP_OK;
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
        if (neighbor->heard_ns + gossip->timeout_ns <= now_ns
            || neighbor->proved_ns + 2 * RSTI_GOSSIP_PROOF_NS <= now_ns) {
            *neighbor = gossip->neighbors[--gossip->neighbor_count];
        } else {
            *next_deadline_ns = rsti_min_i64(*next_deadline_ns,
                neighbor->heard_ns + gossip->timeout_ns);
        }
    }
}

static void send_self(rsti_gossip_t *gossip, rsti_gossip_send_t send, void *arg)
{
    uint8_t datagram[RSTI_GOSSIP_DATAGRAM_MAX];
    const size_t length = rsti_resolution_append(datagram, sizeof datagram, 0, &gossip->self);
    for (int32_t i = 0; i < gossip->bootstrap_count; i++) {
        const rsti_packed_address_t *address = &gossip->bootstraps[i];
        if (address->family != AF_UNSPEC && !has_address(gossip->bootstraps, i, address)) {
            send_to(address, datagram, length, send, arg);
        }
    }
    for (int32_t i = 0; i < gossip->neighbor_count; i++) {
        const rsti_packed_address_t *address = &gossip->neighbors[i].address;
        if (!has_address(gossip->bootstraps, gossip->bootstrap_count, address)) {
            send_to(address, datagram, length, send, arg);
        }
    }
    for (int32_t i = 0; i < gossip->told_count; i++) {
        send_to(&gossip->told[i], datagram, length, send, arg);
    }
    gossip->told_count = 0;
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
    const bool is_ours = gossip->self.address.family == family
        && strcmp(gossip->self.name, name) == 0;
    const rsti_packed_address_t *found = is_ours ? &gossip->self.address : NULL;
    for (int32_t i = 0; i < gossip->name_count && found == NULL; i++) {
        const rsti_gossip_name_t *known = &gossip->names[i];
        found = known->address.family == family && strcmp(known->name, name) == 0 ? &known->address
                                                                                  : NULL;
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
