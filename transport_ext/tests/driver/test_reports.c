/* The driver's reports for later analysis: loss report, error log, cycle times. */
#include "tests/driver/harness.h"

#define SENDER "127.0.0.1:30001"
#define SESSION 1234

static void send_setup(harness_t *h, rsti_socket_t *socket, int32_t session_id)
{
    const rsti_setup_t setup = {
        .frame = {RSTI_SETUP_LENGTH, 0, 0, RSTI_FRAME_SETUP},
        .session_id = session_id,
        .stream_id = 10,
        .initial_term_id = 7,
        .active_term_id = 7,
        .term_length = 65536,
        .mtu = 1408,
    };
    inject(h, socket, SENDER, &setup, sizeof setup);
    pass(h);
    pass(h);
}

static void send_data(harness_t *h, rsti_socket_t *socket, int32_t session_id, int32_t offset,
    int32_t length)
{
    uint8_t datagram[2048] = {0};
    rsti_data_header_t header;
    rsti_data_header_fill(&header, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA, session_id, 10, 7,
        offset);
    header.frame.frame_length = length;
    header.reserved_value = 0;
    memcpy(datagram, &header, sizeof header);
    inject(h, socket, SENDER, datagram, (size_t)length);
}

typedef struct losses_t {
    int count;
    int64_t observations[4];
    int64_t bytes[4];
    int64_t first_ms[4];
    int32_t session_id[4];
    char text[4][256];
} losses_t;

static void on_loss(void *arg, const rsti_loss_view_t *view)
{
    losses_t *losses = arg;
    const int i = losses->count++ % 4;
    losses->observations[i] = view->observation_count;
    losses->bytes[i] = view->bytes_lost;
    losses->first_ms[i] = view->first_ms;
    losses->session_id[i] = view->session_id;
    (void)snprintf(losses->text[i], 256, "%d %.*s %.*s", view->stream_id, (int)view->channel_length,
        view->channel, (int)view->source_length, view->source);
}

static losses_t read_losses(const harness_t *h)
{
    losses_t losses = {0};
    rsti_loss_report_file_t file;
    if (rsti_loss_report_file_open(&file, h->dir) == 0) {
        (void)rsti_loss_report_read(file.base, file.length, on_loss, &losses);
        rsti_loss_report_file_close(&file);
    }
    return losses;
}

/* K7, E6: a gap requested many times is reported once; a second image has its own record. */
TEST(loss_is_in_the_report_once)
{
    const char *channel = "aeron:udp?endpoint=127.0.0.1:24500";
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, channel, 10);
    const rsti_receive_endpoint_t *endpoint = h->driver->conductor->receive_endpoints.items[0];
    rsti_socket_t *socket = endpoint->owned[0]->socket;
    send_setup(h, socket, SESSION);
    send_data(h, socket, SESSION, 0, 1024);
    send_data(h, socket, SESSION, 3072, 1024);
    pass(h);
    CHECK_EQ(read_losses(h).count, 0); /* not before its NAK is due: the data may just be late */
    const int64_t begin_ms = rsti_clock_epoch_ms(&h->clock);
    advance_alive(h, 500 * MS, MS);
    CHECK(count_frames(h, RSTI_FRAME_NAK) > 100);
    losses_t losses = read_losses(h);
    CHECK_EQ(losses.count, 1);
    CHECK_EQ(losses.observations[0], 1);
    CHECK_EQ(losses.bytes[0], 2048);
    CHECK_EQ(losses.first_ms[0] - begin_ms, 1);
    CHECK_STR(losses.text[0], "10 aeron:udp?endpoint=127.0.0.1:24500 127.0.0.1:30001");
    send_data(h, socket, SESSION, 1024, 1024); /* half of it comes: the rest was already reported */
    forget_frames(h);
    advance_alive(h, 100 * MS, MS);
    CHECK_EQ(read_losses(h).bytes[0], 2048);
    send_data(h, socket, SESSION, 8192, 1024); /* a second gap opens behind the first */
    send_data(h, socket, SESSION, 2048, 1024);
    advance_alive(h, 100 * MS, MS);
    losses = read_losses(h);
    CHECK_EQ(losses.observations[0], 2);
    CHECK_EQ(losses.bytes[0], 2048 + 4096);
    send_setup(h, socket, SESSION + 1);
    send_data(h, socket, SESSION + 1, 1024, 1024);
    advance_alive(h, 100 * MS, MS);
    losses = read_losses(h);
    CHECK_EQ(losses.count, 2);
    CHECK_EQ(losses.session_id[1], SESSION + 1);
    CHECK_EQ(losses.bytes[1], 1024);
    harness_close(h);
}

