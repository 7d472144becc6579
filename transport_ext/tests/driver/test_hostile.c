/* Shared memory and the network may contain anything: the driver goes on, bounded in time, bytes
 * and log entries, and reports what it found. */
#include "logbuffer/appender.h"
#include "tests/driver/harness.h"

#define UDP                                                                                        \
    "aeron:udp?endpoint=127.0.0.1:24400|init-term-id=5|term-id=5|term-offset=0|term-length=64k"
#define RECEIVER "127.0.0.1:24400"
#define SENDER "127.0.0.1:30001"
#define IPC "aeron:ipc?term-length=64k"

static const int64_t nonsense[] = {
    INT64_MAX, INT64_MIN, -1, -64, 33, INT64_C(1) << 40, INT64_MAX - 31, (INT64_C(1) << 62) + 64};
#define NONSENSE_COUNT (sizeof nonsense / sizeof nonsense[0])

typedef struct publisher_t {
    harness_t *h;
    int64_t id;
    rsti_network_publication_t *publication;
    rsti_socket_t *socket;
    rsti_appender_t appender;
} publisher_t;

static void send_sm(publisher_t *p, int64_t position)
{
    const rsti_sm_t sm = {
        .frame = {RSTI_SM_LENGTH, 0, 0, RSTI_FRAME_SM},
        .session_id = p->publication->base.session_id,
        .stream_id = 10,
        .consumption_term_id = 5 + (int32_t)(position >> 16),
        .consumption_term_offset = (int32_t)(position & 0xFFFF),
        .receiver_window = 32 * 1024,
        .receiver_id = 99,
    };
    inject(p->h, p->socket, RECEIVER, &sm, sizeof sm);
}

static void publisher_open(publisher_t *p)
{
    p->h = harness_open();
    p->id = add(p->h, RSTI_CMD_ADD_PUBLICATION, UDP, 10);
    p->publication = p->h->driver->conductor->publications.items[0];
    p->socket = p->publication->endpoint->socket;
    rsti_publication_t *base = &p->publication->base;
    rsti_appender_init(&p->appender, &base->file.log, base->pub_lmt, base->session_id, 10, false);
    send_sm(p, 0);
    pass(p->h);
    pass(p->h);
    forget_frames(p->h);
}

static int64_t offer(rsti_appender_t *appender, size_t length)
{
    static uint8_t message[8192];
    const rsti_iovec_t part = {message, length};
    return rsti_append(appender, &part, 1, length, 0);
}

/* ---- a producer may lie one message beyond the limit ---- */

TEST(limit_reserves_one_message_more)
{
    publisher_t p;
    publisher_open(&p);
    const rsti_publication_t *base = &p.publication->base;
    CHECK_EQ(base->file.reserved_terms, 1);
    while (*base->pub_lmt < 58 * 1024) {
        CHECK(offer(&p.appender, 992) > 0);
        pass(p.h);
        forget_frames(p.h);
        send_sm(&p, *p.publication->snd_pos);
        pass(p.h);
    }
    CHECK(*base->pub_lmt < 64 * 1024);
    CHECK_EQ(base->file.reserved_terms, 2);
    harness_close(p.h);
}

TEST(limit_stays_when_that_message_has_no_room)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_PUBLICATION, IPC, 10);
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", 10);
    rsti_publication_t *base = h->driver->conductor->ipc_publications.items[0];
    rsti_appender_t appender;
    rsti_appender_init(&appender, &base->file.log, base->pub_lmt, base->session_id, 10, false);
    CHECK_EQ(unlink(base->file.path), 0); /* no space can be reserved any more */
    int64_t position = 0;
    for (int i = 0; i < 100; i++) {
        const int64_t result = offer(&appender, 992);
        position = result > 0 ? result : position;
        *base->subscribers.items[0].position = position;
        pass(h);
    }
    CHECK(*base->pub_lmt + rsti_max_message_length(64 * 1024) < 64 * 1024);
    CHECK(position > 40 * 1024);
    CHECK_EQ(error_count(h, "limit"), 1);
    const rsti_log_storage_t *told = &base->file.log.metadata->ext.storage;
    CHECK_EQ(told->needed, 64 * 1024); /* the publisher learns that it is not the readers */
    CHECK_EQ(told->usable, RSTI_STORAGE_UNREACHED);
    harness_close(h);
}

