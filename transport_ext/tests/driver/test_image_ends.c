/* Image answers, refusals and ends: tags and round trips, old and early frames, rejection and
 * revocation (docs/reference/aeron/wire.md 8 and 12). */
#include "driver/conductor/subscription.h"
#include "driver/receiver/receiver.h"
#include "protocol/sm_items.h"
#include "tests/driver/harness.h"

#define UDP "aeron:udp?endpoint=127.0.0.1:24500"
#define SENDER "127.0.0.1:30001"
#define SESSION 1234
#define STREAM 10
#define TERM 65536

typedef struct reader_t {
    harness_t *h;
    int64_t id;
    rsti_receive_endpoint_t *endpoint;
    rsti_socket_t *socket;
} reader_t;

static rsti_image_t *image_of(const reader_t *r)
{
    return r->h->driver->conductor->images.count == 0 ? NULL
                                                      : r->h->driver->conductor->images.items[0];
}

static void setup_with(const reader_t *r, uint8_t flags)
{
    const rsti_setup_t setup = {
        .frame = {RSTI_SETUP_LENGTH, 0, flags, RSTI_FRAME_SETUP},
        .session_id = SESSION,
        .stream_id = STREAM,
        .initial_term_id = 7,
        .active_term_id = 7,
        .term_length = TERM,
        .mtu = 1408,
    };
    inject(r->h, r->socket, SENDER, &setup, sizeof setup);
    pass(r->h);
    pass(r->h);
}

static void reader_setup(const reader_t *r)
{
    setup_with(r, 0);
}

static void reader_open_with(reader_t *r, const char *channel, uint8_t flags)
{
    r->h = harness_open();
    r->id = add(r->h, RSTI_CMD_ADD_SUBSCRIPTION, channel, STREAM);
    r->endpoint = r->h->driver->conductor->receive_endpoints.items[0];
    r->socket = r->endpoint->owned[0]->socket;
    setup_with(r, flags);
}

static void reader_open(reader_t *r, const char *channel)
{
    reader_open_with(r, channel, 0);
}

static void send_data(const reader_t *r, int64_t position, int32_t length, uint8_t flags)
{
    uint8_t datagram[2048] = {0};
    rsti_data_header_t header;
    rsti_data_header_fill(&header, flags, RSTI_FRAME_DATA, SESSION, STREAM,
        7 + (int32_t)(position / TERM), (int32_t)(position % TERM));
    header.frame.frame_length = length;
    memcpy(datagram, &header, sizeof header);
    inject(r->h, r->socket, SENDER, datagram,
        length == 0 ? 32 : (size_t)rsti_align_i32(length, 32));
}

static int64_t reject(const reader_t *r, const char *reason)
{
    rsti_command_t c = {
        .type = RSTI_CMD_REJECT_IMAGE,
        .registration_id = image_of(r)->correlation_id,
        .channel = {reason, (int32_t)strlen(reason)},
    };
    return command(r->h, &c);
}

static int count_answers(const harness_t *h, int32_t type, int64_t subscription_id)
{
    int count = 0;
    for (int i = 0; i < h->answer_count; i++) {
        count += h->answers[i].type == type
            && h->answers[i].response.registration_id == subscription_id;
    }
    return count;
}

/* ---- why the last reader left ---- */

/* The length of the reason in the goodbyes that were sent; -1: there is none in any of them. */
static int32_t told_why(const harness_t *h)
{
    int32_t length = -1;
    for (int i = 0; i < h->sent_count; i++) {
        const rsti_sm_t *sm = (const void *)h->sent[i].data;
        rsti_sm_items_t items;
        if (sm->frame.type == RSTI_FRAME_SM && (sm->frame.flags & RSTI_SM_FLAG_EOS) != 0
            && rsti_sm_items_decode(&items, sm) && items.why_length > 0) {
            length = items.why[0] == 'x' ? items.why_length : -2;
        }
    }
    return length;
}