typedef struct labels_t {
    char text[RSTI_SYSTEM_COUNTER_COUNT][RSTI_COUNTER_LABEL_MAX + 1];
    int count;
    bool is_in_order;
} labels_t;

static bool on_counter(void *arg, const rsti_counter_view_t *view)
{
    labels_t *labels = arg;
    int32_t key;
    if (view->type_id != RSTI_COUNTER_SYSTEM || labels->count == RSTI_SYSTEM_COUNTER_COUNT) {
        return false;
    }
    memcpy(&key, view->key, sizeof key);
    labels->is_in_order = labels->is_in_order && key == labels->count
        && view->counter_id == labels->count && view->registration_id == labels->count
        && view->owner_id == -1;
    memcpy(labels->text[labels->count++], view->label, sizeof view->label);
    return true;
}

/* N26: the output of the tools; the whole list, because people search for these lines. */
TEST(system_counters_carry_their_labels)
{
    static const char *const wanted[] = {"Bytes sent", "Bytes received",
        "Failed offers to ReceiverProxy", "Failed offers to SenderProxy",
        "Failed offers to DriverConductorProxy", "NAKs sent", "NAKs received",
        "Status Messages sent", "Status Messages received", "Heartbeats sent",
        "Heartbeats received", "Retransmits sent", "Flow control under runs",
        "Flow control over runs", "Invalid packets", "Errors: version=0.1.0 commit=rstream",
        "Short sends", "Failed attempts to free log buffers",
        "Sender flow control limits, i.e. back-pressure events", "Unblocked Publications",
        "Unblocked Control Commands", "Possible TTL Asymmetry", "ControllableIdleStrategy status",
        "Loss gap fills", "Client liveness timeouts", "Resolution changes: driverName=null",
        "Conductor max cycle time doing its work in ns: INVOKER",
        "Conductor work cycle exceeded threshold count: threshold=100ms INVOKER",
        "Sender max cycle time doing its work in ns: INVOKER",
        "Sender work cycle exceeded threshold count: threshold=100ms INVOKER",
        "Receiver max cycle time doing its work in ns: INVOKER",
        "Receiver work cycle exceeded threshold count: threshold=100ms INVOKER",
        "NameResolver max time in ns", "NameResolver exceeded threshold count: threshold=5s",
        "Aeron software: version=0.1.0 commit=rstream", "Bytes currently mapped",
        "Retransmitted bytes", "Retransmit Pool Overflow count", "Error Frames received",
        "Error Frames sent", "Publications Revoked", "Publication Images Revoked",
        "Images rejected", "Control protocol version", "Status Messages rejected",
        "Failed offers to NativeResourceAgentProxy"};
    harness_t *h = harness_open();
    labels_t *labels = calloc(1, sizeof *labels);
    labels->is_in_order = true;
    rsti_counters_for_each(&h->driver->counters.counters, on_counter, labels);
    CHECK_EQ(labels->count, RSTI_SYSTEM_COUNTER_COUNT);
    CHECK_EQ(labels->count, sizeof wanted / sizeof wanted[0]);
    CHECK(labels->is_in_order);
    for (int i = 0; i < labels->count; i++) {
        CHECK_STR(labels->text[i], wanted[i]);
    }
    CHECK_EQ(counter(h, RSTI_SYSTEM_CONTROL_PROTOCOL_VERSION), 65536);
    CHECK_EQ(counter(h, RSTI_SYSTEM_VERSION), 256);
    CHECK_EQ(counter(h, RSTI_SYSTEM_BYTES_MAPPED),
        (int64_t)(h->driver->cnc.length + h->driver->loss_file.length));
    free(labels);
    harness_close(h);
}

/* L11: a pass later than the driver requested is a stall; a pass that the driver did not request is
 * none, however long the pause was. */
