/* Sources that prove themselves, sources that do not, and what either of them gets
 * (driver/receiver/admission.h). The harness is rude here: nobody answers for the test. */
#include "driver/conductor/image_limits.h"
#include "driver/receiver/admission.h"
#include "driver/receiver/image_connections.h"
#include "tests/driver/harness.h"

#define UDP "aeron:udp?endpoint=127.0.0.1:24500"
#define SENDER "127.0.0.1:30001"
#define STRANGER "127.0.0.1:30666"
#define STREAM 10
#define SESSION 1234
#define RSTREAM RSTI_SETUP_FLAG_RSTREAM

typedef struct ear_t {
    harness_t *h;
    int64_t id;
    rsti_socket_t *socket;
    int64_t injected; /* bytes */
} ear_t;

static void ear_open(ear_t *e, const char *channel)
{
    *e = (ear_t){.h = harness_open()};
    e->h->is_rude = true;
    e->id = add(e->h, RSTI_CMD_ADD_SUBSCRIPTION, channel, STREAM);
    const rsti_receive_endpoint_t *endpoint = e->h->driver->conductor->receive_endpoints.items[0];
    e->socket = endpoint->owned_count > 0 ? endpoint->owned[0]->socket : NULL;
    forget_frames(e->h);
}

static size_t image_count(const ear_t *e)
{
    return e->h->driver->conductor->images.count;
}

static rsti_image_t *image_of(const ear_t *e)
{
    return image_count(e) == 0 ? NULL : e->h->driver->conductor->images.items[0];
}

static void send_frame(ear_t *e, const char *from, const void *frame, size_t length)
{
    inject(e->h, e->socket, from, frame, length);
    e->injected += (int64_t)length;
}

static void send_setup(ear_t *e, const char *from, int32_t session_id, uint8_t flags)
{
    const rsti_setup_t setup = {
        .frame = {RSTI_SETUP_LENGTH, 0, flags, RSTI_FRAME_SETUP},
        .session_id = session_id,
        .stream_id = STREAM,
        .initial_term_id = 7,
        .active_term_id = 7,
        .term_length = 65536,
        .mtu = 1408,
    };
    send_frame(e, from, &setup, sizeof setup);
}

/* length 0: a heartbeat. */
static void send_data(ear_t *e, const char *from, int64_t position, int32_t length, uint8_t flags)
{
    uint8_t datagram[1024] = {0};
    rsti_data_header_t header;
    rsti_data_header_fill(&header, flags, RSTI_FRAME_DATA, SESSION, STREAM, 7, (int32_t)position);
    header.frame.frame_length = length;
    memcpy(datagram, &header, sizeof header);
    send_frame(e, from, datagram, length == 0 ? 32 : (size_t)length);
}

/* The last frame that asks for a proof. */
static rsti_rttm_t asked(const ear_t *e)
{
    rsti_rttm_t rttm;
    memcpy(&rttm, last_frame(e->h, RSTI_FRAME_RTTM)->data, sizeof rttm);
    return rttm;
}

static void send_echo(ear_t *e, const char *from, rsti_rttm_t rttm)
{
    rttm.frame.flags = 0;
    send_frame(e, from, &rttm, sizeof rttm);
    settle(e->h);
}

static int64_t sent_bytes(const harness_t *h)
{
    int64_t bytes = 0;
    for (int i = 0; i < h->sent_count; i++) {
        bytes += (int64_t)h->sent[i].length;
    }
    return bytes;
}

static int32_t count_counters(const harness_t *h)
{
    const rsti_counters_t *counters = &h->driver->counters.counters;
    int32_t count = 0;
    for (int32_t i = 0; i <= counters->max_counter_id; i++) {
        count += counters->metadata[i].state == RSTI_COUNTER_ALLOCATED;
    }
    return count;
}