static void say_why(const reader_t *r, const char *text)
{
    rsti_command_t c = {
        .type = RSTI_CMD_SAY_WHY,
        .registration_id = image_of(r)->correlation_id,
        .channel = {text, (int32_t)strlen(text)},
    };
    (void)command(r->h, &c);
}

static int32_t why_of(const char *channel, uint8_t flags, bool is_another_there)
{
    reader_t r;
    char text[300];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    reader_open_with(&r, channel, flags);
    say_why(&r, text);
    if (is_another_there) {
        (void)add(r.h, RSTI_CMD_ADD_SUBSCRIPTION, channel, STREAM);
        forget_frames(r.h);
        (void)take_away(r.h, RSTI_CMD_REMOVE_SUBSCRIPTION, r.id);
        (void)take_away(r.h, RSTI_CMD_REMOVE_SUBSCRIPTION,
            image_of(&r)->subscribers.items[0].subscription->registration_id);
    } else {
        forget_frames(r.h);
        (void)take_away(r.h, RSTI_CMD_REMOVE_SUBSCRIPTION, r.id);
    }
    advance_alive(r.h, 20 * MS, MS);
    const int32_t length = told_why(r.h);
    harness_close(r.h);
    return length;
}

TEST(an_rstream_source_is_told_why_the_last_reader_left)
{
    CHECK_EQ(why_of(UDP, RSTI_SETUP_FLAG_RSTREAM, false), RSTI_SM_WHY_MAX);
    CHECK_EQ(why_of(UDP "|gtag=-7", RSTI_SETUP_FLAG_RSTREAM, false), RSTI_SM_WHY_MAX);
    CHECK_EQ(why_of(UDP, 0, false), -1);                      /* Aeron's */
    CHECK_EQ(why_of(UDP, RSTI_SETUP_FLAG_RSTREAM, true), -1); /* another one left last */
}

/* The sender takes a status message without EOS for one of a new reader. */
TEST(after_its_goodbye_an_image_says_nothing_else)
{
    reader_t r;
    reader_open_with(&r, UDP, RSTI_SETUP_FLAG_RSTREAM | RSTI_SETUP_FLAG_PATH);
    send_data(&r, 0, 1024, RSTI_FLAG_UNFRAGMENTED);
    pass(r.h); /* its arrival is told at once */
    send_data(&r, 1024, 1024, RSTI_FLAG_UNFRAGMENTED);
    pass(r.h); /* the arrival of this one is told a little later */
    forget_frames(r.h);
    (void)take_away(r.h, RSTI_CMD_REMOVE_SUBSCRIPTION, r.id);
    advance_alive(r.h, 20 * MS, MS);
    int goodbyes = 0, others = 0, items = 0;
    for (int i = 0; i < r.h->sent_count; i++) {
        const rsti_sm_t *sm = (const void *)r.h->sent[i].data;
        if (sm->frame.type == RSTI_FRAME_SM) {
            const bool is_goodbye = (sm->frame.flags & RSTI_SM_FLAG_EOS) != 0;
            goodbyes += is_goodbye;
            others += goodbyes > 0 && !is_goodbye;
            items += goodbyes > 0 && sm->frame.frame_length > RSTI_SM_TAGGED_LENGTH;
        }
    }
    CHECK(goodbyes > 0);
    CHECK(items > 0); /* else this test shows nothing */
    CHECK_EQ(others, 0);
    harness_close(r.h);
}

/* ---- what every answer carries ---- */

