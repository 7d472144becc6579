/* Sessions of a receive endpoint that come, go, fail and return, and their limit
 * (docs/reference/aeron/wire.md 6). */
#include "driver/conductor/image_limits.h"
#include "driver/receiver/receiver.h"
#include "tests/driver/harness.h"

#include <sys/stat.h>

#define UDP "aeron:udp?endpoint=127.0.0.1:24500"
#define SENDER "127.0.0.1:30001"
#define STREAM 10

typedef struct ear_t {
    harness_t *h;
    int64_t id;
    rsti_socket_t *socket;
    rsti_dispatcher_t *dispatcher;
} ear_t;

static void ear_open(ear_t *e, const char *channel)
{
    e->h = harness_open();
    e->id = add(e->h, RSTI_CMD_ADD_SUBSCRIPTION, channel, STREAM);
    rsti_receive_endpoint_t *endpoint = e->h->driver->conductor->receive_endpoints.items[0];
    e->socket = endpoint->owned[0]->socket;
    e->dispatcher = &endpoint->dispatcher;
}

static size_t image_count(const ear_t *e)
{
    return e->h->driver->conductor->images.count;
}

static rsti_image_t *image_at(const ear_t *e, size_t index)
{
    return e->h->driver->conductor->images.items[index];
}

static void send_setup_of(const ear_t *e, int32_t session_id, int32_t stream_id,
    int32_t term_length)
{
    const rsti_setup_t setup = {
        .frame = {RSTI_SETUP_LENGTH, 0, 0, RSTI_FRAME_SETUP},
        .session_id = session_id,
        .stream_id = stream_id,
        .initial_term_id = 7,
        .active_term_id = 7,
        .term_length = term_length,
        .mtu = 1408,
    };
    inject(e->h, e->socket, SENDER, &setup, sizeof setup);
}

static void setup(const ear_t *e, int32_t session_id)
{
    send_setup_of(e, session_id, STREAM, 65536);
    pass(e->h);
    pass(e->h);
}

static void send_heartbeat(const ear_t *e, int32_t session_id, uint8_t flags)
{
    rsti_data_header_t header;
    rsti_data_header_fill(&header, flags, RSTI_FRAME_DATA, session_id, STREAM, 7, 0);
    header.frame.frame_length = 0;
    inject(e->h, e->socket, SENDER, &header, sizeof header);
}

static void send_data(const ear_t *e, int32_t session_id)
{
    uint8_t datagram[64] = {0};
    rsti_data_header_t header;
    rsti_data_header_fill(&header, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA, session_id, STREAM, 7,
        0);
    header.frame.frame_length = 64;
    memcpy(datagram, &header, sizeof header);
    inject(e->h, e->socket, SENDER, datagram, sizeof datagram);
}

static int available_count(const harness_t *h, int64_t subscription_id)
{
    int count = 0;
    for (int i = 0; i < h->answer_count; i++) {
        count += h->answers[i].type == RSTI_RSP_AVAILABLE_IMAGE
            && h->answers[i].response.registration_id == subscription_id;
    }
    return count;
}

static int unavailable_count(const harness_t *h, int64_t subscription_id)
{
    int count = 0;
    for (int i = 0; i < h->answer_count; i++) {
        count += h->answers[i].type == RSTI_RSP_UNAVAILABLE_IMAGE
            && h->answers[i].response.registration_id == subscription_id;
    }
    return count;
}

static int state_of(const ear_t *e, int32_t session_id)
{
    const rsti_session_t *session = rsti_dispatcher_find(e->dispatcher, STREAM, session_id);
    return session == NULL ? -1 : (int)session->state;
}

/* ---- K6: the states ---- */

/* K6 */
TEST(one_image_per_session_however_often_it_is_set_up)
{
    ear_t e;
    ear_open(&e, UDP);
    send_setup_of(&e, 1, STREAM, 65536);
    send_setup_of(&e, 1, STREAM, 65536); /* while the image is being made */
    send_setup_of(&e, 2, STREAM, 65536);
    send_setup_of(&e, 2, 11, 65536); /* a stream without a subscription */
    send_setup_of(&e, 2, STREAM, 65537); /* not a power of two */
    int64_t deadline = 0;
    for (int i = 0; i < 3; i++) { /* the SETUPs, then the echoes of what they are answered with */
        (void)rsti_receiver_do_work(e.h->driver->receiver, e.h->manual.now_ns, &deadline);
    }
    CHECK_EQ(state_of(&e, 1), RSTI_SESSION_INIT_IN_PROGRESS);
    pass(e.h);
    pass(e.h);
    CHECK_EQ(image_count(&e), 2);
    CHECK_EQ(state_of(&e, 1), RSTI_SESSION_ACTIVE);
    setup(&e, 1);
    CHECK_EQ(image_count(&e), 2);
    CHECK_EQ(available_count(e.h, e.id), 2);
    CHECK_EQ(counter(e.h, RSTI_SYSTEM_INVALID_PACKETS), 1);
    harness_close(e.h);
}