/* ---- shared memory ---- */

TEST(nonsense_in_an_ipc_position)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_PUBLICATION, IPC, 10);
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", 10);
    rsti_publication_t *base = h->driver->conductor->ipc_publications.items[0];
    rsti_appender_t appender;
    rsti_appender_init(&appender, &base->file.log, base->pub_lmt, base->session_id, 10, false);
    int64_t position = offer(&appender, 992);
    int64_t *word = base->subscribers.items[0].position;
    for (size_t i = 0; i < NONSENSE_COUNT; i++) {
        *word = nonsense[i];
        pass(h);
        CHECK_EQ(*base->pub_lmt, 32 * 1024);
        CHECK_EQ(base->clean_position, 0);
    }
    CHECK_EQ(error_count(h, "impossible position"), 1);
    /* The counter is valid again: the stream continues over many terms. */
    for (int i = 0; i < 400; i++) {
        *word = position;
        pass(h);
        const int64_t result = offer(&appender, 992);
        position = result > 0 ? result : position;
    }
    CHECK(position > 5 * 65536);
    harness_close(h);
}

TEST(nonsense_in_log_metadata)
{
    harness_t *h = harness_open();
    const int64_t pub = add(h, RSTI_CMD_ADD_PUBLICATION, IPC, 10);
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", 10);
    rsti_publication_t *base = h->driver->conductor->ipc_publications.items[0];
    rsti_log_metadata_t *metadata = base->file.log.metadata;
    for (size_t i = 0; i < NONSENSE_COUNT; i++) {
        metadata->term_length = (int32_t)nonsense[i];
        metadata->mtu_length = (int32_t)(nonsense[i] >> 32);
        metadata->initial_term_id = 12345;
        metadata->active_term_count = (int32_t)nonsense[i];
        for (int t = 0; t < RSTI_PARTITIONS; t++) {
            metadata->term_tail_counters[t] = nonsense[i] ^ t;
        }
        memset(metadata->ext.slots, 0x77, sizeof metadata->ext.slots);
        metadata->ext.data_armed = 1;
        metadata->ext.limit_armed = 1;
        *base->pub_lmt = nonsense[i];
        advance_alive(h, 2 * RSTI_NS_PER_S, 500 * MS);
    }
    /* The client that corrupted the memory dies: the stream ends at its readers' positions and does
     * not hang. */
    (void)take_away(h, RSTI_CMD_REMOVE_PUBLICATION, pub);
    advance_alive(h, 3 * RSTI_NS_PER_S, 500 * MS);
    CHECK(answer(h, RSTI_RSP_UNAVAILABLE_IMAGE, pub) != NULL);
    CHECK_EQ(h->driver->conductor->ipc_publications.count, 0);
    harness_close(h);
}

TEST(nonsense_in_a_publications_counters)
{
    publisher_t p;
    publisher_open(&p);
    int64_t sent = 0;
    for (size_t i = 0; i < NONSENSE_COUNT; i++) {
        CHECK(offer(&p.appender, 992) > 0);
        sent += 1024;
        *p.publication->snd_pos = nonsense[i];
        *p.publication->snd_lmt = nonsense[i];
        p.publication->base.file.log.metadata->end_of_stream_position = nonsense[i];
        pass(p.h);
        CHECK_EQ(*p.publication->snd_pos, sent);
        forget_frames(p.h);
    }
    *p.publication->snd_pos = -64;
    *p.publication->base.pub_lmt = INT64_MAX;
    send_sm(&p, sent);
    CHECK(offer(&p.appender, 992) > 0);
    sent += 1024;
    pass(p.h);
    pass(p.h); /* a pass that sent data does not read status messages */
    CHECK_EQ(*p.publication->snd_lmt, sent - 1024 + 32 * 1024);
    CHECK_EQ(*p.publication->base.pub_lmt, sent + 32 * 1024);
    (void)take_away(p.h, RSTI_CMD_REMOVE_PUBLICATION, p.id);
    *p.publication->snd_pos = INT64_MIN;
    p.publication->base.file.log.metadata->end_of_stream_position = 7;
    pass(p.h);
    CHECK_EQ(p.publication->base.life, RSTI_LIFE_LINGER);
    harness_close(p.h);
}