static void connect_proven(ear_t *e, uint8_t flags)
{
    send_setup(e, SENDER, SESSION, flags);
    pass(e->h);
    send_echo(e, SENDER, asked(e));
    CHECK(image_of(e) != NULL);
    forget_frames(e->h);
}

static void connect_unproven(ear_t *e, const char *from, int32_t session_id)
{
    send_setup(e, from, session_id, 0);
    settle(e->h);
    advance_alive(e->h, 100 * MS, 100 * MS);
    send_setup(e, from, session_id, 0);
    settle(e->h);
}

/* ---- proof ---- */

TEST(a_setup_gets_one_question_and_its_answer_an_image)
{
    ear_t e;
    ear_open(&e, UDP);
    const int32_t counters = count_counters(e.h);
    send_setup(&e, SENDER, SESSION, RSTREAM);
    settle(e.h);
    CHECK_EQ(e.h->sent_count, 1);
    CHECK_EQ(sent_bytes(e.h), RSTI_SETUP_LENGTH);
    CHECK_EQ(image_count(&e), 0);
    CHECK_EQ(count_counters(e.h), counters);
    send_echo(&e, SENDER, asked(&e));
    CHECK_EQ(image_count(&e), 1);
    CHECK_EQ(image_of(&e)->is_proven, 1);
    CHECK(count_frames(e.h, RSTI_FRAME_SM) >= 1);
    harness_close(e.h);
}

TEST(only_the_echo_of_the_asked_source_counts)
{
    ear_t e;
    ear_open(&e, UDP);
    send_setup(&e, SENDER, SESSION, RSTREAM);
    pass(e.h);
    const rsti_rttm_t right = asked(&e);
    rsti_rttm_t wrong = right;
    wrong.echo_timestamp ^= 1;
    send_echo(&e, SENDER, wrong);
    wrong = right;
    wrong.session_id++;
    send_echo(&e, SENDER, wrong);
    wrong = right;
    wrong.receiver_id = 0;
    send_echo(&e, SENDER, wrong);
    send_echo(&e, STRANGER, right);
    send_echo(&e, "127.0.0.2:30001", right);
    CHECK_EQ(image_count(&e), 0);
    send_echo(&e, SENDER, right);
    CHECK_EQ(image_count(&e), 1);
    harness_close(e.h);
}

TEST(a_stamp_grows_old)
{
    ear_t e;
    ear_open(&e, UDP);
    send_setup(&e, SENDER, SESSION, RSTREAM);
    pass(e.h);
    const rsti_rttm_t old = asked(&e);
    advance_alive(e.h, 2 * RSTI_STAMP_PERIOD_NS, 100 * MS);
    send_setup(&e, SENDER, SESSION, RSTREAM);
    send_echo(&e, SENDER, old);
    CHECK_EQ(image_count(&e), 0);
    send_echo(&e, SENDER, asked(&e));
    CHECK_EQ(image_count(&e), 1);
    harness_close(e.h);
}

/* A publisher whose data came first is connected by its SETUP: the proof is there already. */
TEST(proof_comes_before_the_setup_that_data_asked_for)
{
    ear_t e;
    ear_open(&e, UDP "|gtag=5");
    send_data(&e, SENDER, 0, 0, RSTI_FLAG_UNFRAGMENTED);
    pass(e.h);
    CHECK_EQ(count_frames(e.h, RSTI_FRAME_SM), 1);
    CHECK_EQ(count_frames(e.h, RSTI_FRAME_RTTM), 1);
    CHECK(sent_bytes(e.h) <= 3 * 32);
    send_echo(&e, SENDER, asked(&e));
    CHECK_EQ(image_count(&e), 0);
    const int sent = e.h->sent_count;
    send_setup(&e, SENDER, SESSION, RSTREAM);
    settle(e.h);
    CHECK_EQ(image_count(&e), 1);
    CHECK_EQ(frame_type(&e.h->sent[sent]), RSTI_FRAME_SM);
    harness_close(e.h);
}

