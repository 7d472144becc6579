/* test_name_gossip.c: drivers that tell each other names, on a clock turned by hand and a network
 * in memory. */
#include "driver/base/name_gossip.h"
#include "tests/check.h"
#include "util/clock.h"

#define MS RSTI_NS_PER_MS
#define S RSTI_NS_PER_S
#define HOSTS_MAX 4
#define IN_FLIGHT_MAX 256
#define NEIGHBOR "10.9.9.9:1"
#define VICTIM "10.6.6.6:8050"
#define STRANGER "10.7.7.7:8050"

typedef struct sent_t {
    struct sockaddr_storage from, to;
    size_t length;
    uint8_t bytes[RSTI_GOSSIP_DATAGRAM_MAX];
} sent_t;

static rsti_gossip_t hosts[HOSTS_MAX];
static struct sockaddr_storage addresses[HOSTS_MAX]; /* where each socket is reached */
static bool is_up[HOSTS_MAX];
static int host_count;
static sent_t in_flight[IN_FLIGHT_MAX];
static int in_flight_count;
static int sent_count;
static int64_t now_ns;

static struct sockaddr_storage address_of(const char *text)
{
    struct sockaddr_storage address;
    (void)rsti_netaddr_resolve(text, &address);
    return address;
}

static void reset(void)
{
    memset(is_up, 0, sizeof is_up);
    host_count = 0;
    in_flight_count = 0;
    now_ns = 5 * S;
}

/* bound: what the driver binds, perhaps a wildcard. at: its address on the network. */
static rsti_gossip_t *start(const char *name, const char *bound, const char *at,
    const char *bootstrap)
{
    const rsti_gossip_params_t params = {
        .name = name,
        .local = address_of(bound),
        .self_interval_ns = S,
        .list_interval_ns = 2 * S,
        .timeout_ns = 10 * S,
        .key = {(uint64_t)host_count + 7, 11},
    };
    rsti_gossip_t *gossip = &hosts[host_count];
    rsti_gossip_init(gossip, &params, now_ns);
    addresses[host_count] = address_of(at);
    is_up[host_count++] = true;
    if (bootstrap != NULL) {
        const struct sockaddr_storage address = address_of(bootstrap);
        gossip->bootstraps[gossip->bootstrap_count++] = rsti_netaddr_pack(&address);
    }
    return gossip;
}

static void put_on_network(void *arg, const uint8_t *bytes, size_t length,
    const struct sockaddr_storage *to)
{
    sent_count++;
    if (in_flight_count < IN_FLIGHT_MAX) {
        sent_t *datagram = &in_flight[in_flight_count++];
        datagram->from = addresses[(const rsti_gossip_t *)arg - hosts];
        datagram->to = *to;
        datagram->length = length;
        memcpy(datagram->bytes, bytes, length);
    }
}

static void deliver(void)
{
    for (int k = 0; k < in_flight_count; k++) {
        for (int i = 0; i < host_count; i++) {
            if (is_up[i] && rsti_netaddr_equal(&addresses[i], &in_flight[k].to)) {
                CHECK_EQ(rsti_gossip_on_datagram(&hosts[i], in_flight[k].bytes, in_flight[k].length,
                             &in_flight[k].from, now_ns, put_on_network, &hosts[i]),
                    RSTI_GOSSIP_OK);
            }
        }
    }
    in_flight_count = 0;
}

static void advance(int64_t ns)
{
    for (const int64_t end_ns = now_ns + ns; now_ns < end_ns; now_ns += 10 * MS) {
        for (int i = 0; i < host_count; i++) {
            int64_t deadline_ns = RSTI_NO_DEADLINE;
            if (is_up[i]) {
                rsti_gossip_run(&hosts[i], now_ns, put_on_network, &hosts[i], &deadline_ns);
                CHECK(deadline_ns > now_ns && deadline_ns <= now_ns + S);
            }
        }
        deliver();
    }
}

static const char *found(const rsti_gossip_t *gossip, const char *name)
{
    static char text[RSTI_NETADDR_TEXT_MAX];
    struct sockaddr_storage address;
    return rsti_gossip_find(gossip, name, AF_INET, &address)
        ? rsti_netaddr_format(&address, text, sizeof text)
        : "unknown";
}