static void send_data(harness_t *h, rsti_socket_t *socket, int64_t position)
{
    uint8_t datagram[1024] = {0};
    rsti_data_header_t header;
    rsti_data_header_fill(&header, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA, 1234, 10,
        7 + (int32_t)(position >> 16), (int32_t)(position & 0xFFFF));
    header.frame.frame_length = sizeof datagram;
    memcpy(datagram, &header, sizeof header);
    inject(h, socket, SENDER, datagram, sizeof datagram);
}

static void send_setup(harness_t *h, rsti_socket_t *socket, int32_t session_id, int32_t mtu)
{
    const rsti_setup_t setup = {
        .frame = {RSTI_SETUP_LENGTH, 0, 0, RSTI_FRAME_SETUP},
        .session_id = session_id,
        .stream_id = 10,
        .initial_term_id = 7,
        .active_term_id = 7,
        .term_length = 65536,
        .mtu = mtu,
    };
    inject(h, socket, SENDER, &setup, sizeof setup);
}

TEST(nonsense_in_an_images_counters)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:udp?endpoint=127.0.0.1:24500", 10);
    const rsti_receive_endpoint_t *endpoint = h->driver->conductor->receive_endpoints.items[0];
    send_setup(h, endpoint->owned[0]->socket, 1234, 1408);
    pass(h);
    pass(h);
    rsti_image_t *image = h->driver->conductor->images.items[0];
    int64_t *word = image->subscribers.items[0].position;
    int64_t received = 0;
    for (size_t i = 0; i < NONSENSE_COUNT; i++) {
        *word = nonsense[i];
        *image->hwm = nonsense[i];
        *image->rcv_pos = nonsense[i];
        image->file.log.metadata->term_length = (int32_t)nonsense[i];
        forget_frames(h);
        send_data(h, endpoint->owned[0]->socket, received);
        received += 1024;
        advance_alive(h, 300 * MS, 100 * MS);
        CHECK_EQ(*image->hwm, received);
        CHECK_EQ(*image->rcv_pos, received);
        CHECK_EQ(count_frames(h, RSTI_FRAME_NAK), 0);
        const rsti_sm_t *sm = (const void *)last_frame(h, RSTI_FRAME_SM)->data;
        CHECK_EQ(sm->consumption_term_offset, 0);
    }
    *word = received;
    for (int i = 0; i < 200; i++) {
        forget_frames(h);
        send_data(h, endpoint->owned[0]->socket, received);
        pass(h);
        received += 1024;
        *word = received;
        pass(h);
    }
    CHECK_EQ(*image->rcv_pos, received);
    harness_close(h);
}

TEST(nonsense_in_a_heartbeat)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", 10);
    const int32_t id = rsti_counters_find(&h->driver->counters.counters,
        RSTI_COUNTER_CLIENT_HEARTBEAT, CLIENT_ID);
    for (size_t i = 0; i < NONSENSE_COUNT; i++) {
        rsti_counter_store(h->driver, id, nonsense[i]);
        advance(h, 2 * RSTI_NS_PER_S, 500 * MS);
    }
    CHECK_EQ(h->driver->conductor->clients.count, 1);
    rsti_counter_store(h->driver, id, INT64_MAX); /* and not once more */
    advance(h, 13 * RSTI_NS_PER_S, 500 * MS);
    CHECK_EQ(h->driver->conductor->clients.count, 0);
    harness_close(h);
}

/* L11 */
TEST(step_of_the_wall_clock_kills_no_client)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", 10);
    advance_alive(h, 3 * RSTI_NS_PER_S, 100 * MS);
    h->manual.epoch_ms_at_zero += 3600000;
    advance(h, 2 * RSTI_NS_PER_S, 100 * MS);
    CHECK_EQ(h->driver->conductor->clients.count, 1);
    /* The client is valid again: its later death is still detected. */
    keepalive(h);
    h->manual.epoch_ms_at_zero -= 3600000;
    advance(h, 13 * RSTI_NS_PER_S, 100 * MS);
    CHECK_EQ(h->driver->conductor->clients.count, 0);
    harness_close(h);
}