/* A forged source that no route leads to: any host could fill the error log by it. */
TEST(a_source_without_a_route_is_no_error)
{
    ear_t e;
    ear_open(&e, UDP);
    e.h->bad_address = address_of(STRANGER);
    e.h->bad_result = -RST_EINVAL;
    send_setup(&e, STRANGER, SESSION, RSTREAM);
    send_data(&e, STRANGER, 0, 64, RSTI_FLAG_UNFRAGMENTED);
    settle(e.h);
    connect_unproven(&e, STRANGER, 2);
    CHECK_EQ(image_count(&e), 1);
    CHECK_EQ(error_count(e.h, ""), 0);
    e.h->bad_address = address_of(SENDER); /* of a source that is proven it is */
    connect_unproven(&e, SENDER, 3);
    CHECK_EQ(image_count(&e), 2);
    rsti_image_t *image = e.h->driver->conductor->images.items[1];
    rsti_image_prove(e.h->driver->receiver, image, &image->connections[0]);
    advance_alive(e.h, 300 * MS, 100 * MS);
    CHECK_EQ(error_count(e.h, ""), 1);
    harness_close(e.h);
}

/* ---- without a proof ---- */

/* Whatever a stranger sends, it gets three bytes for one, and no NAK. */
TEST(a_stranger_gets_at_most_three_bytes_for_one)
{
    ear_t e;
    ear_open(&e, UDP);
    int64_t sent = 0;
    for (int i = 0; i < 100; i++) {
        send_setup(&e, SENDER, SESSION, 0);
        send_data(&e, SENDER, 1024, 64, RSTI_FLAG_UNFRAGMENTED); /* behind a gap */
        send_data(&e, SENDER, 4096 + 64 * i, 0, RSTI_FLAG_UNFRAGMENTED);
        for (int step = 0; step < 50; step++) {
            advance_alive(e.h, MS, MS);
            CHECK_EQ(count_frames(e.h, RSTI_FRAME_NAK), 0);
            sent += sent_bytes(e.h);
            forget_frames(e.h);
        }
        CHECK(sent <= 3 * e.injected);
    }
    CHECK_EQ(image_count(&e), 1); /* its second SETUP admitted it */
    CHECK_EQ(image_of(&e)->is_proven, 0);
    CHECK(image_of(&e)->high_water > 4096);
    harness_close(e.h);
}

/* The same image with its source proven later: NAKs and counters come. */
TEST(a_late_proof_brings_naks_and_counters)
{
    ear_t e;
    ear_open(&e, UDP);
    const int32_t counters = count_counters(e.h);
    connect_unproven(&e, SENDER, SESSION);
    CHECK_EQ(image_count(&e), 1);
    CHECK_EQ(count_counters(e.h), counters + 1); /* the position of its reader */
    send_data(&e, SENDER, 1024, 64, RSTI_FLAG_UNFRAGMENTED);
    advance_alive(e.h, 400 * MS, 10 * MS);
    CHECK_EQ(count_frames(e.h, RSTI_FRAME_NAK), 0);
    send_echo(&e, SENDER, asked(&e));
    CHECK_EQ(image_of(&e)->is_proven, 1);
    CHECK_EQ(count_counters(e.h), counters + 5);
    CHECK_EQ(*image_of(&e)->hwm, 1088);
    CHECK_EQ(counter(e.h, image_of(&e)->hwm_id), 1088);
    advance_alive(e.h, 10 * MS, MS);
    CHECK(count_frames(e.h, RSTI_FRAME_NAK) > 0);
    CHECK(counter(e.h, image_of(&e)->naks_id) > 0);
    send_data(&e, SENDER, 0, 1024, RSTI_FLAG_UNFRAGMENTED);
    advance_alive(e.h, 10 * MS, MS);
    CHECK_EQ(counter(e.h, image_of(&e)->rcv_pos_id), 1088);
    harness_close(e.h);
}

