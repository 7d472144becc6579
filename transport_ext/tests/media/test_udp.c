/* test_udp.c: datagrams on the loopback are sent and received in bursts; late errors of UDP are
 * swallowed, real errors are reported. Each wait is for a condition with a deadline. */
#include "media/media.h"
#include "util/error.h"
#include "util/netaddr.h"

#include "tests/check.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#define SLOTS 64
#define SLOT_SIZE RSTI_DATAGRAM_MAX

static rsti_media_t media;
static uint8_t memory[SLOTS][SLOT_SIZE];
static rsti_datagram_t slots[SLOTS];

static void reset_slots(size_t capacity)
{
    for (int i = 0; i < SLOTS; i++) {
        slots[i].data = memory[i];
        slots[i].length = capacity;
    }
}

static rsti_socket_params_t params_for(const char *bind_to, const char *connect_to)
{
    rsti_socket_params_t params;
    memset(&params, 0, sizeof params);
    if (bind_to != NULL) {
        (void)rsti_netaddr_resolve(bind_to, &params.bind_address);
    }
    if (connect_to != NULL) {
        (void)rsti_netaddr_resolve(connect_to, &params.connect_address);
    }
    return params;
}

static rsti_socket_t *open_socket(const rsti_socket_params_t *params)
{
    rsti_socket_t *socket = NULL;
    return media.table->open(media.arg, params, &socket) == 0 ? socket : NULL;
}

static bool wait_readable(rsti_socket_t *socket)
{
    struct pollfd watched = {.fd = media.table->fd(media.arg, socket), .events = POLLIN};
    return poll(&watched, 1, 5000) == 1;
}

/* All of different lengths, or runs of equal lengths that end with a shorter one, as segmentation
 * needs. */
static size_t length_of(int index, bool segmented)
{
    if (!segmented) {
        return 64 + (size_t)index;
    }
    return index % 20 == 19 ? 300 : 1408;
}

static void burst_between(const char *address, bool segmented, bool coalesced)
{
    rsti_socket_params_t params = params_for(address, NULL);
    params.so_rcvbuf = 256 * 1024;
    params.use_coalescing = coalesced;
    rsti_socket_t *receiver = open_socket(&params);
    CHECK(receiver != NULL);
    rsti_socket_params_t sending;
    memset(&sending, 0, sizeof sending);
    sending.use_segmentation = segmented;
    media.table->local_address(media.arg, receiver, &sending.connect_address);
    CHECK(rsti_netaddr_port(&sending.connect_address) != 0);
    rsti_socket_t *sender = open_socket(&sending);
    CHECK(sender != NULL);

    for (int i = 0; i < SLOTS; i++) {
        slots[i].data = memory[i];
        slots[i].length = length_of(i, segmented);
        memset(memory[i], i, SLOT_SIZE);
    }
    CHECK_EQ(media.table->send(media.arg, sender, slots, SLOTS), SLOTS);

    struct sockaddr_storage source;
    media.table->local_address(media.arg, sender, &source);
    int expected = 0, entries = 0;
    while (expected < SLOTS) {
        CHECK(wait_readable(receiver));
        memset(memory, 0xEE, sizeof memory);
        reset_slots(SLOT_SIZE);
        const int received = media.table->receive(media.arg, receiver, slots, SLOTS);
        CHECK(received > 0);
        entries += received;
        for (int i = 0; i < received; i++) {
            CHECK_EQ(rsti_netaddr_port(&slots[i].address), rsti_netaddr_port(&source));
            CHECK(coalesced || slots[i].segment == 0);
            for (size_t at = 0; at < slots[i].length; expected++) {
                const size_t length = rsti_datagram_length_at(&slots[i], at);
                CHECK_EQ(length, length_of(expected, segmented));
                CHECK_EQ(memory[i][at], expected);
                CHECK_EQ(memory[i][at + length - 1], expected);
                at += length;
            }
        }
    }
    CHECK_EQ(entries < SLOTS, segmented && coalesced);
    reset_slots(SLOT_SIZE);
    CHECK_EQ(media.table->receive(media.arg, receiver, slots, SLOTS), 0);
    media.table->close(media.arg, sender);
    media.table->close(media.arg, receiver);
}