/* N15: A knows nobody, B is told of A, C is told of B: all know all. */
TEST(names_travel_over_neighbors)
{
    reset();
    rsti_gossip_t *a = start("A", "10.0.0.1:8050", "10.0.0.1:8050", NULL);
    rsti_gossip_t *b = start("B", "10.0.0.2:8050", "10.0.0.2:8050", "10.0.0.1:8050");
    advance(20 * MS);
    CHECK_STR(found(a, "B"), "10.0.0.2:0");
    advance(1100 * MS);
    CHECK_STR(found(b, "A"), "10.0.0.1:0");
    rsti_gossip_t *c = start("C", "10.0.0.3:8050", "10.0.0.3:8050", "10.0.0.2:8050");
    advance(4 * S);
    CHECK_STR(found(a, "C"), "10.0.0.3:0");
    CHECK_STR(found(c, "A"), "10.0.0.1:0");
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(hosts[i].neighbor_count, 2);
        CHECK_EQ(hosts[i].name_count, 2);
    }
    CHECK_STR(found(a, "A"), "10.0.0.1:0"); /* its own */
    CHECK_STR(found(a, "D"), "unknown");
    struct sockaddr_storage address;
    CHECK(!rsti_gossip_find(a, "C", AF_INET6, &address));
    CHECK(rsti_gossip_find(a, "C", AF_UNSPEC, &address));
}

/* N15: a late joiner learns all, and a driver that ends is forgotten by all after the timeout. */
TEST(silent_drivers_are_forgotten)
{
    reset();
    rsti_gossip_t *a = start("A", "10.0.0.1:8050", "10.0.0.1:8050", NULL);
    (void)start("B", "10.0.0.2:8050", "10.0.0.2:8050", "10.0.0.1:8050");
    (void)start("C", "10.0.0.3:8050", "10.0.0.3:8050", "10.0.0.2:8050");
    advance(30 * S);
    CHECK_EQ(a->name_count, 2);
    is_up[2] = false;
    advance(9 * S);
    CHECK_STR(found(a, "C"), "10.0.0.3:0");
    advance(1500 * MS); /* what B repeats about C keeps its age, and grows no younger */
    CHECK_STR(found(a, "C"), "unknown");
    CHECK_EQ(a->neighbor_count, 1);
    advance(30 * S);
    CHECK_EQ(a->name_count, 1);
    is_up[2] = true;
    advance(4 * S);
    CHECK_STR(found(a, "C"), "10.0.0.3:0");
}

/* N15: a driver that moved has its new address as soon as it speaks from there. */
TEST(the_freshest_address_counts)
{
    reset();
    rsti_gossip_t *a = start("A", "10.0.0.1:8050", "10.0.0.1:8050", NULL);
    (void)start("B", "10.0.0.2:8050", "10.0.0.2:8050", "10.0.0.1:8050");
    (void)start("C", "10.0.0.3:8050", "10.0.0.3:8050", "10.0.0.1:8050");
    advance(5 * S);
    is_up[1] = false;
    (void)start("B", "10.0.0.4:8050", "10.0.0.4:8050", "10.0.0.1:8050");
    advance(20 * MS);
    CHECK_STR(found(a, "B"), "10.0.0.4:0");
    for (int i = 0; i < 200; i++) { /* the old entry in C's list changes nothing */
        advance(50 * MS);
        CHECK_STR(found(a, "B"), "10.0.0.4:0");
    }
    CHECK_STR(found(&hosts[2], "B"), "10.0.0.4:0");
}

/* N15: a socket on the wildcard has the address that its datagrams come from. */
TEST(a_wildcard_is_replaced_by_the_source)
{
    reset();
    rsti_gossip_t *a = start("A", "0.0.0.0:8050", "10.0.0.1:8050", NULL);
    rsti_gossip_t *b = start("B", "0.0.0.0:8051", "10.0.0.2:8051", "10.0.0.1:8050");
    advance(3 * S);
    CHECK_STR(found(a, "B"), "10.0.0.2:0");
    CHECK_STR(found(b, "A"), "10.0.0.1:0");
    CHECK_EQ(a->neighbors[0].address.port, 8051);
}

static size_t one_entry(uint8_t *bytes, const char *address, const char *name, int32_t age_ms)
{
    const struct sockaddr_storage parsed = address_of(address);
    rsti_resolution_t entry = {.address = rsti_netaddr_pack(&parsed), .age_ms = age_ms};
    memcpy(entry.name, name, strlen(name));
    return rsti_resolution_append(bytes, 512, 0, &entry);
}

static rsti_gossip_result_t hear(rsti_gossip_t *gossip, const char *address, const char *name,
    int32_t age_ms)
{
    uint8_t bytes[512];
    const size_t length = one_entry(bytes, address, name, age_ms);
    const struct sockaddr_storage source = address_of(NEIGHBOR);
    return rsti_gossip_on_datagram(gossip, bytes, length, &source, now_ns, put_on_network, gossip);
}

static rsti_gossip_result_t speak(rsti_gossip_t *gossip, const char *from, const char *address,
    const char *name)
{
    uint8_t bytes[512];
    const struct sockaddr_storage source = address_of(from), parsed = address_of(address);
    rsti_resolution_t entry = {.address = rsti_netaddr_pack(&parsed), .is_self = true};
    memcpy(entry.name, name, strlen(name));
    const size_t length = rsti_resolution_append(bytes, sizeof bytes, 0, &entry);
    return rsti_gossip_on_datagram(gossip, bytes, length, &source, now_ns, put_on_network, gossip);
}