/* What an unproven source lost never comes: its image ends, and the readers may join again. */
TEST(a_gap_of_an_unproven_source_ends_its_image)
{
    ear_t e;
    ear_open(&e, UDP);
    connect_unproven(&e, SENDER, SESSION);
    send_data(&e, SENDER, 1024, 64, RSTI_FLAG_UNFRAGMENTED);
    for (int i = 0; i < 49; i++) {
        send_data(&e, SENDER, 1088, 0, RSTI_FLAG_UNFRAGMENTED);
        advance_alive(e.h, 100 * MS, 100 * MS);
    }
    CHECK_EQ(image_of(&e)->life, RSTI_LIFE_ACTIVE);
    advance_alive(e.h, 1200 * MS, 100 * MS);
    CHECK(image_of(&e)->life > RSTI_LIFE_ACTIVE);
    CHECK_EQ(error_count(e.h, "answers no round-trip frames (RTTM)"), 1);
    advance_alive(e.h, 1200 * MS, 100 * MS);
    CHECK(answer_of_type(e.h, RSTI_RSP_UNAVAILABLE_IMAGE) != NULL);
    connect_unproven(&e, SENDER, SESSION);
    CHECK_EQ(image_count(&e), 2);
    harness_close(e.h);
}

/* A stranger took a session before its publisher came. position: where the stream really is. */
static void take_back(int32_t initial_term_id, int32_t term_offset)
{
    ear_t e;
    ear_open(&e, UDP "|rejoin=false");
    connect_unproven(&e, STRANGER, SESSION);
    CHECK_EQ(image_count(&e), 1);
    forget_frames(e.h);
    rsti_setup_t right = {
        .frame = {RSTI_SETUP_LENGTH, 0, RSTREAM, RSTI_FRAME_SETUP},
        .session_id = SESSION,
        .stream_id = STREAM,
        .initial_term_id = initial_term_id,
        .active_term_id = initial_term_id,
        .term_offset = term_offset,
        .term_length = 65536,
        .mtu = 1408,
    };
    send_frame(&e, SENDER, &right, sizeof right);
    pass(e.h);
    send_echo(&e, SENDER, asked(&e));
    connect_unproven(&e, STRANGER, SESSION); /* it tries again before the publisher does */
    CHECK_EQ(image_count(&e), 1);
    send_frame(&e, SENDER, &right, sizeof right);
    settle(e.h);
    CHECK_EQ(image_count(&e), 2);
    const rsti_image_t *image = e.h->driver->conductor->images.items[1];
    CHECK_EQ(image->is_proven, 1);
    CHECK_EQ(image->file.log.initial_term_id, initial_term_id);
    CHECK_EQ(image->join_position, term_offset);
    harness_close(e.h);
}

TEST(a_proven_source_takes_its_session_back)
{
    take_back(99, 0);
}

/* The stranger knew the terms, and said that the stream begins at 0. */
TEST(a_proven_source_begins_where_its_stream_is)
{
    take_back(7, 4096);
}

/* Status messages go to the publisher that control= names, and would ask it for data. */
TEST(a_stranger_beside_control_is_not_admitted_unproven)
{
    ear_t e;
    ear_open(&e, UDP "|control=127.0.0.1:30002");
    connect_unproven(&e, "127.0.0.2:30001", SESSION);
    CHECK_EQ(image_count(&e), 0);
    connect_unproven(&e, SENDER, SESSION);
    CHECK_EQ(image_count(&e), 1);
    harness_close(e.h);
}

