/* The ends of publications: rejection, revocation, unblocking; which peers are told, what is
 * freed, and what is kept. */
#include "driver/conductor/logs.h"
#include "logbuffer/appender.h"
#include "tests/cnc/small_fs.h"
#include "tests/driver/harness.h"

#include <sys/stat.h>

#define UDP                                                                                        \
    "aeron:udp?endpoint=127.0.0.1:24400|init-term-id=5|term-id=5|term-offset=0|term-length=64k"
#define RECEIVER "10.1.2.3:4567"

static int count_answers(const harness_t *h, int32_t type)
{
    int count = 0;
    for (int i = 0; i < h->answer_count; i++) {
        count += h->answers[i].type == type;
    }
    return count;
}

static int64_t reject(harness_t *h, int64_t image_id, const char *reason)
{
    rsti_command_t c = {
        .type = RSTI_CMD_REJECT_IMAGE,
        .registration_id = image_id,
        .channel = {reason, (int32_t)strlen(reason)},
    };
    return command(h, &c);
}

static rsti_publication_t *ipc_publication(harness_t *h)
{
    return h->driver->conductor->ipc_publications.items[0];
}

/* N11: a rejected IPC image is lost to all its subscribers, new ones too, until the cool-down is
 * over; the publisher's clients are told. */
TEST(rejected_ipc_image_cools_down)
{
    harness_t *h = harness_open();
    const int64_t pub = add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:ipc?term-length=64k", 10);
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", 10);
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", 10);
    const rsti_publication_t *base = ipc_publication(h);
    h->answer_count = 0;
    const int64_t rejection = reject(h, pub, "no more of that");
    CHECK(answer(h, RSTI_RSP_OPERATION_SUCCESS, rejection) != NULL);
    const answer_t *told = answer_of_type(h, RSTI_RSP_PUBLICATION_ERROR);
    CHECK(told != NULL);
    CHECK_EQ(told->response.registration_id, pub);
    CHECK_EQ(told->response.session_id, base->session_id);
    CHECK_EQ(told->response.stream_id, 10);
    CHECK_EQ(told->response.error_code, RSTI_DRIVER_IMAGE_REJECTED);
    CHECK_EQ(told->response.destination_id, -1);
    CHECK_EQ(told->response.receiver_id, -1);
    CHECK_EQ(told->response.group_tag, -1);
    CHECK_STR(told->text, "no more of that");
    CHECK_EQ(counter(h, RSTI_SYSTEM_ERRORS), 1);
    CHECK_EQ(error_count(h, "rejected the image of stream 10"), 1);
    CHECK_EQ(error_count(h, "no more of that"), 1);
    CHECK_EQ(count_answers(h, RSTI_RSP_UNAVAILABLE_IMAGE), 2);
    CHECK_EQ(base->subscribers.count, 0);
    CHECK_EQ(base->file.log.metadata->is_connected, 0);
    CHECK_EQ(counter(h, RSTI_SYSTEM_IMAGES_REJECTED), 1);
    h->answer_count = 0;
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", 10);
    advance_alive(h, 9 * RSTI_NS_PER_S, 100 * MS);
    CHECK_EQ(count_answers(h, RSTI_RSP_AVAILABLE_IMAGE), 0);
    advance_alive(h, 3 * RSTI_NS_PER_S, 100 * MS);
    CHECK_EQ(count_answers(h, RSTI_RSP_AVAILABLE_IMAGE), 3);
    CHECK_EQ(base->file.log.metadata->is_connected, 1);
    CHECK_EQ(*base->pub_lmt, 32 * 1024);
    const int64_t unknown = reject(h, 4711, "whatever");
    CHECK(answer(h, RSTI_RSP_ON_ERROR, unknown) != NULL);
    harness_close(h);
}

/* N11: a batch stays intact through the cool-down, also when another reader of the rejected stream
 * is further on. */