/* N25: the system notes the time of arrival, on sockets that ask for it. */
TEST(times_of_arrival)
{
    for (int round = 0; round < 2; round++) {
        rsti_socket_params_t params = params_for("127.0.0.1:0", NULL);
        params.has_arrival_times = round == 1;
        rsti_socket_t *receiver = open_socket(&params);
        rsti_socket_params_t sending = {0};
        media.table->local_address(media.arg, receiver, &sending.connect_address);
        rsti_socket_t *sender = open_socket(&sending);
        const rsti_clock_t clock = rsti_clock_system();
        const int64_t begin_ns = rsti_clock_epoch_ns(&clock);
        for (int burst = 0; burst < 3; burst++) { /* the room for the time is used again */
            reset_slots(100);
            CHECK_EQ(media.table->send(media.arg, sender, slots, 2), 2);
            for (int expected = 0; expected < 2;) {
                CHECK(wait_readable(receiver));
                reset_slots(SLOT_SIZE);
                slots[0].arrived_ns = slots[1].arrived_ns = 7;
                const int received = media.table->receive(media.arg, receiver, slots, SLOTS);
                for (int i = 0; i < received; i++, expected++) {
                    CHECK_EQ(slots[i].length, 100);
                    CHECK(round == 1 ? slots[i].arrived_ns >= begin_ns
                                && slots[i].arrived_ns <= rsti_clock_epoch_ns(&clock)
                                     : slots[i].arrived_ns == 0);
                }
            }
        }
        media.table->close(media.arg, sender);
        media.table->close(media.arg, receiver);
    }
}

TEST(burst_arrives_in_order_ipv4)
{
    burst_between("127.0.0.1:0", false, false);
}

/* The receiver cannot distinguish a run that the kernel split from datagrams sent one by one. */
TEST(segmented_burst_arrives_as_single_datagrams)
{
    int64_t sent = 0, received = 0;
    rsti_media_udp_count(&media, &sent, &received);
    burst_between("127.0.0.1:0", true, false);
    rsti_media_udp_count(&media, NULL, NULL);
    CHECK_EQ(sent, SLOTS);
    CHECK_EQ(received, SLOTS);
}

/* And handed over as runs, if the socket asks for that. */
TEST(segmented_burst_arrives_as_runs)
{
    int64_t sent = 0, received = 0;
    rsti_media_udp_count(&media, &sent, &received);
    burst_between("127.0.0.1:0", true, true);
    burst_between("127.0.0.1:0", false, true);
    rsti_media_udp_count(&media, NULL, NULL);
    CHECK_EQ(sent, 2 * SLOTS);
    CHECK_EQ(received, 2 * SLOTS);
}

TEST(burst_arrives_in_order_ipv6)
{
    const rsti_socket_params_t params = params_for("[::1]:0", NULL);
    rsti_socket_t *socket = open_socket(&params);
    if (socket == NULL) {
        printf("skipped: no IPv6 here (%s)\n", rst_last_error_text());
        return;
    }
    media.table->close(media.arg, socket);
    burst_between("[::1]:0", false, false);
    burst_between("[::1]:0", true, true);
}

TEST(sends_to_each_address_when_not_connected)
{
    const rsti_socket_params_t any = params_for("127.0.0.1:0", NULL);
    rsti_socket_t *sender = open_socket(&any);
    rsti_socket_t *a = open_socket(&any);
    rsti_socket_t *b = open_socket(&any);
    CHECK(sender != NULL && a != NULL && b != NULL);
    reset_slots(32);
    memset(memory[0], 'a', 32);
    memset(memory[1], 'b', 32);
    media.table->local_address(media.arg, a, &slots[0].address);
    media.table->local_address(media.arg, b, &slots[1].address);
    CHECK_EQ(media.table->send(media.arg, sender, slots, 2), 2);
    CHECK(wait_readable(a) && wait_readable(b));
    reset_slots(SLOT_SIZE);
    CHECK_EQ(media.table->receive(media.arg, a, slots, SLOTS), 1);
    CHECK_EQ(memory[0][0], 'a');
    reset_slots(SLOT_SIZE);
    CHECK_EQ(media.table->receive(media.arg, b, slots, SLOTS), 1);
    CHECK_EQ(memory[0][0], 'b');
    media.table->close(media.arg, sender);
    media.table->close(media.arg, a);
    media.table->close(media.arg, b);
}

/* No receiver: the loopback reports that at the next call on the connected socket. */
TEST(refusals_are_swallowed)
{
    const rsti_socket_params_t any = params_for("127.0.0.1:0", NULL);
    rsti_socket_t *gone = open_socket(&any);
    CHECK(gone != NULL);
    rsti_socket_params_t params;
    memset(&params, 0, sizeof params);
    media.table->local_address(media.arg, gone, &params.connect_address);
    media.table->close(media.arg, gone);
    rsti_socket_t *sender = open_socket(&params);
    CHECK(sender != NULL);
    for (int i = 0; i < 20; i++) {
        reset_slots(32);
        CHECK_EQ(media.table->send(media.arg, sender, slots, 3), 3);
        reset_slots(SLOT_SIZE);
        CHECK_EQ(media.table->receive(media.arg, sender, slots, SLOTS), 0);
    }
    media.table->close(media.arg, sender);
}