/* ---- frames that no producer of sense makes ---- */

static void corrupt_frame(int32_t frame_length, int32_t at)
{
    publisher_t p;
    publisher_open(&p);
    const rsti_publication_t *base = &p.publication->base;
    CHECK_EQ(offer(&p.appender, 992), 1024);
    for (int i = 1; i < 3; i++) {
        CHECK(offer(&p.appender, 992) > 0);
    }
    *rsti_frame_length_address(base->file.log.terms[0], at) = frame_length;
    for (int i = 0; i < 4; i++) {
        pass(p.h);
    }
    /* The data before it were sent; then the stream ends, and all readers are notified. */
    CHECK_EQ(*p.publication->snd_pos, at);
    CHECK_EQ(error_count(p.h, "impossible frame"), 1);
    CHECK_EQ(counter(p.h, RSTI_SYSTEM_ERRORS), 1);
    const rsti_data_header_t *end = (const void *)last_frame(p.h, RSTI_FRAME_DATA)->data;
    CHECK_EQ(end->frame.flags, RSTI_FLAG_UNFRAGMENTED | RSTI_FLAG_EOS | RSTI_FLAG_REVOKED);
    CHECK_EQ(end->term_offset, at);
    CHECK_EQ(base->file.log.metadata->end_of_stream_position, at);
    const answer_t *error = answer_of_type(p.h, RSTI_RSP_PUBLICATION_ERROR);
    CHECK(error != NULL);
    CHECK_EQ(error->response.registration_id, p.id);
    send_sm(&p, at);
    pass(p.h);
    pass(p.h);
    CHECK_EQ(offer(&p.appender, 100), RST_NOT_CONNECTED);
    /* It waits for its clients without a busy loop, and ends with them. */
    int64_t deadline_ns;
    advance_alive(p.h, 20 * RSTI_NS_PER_S, 500 * MS);
    (void)rst_driver_do_work(p.h->driver, &deadline_ns);
    CHECK(deadline_ns > p.h->manual.now_ns);
    CHECK_EQ(p.h->driver->conductor->publications.count, 1);
    (void)take_away(p.h, RSTI_CMD_REMOVE_PUBLICATION, p.id);
    advance_alive(p.h, 6 * RSTI_NS_PER_S, 500 * MS);
    CHECK_EQ(p.h->driver->conductor->publications.count, 0);
    harness_close(p.h);
}

TEST(frame_longer_than_the_mtu)
{
    corrupt_frame(2048, 1024);
}
TEST(frame_beyond_its_term)
{
    corrupt_frame(INT32_MAX, 0);
}
TEST(frame_shorter_than_its_header)
{
    corrupt_frame(7, 1024);
}

/* ---- NAKs that name no frame ---- */

static void send_nak(publisher_t *p, int32_t term_offset, int32_t length)
{
    const rsti_nak_t nak = {
        .frame = {RSTI_NAK_LENGTH, 0, 0, RSTI_FRAME_NAK},
        .session_id = p->publication->base.session_id,
        .stream_id = 10,
        .term_id = 5,
        .term_offset = term_offset,
        .length = length,
    };
    inject(p->h, p->socket, RECEIVER, &nak, sizeof nak);
    pass(p->h);
}

/* A message that looks like a header at every 32 bytes, for the position that is shift bytes away.
 */
static void offer_headers(publisher_t *p, int32_t begin, int32_t shift, int32_t session_id,
    int32_t frame_length)
{
    rsti_data_header_t headers[31];
    for (int32_t i = 0; i < 31; i++) {
        rsti_data_header_fill(&headers[i], RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA, session_id, 10,
            5, begin + (i + 1) * 32 + shift);
        headers[i].frame.frame_length = frame_length;
    }
    const rsti_iovec_t part = {headers, sizeof headers};
    CHECK_EQ(rsti_append(&p->appender, &part, 1, sizeof headers, 0), begin + 1024);
}