TEST(rejected_ipc_image_leaves_its_bytes)
{
    harness_t *h = harness_open();
    const int64_t pub = add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:ipc?term-length=64k", 10);
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", 10);
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", 10);
    rsti_publication_t *base = ipc_publication(h);
    rsti_appender_t appender;
    rsti_appender_init(&appender, &base->file.log, base->pub_lmt, base->session_id, 10, false);
    uint8_t message[992];
    memset(message, 0x5A, sizeof message);
    const rsti_iovec_t part = {message, sizeof message};
    for (int i = 1; i <= 8; i++) {
        CHECK_EQ(rsti_append(&appender, &part, 1, sizeof message, 0), i * 1024);
    }
    *base->subscribers.items[1].position = 8 * 1024; /* the other one holds all of it */
    pass(h);
    (void)reject(h, pub, "no more of that");
    advance_alive(h, 9 * RSTI_NS_PER_S, 100 * MS);
    CHECK_EQ(base->subscribers.count, 0);
    CHECK_EQ(*base->pub_lmt, 8 * 1024);
    for (int i = 0; i < 8; i++) {
        const uint8_t *frame = base->file.log.terms[0] + i * 1024;
        CHECK_EQ(*rsti_frame_length_address(base->file.log.terms[0], i * 1024), 1024);
        CHECK(memcmp(frame + RSTI_DATA_HEADER_LENGTH, message, sizeof message) == 0);
    }
    /* Then the stream continues, and cleans behind its new readers. */
    advance_alive(h, 3 * RSTI_NS_PER_S, 100 * MS);
    CHECK_EQ(base->subscribers.count, 2);
    int64_t position = 8 * 1024;
    for (int i = 0; i < 200; i++) {
        const int64_t result = rsti_append(&appender, &part, 1, sizeof message, 0);
        position = result > 0 ? result : position;
        *base->subscribers.items[0].position = position;
        *base->subscribers.items[1].position = position;
        pass(h);
    }
    CHECK(position > 2 * 65536);
    harness_close(h);
}

/* N11, docs/reference/aeron/memory.md 14: an error frame of a live receiver reaches the publisher's
 * clients with all that is known of its sender; one of an unknown receiver is counted and
 * dropped. */
TEST(error_frames_reach_the_publisher)
{
    harness_t *h = harness_open();
    const int64_t pub = add(h, RSTI_CMD_ADD_PUBLICATION, UDP, 10);
    const rsti_network_publication_t *publication = h->driver->conductor->publications.items[0];
    rsti_socket_t *socket = publication->endpoint->socket;
    const rsti_sm_t sm = {
        .frame = {RSTI_SM_LENGTH, 0, 0, RSTI_FRAME_SM},
        .session_id = publication->base.session_id,
        .stream_id = 10,
        .consumption_term_id = 5,
        .receiver_window = 32 * 1024,
        .receiver_id = 99,
    };
    struct {
        rsti_err_t err;
        char text[4];
    } frame = {
        .err =
            {
                .frame = {RSTI_ERR_LENGTH + 4, 0, RSTI_ERR_FLAG_GROUP_TAG, RSTI_FRAME_ERR},
                .session_id = publication->base.session_id,
                .stream_id = 10,
                .receiver_id = 98,
                .group_tag = 1234,
                .error_code = RSTI_DRIVER_IMAGE_REJECTED,
                .error_length = 4,
            },
        .text = {'o', 'u', 'c', 'h'},
    };
    inject(h, socket, RECEIVER, &sm, sizeof sm);
    pass(h);
    inject(h, socket, RECEIVER, &frame, sizeof frame);
    pass(h);
    CHECK(answer_of_type(h, RSTI_RSP_PUBLICATION_ERROR) == NULL);
    CHECK_EQ(counter(h, RSTI_SYSTEM_ERROR_FRAMES_RECEIVED), 1);
    frame.err.receiver_id = 99;
    inject(h, socket, RECEIVER, &frame, sizeof frame);
    pass(h);
    pass(h);
    const answer_t *told = answer_of_type(h, RSTI_RSP_PUBLICATION_ERROR);
    CHECK(told != NULL);
    CHECK_EQ(told->response.registration_id, pub);
    CHECK_EQ(counter(h, RSTI_SYSTEM_ERRORS), 1);
    CHECK_EQ(error_count(h, "a subscriber on 10.1.2.3:4567 rejected"), 1);
    CHECK_EQ(error_count(h, "ouch"), 1);
    CHECK_EQ(told->response.destination_id, -1);
    CHECK_EQ(told->response.receiver_id, 99);
    CHECK_EQ(told->response.group_tag, 1234);
    CHECK_EQ(told->response.address_kind, 1);
    CHECK_EQ(told->response.port, 4567);
    static const uint8_t address[16] = {10, 1, 2, 3};
    CHECK_EQ(memcmp(told->response.address, address, 16), 0);
    CHECK_STR(told->text, "ouch");
    CHECK_EQ(publication->base.file.log.metadata->is_connected, 0);
    harness_close(h);
}

