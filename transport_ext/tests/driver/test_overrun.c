/* A receiver that its group has left behind: what is missing has left the history of the sender.
 * The source sends frames of 1024 bytes; each is a message. */
#include "driver/conductor/image.h"
#include "driver/receiver/receive_endpoint.h"
#include "tests/driver/harness.h"

#define UDP "aeron:udp?endpoint=127.0.0.1:24420|rcv-wnd=32k"
#define SENDER "10.1.2.3:4567"
#define SESSION 42
#define STREAM 10
#define TERM (64 * 1024)
#define FRAME 1024

typedef struct reader_t {
    harness_t *h;
    rsti_socket_t *socket;
    int64_t sent;
} reader_t;

static rsti_image_t *newest(const reader_t *r)
{
    const rsti_ptr_array_t *images = &r->h->driver->conductor->images;
    return images->items[images->count - 1];
}

static reader_t reader_open(uint8_t setup_flags)
{
    reader_t r = {.h = harness_open()};
    become_rstream(r.h);
    (void)add(r.h, RSTI_CMD_ADD_SUBSCRIPTION, UDP, STREAM);
    const rsti_receive_endpoint_t *endpoint = r.h->driver->conductor->receive_endpoints.items[0];
    r.socket = endpoint->owned[0]->socket;
    const rsti_setup_t setup = {
        .frame = {RSTI_SETUP_LENGTH, 0, setup_flags, RSTI_FRAME_SETUP},
        .session_id = SESSION,
        .stream_id = STREAM,
        .initial_term_id = 7,
        .active_term_id = 7,
        .term_length = TERM,
        .mtu = 1408,
    };
    inject(r.h, r.socket, SENDER, &setup, sizeof setup);
    pass(r.h);
    pass(r.h);
    if (r.h->driver->conductor->images.count != 1) {
        fprintf(stderr, "no image\n");
        exit(1);
    }
    return r;
}

static void send_frame(reader_t *r, int64_t position, int32_t length)
{
    uint8_t datagram[FRAME] = {0};
    rsti_data_header_t header;
    rsti_data_header_fill(&header, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA, SESSION, STREAM,
        7 + (int32_t)(position / TERM), (int32_t)(position % TERM));
    header.frame.frame_length = length;
    memcpy(datagram, &header, sizeof header);
    inject(r->h, r->socket, SENDER, datagram, length == 0 ? sizeof header : (size_t)length);
}

static void send_up_to(reader_t *r, int64_t position)
{
    for (; r->sent < position; r->sent += FRAME) {
        send_frame(r, r->sent, FRAME);
        pass(r->h);
    }
}

static void read_all(const reader_t *r)
{
    const rsti_image_t *image = newest(r);
    rsti_store_release_i64(image->subscribers.items[0].position, image->received);
    for (int i = 0; i < 4; i++) {
        advance_alive(r->h, 20 * MS, 10 * MS);
    }
}

/* The NAKs since frames were forgotten: the least position and the end. */
static bool naks(const reader_t *r, int64_t *begin, int64_t *end)
{
    *begin = INT64_MAX;
    *end = 0;
    for (int i = 0; i < r->h->sent_count; i++) {
        const rsti_nak_t *nak = (const void *)r->h->sent[i].data;
        if (frame_type(&r->h->sent[i]) == RSTI_FRAME_NAK) {
            const int64_t from = (int64_t)(nak->term_id - 7) * TERM + nak->term_offset;
            *begin = rsti_min_i64(*begin, from);
            *end = rsti_max_i64(*end, from + nak->length);
        }
    }
    return *end > 0;
}