TEST(nak_inside_a_frame_is_refused)
{
    publisher_t p;
    publisher_open(&p);
    const int32_t session_id = p.publication->base.session_id;
    CHECK_EQ(offer(&p.appender, 992), 1024); /* zeros */
    offer_headers(&p, 1024, 4096, session_id, 64); /* another place */
    offer_headers(&p, 2048, 0, session_id + 1, 64); /* another session */
    offer_headers(&p, 3072, 0, session_id, INT32_MAX); /* beyond the term */
    offer_headers(&p, 4096, 0, session_id, -64); /* not committed */
    for (int i = 0; i < 4; i++) {
        pass(p.h);
    }
    CHECK_EQ(*p.publication->snd_pos, 5 * 1024);
    forget_frames(p.h);
    int64_t invalid = 0;
    for (int32_t offset = 0; offset < 5 * 1024; offset += 32) {
        if (offset % 1024 != 0) {
            send_nak(&p, offset, 1024);
            invalid++;
        }
    }
    advance(p.h, MS, MS / 10); /* and no data come later */
    CHECK_EQ(count_frames(p.h, RSTI_FRAME_DATA), 0);
    CHECK_EQ(counter(p.h, RSTI_SYSTEM_INVALID_PACKETS), invalid);
    CHECK_EQ(counter(p.h, RSTI_SYSTEM_RETRANSMITS_SENT), 0);
    CHECK_EQ(*p.publication->snd_naks, 0);
    /* At the beginning of a frame the NAK is answered; a NAK for data not sent yet is harmless. */
    send_nak(&p, 1024, 1024);
    CHECK_EQ(count_frames(p.h, RSTI_FRAME_DATA), 1);
    CHECK_EQ(((const rsti_data_header_t *)(const void *)p.h->sent[0].data)->term_offset, 1024);
    send_nak(&p, 6 * 1024 + 32, 1024);
    CHECK_EQ(counter(p.h, RSTI_SYSTEM_INVALID_PACKETS), invalid);
    CHECK_EQ(*p.publication->snd_naks, 2);
    harness_close(p.h);
}

/* ---- floods ---- */

/* O10: random datagrams arrive at both sockets, some with a valid frame header: only the counters
 * of received and invalid datagrams change, and both streams go on. */
TEST(random_datagrams_are_counted_and_dropped)
{
    publisher_t p;
    publisher_open(&p);
    harness_t *h = p.h;
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:udp?endpoint=127.0.0.1:24500", 10);
    const rsti_receive_endpoint_t *endpoint = h->driver->conductor->receive_endpoints.items[0];
    rsti_socket_t *sockets[] = {p.socket, endpoint->owned[0]->socket};
    int64_t before[RSTI_SYSTEM_COUNTER_COUNT];
    for (int32_t id = 0; id < RSTI_SYSTEM_COUNTER_COUNT; id++) {
        before[id] = counter(h, id);
    }
    rsti_rng_t rng;
    rsti_rng_init(&rng, check_seed());
    int64_t bytes = 0;
    for (int i = 0; i < 20000; i++) {
        uint8_t datagram[256];
        const size_t length = rsti_rng_below(&rng, sizeof datagram + 1);
        for (size_t k = 0; k < sizeof datagram; k++) {
            datagram[k] = (uint8_t)rsti_rng_next(&rng);
        }
        datagram[4] |= 1; /* an invalid version: no random frame is valid */
        if (i % 2 == 0) {
            rsti_put_i32(datagram, (int32_t)length);
        }
        bytes += (int64_t)length;
        inject(h, sockets[i / 2 % 2], SENDER, datagram, length);
        pass(h);
    }
    for (int32_t id = 0; id < RSTI_SYSTEM_COUNTER_COUNT; id++) {
        const int64_t moved = counter(h, id) - before[id];
        CHECK_EQ(moved,
            id == RSTI_SYSTEM_INVALID_PACKETS      ? 20000
                : id == RSTI_SYSTEM_BYTES_RECEIVED ? bytes
                                                   : 0);
    }
    CHECK_EQ(h->driver->conductor->images.count, 0);
    send_sm(&p, 0);
    CHECK(offer(&p.appender, 992) > 0);
    pass(h);
    CHECK_EQ(*p.publication->snd_pos, 1024);
    harness_close(h);
}