/* Two SETUPs close together are one, and rstream's publishers always answer. */
TEST(who_is_admitted_unproven)
{
    ear_t e;
    ear_open(&e, UDP);
    send_setup(&e, SENDER, 1, 0);
    settle(e.h);
    advance_alive(e.h, RSTI_SECOND_SETUP_NS - 1, RSTI_SECOND_SETUP_NS - 1);
    send_setup(&e, SENDER, 1, 0);
    settle(e.h);
    CHECK_EQ(image_count(&e), 0);
    advance_alive(e.h, 1, 1);
    send_setup(&e, SENDER, 1, 0);
    settle(e.h);
    CHECK_EQ(image_count(&e), 1);
    for (int i = 0; i < 10; i++) {
        send_setup(&e, SENDER, 2, RSTREAM);
        advance_alive(e.h, 100 * MS, 100 * MS);
    }
    CHECK_EQ(image_count(&e), 1);
    harness_close(e.h);
}

TEST(quotas_of_unproven_images)
{
    ear_t e;
    ear_open(&e, UDP);
    for (int32_t session = 0; session < 100; session++) {
        char from[64];
        snprintf(from, sizeof from, "127.0.0.1:%d", 31000 + session); /* one host */
        connect_unproven(&e, from, session);
    }
    CHECK_EQ(image_count(&e), RSTI_UNPROVEN_IMAGES_PER_HOST);
    for (int32_t session = 100; session < 300; session++) {
        char from[64];
        snprintf(from, sizeof from, "127.0.1.%d:31000", session - 100);
        forget_frames(e.h);
        connect_unproven(&e, from, session);
        for (size_t i = 0; i < image_count(&e); i++) { /* none of them falls silent */
            rsti_image_t *image = e.h->driver->conductor->images.items[i];
            image->last_packet_ns = e.h->manual.now_ns;
        }
    }
    CHECK_EQ(image_count(&e), RSTI_UNPROVEN_IMAGES);
    CHECK(error_count(e.h, "does not answer round-trip frames") >= 1);
    forget_frames(e.h);
    send_setup(&e, SENDER, SESSION, 0);
    pass(e.h);
    send_echo(&e, SENDER, asked(&e));
    CHECK_EQ(image_count(&e), RSTI_UNPROVEN_IMAGES + 1);
    harness_close(e.h);
}

/* Heartbeats prove nothing, and a single SETUP is not above the limit. */
TEST(unproven_images_hold_a_bounded_memory)
{
    ear_t e;
    ear_open(&e, UDP);
    const int64_t each = 65536 + RSTI_LOG_METADATA_LENGTH;
    e.h->driver->params.unproven_images_length = each - 1;
    connect_unproven(&e, SENDER, 1);
    CHECK_EQ(image_count(&e), 0);
    CHECK_EQ(error_count(e.h, "unproven-images-length="), 1);
    e.h->driver->params.unproven_images_length = 3 * each;
    connect_unproven(&e, SENDER, SESSION);
    for (int32_t session = 2; session <= 10; session++) {
        send_data(&e, SENDER, 0, 0, RSTI_FLAG_UNFRAGMENTED);
        connect_unproven(&e, SENDER, session);
    }
    CHECK_EQ(image_count(&e), 3); /* exactly at the limit */
    harness_close(e.h);
}

/* stream-session-limit is for proven sources: strangers may fill it for one another only. */
TEST(unproven_images_lock_no_proven_source_out)
{
    ear_t e;
    ear_open(&e, UDP);
    e.h->driver->params.stream_session_limit = 2;
    connect_unproven(&e, STRANGER, 1);
    connect_unproven(&e, STRANGER, 2);
    connect_unproven(&e, STRANGER, 3);
    CHECK_EQ(image_count(&e), 2);
    for (int32_t session = 4; session <= 6; session++) {
        forget_frames(e.h);
        send_setup(&e, SENDER, session, 0);
        pass(e.h);
        send_echo(&e, SENDER, asked(&e));
    }
    CHECK_EQ(image_count(&e), 4);
    harness_close(e.h);
}

/* ---- a session belongs to its source ---- */