static void goes_on(uint8_t setup_flags, int32_t history)
{
    reader_t r = reader_open(setup_flags);
    const int64_t old = newest(&r)->correlation_id;
    send_up_to(&r, 4 * TERM);
    CHECK_EQ(newest(&r)->received, TERM / 2);
    CHECK_EQ(r.h->driver->conductor->images.count, 1); /* it has not read everything */
    r.h->answer_count = 0;
    forget_frames(r.h);
    read_all(&r);
    const int64_t expected = 4 * TERM - history + history / 8;
    const int64_t image = newest(&r)->correlation_id;
    CHECK(image != old);
    CHECK_EQ(newest(&r)->join_position, expected);
    CHECK_STR(newest(&r)->source, SENDER);
    char mark[48];
    snprintf(mark, sizeof mark, "|rs-goes-on=%d", (int)expected);
    const answer_t *gone = answer_of_type(r.h, RSTI_RSP_UNAVAILABLE_IMAGE);
    CHECK(gone != NULL);
    CHECK_EQ(gone->response.correlation_id, old);
    CHECK_STR(gone->text + strlen(gone->text) - strlen(mark), mark);
    const answer_t *come = answer_of_type(r.h, RSTI_RSP_AVAILABLE_IMAGE);
    CHECK(come != NULL);
    CHECK_EQ(come->response.correlation_id, image);
    CHECK(come > gone); /* in this order */
    const rsti_sm_t *sm = (const void *)last_frame(r.h, RSTI_FRAME_SM)->data;
    CHECK_EQ((int64_t)(sm->consumption_term_id - 7) * TERM + sm->consumption_term_offset, expected);
    CHECK_EQ(sm->frame.flags & RSTI_SM_FLAG_EOS, 0);
    /* What was sent meanwhile is asked for, as far as there is room. */
    int64_t begin, end;
    CHECK(naks(&r, &begin, &end));
    CHECK_EQ(begin, expected);
    CHECK(end <= expected + TERM / 2);
    for (int64_t at = expected; at < 4 * TERM; at += FRAME) {
        send_frame(&r, at, FRAME);
        pass(r.h);
        read_all(&r);
    }
    read_all(&r);
    send_up_to(&r, 5 * TERM - TERM / 2);
    read_all(&r);
    CHECK_EQ(newest(&r)->correlation_id, image);
    CHECK_EQ(newest(&r)->received, 5 * TERM - TERM / 2);
    /* The first image goes, and its memory with it. */
    advance_alive(r.h, 20 * MS, 10 * MS);
    CHECK_EQ(r.h->driver->conductor->images.count, 1);
    harness_close(r.h);
}

TEST(it_goes_on_at_the_oldest_data_of_an_rstream_sender)
{
    goes_on(RSTI_SETUP_FLAG_RSTREAM, TERM);
    goes_on(RSTI_SETUP_FLAG_RSTREAM | RSTI_SETUP_FLAG_GROUP, TERM);
}

TEST(it_goes_on_at_the_oldest_data_of_an_aeron_sender)
{
    goes_on(0, TERM / 2);
}

/* It costs nothing, however long it stands and however far the group goes. */
TEST(a_reader_that_stands_still_keeps_its_image)
{
    reader_t r = reader_open(RSTI_SETUP_FLAG_RSTREAM);
    const int64_t image = newest(&r)->correlation_id;
    for (int i = 0; i < 300; i++) {
        send_up_to(&r, r.sent + TERM / 4);
        advance_alive(r.h, 100 * MS, 50 * MS);
    }
    CHECK_EQ(newest(&r)->correlation_id, image);
    CHECK_EQ(newest(&r)->life, RSTI_LIFE_ACTIVE);
    CHECK_EQ(r.h->driver->conductor->images.count, 1);
    read_all(&r);
    CHECK(newest(&r)->correlation_id != image);
    CHECK(newest(&r)->join_position >= r.sent - TERM);
    harness_close(r.h);
}

/* The data is still in the history of the sender: it is asked for, and nothing is lost. */
TEST(a_reader_that_pauses_briefly_loses_nothing)
{
    reader_t r = reader_open(RSTI_SETUP_FLAG_RSTREAM);
    const int64_t image = newest(&r)->correlation_id;
    send_up_to(&r, TERM + TERM / 4);
    forget_frames(r.h);
    read_all(&r);
    send_up_to(&r, TERM + TERM / 4 + FRAME);
    read_all(&r);
    int64_t begin, end;
    CHECK(naks(&r, &begin, &end));
    CHECK_EQ(begin, TERM / 2);
    CHECK_EQ(end, TERM);
    for (int64_t at = TERM / 2; at < r.sent; at += FRAME) {
        send_frame(&r, at, FRAME);
        pass(r.h);
        read_all(&r);
    }
    CHECK_EQ(newest(&r)->correlation_id, image);
    CHECK_EQ(newest(&r)->received, r.sent);
    harness_close(r.h);
}