/* H6 */
TEST(flood_of_naks_is_bounded)
{
    publisher_t p;
    publisher_open(&p);
    for (int i = 0; i < 32; i++) {
        CHECK(offer(&p.appender, 992) > 0);
    }
    for (int i = 0; i < 4; i++) {
        pass(p.h);
    }
    CHECK_EQ(*p.publication->snd_pos, 32 * 1024);
    int64_t from = p.h->manual.now_ns;
    for (int i = 0; i < 4000; i++) {
        const rsti_nak_t nak = {
            .frame = {RSTI_NAK_LENGTH, 0, 0, RSTI_FRAME_NAK},
            .session_id = p.publication->base.session_id,
            .stream_id = 10,
            .term_id = 5,
            .term_offset = i % 2 * 1024,
            .length = i % 2 == 0 ? 1024 : 31 * 1024,
        };
        inject(p.h, p.socket, RECEIVER, &nak, sizeof nak);
        forget_frames(p.h);
        p.h->manual.now_ns += MS / 100;
        pass(p.h);
    }
    const int64_t resent = counter(p.h, RSTI_SYSTEM_RETRANSMITTED_BYTES);
    const int64_t seconds_1000 = (p.h->manual.now_ns - from) / MS;
    CHECK(resent > 32 * 1024);
    CHECK(resent <= 65536 + 32 * 1024 + seconds_1000 * 8389);
    CHECK(counter(p.h, RSTI_SYSTEM_RETRANSMIT_OVERFLOW) > 0);
    harness_close(p.h);
}

/* N18 */
TEST(flood_of_impossible_setups_does_not_fill_the_error_log)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:udp?endpoint=127.0.0.1:24500|rcv-wnd=8k", 10);
    const rsti_receive_endpoint_t *endpoint = h->driver->conductor->receive_endpoints.items[0];
    for (int i = 0; i < 2000; i++) {
        send_setup(h, endpoint->owned[0]->socket, i, 65504); /* its mtu is longer than our window */
        h->manual.now_ns += MS;
        keepalive(h);
        pass(h);
    }
    CHECK_EQ(h->driver->conductor->images.count, 0);
    const int entries = error_count(h, "mtu=65504");
    CHECK(entries >= 1 && entries <= 3);
    harness_close(h);
}

/* ---- what a reader had read counts after it left ---- */

/* N2 */
TEST(late_reader_joins_where_the_last_one_left)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_PUBLICATION, IPC, 10);
    const int64_t first = add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", 10);
    rsti_publication_t *base = h->driver->conductor->ipc_publications.items[0];
    rsti_appender_t appender;
    rsti_appender_init(&appender, &base->file.log, base->pub_lmt, base->session_id, 10, false);
    CHECK_EQ(offer(&appender, 992), 1024);
    pass(h);
    *base->subscribers.items[0].position = 1024; /* read, and closed at once */
    (void)take_away(h, RSTI_CMD_REMOVE_SUBSCRIPTION, first);
    CHECK_EQ(*base->pub_lmt, 1024);
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", 10);
    CHECK_EQ(*base->subscribers.items[0].position, 1024);
    harness_close(h);
}

CHECK_MAIN(RUN(limit_reserves_one_message_more), RUN(limit_stays_when_that_message_has_no_room),
    RUN(nonsense_in_an_ipc_position), RUN(nonsense_in_log_metadata),
    RUN(nonsense_in_a_publications_counters), RUN(nonsense_in_an_images_counters),
    RUN(nonsense_in_a_heartbeat), RUN(step_of_the_wall_clock_kills_no_client),
    RUN(frame_longer_than_the_mtu), RUN(frame_beyond_its_term), RUN(frame_shorter_than_its_header),
    RUN(flood_of_naks_is_bounded), RUN(random_datagrams_are_counted_and_dropped),
    RUN(nak_inside_a_frame_is_refused), RUN(flood_of_impossible_setups_does_not_fill_the_error_log),
    RUN(late_reader_joins_where_the_last_one_left))