TEST(group_tag_is_in_status_messages_and_errors)
{
    reader_t r;
    reader_open(&r, UDP "|gtag=-7");
    const frame_t *frame = last_frame(r.h, RSTI_FRAME_SM);
    CHECK_EQ(frame->length, RSTI_SM_TAGGED_LENGTH);
    CHECK_EQ(rsti_get_i32(frame->data), RSTI_SM_TAGGED_LENGTH);
    CHECK_EQ(rsti_get_i64(frame->data + RSTI_SM_LENGTH), -7);
    (void)reject(&r, "no");
    advance_alive(r.h, 300 * MS, 50 * MS);
    const rsti_err_t *err = (const void *)last_frame(r.h, RSTI_FRAME_ERR)->data;
    CHECK_EQ(err->frame.flags, RSTI_ERR_FLAG_GROUP_TAG);
    CHECK_EQ(err->group_tag, -7);
    CHECK_EQ(err->receiver_id, r.endpoint->receiver_id);
    /* Lesson 23: the tag of one channel is not another's. */
    (void)add(r.h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:udp?endpoint=127.0.0.1:24501", STREAM);
    const rsti_receive_endpoint_t *other = r.h->driver->conductor->receive_endpoints.items[1];
    CHECK(!other->has_group_tag);
    harness_close(r.h);
}

TEST(driver_gives_the_group_tag_where_the_channel_has_none)
{
    harness_t *h = harness_open();
    snprintf(h->driver->params.receiver_group_tag, sizeof h->driver->params.receiver_group_tag,
        "99");
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, UDP "|control=127.0.0.1:24600|control-mode=dynamic",
        STREAM);
    const frame_t *frame = last_frame(h, RSTI_FRAME_SM);
    CHECK_EQ(frame->length, RSTI_SM_TAGGED_LENGTH);
    CHECK_EQ(rsti_get_i64(frame->data + RSTI_SM_LENGTH), 99);
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:udp?endpoint=127.0.0.1:24501|gtag=5", STREAM);
    const rsti_receive_endpoint_t *other = h->driver->conductor->receive_endpoints.items[1];
    CHECK_EQ(other->group_tag, 5);
    harness_close(h);
}

/* O6 */
TEST(round_trip_requests_are_answered_by_the_named_receiver)
{
    reader_t r;
    reader_open(&r, UDP);
    forget_frames(r.h);
    const int64_t asked[] = {0, r.endpoint->receiver_id, r.endpoint->receiver_id + 1};
    for (int i = 0; i < 3; i++) {
        const rsti_rttm_t request = {
            .frame = {RSTI_RTTM_LENGTH, 0, RSTI_RTTM_FLAG_REPLY, RSTI_FRAME_RTTM},
            .session_id = SESSION,
            .stream_id = STREAM,
            .echo_timestamp = 4711,
            .receiver_id = asked[i],
        };
        forget_frames(r.h);
        inject(r.h, r.socket, SENDER, &request, sizeof request);
        pass(r.h);
        const frame_t *frame = last_frame(r.h, RSTI_FRAME_RTTM);
        if (i == 2) {
            CHECK(frame == NULL);
            continue;
        }
        const rsti_rttm_t *answer = (const void *)frame->data;
        CHECK_EQ(answer->frame.flags, 0);
        CHECK_EQ(answer->echo_timestamp, 4711);
        CHECK_EQ(answer->reception_delta, 0);
        CHECK_EQ(answer->receiver_id, r.endpoint->receiver_id);
        const struct sockaddr_storage sender = address_of(SENDER);
        CHECK(rsti_netaddr_equal(&frame->address, &sender));
    }
    harness_close(r.h);
}

/* ---- frames that come too late or too early ---- */

