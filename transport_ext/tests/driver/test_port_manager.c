/* F10, N16: ports for channels that ask for any port. */
#include "driver/base/port_manager.h"

#include "tests/check.h"
#include "tests/driver/harness.h"

static rsti_port_manager_t manager;

/* The port for an address; 0 when none is left. */
static int take(const char *text)
{
    struct sockaddr_storage address = address_of(text);
    return rsti_port_manager_take(&manager, &address) == 0 ? rsti_netaddr_port(&address) : 0;
}

/* F10 */
TEST(the_system_chooses_without_a_range)
{
    CHECK_EQ(rsti_port_manager_init(&manager, "x", ""), 0);
    CHECK_EQ(take("127.0.0.1:0"), 0);
    CHECK_EQ(take("127.0.0.1:7"), 7);
    rsti_port_manager_give(&manager, 7);
    CHECK_EQ(rsti_port_manager_init(&manager, "x", "0 0"), 0);
    CHECK_EQ(take("127.0.0.1:0"), 0);
    rsti_port_manager_fini(&manager);
}

/* F10, N16 */
TEST(ports_go_round_and_used_ones_are_skipped)
{
    CHECK_EQ(rsti_port_manager_init(&manager, "x", "20000 20003"), 0);
    CHECK_EQ(take("127.0.0.1:20001"), 20001); /* a channel asked for this very port */
    CHECK_EQ(take("127.0.0.1:30000"), 30000); /* outside of the managed range */
    CHECK_EQ(take("127.0.0.1:0"), 20000);
    CHECK_EQ(take("[::1]:0"), 20002);
    rsti_port_manager_give(&manager, 20000);
    CHECK_EQ(take("0.0.0.0:0"), 20003); /* not the one just given back */
    CHECK_EQ(take("127.0.0.1:0"), 20000);
    struct sockaddr_storage address = address_of("127.0.0.1:0");
    CHECK_EQ(rsti_port_manager_take(&manager, &address), -RST_EINUSE);
    CHECK(strstr(rst_last_error_text(), "20003") != NULL);
    CHECK_EQ(take("127.0.0.1:20001"), 20001); /* a second user, on another address */
    rsti_port_manager_give(&manager, 20001);
    CHECK_EQ(take("127.0.0.1:0"), 0); /* the first user still has it */
    rsti_port_manager_give(&manager, 20001);
    CHECK_EQ(take("127.0.0.1:0"), 20001);
    rsti_port_manager_give(&manager, 30000);
    rsti_port_manager_fini(&manager);
}

/* F10 */
TEST(bad_ranges_are_refused)
{
    static const char *const ranges[] = {
        "20000", "20001 20000", "0 5", "1 65536", "a b", "1 2 3", "-1 5", "20000-20010", " ", "1 "};
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        if (rsti_port_manager_init(&manager, "sender-wildcard-port-range", ranges[i]) != -RST_EINVAL
            || strstr(rst_last_error_text(), "sender-wildcard-port-range=") == NULL) {
            CHECK_FAIL("\"%s\": %s", ranges[i], rst_last_error_text());
        }
    }
    CHECK_EQ(rsti_port_manager_init(&manager, "x", "1 65535"), 0);
    rsti_port_manager_fini(&manager);
}

/* What a client reads from the address: the counter's label (type 14). */
static const char *label_of(const harness_t *h, int32_t counter_id)
{
    static char text[RSTI_COUNTER_LABEL_MAX + 1];
    const rsti_counter_metadata_t *metadata = &h->driver->counters.counters.metadata[counter_id];
    snprintf(text, sizeof text, "%.*s", (int)metadata->label_length, metadata->label);
    return text;
}