/* L12: a log that cannot be removed is counted and tried again, and does not stop the others. */
TEST(freeing_is_tried_again)
{
    harness_t *h = harness_open();
    int64_t ids[3];
    const int64_t mapped = counter(h, RSTI_SYSTEM_BYTES_MAPPED);
    for (int i = 0; i < 3; i++) {
        ids[i] = add(h, RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION, "aeron:ipc?term-length=64k", 10);
    }
    CHECK_EQ(counter(h, RSTI_SYSTEM_BYTES_MAPPED), mapped + 3 * (3 * 65536 + 4096));
    char path[RSTI_PATH_MAX];
    snprintf(path, sizeof path, "%s/publications/%" PRId64 ".logbuffer", h->dir, ids[0]);
    CHECK_EQ(unlink(path), 0);
    CHECK_EQ(mkdir(path, 0700), 0); /* unlink() fails on it */
    for (int i = 0; i < 3; i++) {
        (void)take_away(h, RSTI_CMD_REMOVE_PUBLICATION, ids[i]);
    }
    advance_alive(h, 6 * RSTI_NS_PER_S, 100 * MS);
    CHECK_EQ(h->driver->conductor->ipc_publications.count, 0);
    CHECK_EQ(h->driver->conductor->freed_logs.count, 1);
    CHECK(counter(h, RSTI_SYSTEM_FREE_FAILS) >= 2);
    CHECK_EQ(counter(h, RSTI_SYSTEM_BYTES_MAPPED), mapped);
    CHECK_EQ(rmdir(path), 0);
    advance_alive(h, 2 * RSTI_NS_PER_S, 100 * MS);
    CHECK_EQ(h->driver->conductor->freed_logs.count, 0);
    harness_close(h);
}

/* L10 */
TEST(storage_is_judged_before_a_log_is_made)
{
    CHECK_EQ(rsti_storage_judge(99, 100, 50), RSTI_STORAGE_FULL);
    CHECK_EQ(rsti_storage_judge(100, 100, 50), RSTI_STORAGE_LOW);
    CHECK_EQ(rsti_storage_judge(150, 100, 50), RSTI_STORAGE_LOW);
    CHECK_EQ(rsti_storage_judge(151, 100, 50), RSTI_STORAGE_OK);
    CHECK_EQ(rsti_storage_judge(INT64_MAX, 100, 50), RSTI_STORAGE_OK);
    harness_t *h = harness_open();
    h->driver->params.low_storage_warning = INT64_MAX;
    const int64_t pub = add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:ipc?term-length=64k", 10);
    CHECK(answer(h, RSTI_RSP_PUBLICATION_READY, pub) != NULL);
    CHECK_EQ(counter(h, RSTI_SYSTEM_ERRORS), 1);
    h->driver->params.storage_checks = 0;
    (void)add(h, RSTI_CMD_ADD_PUBLICATION, UDP, 10);
    CHECK_EQ(counter(h, RSTI_SYSTEM_ERRORS), 1);
    harness_close(h);
}