/* K3: an old frame is dropped, yet it keeps its transport alive; a much older one does not. */
TEST(old_frames_are_under_runs)
{
    reader_t r;
    reader_open(&r, UDP "|rcv-wnd=8k");
    for (int64_t position = 0; position < 24 * 1024; position += 1024) {
        send_data(&r, position, 1024, RSTI_FLAG_UNFRAGMENTED);
        pass(r.h);
        *image_of(&r)->subscribers.items[0].position = position + 1024;
        advance_alive(r.h, 11 * MS, 11 * MS);
    }
    const rsti_image_t *image = image_of(&r);
    CHECK(image->last_sm_position > 16 * 1024);
    const int64_t before_ns = image->last_packet_ns;
    r.h->manual.now_ns += 50 * MS;
    send_data(&r, 0, 1024, RSTI_FLAG_UNFRAGMENTED);
    pass(r.h);
    CHECK_EQ(counter(r.h, RSTI_SYSTEM_FLOW_CONTROL_UNDER_RUNS), 1);
    CHECK_EQ(image->last_packet_ns, before_ns);
    send_data(&r, image->last_sm_position - 4096, 1024, RSTI_FLAG_UNFRAGMENTED);
    pass(r.h);
    CHECK_EQ(counter(r.h, RSTI_SYSTEM_FLOW_CONTROL_UNDER_RUNS), 2);
    CHECK_EQ(image->last_packet_ns, r.h->manual.now_ns);
    harness_close(r.h);
}

/* K5: exactly up to the threshold, not a frame more; a heartbeat does not go beyond it either. */
TEST(early_frames_are_over_runs)
{
    reader_t r;
    reader_open(&r, UDP);
    const int64_t threshold = TERM / 2;
    CHECK_EQ(image_of(&r)->overrun_threshold, threshold);
    send_data(&r, threshold - 1024, 1024, RSTI_FLAG_UNFRAGMENTED);
    send_data(&r, threshold, 0, RSTI_FLAG_UNFRAGMENTED);
    pass(r.h);
    CHECK_EQ(counter(r.h, RSTI_SYSTEM_FLOW_CONTROL_OVER_RUNS), 0);
    CHECK_EQ(image_of(&r)->high_water, threshold);
    send_data(&r, threshold, 32, RSTI_FLAG_UNFRAGMENTED);
    send_data(&r, threshold + 32, 0, RSTI_FLAG_UNFRAGMENTED | RSTI_FLAG_EOS);
    pass(r.h);
    CHECK_EQ(counter(r.h, RSTI_SYSTEM_FLOW_CONTROL_OVER_RUNS), 2);
    CHECK_EQ(r.h->driver->receiver->overrun_bytes, 32); /* a heartbeat has no data */
    CHECK_EQ(image_of(&r)->high_water, threshold);
    CHECK_EQ(image_of(&r)->is_end_of_stream, 0);
    harness_close(r.h);
}

/* K5: the padding at a term's end is sent beyond the window, and so are the heartbeats behind it.
 * The receiver still knows that the end of the permitted data is missing, and asks for it. */
TEST(an_early_heartbeat_reveals_missing_data)
{
    reader_t r;
    reader_open(&r, UDP);
    const int64_t threshold = image_of(&r)->overrun_threshold;
    send_data(&r, 0, 1024, RSTI_FLAG_UNFRAGMENTED);
    pass(r.h);
    forget_frames(r.h);
    send_data(&r, threshold + 480, 0, RSTI_FLAG_UNFRAGMENTED | RSTI_FLAG_EOS);
    pass(r.h);
    advance_alive(r.h, 100000000, 10000000);
    CHECK_EQ(image_of(&r)->high_water, threshold);
    CHECK_EQ(image_of(&r)->is_end_of_stream, 0);
    CHECK(count_frames(r.h, RSTI_FRAME_NAK) > 0);
    const rsti_nak_t *nak = (const void *)last_frame(r.h, RSTI_FRAME_NAK)->data;
    CHECK_EQ(nak->term_offset, 1024);
    CHECK_EQ(nak->term_offset + nak->length, threshold);
    harness_close(r.h);
}

/* ---- datagrams that are not what a sender makes ---- */

typedef struct frame_facts_t {
    int32_t length; /* as the header says */
    int16_t type;
    int32_t offset;
} frame_facts_t;