TEST(stalls_are_counted)
{
    harness_t *h = harness_open();
    static const int32_t exceeded[] = {RSTI_SYSTEM_CONDUCTOR_CYCLE_TIME_EXCEEDED,
        RSTI_SYSTEM_SENDER_CYCLE_TIME_EXCEEDED, RSTI_SYSTEM_RECEIVER_CYCLE_TIME_EXCEEDED};
    static const int32_t max[] = {RSTI_SYSTEM_CONDUCTOR_MAX_CYCLE_TIME,
        RSTI_SYSTEM_SENDER_MAX_CYCLE_TIME, RSTI_SYSTEM_RECEIVER_MAX_CYCLE_TIME};
    int64_t deadline_ns;
    for (int i = 0; i < 5; i++) {
        (void)rst_driver_do_work(h->driver, &deadline_ns);
    }
    h->manual.now_ns = deadline_ns;
    (void)rst_driver_do_work(h->driver, &deadline_ns);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(counter(h, exceeded[i]), 0);
        CHECK_EQ(counter(h, max[i]), 0);
    }
    h->manual.now_ns = deadline_ns + 100 * MS; /* exactly the threshold: not beyond it */
    (void)rst_driver_do_work(h->driver, &deadline_ns);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(counter(h, exceeded[i]), 0);
        CHECK_EQ(counter(h, max[i]), 100 * MS);
    }
    h->manual.now_ns = deadline_ns + 100 * MS + 1;
    (void)rst_driver_do_work(h->driver, &deadline_ns);
    h->manual.now_ns = deadline_ns + 7;
    (void)rst_driver_do_work(h->driver, &deadline_ns);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(counter(h, exceeded[i]), 1);
        CHECK_EQ(counter(h, max[i]), 100 * MS + 1);
    }
    harness_close(h);
}

static int epochs_asked;

static int64_t count_epoch_ns(void *arg)
{
    const rsti_manual_clock_t *manual = arg;
    epochs_asked++;
    return manual->epoch_ms_at_zero * RSTI_NS_PER_MS + manual->now_ns;
}

/* L11 */
TEST(the_wall_clock_is_asked_once_a_millisecond)
{
    harness_t *h = harness_open();
    h->driver->clock.epoch_ns = count_epoch_ns;
    h->manual.now_ns += MS;
    const int64_t begin_ns = h->manual.now_ns;
    const int64_t begin_ms = h->manual.epoch_ms_at_zero + begin_ns / RSTI_NS_PER_MS;
    const int64_t *now_ms = &h->driver->epoch.now_ms;
    epochs_asked = 0;
    for (int i = 0; i < 50; i++) { /* up to one nanosecond before the millisecond is over */
        h->manual.now_ns = begin_ns + i * (MS - 1) / 49;
        pass(h);
        CHECK_EQ(*now_ms, begin_ms);
    }
    CHECK_EQ(epochs_asked, 1);
    h->manual.now_ns = begin_ns + MS;
    pass(h);
    CHECK_EQ(*now_ms, begin_ms + 1);
    CHECK_EQ(epochs_asked, 2);
    advance(h, 100 * MS, MS / 10);
    CHECK_EQ(*now_ms, begin_ms + 101);
    CHECK_EQ(epochs_asked, 102);
    harness_close(h);
}

static int64_t terminate(harness_t *h, const char *token)
{
    rsti_command_t c = {
        .type = RSTI_CMD_TERMINATE_DRIVER,
        .channel = {token, (int32_t)strlen(token)},
    };
    return command(h, &c);
}

/* L16: a client may end the driver only if an option allows it; with a token, only a client that
 * gives the token. */
TEST(permission_to_terminate_the_driver)
{
    static const struct {
        int64_t is_allowed;
        const char *token;
        const char *given;
        bool ends;
    } rows[] = {
        {0, "", "", false},
        {0, "", "any", false},
        {0, "secret", "secret", false},
        {1, "", "", true},
        {1, "", "any", true},
        {1, "secret", "secret", true},
        {1, "secret", "", false},
        {1, "secret", "secre", false},
        {1, "secret", "secrets", false},
        {1, "secret", "Secret", false},
        {1, "secret", "secreT", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        harness_t *h = harness_open();
        h->driver->params.termination = rows[i].is_allowed;
        snprintf(h->driver->params.termination_token, sizeof h->driver->params.termination_token,
            "%s", rows[i].token);
        const int64_t id = terminate(h, rows[i].given);
        CHECK_EQ(rst_driver_is_terminated(h->driver), rows[i].ends);
        CHECK_EQ(answer_of_type(h, RSTI_RSP_ON_ERROR) != NULL, !rows[i].ends);
        CHECK_EQ(rows[i].ends
                || answer_of_type(h, RSTI_RSP_ON_ERROR)->response.correlation_id == id,
            1);
        CHECK_EQ(counter(h, RSTI_SYSTEM_ERRORS), rows[i].ends ? 0 : 1);
        harness_close(h);
    }
}

CHECK_MAIN(RUN(loss_is_in_the_report_once), RUN(system_counters_carry_their_labels),
    RUN(stalls_are_counted), RUN(the_wall_clock_is_asked_once_a_millisecond),
    RUN(permission_to_terminate_the_driver))