/* K6 */
TEST(data_of_a_new_session_elicits_once_and_nothing_when_unwanted)
{
    ear_t e;
    ear_open(&e, UDP "|session-id=5");
    send_data(&e, 5);
    send_data(&e, 5);
    send_data(&e, 6); /* NO_INTEREST */
    pass(e.h);
    CHECK_EQ(count_frames(e.h, RSTI_FRAME_SM), 1);
    CHECK_EQ(state_of(&e, 5), -1); /* an entry of the table only with an image */
    CHECK_EQ(state_of(&e, 6), -1);
    /* It is wanted as soon as a subscription exists: a missing mark need not be cleared. */
    (void)add(e.h, RSTI_CMD_ADD_SUBSCRIPTION, UDP "|session-id=6", STREAM);
    send_data(&e, 6);
    pass(e.h);
    CHECK_EQ(count_frames(e.h, RSTI_FRAME_SM), 2);
    setup(&e, 5);
    CHECK_EQ(state_of(&e, 5), RSTI_SESSION_ACTIVE);
    harness_close(e.h);
}

/* K6: lesson 7: the disk is full for a while. */
TEST(an_image_that_could_not_be_made_is_made_by_a_later_setup)
{
    ear_t e;
    ear_open(&e, UDP);
    char images[160];
    snprintf(images, sizeof images, "%s/images", e.h->dir);
    CHECK_EQ(rmdir(images), 0);
    setup(&e, 1);
    CHECK_EQ(image_count(&e), 0);
    CHECK_EQ(state_of(&e, 1), -1);
    CHECK_EQ(mkdir(images, 0700), 0);
    setup(&e, 1);
    CHECK_EQ(image_count(&e), 1);
    harness_close(e.h);
}

/* Lesson 8 */
TEST(no_cool_down_after_the_end_of_a_stream)
{
    ear_t e;
    ear_open(&e, UDP "|rejoin=false");
    setup(&e, 1);
    send_heartbeat(&e, 1, RSTI_FLAG_UNFRAGMENTED | RSTI_FLAG_EOS);
    advance_alive(e.h, 1200 * MS, 50 * MS);
    CHECK_EQ(unavailable_count(e.h, e.id), 1);
    CHECK_EQ(state_of(&e, 1), -1);
    setup(&e, 1); /* a new publisher of the same session */
    CHECK_EQ(available_count(e.h, e.id), 2);
    harness_close(e.h);
}

/* K6 */
TEST(without_rejoin_a_silent_session_stays_out_until_all_interest_is_new)
{
    ear_t e;
    ear_open(&e, UDP "|rejoin=false");
    const int64_t other = add(e.h, RSTI_CMD_ADD_SUBSCRIPTION, UDP "|session-id=2", STREAM);
    setup(&e, 1);
    advance_alive(e.h, 12 * RSTI_NS_PER_S, 100 * MS);
    CHECK_EQ(state_of(&e, 1), RSTI_SESSION_COOL_DOWN);
    send_data(&e, 1);
    setup(&e, 1);
    CHECK_EQ(available_count(e.h, e.id), 1);
    /* The subscription to all sessions is closed; one that covers only this session does not keep
     * the mark. */
    (void)take_away(e.h, RSTI_CMD_REMOVE_SUBSCRIPTION, e.id);
    CHECK_EQ(state_of(&e, 1), -1);
    e.id = add(e.h, RSTI_CMD_ADD_SUBSCRIPTION, UDP "|rejoin=false", STREAM);
    setup(&e, 1);
    CHECK_EQ(available_count(e.h, e.id), 1);
    CHECK_EQ(available_count(e.h, other), 0);
    harness_close(e.h);
}

