/* fuzz_peer.c: a hostile peer. The input is a list of datagrams (length 2 bytes, bytes), given
 * alternately to the driver's publication (status messages, NAKs, errors, round-trip requests) and
 * to its subscription (set-ups, data, padding, heartbeats). The driver is real, its clock virtual,
 * its sockets in memory. After each datagram these invariants hold:
 *
 *   - the sender never exceeds its limit;
 *   - the limit is within what a receiver may grant;
 *   - the publisher's limit is within a window of the sent position;
 *   - the receiver's position is within the data that it holds;
 *   - in every other driver nobody answers the questions of the receiver: no source is proven, the
 *   images keep their quota, and there is no NAK;
 *   - data are sent as they are in the log at their position (the messages look like headers, so
 *   that payload taken for a frame is detected). This one is checked at each send, because the
 *   conductor may clean in the same pass what was resent. */
#include "driver/conductor/image_limits.h"
#include "logbuffer/appender.h"
#include "tests/driver/harness.h"

#include "fuzz/check.h"

#define STREAM_ID 1001
#define TERM_LENGTH (64 * 1024)
#define LIFE_INPUTS 512 /* then a fresh driver */
#define STEP_NS (RSTI_NS_PER_MS / 4)

#define MESSAGE_HEADERS 31

static harness_t *h;
static int inputs, lives;
static rsti_appender_t appender;
static rsti_media_table_t table;

static rsti_network_publication_t *publication(void)
{
    return h->driver->conductor->publications.items[0];
}

static void check_datagram(const rsti_datagram_t *datagram)
{
    const rsti_network_publication_t *p = publication();
    const rsti_log_t *log = &p->base.file.log;
    const rsti_data_header_t *header = (const void *)datagram->data;
    if (header->frame.frame_length == 0
        || (header->frame.type != RSTI_FRAME_DATA && header->frame.type != RSTI_FRAME_PAD)) {
        return;
    }
    const int64_t position = rsti_position(header->term_id, header->term_offset, log->position_bits,
        log->initial_term_id);
    /* A reader that has consumed all gets a frame that is longer than its window. */
    const int64_t sent = rsti_load_acquire_i64(&p->position);
    const bool is_all_consumed = rsti_send_path_holds(&p->send_path) && p->receiver_count > 0
        && p->receivers[0].position >= sent;
    FUZZ_CHECK(position >= 0 && position < rsti_max_i64(p->limit, sent + is_all_consumed));
    FUZZ_CHECK(header->term_offset + (int64_t)datagram->length <= TERM_LENGTH);
    FUZZ_CHECK(memcmp(datagram->data,
                   log->terms[rsti_position_index(position, log->position_bits)]
                       + header->term_offset,
                   datagram->length)
        == 0);
}

static int checked_send(void *arg, rsti_socket_t *socket, const rsti_datagram_t *datagrams,
    int count)
{
    for (int i = 0; i < count && socket == &h->sockets[1]; i++) {
        check_datagram(&datagrams[i]);
    }
    return memory_send(arg, socket, datagrams, count);
}

static void open_driver(void)
{
    h = harness_open();
    const bool follows_path = lives / 2 % 2 == 0;
    h->is_rude = lives++ % 2 == 1;
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:udp?endpoint=127.0.0.1:40456", STREAM_ID);
    char channel[256];
    (void)snprintf(channel, sizeof channel,
        "aeron:udp?endpoint=127.0.0.1:40457|session-id=42|init-term-id=7|term-id=7|term-offset=0%s",
        follows_path ? "|cc=path" : "");
    (void)add(h, RSTI_CMD_ADD_PUBLICATION, channel, STREAM_ID);
    FUZZ_CHECK(h->driver->conductor->publications.count == 1);
    rsti_publication_t *base = &publication()->base;
    rsti_appender_init(&appender, &base->file.log, base->pub_lmt, base->session_id, STREAM_ID,
        false);
    table = memory_table;
    table.send = checked_send;
    h->driver->media.table = &table;
}

/* Writes as much as fits; each 32 bytes of a message are a header with a later position. */
static void offer(void)
{
    rsti_data_header_t headers[MESSAGE_HEADERS];
    for (int32_t i = 0; i < MESSAGE_HEADERS; i++) {
        rsti_data_header_fill(&headers[i], RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA, 42, STREAM_ID,
            7, 4096 + i * RSTI_FRAME_ALIGNMENT);
        headers[i].frame.frame_length = 2 * RSTI_DATA_HEADER_LENGTH;
    }
    const rsti_iovec_t part = {headers, sizeof headers};
    (void)rsti_append(&appender, &part, 1, sizeof headers, 0);
}

static void check_laws(void)
{
    const rsti_network_publication_t *p = publication();
    const int64_t sent = rsti_load_acquire_i64(&p->position);
    FUZZ_CHECK(sent >= 0);
    FUZZ_CHECK(p->limit <= sent + TERM_LENGTH);
    FUZZ_CHECK(p->base.limit <= sent + TERM_LENGTH / 2);
    for (size_t i = 0; i < h->driver->conductor->images.count; i++) {
        const rsti_image_t *image = h->driver->conductor->images.items[i];
        const int64_t high_water = rsti_load_acquire_i64(&image->high_water);
        FUZZ_CHECK(image->received <= high_water);
        FUZZ_CHECK(high_water <= image->next_sm_position + image->file.log.term_length);
        FUZZ_CHECK(!h->is_rude || image->is_proven == 0);
    }
    FUZZ_CHECK(!h->is_rude
        || (h->driver->conductor->images.count <= RSTI_UNPROVEN_IMAGES_PER_HOST
            && count_frames(h, RSTI_FRAME_NAK) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    if (h != NULL && inputs++ % LIFE_INPUTS == 0) {
        harness_close(h);
        h = NULL;
    }
    if (h == NULL) {
        open_driver();
    }
    for (size_t at = 0, turn = 0; at + 2 <= size; turn++) {
        size_t length = (size_t)fuzz_read(input + at, 2) & 2047;
        at += 2;
        length = length < size - at ? length : size - at;
        /* The first socket is the subscription's, the second the publication's. */
        inject(h, &h->sockets[turn % 2], "127.0.0.1:40457", input + at, length);
        at += length;
        h->manual.now_ns += STEP_NS;
        keepalive(h);
        offer();
        pass(h);
        check_laws();
        forget_frames(h);
        h->answer_count = 0;
    }
    return 0;
}