static int ask_for_too_much(const char *dir)
{
    (void)dir;
    harness_t *h = harness_open();
    const int64_t id = add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:ipc?term-length=64m", 10);
    const answer_t *error = answer(h, RSTI_RSP_ON_ERROR, id);
    SMALL_FS_CHECK(error != NULL);
    SMALL_FS_CHECK(error->response.error_code == RSTI_DRIVER_STORAGE_SPACE);
    SMALL_FS_CHECK(error->response.error_code == 12);
    SMALL_FS_CHECK(strstr(error->text, "term-length=67108864") != NULL);
    SMALL_FS_CHECK(h->driver->conductor->ipc_publications.count == 0);
    const int64_t small = add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:ipc?term-length=64k", 10);
    SMALL_FS_CHECK(answer(h, RSTI_RSP_PUBLICATION_READY, small) != NULL);
    harness_close(h);
    return 0;
}

/* L10: a publication that does not fit is refused with Aeron's code for it, one that fits is
 * served. */
TEST(storage_that_is_full_is_error_12)
{
    CHECK_EQ(small_fs_run("/dev/shm", 128 << 20, ask_for_too_much), 0);
}

/* N22, lesson 25: while draining, a dead producer's claim is padded at the next tick, also of an
 * exclusive publication; a live stream waits for the timeout. */
