/* fuzz_resolution.c: frames of names and addresses from strangers. Every entry that is taken is as
 * docs/reference/aeron/wire.md 3.9 says, written down a second time here; what was taken can be
 * sent on; the tables of the gossip keep their limits. */
#include "driver/base/name_gossip.h"
#include "fuzz/check.h"
#include "util/clock.h"

static void check_entry(const uint8_t *bytes, size_t rest, const rsti_resolution_t *entry)
{
    const size_t address_length = bytes[0] == 1 ? 4 : 16;
    const size_t name_length = strlen(entry->name);
    FUZZ_CHECK(bytes[0] == 1 || bytes[0] == 2);
    FUZZ_CHECK(rest >= 10 + address_length + name_length);
    FUZZ_CHECK(name_length > 0 && name_length <= 255);
    FUZZ_CHECK(fuzz_read(bytes + 8 + address_length, 2) == name_length);
    FUZZ_CHECK(memcmp(bytes + 10 + address_length, entry->name, name_length) == 0);
    FUZZ_CHECK(entry->address.family == (bytes[0] == 1 ? AF_INET : AF_INET6));
    FUZZ_CHECK(entry->address.port == fuzz_read(bytes + 2, 2));
    FUZZ_CHECK(memcmp(entry->address.bytes, bytes + 8, address_length) == 0);
    FUZZ_CHECK(entry->is_self == ((bytes[1] & 0x80) != 0));
    FUZZ_CHECK(entry->age_ms >= 0);
    FUZZ_CHECK(entry->age_ms == fuzz_i32(bytes + 4) || fuzz_i32(bytes + 4) < 0);
}

/* Written and read again, it is the same. */
static void check_round_trip(const rsti_resolution_t *entry)
{
    uint8_t bytes[512];
    rsti_resolution_t again;
    rsti_resolution_reader_t reader;
    const size_t length = rsti_resolution_append(bytes, sizeof bytes, 0, entry);
    FUZZ_CHECK(length > 0 && rsti_resolution_reader_init(&reader, bytes, length));
    FUZZ_CHECK(rsti_resolution_next(&reader, &again) == 1);
    FUZZ_CHECK(strcmp(again.name, entry->name) == 0);
    FUZZ_CHECK(rsti_netaddr_packed_equal(&again.address, &entry->address));
    FUZZ_CHECK(again.is_self == entry->is_self && again.age_ms == entry->age_ms);
    FUZZ_CHECK(rsti_resolution_next(&reader, &again) == 0);
}

static void on_send(void *arg, const uint8_t *datagram, size_t length,
    const struct sockaddr_storage *to)
{
    rsti_resolution_reader_t reader;
    rsti_resolution_t entry;
    int found;
    (void)arg;
    FUZZ_CHECK(length <= RSTI_GOSSIP_DATAGRAM_MAX && rsti_netaddr_port(to) != 0);
    FUZZ_CHECK(rsti_resolution_reader_init(&reader, datagram, length));
    while ((found = rsti_resolution_next(&reader, &entry)) == 1) {
    }
    FUZZ_CHECK(found == 0);
}

/* One gossip hears all inputs, a second apart. */
static void check_gossip(const uint8_t *data, size_t size)
{
    static rsti_gossip_t gossip;
    static int64_t now_ns;
    struct sockaddr_storage source;
    int64_t deadline_ns = RSTI_NO_DEADLINE;
    (void)rsti_netaddr_parse_numeric("10.0.0.9", &source);
    rsti_netaddr_set_port(&source, 8050);
    if (now_ns == 0) {
        const rsti_gossip_params_t params = {
            "us", source, RSTI_NS_PER_S, 2 * RSTI_NS_PER_S, 10 * RSTI_NS_PER_S, {1, 2}};
        rsti_gossip_init(&gossip, &params, now_ns);
    }
    now_ns += RSTI_NS_PER_S;
    (void)rsti_gossip_on_datagram(&gossip, data, size, &source, now_ns, on_send, NULL);
    FUZZ_CHECK(gossip.name_count >= 0 && gossip.name_count <= RSTI_GOSSIP_NAMES_MAX);
    FUZZ_CHECK(gossip.neighbor_count >= 0 && gossip.neighbor_count <= RSTI_GOSSIP_NEIGHBORS_MAX);
    rsti_gossip_run(&gossip, now_ns, on_send, NULL, &deadline_ns);
    FUZZ_CHECK(deadline_ns > now_ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    const uint8_t *data = fuzz_exact_copy(input, size);
    rsti_resolution_reader_t reader;
    rsti_resolution_t entry;
    if (rsti_resolution_reader_init(&reader, data, size)) {
        FUZZ_CHECK(size >= 22 && fuzz_read(data + 6, 2) == 7 && reader.length <= size);
        size_t at = 8;
        while (rsti_resolution_next(&reader, &entry) == 1) {
            check_entry(data + at, reader.length - at, &entry);
            check_round_trip(&entry);
            FUZZ_CHECK(reader.at > at && reader.at <= reader.length);
            at = reader.at;
        }
    }
    check_gossip(data, size);
    return 0;
}
