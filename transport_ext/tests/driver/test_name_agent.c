/* test_name_agent.c: a driver that tells others its name and is told theirs: datagrams, counters,
 * channels with such names, and refusals. */
#include "protocol/resolution.h"
#include "tests/driver/harness.h"

#define B_AT "10.0.0.2:8050"

static const char *const options[] = {"name-resolver", "driver", "resolver-name", "A",
    "resolver-interface", "127.0.0.1:8050", "resolver-bootstrap-neighbor",
    B_AT ",unknown.invalid:8050", NULL};

static harness_t *open_with_names(void)
{
    harness_options = options;
    return harness_open();
}

/* The socket that is bound there. */
static rsti_socket_t *socket_at(harness_t *h, const char *text)
{
    const struct sockaddr_storage address = address_of(text);
    for (int i = 0; i < SOCKETS_MAX; i++) {
        if (h->sockets[i].is_open && rsti_netaddr_equal(&h->sockets[i].local, &address)) {
            return &h->sockets[i];
        }
    }
    return NULL;
}

static int64_t value_of(const harness_t *h, int32_t type_id, const char *label)
{
    rsti_counter_view_t view;
    for (int32_t id = 0; id < 200; id++) {
        if (rsti_counters_view(&h->driver->counters.counters, id, &view) && view.type_id == type_id
            && strstr(view.label, label) != NULL) {
            return view.value;
        }
    }
    return -1;
}

static void tell_from(harness_t *h, const char *from, const char *address, const char *name,
    bool is_self)
{
    uint8_t bytes[512];
    const struct sockaddr_storage parsed = address_of(address);
    rsti_resolution_t entry = {.address = rsti_netaddr_pack(&parsed), .is_self = is_self};
    memcpy(entry.name, name, strlen(name));
    const size_t length = rsti_resolution_append(bytes, sizeof bytes, 0, &entry);
    inject(h, socket_at(h, "127.0.0.1:8050"), from, bytes, length);
    pass(h);
}

/* What a driver of Aeron does with a question: it is in its next list. */
static void answer_question(harness_t *h, const char *from)
{
    rsti_resolution_reader_t reader;
    rsti_resolution_t entry;
    for (int i = h->sent_count; i > 0; i--) {
        const frame_t *frame = &h->sent[i - 1];
        if (rsti_resolution_reader_init(&reader, frame->data, frame->length)
            && rsti_resolution_next(&reader, &entry) == 1 && entry.name[0] == '?') {
            tell_from(h, from, B_AT, entry.name, false);
            return;
        }
    }
}

static void tell(harness_t *h, const char *address, const char *name, bool is_self)
{
    tell_from(h, is_self ? address : B_AT, address, name, is_self);
    if (is_self) {
        answer_question(h, address);
        tell_from(h, address, address, name, true);
    }
}

/* N15 */
TEST(a_driver_tells_its_name_and_is_told_others)
{
    harness_t *h = open_with_names();
    pass(h);
    const frame_t *frame = last_frame(h, RSTI_FRAME_RES);
    CHECK(frame != NULL && frame->socket == socket_at(h, "127.0.0.1:8050"));
    const struct sockaddr_storage b = address_of(B_AT);
    CHECK(rsti_netaddr_equal(&frame->address, &b));
    rsti_resolution_reader_t reader;
    rsti_resolution_t entry;
    CHECK(rsti_resolution_reader_init(&reader, frame->data, frame->length));
    CHECK_EQ(rsti_resolution_next(&reader, &entry), 1);
    CHECK_STR(entry.name, "A");
    CHECK(entry.is_self);
    CHECK_EQ(entry.address.port, 8050);

    CHECK_EQ(value_of(h, RSTI_COUNTER_RESOLVER_NEIGHBORS,
                 "Resolver neighbors: bound 127.0.0.1:8050"),
        0);
    CHECK_EQ(value_of(h, RSTI_COUNTER_RESOLVER_NAMES, "Resolver cache entries: name=A"), 0);
    CHECK_EQ(value_of(h, RSTI_COUNTER_RESOLVER_BOOTSTRAP,
                 "Bootstrap neighbor: name=" B_AT " resolved=" B_AT),
        0);
    CHECK_EQ(value_of(h, RSTI_COUNTER_RESOLVER_BOOTSTRAP,
                 "Bootstrap neighbor: name=unknown.invalid:8050 resolved="),
        0);
    CHECK_EQ(error_count(h, "resolver-bootstrap-neighbor=unknown.invalid:8050"), 1);
    tell(h, B_AT, "B", true);
    CHECK_EQ(value_of(h, RSTI_COUNTER_RESOLVER_NEIGHBORS, ""), 1);
    CHECK_EQ(value_of(h, RSTI_COUNTER_RESOLVER_NAMES, ""), 1);
    pass(h);
    CHECK_EQ(value_of(h, RSTI_COUNTER_RESOLVER_BOOTSTRAP, B_AT), 1);
    advance(h, 11 * RSTI_NS_PER_S, 100 * MS);
    CHECK_EQ(value_of(h, RSTI_COUNTER_RESOLVER_NEIGHBORS, ""), 0);
    CHECK_EQ(value_of(h, RSTI_COUNTER_RESOLVER_NAMES, ""), 0);
    CHECK_EQ(value_of(h, RSTI_COUNTER_RESOLVER_BOOTSTRAP, B_AT), 0);
    harness_close(h);
}