TEST(draining_unblocks_at_once)
{
    static const int32_t kinds[] = {RSTI_CMD_ADD_PUBLICATION, RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION};
    for (int kind = 0; kind < 2; kind++) {
        harness_t *h = harness_open();
        (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", 10);
        const int64_t pub = add(h, kinds[kind], "aeron:ipc?term-length=64k", 10);
        rsti_publication_t *base = ipc_publication(h);
        rsti_appender_t appender;
        rsti_data_header_t *frame;
        rsti_appender_init(&appender, &base->file.log, base->pub_lmt, base->session_id, 10,
            kind == 1);
        CHECK_EQ(rsti_append_claim(&appender, 100, 0, &frame), 160);
        advance_alive(h, 3 * RSTI_NS_PER_S, 100 * MS);
        CHECK_EQ(counter(h, RSTI_SYSTEM_UNBLOCKED_PUBLICATIONS), 0);
        (void)take_away(h, RSTI_CMD_REMOVE_PUBLICATION, pub);
        advance_alive(h, 2 * RSTI_NS_PER_S, 100 * MS);
        CHECK_EQ(counter(h, RSTI_SYSTEM_UNBLOCKED_PUBLICATIONS), 1);
        CHECK_EQ(frame->frame.type, RSTI_FRAME_PAD);
        CHECK_EQ(base->life, RSTI_LIFE_DRAINING);
        *base->subscribers.items[0].position = 160;
        advance_alive(h, 4 * RSTI_NS_PER_S, 100 * MS);
        CHECK_EQ(h->driver->conductor->ipc_publications.count, 0);
        harness_close(h);
    }
}

/* The sender stands still because no receiver is left, and a spy has read on to a dead claim. */
TEST(draining_unblocks_where_a_spy_waits)
{
    harness_t *h = harness_open();
    const int64_t pub = add(h, RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION, UDP, 10);
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron-spy:" UDP, 10);
    rsti_network_publication_t *publication = h->driver->conductor->publications.items[0];
    rsti_publication_t *base = &publication->base;
    int64_t limit = 65536; /* as while a receiver existed */
    rsti_appender_t appender;
    rsti_data_header_t *frame;
    rsti_appender_init(&appender, &base->file.log, &limit, base->session_id, 10, true);
    const rsti_iovec_t part = {"hello", 5};
    CHECK_EQ(rsti_append(&appender, &part, 1, 5, 0), 64);
    CHECK_EQ(rsti_append_claim(&appender, 100, 0, &frame), 224);
    (void)take_away(h, RSTI_CMD_REMOVE_PUBLICATION, pub);
    CHECK_EQ(base->subscribers.count, 1);
    *base->subscribers.items[0].position = 64;
    advance_alive(h, 3 * RSTI_NS_PER_S, 100 * MS);
    CHECK_EQ(publication->position, 0);
    CHECK_EQ(frame->frame.type, RSTI_FRAME_PAD);
    CHECK_EQ(counter(h, RSTI_SYSTEM_UNBLOCKED_PUBLICATIONS), 1);
    CHECK_EQ(base->life, RSTI_LIFE_DRAINING);
    *base->subscribers.items[0].position = 224;
    advance_alive(h, 8 * RSTI_NS_PER_S, 100 * MS);
    CHECK_EQ(h->driver->conductor->publications.count, 0);
    harness_close(h);
}

/* N12: subscribers of a revoked IPC publication see its end at once, whatever they have read. */
TEST(revoked_ipc_publication)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", 10);
    const int64_t sub = add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", 10);
    const int64_t pub = add(h, RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION, "aeron:ipc?term-length=64k", 10);
    rsti_publication_t *base = ipc_publication(h);
    rsti_appender_t appender;
    rsti_appender_init(&appender, &base->file.log, base->pub_lmt, base->session_id, 10, true);
    const rsti_iovec_t part = {"hello", 5};
    CHECK_EQ(rsti_append(&appender, &part, 1, 5, 0), 64);
    rsti_command_t c = {.type = RSTI_CMD_REMOVE_PUBLICATION, .registration_id = pub, .flags = 1};
    const int64_t removal = command(h, &c);
    CHECK(answer(h, RSTI_RSP_OPERATION_SUCCESS, removal) != NULL);
    CHECK_EQ(count_answers(h, RSTI_RSP_UNAVAILABLE_IMAGE), 2);
    const rsti_log_metadata_t *metadata = base->file.log.metadata;
    CHECK_EQ(metadata->is_publication_revoked, 1);
    CHECK_EQ(metadata->end_of_stream_position, 64);
    CHECK_EQ(metadata->is_connected, 0);
    CHECK_EQ(*base->pub_lmt, 64);
    CHECK_EQ(counter(h, RSTI_SYSTEM_PUBLICATIONS_REVOKED), 1);
    const int64_t late = add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", 10);
    CHECK(late > sub);
    CHECK_EQ(count_answers(h, RSTI_RSP_AVAILABLE_IMAGE), 2);
    advance_alive(h, 3 * RSTI_NS_PER_S, 100 * MS);
    CHECK_EQ(h->driver->conductor->ipc_publications.count, 0);
    CHECK_EQ(count_answers(h, RSTI_RSP_UNAVAILABLE_IMAGE), 2);
    harness_close(h);
}

/* N11: a publication that closed with unread data takes new subscribers until the slowest reader
 * has read everything. They begin where that reader is. */
TEST(draining_ipc_publication_takes_readers)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", 10);
    const int64_t pub = add(h, RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION, "aeron:ipc?term-length=64k", 10);
    rsti_publication_t *base = ipc_publication(h);
    rsti_appender_t appender;
    rsti_appender_init(&appender, &base->file.log, base->pub_lmt, base->session_id, 10, true);
    const rsti_iovec_t part = {"hello", 5};
    CHECK_EQ(rsti_append(&appender, &part, 1, 5, 0), 64);
    CHECK_EQ(rsti_append(&appender, &part, 1, 5, 0), 128);
    *base->subscribers.items[0].position = 64;
    (void)take_away(h, RSTI_CMD_REMOVE_PUBLICATION, pub);
    CHECK_EQ(base->life, RSTI_LIFE_DRAINING);
    h->answer_count = 0;
    const int64_t late = add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", 10);
    const answer_t *image = answer(h, RSTI_RSP_AVAILABLE_IMAGE, pub);
    CHECK(image != NULL);
    CHECK_EQ(image->response.registration_id, late);
    CHECK_EQ(base->subscribers.count, 2);
    CHECK_EQ(*base->subscribers.items[1].position, 64);
    *base->subscribers.items[0].position = 128;
    advance_alive(h, 3 * RSTI_NS_PER_S, 100 * MS);
    CHECK_EQ(base->life, RSTI_LIFE_DRAINING); /* the late reader holds it */
    *base->subscribers.items[1].position = 128;
    h->answer_count = 0;
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", 10); /* nothing is left to read */
    CHECK_EQ(count_answers(h, RSTI_RSP_AVAILABLE_IMAGE), 0);
    advance_alive(h, 3 * RSTI_NS_PER_S, 100 * MS);
    CHECK_EQ(count_answers(h, RSTI_RSP_UNAVAILABLE_IMAGE), 2);
    CHECK_EQ(h->driver->conductor->ipc_publications.count, 0);
    harness_close(h);
}