/* A reader that is slower for good is not sent everything twice. */
TEST(a_reader_that_never_catches_up_goes_on_with_the_newest)
{
    reader_t r = reader_open(RSTI_SETUP_FLAG_RSTREAM);
    for (int i = 0; i < 6; i++) {
        const int64_t image = newest(&r)->correlation_id;
        send_up_to(&r, r.sent + 4 * TERM);
        for (int j = 0; j < 3 && newest(&r)->correlation_id == image; j++) {
            read_all(&r);
        }
        CHECK(newest(&r)->correlation_id != image);
    }
    CHECK_EQ(newest(&r)->overrun.tries, RSTI_OVERRUN_TRIES_MAX);
    CHECK(newest(&r)->join_position >= newest(&r)->overrun.began_sent - TERM / 16);
    harness_close(r.h);
}

/* What was missing arrives after the receiver has said where the stream goes on. Readers get it in
 * the next image, so it must not come in this one. */
TEST(late_data_does_not_come_twice)
{
    reader_t r = reader_open(RSTI_SETUP_FLAG_RSTREAM);
    rsti_image_t *image = newest(&r);
    const int64_t end = TERM / 2;
    send_up_to(&r, end + TERM + 4 * FRAME);
    CHECK_EQ(image->received, end);
    advance_alive(r.h, 20 * MS, 10 * MS);
    rsti_store_release_i64(image->subscribers.items[0].position, end);
    for (int i = 0; i < 20 && newest(&r) == image; i++) {
        for (int64_t at = end; image->overrun.taken_from != 0 && at < end + TERM / 4; at += FRAME) {
            send_frame(&r, at, FRAME);
        }
        pass(r.h);
    }
    CHECK(newest(&r) != image);
    const rsti_log_t *log = &image->file.log;
    const int32_t next = rsti_position_offset(end, log->term_length);
    CHECK_EQ(*rsti_frame_length_address(log->terms[0], next), 0);
    harness_close(r.h);
}

/* The new image takes the place of the old one, so no limit of images keeps it out. */
TEST(the_limit_of_sessions_does_not_stop_it)
{
    reader_t r = reader_open(RSTI_SETUP_FLAG_RSTREAM);
    const int64_t image = newest(&r)->correlation_id;
    r.h->driver->params.stream_session_limit = 1;
    send_up_to(&r, 4 * TERM);
    read_all(&r);
    CHECK(newest(&r)->correlation_id != image);
    harness_close(r.h);
}

TEST(without_storage_for_another_image_this_one_stays)
{
    reader_t r = reader_open(RSTI_SETUP_FLAG_RSTREAM);
    const int64_t image = newest(&r)->correlation_id;
    char images[1100], aside[1100];
    snprintf(images, sizeof images, "%s/images", r.h->driver->dir);
    snprintf(aside, sizeof aside, "%s/aside", r.h->driver->dir);
    send_up_to(&r, 4 * TERM);
    CHECK_EQ(rename(images, aside), 0);
    read_all(&r);
    CHECK_EQ(newest(&r)->correlation_id, image);
    CHECK_EQ(newest(&r)->life, RSTI_LIFE_ACTIVE);
    CHECK(error_count(r.h, "cannot create the image") > 0);
    CHECK_EQ(rename(aside, images), 0);
    read_all(&r);
    CHECK(newest(&r)->correlation_id != image);
    harness_close(r.h);
}

CHECK_MAIN(RUN(it_goes_on_at_the_oldest_data_of_an_rstream_sender),
    RUN(it_goes_on_at_the_oldest_data_of_an_aeron_sender),
    RUN(a_reader_that_stands_still_keeps_its_image),
    RUN(a_reader_that_pauses_briefly_loses_nothing),
    RUN(a_reader_that_never_catches_up_goes_on_with_the_newest), RUN(late_data_does_not_come_twice),
    RUN(the_limit_of_sessions_does_not_stop_it),
    RUN(without_storage_for_another_image_this_one_stays))