/* N15: a name that was told is an address of a channel, and follows its driver. */
TEST(channels_take_told_names)
{
    harness_t *h = open_with_names();
    tell(h, B_AT, "B", true);
    const int64_t id = add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:udp?endpoint=B:24500", 10);
    CHECK(answer(h, RSTI_RSP_PUBLICATION_READY, id) != NULL);
    pass(h);
    const frame_t *setup = last_frame(h, RSTI_FRAME_SETUP);
    struct sockaddr_storage to = address_of("10.0.0.2:24500"); /* the port of the channel */
    CHECK(setup != NULL && rsti_netaddr_equal(&setup->address, &to));
    tell(h, "10.0.0.7:8050", "B", true);
    for (int i = 0; i < 70; i++) { /* silent for more than 5 s: looked up again */
        tell(h, "10.0.0.7:8050", "B", true);
        advance_alive(h, 100 * MS, 50 * MS);
    }
    to = address_of("10.0.0.7:24500");
    setup = last_frame(h, RSTI_FRAME_SETUP);
    CHECK(setup != NULL && rsti_netaddr_equal(&setup->address, &to));
    CHECK_EQ(counter(h, RSTI_SYSTEM_RESOLUTION_CHANGES), 1);
    harness_close(h);
}

/* A name that the system knows is never another address. */
TEST(told_names_redirect_nobody)
{
    harness_t *h = open_with_names();
    tell(h, B_AT, "localhost", true);
    const int64_t id = add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:udp?endpoint=localhost:24500", 10);
    CHECK(answer(h, RSTI_RSP_PUBLICATION_READY, id) != NULL);
    pass(h);
    const frame_t *setup = last_frame(h, RSTI_FRAME_SETUP);
    const struct sockaddr_storage to = address_of("127.0.0.1:24500");
    CHECK(setup != NULL && rsti_netaddr_equal(&setup->address, &to));
    harness_close(h);
}

/* N15: bytes from strangers on the socket of names */
TEST(strangers_are_counted)
{
    harness_t *h = open_with_names();
    const int64_t before = counter(h, RSTI_SYSTEM_INVALID_PACKETS);
    static const uint8_t junk[] = {
        24, 0, 0, 0, 0, 0, 7, 0, 9, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 1, 0, 'x', 0};
    rsti_socket_t *socket = socket_at(h, "127.0.0.1:8050");
    inject(h, socket, B_AT, junk, sizeof junk);
    inject(h, socket, B_AT, junk, 3);
    for (int i = 0; i < 30; i++) { /* more than one pass reads */
        inject(h, socket, B_AT, junk, sizeof junk);
    }
    pass(h);
    CHECK_EQ(counter(h, RSTI_SYSTEM_INVALID_PACKETS), before + 16);
    pass(h);
    CHECK_EQ(counter(h, RSTI_SYSTEM_INVALID_PACKETS), before + 32);
    tell(h, B_AT, "B", true);
    for (int i = 0; i < 200; i++) {
        char address[32], name[16];
        snprintf(address, sizeof address, "10.1.1.%d:8050", i);
        snprintf(name, sizeof name, "n%d", i);
        tell(h, address, name, false);
    }
    CHECK_EQ(value_of(h, RSTI_COUNTER_RESOLVER_NEIGHBORS, ""), 1);
    CHECK_EQ(error_count(h, "others stay unknown"), 1);
    harness_close(h);
}

static bool is_refused(const char *name, const char *value, const char *text)
{
    rst_driver_params_t params;
    rst_driver_t *driver = NULL;
    rsti_driver_params_init(&params);
    snprintf(params.dir, sizeof params.dir, "/dev/shm/rstream-name-agent-%d", (int)getpid());
    params.threading = RSTI_THREADING_INVOKER;
    if (rst_driver_params_set(&params, "resolver-interface", "127.0.0.1:0") < 0
        || rst_driver_params_set(&params, name, value) < 0) {
        return false;
    }
    if (rst_driver_open(&driver, &params) == 0) {
        rst_driver_close(driver);
        return false;
    }
    return strstr(rst_last_error_text(), text) != NULL;
}

/* N15 */
TEST(refusals_name_the_option)
{
    char many[512] = "h:1";
    for (int i = 1; i < 21; i++) {
        strcat(many, ",h:1");
    }
    CHECK(is_refused("resolver-interface", "no.such.interface.invalid:1",
        "resolver-interface=no.such"));
    CHECK(is_refused("resolver-bootstrap-neighbor", many, "20 at most"));
    CHECK(is_refused("resolver-bootstrap-neighbor", "a:1,,b:1",
        "resolver-bootstrap-neighbor=a:1,,b:1"));
    CHECK(!is_refused("resolver-name", "", "")); /* the host's */
}

CHECK_MAIN(RUN(a_driver_tells_its_name_and_is_told_others), RUN(channels_take_told_names),
    RUN(told_names_redirect_nobody), RUN(strangers_are_counted), RUN(refusals_name_the_option))