/* K6, L5: the image of a session that returned is not forgotten together with its predecessor. */
TEST(going_of_an_old_image_keeps_the_newer_one)
{
    ear_t e;
    ear_open(&e, UDP);
    setup(&e, 1);
    rsti_image_t *old = image_at(&e, 0);
    (void)take_away(e.h, RSTI_CMD_REMOVE_SUBSCRIPTION, e.id); /* it drains */
    e.id = add(e.h, RSTI_CMD_ADD_SUBSCRIPTION, UDP, STREAM);
    setup(&e, 1);
    CHECK_EQ(image_count(&e), 2);
    rsti_image_t *newer = image_at(&e, 1);
    CHECK(old->is_superseded);
    for (int i = 0; i < 30; i++) {
        send_heartbeat(&e, 1, RSTI_FLAG_UNFRAGMENTED);
        advance_alive(e.h, 500 * MS, 100 * MS);
        forget_frames(e.h);
    }
    CHECK_EQ(image_count(&e), 1);
    CHECK(image_at(&e, 0) == newer);
    CHECK_EQ(rsti_dispatcher_find(e.dispatcher, STREAM, 1)->image, newer);
    harness_close(e.h);
}

/* K6, L4: lesson 24, N6 */
TEST(wildcard_and_session_filters_are_removed_in_every_order)
{
    const char *channels[3] = {UDP, UDP "|session-id=1", UDP "|session-id=2"};
    const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (int o = 0; o < 6; o++) {
        harness_t *h = harness_open();
        int64_t ids[3];
        for (int i = 0; i < 3; i++) {
            ids[i] = add(h, RSTI_CMD_ADD_SUBSCRIPTION, channels[i], STREAM);
        }
        rsti_receive_endpoint_t *endpoint = h->driver->conductor->receive_endpoints.items[0];
        ear_t e = {h, ids[0], endpoint->owned[0]->socket, &endpoint->dispatcher};
        setup(&e, 1);
        setup(&e, 2);
        setup(&e, 3);
        CHECK_EQ(available_count(h, ids[0]), 3);
        CHECK_EQ(available_count(h, ids[1]), 1);
        CHECK_EQ(available_count(h, ids[2]), 1);
        h->answer_count = 0;
        bool is_there[3] = {true, true, true};
        for (int i = 0; i < 3; i++) {
            is_there[orders[o][i]] = false;
            (void)take_away(h, RSTI_CMD_REMOVE_SUBSCRIPTION, ids[orders[o][i]]);
            for (int32_t session = 1; i < 2 && session <= 3; session++) {
                const bool is_wanted = is_there[0] || (session < 3 && is_there[session]);
                CHECK_EQ(state_of(&e, session), is_wanted ? (int)RSTI_SESSION_ACTIVE : -1);
            }
        }
        CHECK(answer_of_type(h, RSTI_RSP_UNAVAILABLE_IMAGE) == NULL); /* no client lost one */
        advance_alive(h, 13 * RSTI_NS_PER_S, 100 * MS);
        CHECK_EQ(h->driver->conductor->images.count, 0);
        CHECK_EQ(h->driver->conductor->receive_endpoints.count, 0);
        harness_close(h);
    }
}

/* L4, N4 */
TEST(a_second_subscription_joins_the_image_where_the_first_one_is)
{
    ear_t e;
    ear_open(&e, UDP);
    setup(&e, 1);
    send_data(&e, 1);
    pass(e.h);
    const int64_t second = add(e.h, RSTI_CMD_ADD_SUBSCRIPTION, UDP, STREAM);
    CHECK_EQ(image_count(&e), 1);
    CHECK_EQ(available_count(e.h, second), 1);
    CHECK_EQ(image_at(&e, 0)->subscribers.count, 2);
    CHECK_EQ(*image_at(&e, 0)->subscribers.items[1].position, 0); /* as the slower one */
    (void)take_away(e.h, RSTI_CMD_REMOVE_SUBSCRIPTION, e.id);
    CHECK_EQ(image_at(&e, 0)->life, RSTI_LIFE_ACTIVE);
    CHECK_EQ(unavailable_count(e.h, second), 0);
    advance_alive(e.h, 12 * RSTI_NS_PER_S, 100 * MS);
    *image_at(&e, 0)->subscribers.items[0].position = 64;
    advance_alive(e.h, 2 * RSTI_NS_PER_S, 100 * MS);
    CHECK_EQ(unavailable_count(e.h, second), 1);
    harness_close(e.h);
}

/* Lesson 14 */
TEST(nothing_is_asked_for_at_the_first_connection)
{
    ear_t e;
    ear_open(&e, UDP);
    setup(&e, 1);
    send_heartbeat(&e, 1, RSTI_FLAG_UNFRAGMENTED);
    advance_alive(e.h, 100 * MS, MS);
    CHECK_EQ(count_frames(e.h, RSTI_FRAME_NAK), 0);
    harness_close(e.h);
}