/* A SETUP sent to a peer that just came up must arrive, though an older one was refused. */
TEST(first_datagram_after_a_refusal_arrives)
{
    const rsti_socket_params_t any = params_for("127.0.0.1:0", NULL);
    rsti_socket_t *receiver = open_socket(&any);
    CHECK(receiver != NULL);
    rsti_socket_params_t sending, again;
    memset(&sending, 0, sizeof sending);
    memset(&again, 0, sizeof again);
    media.table->local_address(media.arg, receiver, &sending.connect_address);
    again.bind_address = sending.connect_address;
    media.table->close(media.arg, receiver);
    rsti_socket_t *sender = open_socket(&sending);
    reset_slots(32);
    CHECK_EQ(media.table->send(media.arg, sender, slots, 1), 1);
    receiver = open_socket(&again);
    CHECK(receiver != NULL);
    memory[0][0] = 'x';
    CHECK_EQ(media.table->send(media.arg, sender, slots, 1), 1);
    CHECK(wait_readable(receiver));
    reset_slots(SLOT_SIZE);
    CHECK_EQ(media.table->receive(media.arg, receiver, slots, SLOTS), 1);
    CHECK_EQ(memory[0][0], 'x');
    media.table->close(media.arg, sender);
    media.table->close(media.arg, receiver);
}

TEST(cut_datagram_is_handed_on_empty)
{
    const rsti_socket_params_t any = params_for("127.0.0.1:0", NULL);
    rsti_socket_t *socket = open_socket(&any);
    CHECK(socket != NULL);
    reset_slots(200);
    media.table->local_address(media.arg, socket, &slots[0].address);
    CHECK_EQ(media.table->send(media.arg, socket, slots, 1), 1);
    CHECK(wait_readable(socket));
    reset_slots(100);
    CHECK_EQ(media.table->receive(media.arg, socket, slots, SLOTS), 1);
    CHECK_EQ(slots[0].length, 0);
    media.table->close(media.arg, socket);
}

TEST(full_send_buffer_takes_fewer)
{
    /* A slow network cannot be had here: a full buffer is tested by the contract only, send never
     * returns more than it was given. */
    const rsti_socket_params_t any = params_for("127.0.0.1:0", NULL);
    rsti_socket_t *socket = open_socket(&any);
    CHECK(socket != NULL);
    reset_slots(2048);
    for (int i = 0; i < SLOTS; i++) {
        media.table->local_address(media.arg, socket, &slots[i].address);
    }
    for (int round = 0; round < 50; round++) {
        const int taken = media.table->send(media.arg, socket, slots, SLOTS);
        CHECK(taken >= 0 && taken <= SLOTS);
    }
    CHECK_EQ(media.table->send(media.arg, socket, slots, 0), 0);
    CHECK_EQ(media.table->receive(media.arg, socket, slots, 0), 0);
    media.table->close(media.arg, socket);
}

TEST(errors_name_the_address)
{
    const rsti_socket_params_t any = params_for("127.0.0.1:0", NULL);
    rsti_socket_t *socket = open_socket(&any);
    CHECK(socket != NULL);
    rsti_socket_params_t same;
    char text[RSTI_NETADDR_TEXT_MAX];
    memset(&same, 0, sizeof same);
    media.table->local_address(media.arg, socket, &same.bind_address);
    rsti_socket_t *second = NULL;
    CHECK_EQ(media.table->open(media.arg, &same, &second), -RST_EINUSE);
    CHECK(strstr(rst_last_error_text(), rsti_netaddr_format(&same.bind_address, text, sizeof text))
        != NULL);
    /* Longer than UDP can carry. */
    static uint8_t large[RSTI_DATAGRAM_MAX];
    slots[0].data = large;
    slots[0].length = sizeof large;
    slots[0].address = same.bind_address;
    CHECK_EQ(media.table->send(media.arg, socket, slots, 1), -RST_ESYS);
    CHECK(strstr(rst_last_error_text(), "65536") != NULL);
    /* The error belongs to the second: the first is accepted, the error comes with the next call.
     */
    slots[1] = slots[0];
    slots[0].data = memory[0];
    slots[0].length = 32;
    CHECK_EQ(media.table->send(media.arg, socket, slots, 2), 1);
    media.table->close(media.arg, socket);

    rsti_socket_params_t none;
    memset(&none, 0, sizeof none);
    CHECK_EQ(media.table->open(media.arg, &none, &second), -RST_EINVAL);
}