TEST(frames_of_others_change_nothing)
{
    ear_t e;
    ear_open(&e, UDP);
    connect_proven(&e, RSTREAM);
    rsti_image_t *image = image_of(&e);
    send_data(&e, SENDER, 0, 64, RSTI_FLAG_UNFRAGMENTED);
    settle(e.h);
    forget_frames(e.h);
    const uint8_t eos = RSTI_FLAG_UNFRAGMENTED | RSTI_FLAG_EOS;
    const rsti_sm_t echo = {
        .frame = {RSTI_SM_LENGTH, 0, 0, RSTI_FRAME_SM},
        .session_id = SESSION,
        .stream_id = STREAM,
    };
    static const char *const others[] = {"127.0.0.1:30002", "127.0.0.2:30001", "[::1]:30001"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        send_data(&e, others[i], 64, 0, eos);
        send_data(&e, others[i], 64, 0, eos | RSTI_FLAG_REVOKED);
        send_data(&e, others[i], 2048, 0, RSTI_FLAG_UNFRAGMENTED);
        send_data(&e, others[i], 64, 64, RSTI_FLAG_UNFRAGMENTED);
        send_setup(&e, others[i], SESSION, 0);
        send_frame(&e, others[i], &echo, sizeof echo);
        settle(e.h);
    }
    CHECK_EQ(e.h->sent_count, 0);
    CHECK_EQ(image->high_water, 64);
    CHECK_EQ(image->is_end_of_stream, 0);
    CHECK_EQ(image->is_revoked, 0);
    CHECK_EQ(image->has_rstream, 1);
    CHECK(image->connections[0].is_rstream);
    send_setup(&e, SENDER, SESSION, 0); /* not even its own says that it is rstream's no longer */
    send_data(&e, SENDER, 64, 64, RSTI_FLAG_UNFRAGMENTED);
    settle(e.h);
    CHECK_EQ(image->has_rstream, 1);
    CHECK_EQ(image->high_water, 128);
    send_data(&e, SENDER, 128, 0, eos);
    settle(e.h);
    CHECK_EQ(image->is_end_of_stream, 1);
    harness_close(e.h);
}

/* The answers to our measurements cannot be guessed, also by a host that knows our clock. */
TEST(round_trips_are_not_forged)
{
    ear_t e;
    ear_open(&e, UDP);
    connect_proven(&e, RSTREAM);
    send_data(&e, SENDER, 0, 64, RSTI_FLAG_UNFRAGMENTED);
    advance_alive(e.h, 20 * MS, MS);
    CHECK(count_frames(e.h, RSTI_FRAME_RTTM) > 0);
    rsti_rttm_t forged = asked(&e);
    const rsti_rttm_t right = forged;
    forged.echo_timestamp ^= image_of(&e)->rtt_key;
    CHECK(forged.echo_timestamp > 0 && forged.echo_timestamp <= e.h->manual.now_ns);
    send_echo(&e, SENDER, forged);
    send_echo(&e, STRANGER, right);
    CHECK_EQ(image_of(&e)->rtt.sample_count, 0);
    send_echo(&e, SENDER, right);
    CHECK_EQ(image_of(&e)->rtt.sample_count, 1);
    harness_close(e.h);
}

/* The address of a publisher may change. After a silent second a source that proves itself, and
 * whose SETUP names the same stream, goes on. */