/* As a driver of Aeron does: what it was told as a name of ours is in its next list. */
static rsti_gossip_result_t repeat_as_aeron(rsti_gossip_t *gossip, const char *from,
    const sent_t *asked)
{
    uint8_t bytes[512];
    rsti_resolution_reader_t reader;
    rsti_resolution_t entry;
    const struct sockaddr_storage source = address_of(from);
    if (!rsti_resolution_reader_init(&reader, asked->bytes, asked->length)
        || rsti_resolution_next(&reader, &entry) != 1) {
        return RSTI_GOSSIP_INVALID;
    }
    entry.is_self = false;
    entry.age_ms += 1900;
    const size_t length = rsti_resolution_append(bytes, sizeof bytes, 0, &entry);
    return rsti_gossip_on_datagram(gossip, bytes, length, &source, now_ns, put_on_network, gossip);
}

static void become_neighbor(rsti_gossip_t *gossip, const char *address)
{
    in_flight_count = 0;
    (void)speak(gossip, address, address, "N");
    (void)repeat_as_aeron(gossip, address, &in_flight[0]);
    in_flight_count = 0;
}

static int64_t bytes_to(const char *address)
{
    const struct sockaddr_storage to = address_of(address);
    int64_t bytes = 0;
    for (int i = 0; i < in_flight_count; i++) {
        bytes += rsti_netaddr_equal(&in_flight[i].to, &to) ? (int64_t)in_flight[i].length : 0;
    }
    return bytes;
}

/* Who forges the source of a datagram makes us send as much as it sent, and learns and changes
 * nothing: 32 bytes once brought lists of 19 KB and took any name. */
TEST(a_forged_source_gets_a_question_only)
{
    reset();
    rsti_gossip_t *a = start("A", "10.0.0.1:8050", "10.0.0.1:8050", NULL);
    become_neighbor(a, NEIGHBOR);
    char name[16], address[32];
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "n%d", i);
        snprintf(address, sizeof address, "10.1.0.%d:8050", i);
        CHECK_EQ(hear(a, address, name, 0), RSTI_GOSSIP_OK);
    }
    a->told_count = 0;
    const int32_t names = a->name_count;
    int64_t sent = 0, received = 0;
    for (int i = 0; i < 20; i++) {
        in_flight_count = 0;
        CHECK_EQ(speak(a, VICTIM, VICTIM, "stranger"), RSTI_GOSSIP_OK);
        CHECK_EQ(speak(a, VICTIM, "10.0.0.66:8050", "n1"), RSTI_GOSSIP_OK); /* of another host */
        CHECK_EQ(speak(a, VICTIM, VICTIM, "?AAAAAAAAA"), RSTI_GOSSIP_OK);  /* a question to us */
        sent += 3 * 32;
        int64_t deadline_ns = RSTI_NO_DEADLINE;
        now_ns += 500 * MS;
        rsti_gossip_run(a, now_ns, put_on_network, a, &deadline_ns);
        received += bytes_to(VICTIM) + bytes_to("10.0.0.66:8050");
        CHECK_EQ(a->neighbor_count, now_ns < 15 * S ? 1 : 0);
    }
    CHECK(received <= sent);
    CHECK(a->name_count <= names);
    CHECK_STR(found(a, "stranger"), "unknown");
    /* Nor does an answer that it guesses, or that another address was asked for, help. */
    in_flight_count = 0;
    (void)speak(a, STRANGER, STRANGER, "x");
    CHECK_EQ(in_flight_count, 1);
    (void)repeat_as_aeron(a, VICTIM, &in_flight[0]);
    CHECK_EQ(a->neighbor_count, 0);
    (void)repeat_as_aeron(a, STRANGER, &in_flight[0]);
    CHECK_EQ(a->neighbor_count, 1);
}

/* A neighbor proves itself again. Who is gone is given up, although somebody speaks in its name. */
TEST(a_neighbor_proves_itself_again)
{
    reset();
    rsti_gossip_t *a = start("A", "10.0.0.1:8050", "10.0.0.1:8050", NULL);
    become_neighbor(a, NEIGHBOR);
    int questions = 0;
    for (int i = 0; i < 130; i++) {
        in_flight_count = 0;
        (void)speak(a, NEIGHBOR, NEIGHBOR, "N");
        questions += in_flight_count;
        CHECK(i <= 60 || in_flight_count <= 1);
        int64_t deadline_ns = RSTI_NO_DEADLINE;
        now_ns += S;
        rsti_gossip_run(a, now_ns, put_on_network, a, &deadline_ns);
        CHECK_EQ(a->neighbor_count, i < 119 ? 1 : 0);
    }
    CHECK(questions > 60 && questions < 75);
    become_neighbor(a, NEIGHBOR);
    CHECK_EQ(a->neighbor_count, 1);
}

