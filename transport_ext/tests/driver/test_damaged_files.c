/* Another process cuts a file of the driver short while the driver has it mapped: what used the
 * file ends with an error that names it, and everything else goes on. */
#include "cnc/map_guard.h"
#include "logbuffer/appender.h"
#include "tests/driver/harness.h"

#define IPC "aeron:ipc?term-length=64k"
#define UDP "aeron:udp?endpoint=127.0.0.1:24400|term-length=64k"
#define SENDER "127.0.0.1:30001"

static bool offer(rsti_publication_t *publication)
{
    static const uint8_t message[100];
    rsti_appender_t appender;
    const rsti_iovec_t part = {message, sizeof message};
    rsti_appender_init(&appender, &publication->file.log, publication->pub_lmt,
        publication->session_id, publication->stream_id, false);
    return rsti_append(&appender, &part, 1, sizeof message, 0) > 0;
}

TEST(an_ipc_log_is_cut)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, IPC, 10);
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, IPC, 11);
    const int64_t id = add(h, RSTI_CMD_ADD_PUBLICATION, IPC, 10);
    (void)add(h, RSTI_CMD_ADD_PUBLICATION, IPC, 11);
    rsti_ipc_publication_t *cut = h->driver->conductor->ipc_publications.items[0];
    rsti_ipc_publication_t *other = h->driver->conductor->ipc_publications.items[1];
    CHECK(offer(&cut->base) && offer(&other->base));
    pass(h);
    CHECK_EQ(truncate(cut->base.file.path, 4096), 0);
    advance_alive(h, 2 * RSTI_NS_PER_S, 100 * MS);
    const answer_t *told = answer_of_type(h, RSTI_RSP_PUBLICATION_ERROR);
    CHECK(told != NULL);
    CHECK_EQ(told->response.registration_id, id);
    CHECK_EQ(error_count(h, "cut its log file short"), 1);
    CHECK(error_count(h, "stream 10") == 1);
    const int64_t before = *other->base.pub_pos;
    CHECK(offer(&other->base));
    pass(h);
    CHECK(*other->base.pub_pos > before);
    CHECK_EQ(h->driver->is_terminated, 0);
    harness_close(h);
}

TEST(a_udp_log_is_cut)
{
    harness_t *h = harness_open();
    const int64_t id = add(h, RSTI_CMD_ADD_PUBLICATION, UDP, 10);
    const rsti_network_publication_t *cut = h->driver->conductor->publications.items[0];
    CHECK_EQ(truncate(cut->base.file.path, 0), 0);
    advance_alive(h, 2 * RSTI_NS_PER_S, 100 * MS);
    const answer_t *told = answer_of_type(h, RSTI_RSP_PUBLICATION_ERROR);
    CHECK(told != NULL);
    CHECK_EQ(told->response.registration_id, id);
    CHECK_EQ(error_count(h, "cut its log file short"), 1);
    CHECK(add(h, RSTI_CMD_ADD_PUBLICATION, UDP, 12) > 0);
    harness_close(h);
}

TEST(an_images_log_is_cut)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:udp?endpoint=127.0.0.1:24500", 10);
    const rsti_receive_endpoint_t *endpoint = h->driver->conductor->receive_endpoints.items[0];
    const rsti_setup_t setup = {
        .frame = {RSTI_SETUP_LENGTH, 0, 0, RSTI_FRAME_SETUP},
        .session_id = 1234,
        .stream_id = 10,
        .initial_term_id = 7,
        .active_term_id = 7,
        .term_length = 65536,
        .mtu = 1408,
    };
    inject(h, endpoint->owned[0]->socket, SENDER, &setup, sizeof setup);
    pass(h);
    pass(h);
    CHECK_EQ(h->driver->conductor->images.count, 1);
    const rsti_image_t *image = h->driver->conductor->images.items[0];
    CHECK_EQ(truncate(image->file.path, 0), 0);
    uint8_t datagram[1024] = {0};
    rsti_data_header_t header;
    rsti_data_header_fill(&header, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA, 1234, 10, 7, 0);
    header.frame.frame_length = sizeof datagram;
    memcpy(datagram, &header, sizeof header);
    inject(h, endpoint->owned[0]->socket, SENDER, datagram, sizeof datagram);
    advance_alive(h, 2 * RSTI_NS_PER_S, 100 * MS);
    CHECK_EQ(error_count(h, "cut its log file short"), 1);
    CHECK(count_frames(h, RSTI_FRAME_ERR) > 0);
    harness_close(h);
}

TEST(cnc_dat_is_cut)
{
    char path[300];
    harness_t *h = harness_open();
    snprintf(path, sizeof path, "%s/cnc.dat", rst_driver_dir(h->driver));
    CHECK_EQ(truncate(path, 0), 0);
    pass(h);
    pass(h);
    CHECK_EQ(h->driver->is_terminated, 1);
    harness_close(h);
}

CHECK_MAIN(RUN(an_ipc_log_is_cut), RUN(a_udp_log_is_cut), RUN(an_images_log_is_cut),
    RUN(cnc_dat_is_cut))