typedef struct packet_row_t {
    const char *what;
    frame_facts_t first, second; /* the second stands where the first one ends; length 0: none */
    size_t length;               /* of the datagram */
    bool is_taken;
} packet_row_t;

static void send_packet(const reader_t *r, const packet_row_t *row)
{
    uint8_t datagram[512] = {0};
    const frame_facts_t *frames[] = {&row->first, &row->second};
    size_t at = 0;
    for (int i = 0; i < 2 && (i == 0 || row->second.length != 0); i++) {
        rsti_data_header_t header;
        rsti_data_header_fill(&header, RSTI_FLAG_UNFRAGMENTED, frames[i]->type, SESSION, STREAM, 7,
            0);
        header.term_offset = frames[i]->offset;
        header.frame.frame_length = frames[i]->length;
        memcpy(datagram + at, &header, sizeof header);
        at += 64;
    }
    inject(r->h, r->socket, SENDER, datagram, row->length);
}

/* K4, lesson 3: every frame of a datagram counts, not the first alone. */
TEST(malformed_datagrams_are_dropped_whole)
{
    enum {
        DATA = RSTI_FRAME_DATA,
        PAD = RSTI_FRAME_PAD
    };
    static const packet_row_t rows[] = {
        {"one frame", {64, DATA, 0}, {0}, 64, true},
        {"two frames", {64, DATA, 64}, {64, DATA, 128}, 128, true},
        {"a padding longer than the datagram", {64, DATA, 192}, {1024, PAD, 256}, 96, true},
        {"first offset not on a boundary", {64, DATA, 16}, {0}, 64, false},
        {"negative first offset", {64, DATA, -64}, {0}, 64, false},
        {"first offset at the term's end", {64, DATA, TERM}, {0}, 64, false},
        {"second offset wrong", {64, DATA, 0}, {64, DATA, 96}, 128, false},
        {"second length negative", {64, DATA, 0}, {-64, DATA, 64}, 128, false},
        {"second frame of another type", {64, DATA, 0}, {64, RSTI_FRAME_SM, 64}, 128, false},
        {"trailing bytes", {64, DATA, 0}, {0}, 96, false},
        {"data longer than the datagram", {96, DATA, 0}, {0}, 64, false},
        {"second data longer than the datagram", {64, DATA, 0}, {96, DATA, 64}, 128, false},
        {"not a multiple of 32", {64, DATA, 0}, {0}, 63, false},
        {"shorter than a header", {64, DATA, 0}, {0}, 31, false},
        {"beyond the term's end", {128, PAD, TERM - 64}, {0}, 32, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        reader_t r;
        reader_open(&r, UDP);
        const int64_t invalid = counter(r.h, RSTI_SYSTEM_INVALID_PACKETS);
        const int64_t before = image_of(&r)->high_water;
        send_packet(&r, &rows[i]);
        pass(r.h);
        const bool is_taken = image_of(&r)->high_water > before;
        const bool is_counted = counter(r.h, RSTI_SYSTEM_INVALID_PACKETS) == invalid + 1;
        if (is_taken != rows[i].is_taken || is_counted == rows[i].is_taken) {
            CHECK_FAIL("%s: taken %d, counted as invalid %d", rows[i].what, is_taken, is_counted);
        }
        harness_close(r.h);
    }
}

/* ---- rejected ---- */

/* N11: after ten seconds without frames the rejected image goes, and a publisher that still exists
 * returns. */
TEST(rejected_image_goes_and_may_come_back)
{
    reader_t r;
    reader_open(&r, UDP);
    CHECK(answer(r.h, RSTI_RSP_OPERATION_SUCCESS, reject(&r, "bad data")) != NULL);
    CHECK_EQ(counter(r.h, RSTI_SYSTEM_IMAGES_REJECTED), 1);
    CHECK(answer(r.h, RSTI_RSP_ON_ERROR, reject(&r, "again")) != NULL); /* only once */
    /* A new subscription does not get the rejected image. */
    const int64_t late = add(r.h, RSTI_CMD_ADD_SUBSCRIPTION, UDP, STREAM);
    CHECK_EQ(count_answers(r.h, RSTI_RSP_AVAILABLE_IMAGE, late), 0);
    r.h->answer_count = 0;
    for (int i = 0; i < 120; i++) {
        send_data(&r, 0, 64, RSTI_FLAG_UNFRAGMENTED);
        advance_alive(r.h, 100 * MS, 50 * MS);
        forget_frames(r.h);
    }
    CHECK_EQ(count_answers(r.h, RSTI_RSP_UNAVAILABLE_IMAGE, r.id), 1);
    reader_setup(&r);
    CHECK_EQ(count_answers(r.h, RSTI_RSP_AVAILABLE_IMAGE, r.id), 1);
    CHECK_EQ(count_answers(r.h, RSTI_RSP_AVAILABLE_IMAGE, late), 1);
    harness_close(r.h);
}

/* N11 */
TEST(rejected_image_stays_out_without_rejoin)
{
    reader_t r;
    reader_open(&r, UDP "|rejoin=false");
    (void)reject(&r, "bad data");
    advance_alive(r.h, 13 * RSTI_NS_PER_S, 100 * MS);
    CHECK_EQ(count_answers(r.h, RSTI_RSP_UNAVAILABLE_IMAGE, r.id), 1);
    r.h->answer_count = 0;
    reader_setup(&r);
    CHECK_EQ(count_answers(r.h, RSTI_RSP_AVAILABLE_IMAGE, r.id), 0);
    harness_close(r.h);
}

/* N11: the longest reason fills an error frame, a longer one is refused and rejects nothing. */
TEST(reason_fits_a_frame)
{
    reader_t r;
    reader_open(&r, UDP);
    static char reason[RSTI_ERR_TEXT_MAX + 2];
    memset(reason, 'x', sizeof reason - 1);
    const int64_t refused = reject(&r, reason);
    const answer_t *error = answer(r.h, RSTI_RSP_ON_ERROR, refused);
    CHECK(error != NULL);
    CHECK(strstr(error->text, "1024 bytes") != NULL);
    CHECK_EQ(counter(r.h, RSTI_SYSTEM_IMAGES_REJECTED), 0);
    reason[RSTI_ERR_TEXT_MAX] = '\0';
    (void)reject(&r, reason);
    advance_alive(r.h, 300 * MS, 50 * MS);
    const frame_t *frame = last_frame(r.h, RSTI_FRAME_ERR);
    CHECK_EQ(frame->length, RSTI_ERR_LENGTH + RSTI_ERR_TEXT_MAX);
    CHECK_EQ(((const rsti_err_t *)(const void *)frame->data)->error_length, RSTI_ERR_TEXT_MAX);
    harness_close(r.h);
}

TEST(a_rejected_image_does_not_keep_the_receiver_busy)
{
    reader_t r;
    reader_open(&r, UDP "|rcv-wnd=4k");
    for (int i = 0; i < 2; i++) {
        send_data(&r, i * 1376, 1376, RSTI_FLAG_UNFRAGMENTED);
        pass(r.h);
    }
    *image_of(&r)->subscribers.items[0].position = 2 * 1376;
    settle(r.h);
    /* it may have to be reported again */
    CHECK(image_of(&r)->sm_repeat.due_ns != RSTI_NO_DEADLINE);
    (void)reject(&r, "bad data");
    for (int i = 0; i < 100; i++) {
        r.h->manual.now_ns += 10 * MS;
        keepalive(r.h);
        int64_t deadline = 0;
        (void)rst_driver_do_work(r.h->driver, &deadline);
        CHECK(deadline > r.h->manual.now_ns);
    }
    harness_close(r.h);
}

/* ---- revoked ---- */

/* N12: unavailable at once, also with unread data. */
TEST(revoked_image_goes_at_once)
{
    reader_t r;
    reader_open(&r, UDP);
    send_data(&r, 0, 1024, RSTI_FLAG_UNFRAGMENTED);
    send_data(&r, 4096, 1024, RSTI_FLAG_UNFRAGMENTED);
    pass(r.h);
    rsti_image_t *image = image_of(&r);
    forget_frames(r.h);
    send_data(&r, 8192, 0, RSTI_FLAG_UNFRAGMENTED | RSTI_FLAG_EOS | RSTI_FLAG_REVOKED);
    pass(r.h);
    CHECK_EQ(image->file.log.metadata->is_publication_revoked, 1);
    CHECK_EQ(image->file.log.metadata->end_of_stream_position, 8192);
    CHECK_EQ(counter(r.h, RSTI_SYSTEM_IMAGES_REVOKED), 1);
    CHECK_EQ(count_answers(r.h, RSTI_RSP_UNAVAILABLE_IMAGE, r.id), 1);
    forget_frames(r.h);
    advance_alive(r.h, 500 * MS, MS);
    CHECK_EQ(count_frames(r.h, RSTI_FRAME_NAK), 0);
    /* No cool-down: another publication may use the session. */
    r.h->answer_count = 0;
    reader_setup(&r);
    CHECK_EQ(count_answers(r.h, RSTI_RSP_AVAILABLE_IMAGE, r.id), 1);
    harness_close(r.h);
}

/* ---- later subscribers ---- */

/* N30: the first reader takes the data in the log; the conductor learns in its next pass that it
 * joined. */
TEST(second_reader_begins_where_the_first_one_is)
{
    reader_t r;
    reader_open(&r, UDP);
    send_data(&r, 0, 1024, RSTI_FLAG_UNFRAGMENTED);
    int64_t deadline_ns;
    (void)rsti_receiver_do_work(r.h->driver->receiver, r.h->manual.now_ns, &deadline_ns);
    CHECK_EQ(image_of(&r)->received, 0);
    *image_of(&r)->subscribers.items[0].position = 1024;
    (void)add(r.h, RSTI_CMD_ADD_SUBSCRIPTION, UDP, STREAM);
    CHECK_EQ(image_of(&r)->subscribers.count, 2);
    CHECK_EQ(*image_of(&r)->subscribers.items[1].position, 1024);
    harness_close(r.h);
}

TEST(second_reader_does_not_begin_beyond_received_data)
{
    reader_t r;
    reader_open(&r, UDP);
    send_data(&r, 0, 1024, RSTI_FLAG_UNFRAGMENTED);
    pass(r.h);
    *image_of(&r)->subscribers.items[0].position = 4096; /* another process wrote nonsense */
    (void)add(r.h, RSTI_CMD_ADD_SUBSCRIPTION, UDP, STREAM);
    CHECK(*image_of(&r)->subscribers.items[1].position <= 1024);
    harness_close(r.h);
}

CHECK_MAIN(RUN(second_reader_begins_where_the_first_one_is),
    RUN(second_reader_does_not_begin_beyond_received_data),
    RUN(an_rstream_source_is_told_why_the_last_reader_left),
    RUN(after_its_goodbye_an_image_says_nothing_else),
    RUN(group_tag_is_in_status_messages_and_errors),
    RUN(driver_gives_the_group_tag_where_the_channel_has_none),
    RUN(round_trip_requests_are_answered_by_the_named_receiver), RUN(old_frames_are_under_runs),
    RUN(early_frames_are_over_runs), RUN(an_early_heartbeat_reveals_missing_data),
    RUN(malformed_datagrams_are_dropped_whole), RUN(rejected_image_goes_and_may_come_back),
    RUN(rejected_image_stays_out_without_rejoin), RUN(reason_fits_a_frame),
    RUN(a_rejected_image_does_not_keep_the_receiver_busy), RUN(revoked_image_goes_at_once))