TEST(a_source_may_move)
{
    ear_t e;
    ear_open(&e, UDP);
    connect_proven(&e, RSTREAM);
    send_data(&e, SENDER, 0, 64, RSTI_FLAG_UNFRAGMENTED);
    settle(e.h);
    advance_alive(e.h, RSTI_SOURCE_SILENCE_NS, 50 * MS);
    forget_frames(e.h);
    send_data(&e, STRANGER, 64, 64, RSTI_FLAG_UNFRAGMENTED);
    settle(e.h);
    CHECK_EQ(e.h->sent_count, 0); /* exactly a second */
    advance_alive(e.h, MS, MS);
    forget_frames(e.h);
    send_data(&e, STRANGER, 64, 64, RSTI_FLAG_UNFRAGMENTED);
    settle(e.h);
    CHECK(count_frames(e.h, RSTI_FRAME_RTTM) > 0);
    send_echo(&e, STRANGER, asked(&e));
    CHECK_EQ(image_of(&e)->high_water, 64);
    send_setup(&e, STRANGER, SESSION, RSTREAM);
    send_data(&e, STRANGER, 64, 64, RSTI_FLAG_UNFRAGMENTED);
    settle(e.h);
    CHECK_EQ(image_of(&e)->high_water, 128);
    CHECK_EQ(image_count(&e), 1);
    harness_close(e.h);
}

static int64_t add_destination(harness_t *h, int64_t id, const char *channel)
{
    rsti_command_t c = {
        .type = RSTI_CMD_ADD_RCV_DESTINATION,
        .registration_id = id,
        .channel = {channel, (int32_t)strlen(channel)},
    };
    return command(h, &c);
}

/* A multi-destination subscription merges sources: another one may come by another destination, if
 * it proves itself and names the same stream. A source that is known comes by any. */
TEST(another_destination_may_have_another_source)
{
    ear_t e;
    ear_open(&e, "aeron:udp?control-mode=manual");
    (void)add_destination(e.h, e.id, "aeron:udp?endpoint=127.0.0.1:24501");
    (void)add_destination(e.h, e.id, "aeron:udp?endpoint=127.0.0.1:24502");
    (void)add_destination(e.h, e.id, "aeron:udp?endpoint=127.0.0.1:24503");
    const rsti_receive_endpoint_t *endpoint = e.h->driver->conductor->receive_endpoints.items[0];
    e.socket = endpoint->owned[0]->socket;
    connect_proven(&e, 0);
    const rsti_image_t *image = image_of(&e);
    e.socket = endpoint->owned[1]->socket;
    send_data(&e, STRANGER, 0, 64, RSTI_FLAG_UNFRAGMENTED);
    settle(e.h);
    CHECK_EQ(image->high_water, 0);
    send_echo(&e, STRANGER, asked(&e));
    rsti_setup_t other = {
        .frame = {RSTI_SETUP_LENGTH, 0, 0, RSTI_FRAME_SETUP},
        .session_id = SESSION,
        .stream_id = STREAM,
        .initial_term_id = 8,
        .active_term_id = 8,
        .term_length = 65536,
        .mtu = 1408,
    };
    send_frame(&e, STRANGER, &other, sizeof other);
    settle(e.h);
    CHECK(image->connections[1].transport == NULL);
    send_setup(&e, STRANGER, SESSION, 0);
    send_data(&e, STRANGER, 0, 64, RSTI_FLAG_UNFRAGMENTED);
    settle(e.h);
    CHECK(image->connections[1].transport != NULL);
    CHECK_EQ(image->high_water, 64);
    e.socket = endpoint->owned[2]->socket;
    send_data(&e, SENDER, 64, 64, RSTI_FLAG_UNFRAGMENTED);
    settle(e.h);
    CHECK_EQ(image->high_water, 128);
    harness_close(e.h);
}

/* ---- the table of candidates ---- */