/* F10, N16 */
TEST(channels_with_port_0_get_ports_of_the_range)
{
    harness_t *h = harness_open();
    rst_driver_t *driver = h->driver;
    CHECK_EQ(rsti_port_manager_init(&driver->conductor->sender_ports, "x", "21000 21001"), 0);
    CHECK_EQ(rsti_port_manager_init(&driver->conductor->receiver_ports, "x", "22000 22000"), 0);
    const char *mdc = "aeron:udp?control=127.0.0.1:0|control-mode=dynamic";
    const int64_t first = add(h, RSTI_CMD_ADD_PUBLICATION, mdc, 10);
    (void)add(h, RSTI_CMD_ADD_PUBLICATION, mdc, 10); /* each has its own socket */
    const int64_t third = add(h, RSTI_CMD_ADD_PUBLICATION, mdc, 10);
    CHECK(answer(h, RSTI_RSP_ON_ERROR, third) != NULL);
    CHECK_EQ(driver->conductor->send_endpoints.count, 2);
    const rsti_send_endpoint_t *endpoint = driver->conductor->send_endpoints.items[0];
    CHECK_EQ(rsti_netaddr_port(&endpoint->socket->local), 21000);
    CHECK(strstr(label_of(h, endpoint->local_sockaddr_id), "127.0.0.1:21000") != NULL);
    CHECK(strstr(label_of(h, endpoint->channel_status_id), "127.0.0.1:21000") != NULL);
    /* Unicast publications are not found by their port: the system chooses it. */
    (void)add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:udp?endpoint=127.0.0.1:24400", 10);
    endpoint = driver->conductor->send_endpoints.items[2];
    CHECK(rsti_netaddr_port(&endpoint->socket->local) >= 50000);

    const int64_t reader = add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:udp?endpoint=127.0.0.1:0", 10);
    const rsti_receive_endpoint_t *receiving = driver->conductor->receive_endpoints.items[0];
    CHECK_EQ(rsti_netaddr_port(&receiving->owned[0]->socket->local), 22000);
    const int64_t refused = add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:udp?endpoint=127.0.0.1:0", 10);
    CHECK(answer(h, RSTI_RSP_ON_ERROR, refused) != NULL);

    /* After they are closed the ports are free again. */
    (void)take_away(h, RSTI_CMD_REMOVE_PUBLICATION, first);
    (void)take_away(h, RSTI_CMD_REMOVE_SUBSCRIPTION, reader);
    advance_alive(h, 12000 * MS, 100 * MS);
    const int64_t again = add(h, RSTI_CMD_ADD_PUBLICATION, mdc, 10);
    CHECK(answer(h, RSTI_RSP_PUBLICATION_READY, again) != NULL);
    const int64_t reader_again = add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:udp?endpoint=127.0.0.1:0",
        10);
    CHECK(answer(h, RSTI_RSP_SUBSCRIPTION_READY, reader_again) != NULL);
    harness_close(h);
}

/* F10: a port of the range that another program has is passed over. */
TEST(occupied_port_is_skipped)
{
    harness_t *h = harness_open();
    rst_driver_t *driver = h->driver;
    CHECK_EQ(rsti_port_manager_init(&driver->conductor->sender_ports, "x", "21000 21002"), 0);
    rsti_socket_t *foreign;
    rsti_socket_params_t params = {.bind_address = address_of("127.0.0.1:21000")};
    CHECK_EQ(h->media.table->open(h, &params, &foreign), 0);
    (void)add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:udp?control=127.0.0.1:0|control-mode=dynamic",
        10);
    const rsti_send_endpoint_t *endpoint = driver->conductor->send_endpoints.items[0];
    CHECK_EQ(rsti_netaddr_port(&endpoint->socket->local), 21001);
    harness_close(h);
}

/* N17: the error names the address, nothing is left, and it works once the port is free. */
TEST(a_busy_port_is_an_error_until_it_is_free)
{
    static const struct {
        int32_t command, ready, counter_type;
        const char *uri;
    } rows[] = {
        {RSTI_CMD_ADD_PUBLICATION, RSTI_RSP_PUBLICATION_READY, RSTI_COUNTER_SEND_CHANNEL_STATUS,
            "aeron:udp?control=127.0.0.1:24401|control-mode=dynamic"},
        {RSTI_CMD_ADD_SUBSCRIPTION, RSTI_RSP_SUBSCRIPTION_READY,
            RSTI_COUNTER_RECEIVE_CHANNEL_STATUS, "aeron:udp?endpoint=127.0.0.1:24401"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        harness_t *h = harness_open();
        const rsti_conductor_t *conductor = h->driver->conductor;
        const rsti_counters_t *counters = &h->driver->counters.counters;
        rsti_socket_t *foreign;
        rsti_socket_params_t params = {.bind_address = address_of("127.0.0.1:24401")};
        CHECK_EQ(h->media.table->open(h, &params, &foreign), 0);
        /* Behind the heartbeat counter of the client. */
        const int32_t id = h->driver->counters.high_water_mark + 2;
        const int64_t refused = add(h, rows[i].command, rows[i].uri, 10);
        CHECK(answer(h, RSTI_RSP_ON_ERROR, refused) != NULL);
        CHECK_EQ(conductor->send_endpoints.count + conductor->receive_endpoints.count, 0);
        /* Its counter keeps the state until its id is used again. */
        CHECK_EQ(counters->metadata[id].type_id, rows[i].counter_type);
        CHECK_EQ(counters->metadata[id].state, RSTI_COUNTER_RECLAIMED);
        CHECK_EQ(counters->values[id].registration_id, refused);
        CHECK_EQ(counter(h, id), -1);
        h->media.table->close(h, foreign);
        const int64_t served = add(h, rows[i].command, rows[i].uri, 10);
        CHECK(answer(h, rows[i].ready, served) != NULL);
        const int32_t served_id = rsti_counters_find(counters, rows[i].counter_type, served);
        CHECK(served_id >= 0);
        CHECK_EQ(counter(h, served_id), 1);
        harness_close(h);
    }
}

CHECK_MAIN(RUN(the_system_chooses_without_a_range), RUN(ports_go_round_and_used_ones_are_skipped),
    RUN(bad_ranges_are_refused), RUN(channels_with_port_0_get_ports_of_the_range),
    RUN(occupied_port_is_skipped), RUN(a_busy_port_is_an_error_until_it_is_free))