/* ---- limits ---- */

/* N24, K6: only new sessions are refused, and each stream counts separately. */
TEST(stream_session_limit)
{
    ear_t e;
    ear_open(&e, UDP);
    (void)add(e.h, RSTI_CMD_ADD_SUBSCRIPTION, UDP, 11);
    e.h->driver->params.stream_session_limit = 2;
    setup(&e, 1);
    setup(&e, 2);
    CHECK_EQ(image_count(&e), 2);
    CHECK_EQ(error_count(e.h, "stream-session-limit=2"), 0);
    setup(&e, 3);
    CHECK_EQ(image_count(&e), 2);
    CHECK_EQ(error_count(e.h, "stream-session-limit=2"), 1);
    CHECK_EQ(state_of(&e, 3), -1);
    setup(&e, 1); /* it has an image: refreshed, not refused */
    CHECK_EQ(state_of(&e, 1), RSTI_SESSION_ACTIVE);
    send_setup_of(&e, 3, 11, 65536);
    pass(e.h);
    pass(e.h);
    CHECK_EQ(image_count(&e), 3);
    /* One session goes, another may come. */
    send_heartbeat(&e, 1, RSTI_FLAG_UNFRAGMENTED | RSTI_FLAG_EOS);
    advance_alive(e.h, 1200 * MS, 50 * MS);
    setup(&e, 3);
    CHECK_EQ(state_of(&e, 3), RSTI_SESSION_ACTIVE);
    harness_close(e.h);
}

TEST(law_of_unproven_images)
{
    const int64_t none = INT64_MAX;
    CHECK(rsti_images_fit(0, 1000, 1000, none));
    CHECK(!rsti_images_fit(0, 1001, 1000, none)); /* a single one too */
    CHECK(rsti_images_fit(600, 400, 1000, none));
    CHECK(!rsti_images_fit(600, 401, 1000, none));
    CHECK(!rsti_images_fit(2000, 1, 1000, none));
    CHECK(rsti_images_fit(0, 7000, 100000, 8000));
    CHECK(!rsti_images_fit(0, 7001, 100000, 8000));
    CHECK(!rsti_images_fit(4000, 3001, 100000, 4000));
    CHECK(rsti_images_fit(4000, 3000, 100000, 4000));
    CHECK(!rsti_images_fit(0, 1, 1000, 0));
}

/* ---- the dispatcher's table is full ---- */

TEST(a_new_session_takes_the_place_of_the_oldest_cool_down)
{
    rsti_dispatcher_t d;
    CHECK_EQ(rsti_dispatcher_init(&d, 16), 0);
    for (int32_t i = 0; i < 15; i++) {
        CHECK(rsti_dispatcher_put(&d, STREAM, i, RSTI_SESSION_ACTIVE, i) != NULL);
    }
    CHECK(rsti_dispatcher_put(&d, STREAM, 15, RSTI_SESSION_COOL_DOWN, 50) != NULL);
    CHECK(rsti_dispatcher_put(&d, STREAM, 16, RSTI_SESSION_INIT_IN_PROGRESS, 51) != NULL);
    CHECK(rsti_dispatcher_find(&d, STREAM, 15) == NULL);
    CHECK_EQ(d.counts[RSTI_SESSION_COOL_DOWN], 0);
    CHECK(rsti_dispatcher_put(&d, STREAM, 18, RSTI_SESSION_INIT_IN_PROGRESS, 53) == NULL);
    for (int32_t i = 0; i < 15; i++) {
        CHECK_EQ(rsti_dispatcher_find(&d, STREAM, i)->state, RSTI_SESSION_ACTIVE);
    }
    rsti_dispatcher_fini(&d);
}

CHECK_MAIN(RUN(one_image_per_session_however_often_it_is_set_up),
    RUN(data_of_a_new_session_elicits_once_and_nothing_when_unwanted),
    RUN(an_image_that_could_not_be_made_is_made_by_a_later_setup),
    RUN(no_cool_down_after_the_end_of_a_stream),
    RUN(without_rejoin_a_silent_session_stays_out_until_all_interest_is_new),
    RUN(going_of_an_old_image_keeps_the_newer_one),
    RUN(wildcard_and_session_filters_are_removed_in_every_order),
    RUN(a_second_subscription_joins_the_image_where_the_first_one_is),
    RUN(nothing_is_asked_for_at_the_first_connection), RUN(stream_session_limit),
    RUN(law_of_unproven_images), RUN(a_new_session_takes_the_place_of_the_oldest_cool_down))