/* J3, lesson 18: the memory one term behind the slowest reader is zero before the limit can wrap to
 * it, for a network publication whose receiver stops and goes. */
TEST(memory_ahead_of_the_limit_is_clean)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_PUBLICATION, UDP, 10);
    rsti_network_publication_t *publication = h->driver->conductor->publications.items[0];
    rsti_publication_t *base = &publication->base;
    rsti_log_t *log = &base->file.log;
    rsti_appender_t appender;
    rsti_appender_init(&appender, log, base->pub_lmt, base->session_id, 10, false);
    rsti_rng_t rng;
    rsti_rng_init(&rng, 7);
    uint8_t message[1024];
    memset(message, 0xAB, sizeof message);
    int64_t position = 0, consumed = 0;
    while (position < 40 * 65536) {
        for (uint64_t i = rsti_rng_next(&rng) % 30; i > 0; i--) {
            const rsti_iovec_t part = {message, 32 + rsti_rng_next(&rng) % 990};
            const int64_t result = rsti_append(&appender, &part, 1, part.length, 0);
            position = result > 0 ? result : position;
        }
        forget_frames(h);
        if (rsti_rng_next(&rng) % 4 == 0) {
            consumed = *publication->snd_pos;
            const rsti_sm_t sm = {
                .frame = {RSTI_SM_LENGTH, 0, 0, RSTI_FRAME_SM},
                .session_id = base->session_id,
                .stream_id = 10,
                .consumption_term_id = 5 + (int32_t)(consumed >> 16),
                .consumption_term_offset = (int32_t)(consumed & 0xFFFF),
                .receiver_window = 16 * 1024,
                .receiver_id = 99,
            };
            inject(h, publication->endpoint->socket, RECEIVER, &sm, sizeof sm);
        }
        pass(h);
        /* The bytes that a producer may write from here on are zero: up to the limit, one message
         * more, and the end of the stream. */
        const int64_t tail = rsti_log_producer_position(log);
        const int64_t end = *base->pub_lmt + rsti_limit_reach(65536, base->options.mtu);
        for (int64_t p = tail; p < end; p += 32) {
            const uint8_t *word = log->terms[(p >> 16) % 3] + (p & 0xFFFF);
            CHECK_EQ(rsti_get_i64(word), 0);
            CHECK_EQ(rsti_get_i64(word + 24), 0);
        }
    }
    harness_close(h);
}

CHECK_MAIN(RUN(rejected_ipc_image_cools_down), RUN(rejected_ipc_image_leaves_its_bytes),
    RUN(error_frames_reach_the_publisher), RUN(freeing_is_tried_again),
    RUN(storage_is_judged_before_a_log_is_made), RUN(storage_that_is_full_is_error_12),
    RUN(draining_unblocks_at_once), RUN(draining_unblocks_where_a_spy_waits),
    RUN(revoked_ipc_publication), RUN(draining_ipc_publication_takes_readers),
    RUN(memory_ahead_of_the_limit_is_clean))