TEST(strangers_take_no_place_of_proven_sources)
{
    ear_t e;
    ear_open(&e, UDP);
    const rsti_receive_endpoint_t *endpoint = e.h->driver->conductor->receive_endpoints.items[0];
    rsti_candidates_t *candidates = &e.h->driver->receiver->candidates;
    const struct sockaddr_storage source = address_of(SENDER);
    rsti_origin_t origin = {endpoint->owned[0], &source, STREAM, 0};
    const int places = RSTI_CANDIDATE_SETS * RSTI_CANDIDATE_WAYS;
    for (int32_t i = 0; i < 100000; i++) {
        origin.session_id = i;
        CHECK(rsti_candidates_put(candidates, &origin, false, i) != NULL);
    }
    origin.session_id = -1;
    CHECK(rsti_candidates_put(candidates, &origin, true, 0)->is_proven);
    for (int32_t i = 0; i < 100000; i++) {
        origin.session_id = i;
        CHECK(rsti_candidates_put(candidates, &origin, false, 1000 + i) != NULL);
    }
    origin.session_id = -1;
    CHECK(rsti_candidates_put(candidates, &origin, false, 200000)->is_proven);
    int refused = 0;
    for (int32_t i = 0; i < 100 * places; i++) { /* every place is a proven source's */
        origin.session_id = 1000000 + i;
        CHECK(rsti_candidates_put(candidates, &origin, true, 200000) != NULL);
        origin.session_id = -2 - i;
        refused += rsti_candidates_put(candidates, &origin, false, 200000) == NULL;
    }
    CHECK(refused > 90 * places);
    const int64_t later_ns = 200000 + RSTI_CANDIDATE_LIFE_NS;
    CHECK(rsti_candidates_put(candidates, &origin, false, later_ns) == NULL);
    CHECK(rsti_candidates_put(candidates, &origin, false, later_ns + 1) != NULL);
    harness_close(e.h);
}

/* Forged SETUPs with new sessions and addresses without end: a publisher that answers is connected
 * by the first of its SETUPs that arrives, however late its echo comes. */
TEST(a_flood_of_setups_keeps_no_publisher_out)
{
    ear_t e;
    ear_open(&e, UDP);
    const int32_t counters = count_counters(e.h);
    send_setup(&e, SENDER, SESSION, RSTREAM);
    pass(e.h);
    const rsti_rttm_t question = asked(&e);
    for (int32_t i = 0; i < 100000; i++) {
        char from[64];
        snprintf(from, sizeof from, "10.%d.%d.%d:4000", i >> 16 & 255, i >> 8 & 255, i & 255);
        send_setup(&e, from, 100000 + i, (uint8_t)(i & 1));
        if (i % 50 == 49) {
            e.h->manual.now_ns += 500000;
            forget_frames(e.h);
            pass(e.h);
            while (e.h->incoming_count > 0) {
                pass(e.h);
            }
        }
    }
    keepalive(e.h);
    CHECK_EQ(image_count(&e), 0);
    CHECK_EQ(count_counters(e.h), counters);
    send_echo(&e, SENDER, question);
    send_setup(&e, SENDER, SESSION, RSTREAM); /* its entry was taken: the next one suffices */
    settle(e.h);
    CHECK_EQ(image_count(&e), 1);
    harness_close(e.h);
}

CHECK_MAIN(RUN(a_setup_gets_one_question_and_its_answer_an_image),
    RUN(only_the_echo_of_the_asked_source_counts), RUN(a_stamp_grows_old),
    RUN(proof_comes_before_the_setup_that_data_asked_for),
    RUN(a_source_without_a_route_is_no_error), RUN(a_stranger_gets_at_most_three_bytes_for_one),
    RUN(a_late_proof_brings_naks_and_counters), RUN(a_gap_of_an_unproven_source_ends_its_image),
    RUN(a_proven_source_takes_its_session_back), RUN(a_proven_source_begins_where_its_stream_is),
    RUN(a_stranger_beside_control_is_not_admitted_unproven), RUN(who_is_admitted_unproven),
    RUN(quotas_of_unproven_images), RUN(unproven_images_hold_a_bounded_memory),
    RUN(unproven_images_lock_no_proven_source_out), RUN(frames_of_others_change_nothing),
    RUN(round_trips_are_not_forged), RUN(a_source_may_move),
    RUN(another_destination_may_have_another_source),
    RUN(strangers_take_no_place_of_proven_sources), RUN(a_flood_of_setups_keeps_no_publisher_out))