/* N15: what tells nothing, and tables that strangers fill. */
TEST(limits)
{
    reset();
    rsti_gossip_t *a = start("A", "10.0.0.1:8050", "10.0.0.1:8050", NULL);
    become_neighbor(a, NEIGHBOR);
    CHECK_EQ(hear(a, "10.0.0.9:8050", "A", 0), RSTI_GOSSIP_OK);     /* our name and port: us */
    CHECK_EQ(hear(a, "0.0.0.0:8050", "B", 0), RSTI_GOSSIP_OK);      /* no address */
    CHECK_EQ(hear(a, "10.0.0.9:0", "B", 0), RSTI_GOSSIP_OK);        /* no port */
    CHECK_EQ(hear(a, "10.0.0.9:8050", "B", 10000), RSTI_GOSSIP_OK); /* too old */
    CHECK_EQ(hear(a, "10.0.0.9:8050", "B", INT32_MAX), RSTI_GOSSIP_OK);
    CHECK_EQ(a->name_count + a->told_count, 0);
    CHECK_EQ(hear(a, "10.0.0.9:8050", "A2", 9999), RSTI_GOSSIP_OK); /* ours is only its beginning */
    CHECK_EQ(a->name_count, 1);
    now_ns += MS;
    advance(10 * MS);
    CHECK_EQ(a->name_count, 0);

    char name[16], address[32];
    CHECK_EQ(hear(a, "10.0.0.2:8050", "B", 0), RSTI_GOSSIP_OK);
    for (int i = 1; i < RSTI_GOSSIP_NAMES_MAX + 5; i++) {
        snprintf(name, sizeof name, "n%d", i);
        snprintf(address, sizeof address, "10.1.%d.%d:8050", i / 200, i % 200);
        const bool has_room = i < RSTI_GOSSIP_NEIGHBORS_MAX - 1; /* one is a neighbor */
        CHECK_EQ(hear(a, address, name, 0), has_room ? RSTI_GOSSIP_OK : RSTI_GOSSIP_FULL);
    }
    CHECK_EQ(a->name_count, RSTI_GOSSIP_NAMES_MAX);
    CHECK_EQ(a->told_count, RSTI_GOSSIP_NEIGHBORS_MAX - 1);
    for (int i = 1; i < RSTI_GOSSIP_NEIGHBORS_MAX; i++) {
        snprintf(address, sizeof address, "10.2.%d.%d:8050", i / 200, i % 200);
        become_neighbor(a, address);
    }
    CHECK_EQ(a->neighbor_count, RSTI_GOSSIP_NEIGHBORS_MAX);
    in_flight_count = 0;
    (void)speak(a, VICTIM, VICTIM, "late");
    CHECK_EQ(repeat_as_aeron(a, VICTIM, &in_flight[0]), RSTI_GOSSIP_FULL);
    CHECK_STR(found(a, "B"), "10.0.0.2:0"); /* strangers displace nobody */
    CHECK_EQ(hear(a, "10.0.0.2:8050", "B", 0), RSTI_GOSSIP_OK);
    sent_count = 0;
    int64_t deadline_ns = RSTI_NO_DEADLINE;
    a->list_due_ns = now_ns;
    a->self_due_ns = now_ns + S;
    rsti_gossip_run(a, now_ns, put_on_network, a, &deadline_ns);
    CHECK_EQ(sent_count % RSTI_GOSSIP_NEIGHBORS_MAX, 0);
    CHECK(sent_count / RSTI_GOSSIP_NEIGHBORS_MAX > 1); /* a long list in several datagrams */
    const struct sockaddr_storage source = address_of(NEIGHBOR);
    uint8_t bytes[512];
    size_t length = one_entry(bytes, "10.0.0.2:8050", "B", 0);
    bytes[8] = 9;
    CHECK_EQ(rsti_gossip_on_datagram(a, bytes, length, &source, now_ns, put_on_network, a),
        RSTI_GOSSIP_INVALID);
    CHECK_EQ(rsti_gossip_on_datagram(a, bytes, 7, &source, now_ns, put_on_network, a),
        RSTI_GOSSIP_INVALID);
}

CHECK_MAIN(RUN(names_travel_over_neighbors), RUN(silent_drivers_are_forgotten),
    RUN(the_freshest_address_counts), RUN(a_wildcard_is_replaced_by_the_source), RUN(limits),
    RUN(a_forged_source_gets_a_question_only), RUN(a_neighbor_proves_itself_again))