TEST(receive_buffer_is_reported_as_usable_bytes)
{
    rsti_socket_params_t params = params_for("127.0.0.1:0", NULL);
    params.so_rcvbuf = 64 * 1024;
    params.so_sndbuf = 64 * 1024;
    rsti_socket_t *socket = open_socket(&params);
    CHECK(socket != NULL);
    CHECK_EQ(media.table->granted_rcvbuf(media.arg, socket), 64 * 1024);
    CHECK_EQ(media.table->next_deadline_ns(media.arg, socket), RSTI_NO_DEADLINE);
    const int flags = fcntl(media.table->fd(media.arg, socket), F_GETFD);
    CHECK((flags & FD_CLOEXEC) != 0);
    media.table->close(media.arg, socket);
}

/* Only datagrams that the system accepted count: a refused attempt is no datagram. */
TEST(datagrams_are_counted)
{
    int64_t sent = 0, received = 0;
    rsti_media_udp_count(&media, &sent, &received);
    burst_between("127.0.0.1:0", false, false);
    CHECK_EQ(sent, SLOTS);
    CHECK_EQ(received, SLOTS);

    const rsti_socket_params_t any = params_for("127.0.0.1:0", NULL);
    rsti_socket_t *gone = open_socket(&any);
    CHECK(gone != NULL);
    rsti_socket_params_t params;
    memset(&params, 0, sizeof params);
    media.table->local_address(media.arg, gone, &params.connect_address);
    media.table->close(media.arg, gone);
    rsti_socket_t *sender = open_socket(&params);
    CHECK(sender != NULL);
    reset_slots(32);
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(media.table->send(media.arg, sender, slots, 1), 1);
    }
    CHECK_EQ(sent, SLOTS + 4); /* each was tried again after the refusal of the one before */
    CHECK_EQ(received, SLOTS);
    media.table->close(media.arg, sender);
    rsti_media_udp_count(&media, NULL, NULL);
}

static void udp_header(uint8_t *packet, uint16_t port, size_t length)
{
    const uint16_t fields[4] = {0, htons(port), htons((uint16_t)length), 0};
    memcpy(packet, fields, sizeof fields);
}

/* No answer can be sent to port 0: without this each one would end in the error log. */
TEST(datagram_from_port_0_is_handed_on_empty)
{
    const int raw = socket(AF_INET, SOCK_RAW, IPPROTO_UDP);
    if (raw < 0) {
        CHECK_EQ(errno, EPERM); /* only a privileged process can forge a source port */
        return;
    }
    const rsti_socket_params_t any = params_for("127.0.0.1:0", NULL);
    rsti_socket_t *receiver = open_socket(&any);
    CHECK(receiver != NULL);
    struct sockaddr_storage to;
    media.table->local_address(media.arg, receiver, &to);
    uint8_t packet[8 + 32] = {0};
    udp_header(packet, rsti_netaddr_port(&to), sizeof packet);
    CHECK_EQ(sendto(raw, packet, sizeof packet, 0, (struct sockaddr *)&to,
                 sizeof(struct sockaddr_in)),
        (ssize_t)sizeof packet);
    CHECK(wait_readable(receiver));
    reset_slots(SLOT_SIZE);
    CHECK_EQ(media.table->receive(media.arg, receiver, slots, SLOTS), 1);
    CHECK_EQ(slots[0].length, 0);
    media.table->close(media.arg, receiver);
    close(raw);
}

int main(int argc, char **argv)
{
    static const check_case_t cases[] = {
        RUN(times_of_arrival),
        RUN(burst_arrives_in_order_ipv4),
        RUN(segmented_burst_arrives_as_single_datagrams),
        RUN(segmented_burst_arrives_as_runs),
        RUN(burst_arrives_in_order_ipv6),
        RUN(sends_to_each_address_when_not_connected),
        RUN(refusals_are_swallowed),
        RUN(first_datagram_after_a_refusal_arrives),
        RUN(cut_datagram_is_handed_on_empty),
        RUN(datagram_from_port_0_is_handed_on_empty),
        RUN(full_send_buffer_takes_fewer),
        RUN(errors_name_the_address),
        RUN(datagrams_are_counted),
        RUN(receive_buffer_is_reported_as_usable_bytes),
    };
    (void)rsti_media_udp_create(&media);
    const int result = check_run(cases, sizeof cases / sizeof cases[0], argc > 1 ? argv[1] : NULL);
    rsti_media_udp_destroy(&media);
    return result;
}
