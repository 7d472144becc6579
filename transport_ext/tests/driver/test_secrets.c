/* Must hold: who sees the ids of a driver learns nothing that the driver keeps to itself, and no id
 * that it has not shown yet. A SETUP of 40 bytes shows the receiver id to anybody. */
#include "driver/sender/challenge.h"
#include "tests/driver/harness.h"
#include "tests/rng_inverse.h"

#define READER "aeron:udp?endpoint=127.0.0.1:24400"
#define SESSIONS 10000

static const rsti_rttm_t *ask(harness_t *h, rsti_socket_t *socket)
{
    const rsti_setup_t setup = {
        .frame = {RSTI_SETUP_LENGTH, 0, 0, RSTI_FRAME_SETUP},
        .session_id = 1,
        .stream_id = 10,
        .initial_term_id = 5,
        .active_term_id = 5,
        .term_length = 64 * 1024,
        .mtu = 1408,
    };
    inject(h, socket, "10.9.8.7:666", &setup, sizeof setup);
    pass(h);
    const frame_t *frame = last_frame(h, RSTI_FRAME_RTTM);
    return frame == NULL ? NULL : (const rsti_rttm_t *)(const void *)frame->data;
}

/* Everything that one number tells to who takes it for the first one of a generator. */
static void check_number(const harness_t *h, uint64_t number, int32_t next_session)
{
    const uint64_t seed = seed_of_first(number);
    const uint64_t seeds[] = {seed, ~seed};
    for (size_t i = 0; i < 2; i++) {
        rsti_rng_t rng;
        rsti_rng_init(&rng, seeds[i]);
        for (int n = 0; n < 8; n++) {
            const uint64_t guess = rsti_rng_next(&rng);
            CHECK(guess != h->driver->sender->secret[0] && guess != h->driver->sender->secret[1]);
            CHECK((int32_t)(uint32_t)guess != next_session);
        }
    }
}

static int32_t next_session(harness_t *h)
{
    const rsti_command_t ask_next = {.type = RSTI_CMD_NEXT_SESSION_ID, .stream_id = 10};
    rsti_command_t asked = ask_next;
    const int64_t id = command(h, &asked);
    const answer_t *told = answer(h, RSTI_RSP_NEXT_SESSION_ID, id);
    return told == NULL ? 0 : told->response.session_id;
}

TEST(a_shown_receiver_id_tells_nothing)
{
    harness_t *h = harness_open();
    h->is_rude = true;
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, READER, 10);
    rsti_receive_endpoint_t *endpoint = h->driver->conductor->receive_endpoints.items[0];
    const rsti_rttm_t *asked = ask(h, endpoint->owned[0]->socket);
    CHECK(asked != NULL);
    const uint64_t receiver_id = (uint64_t)asked->receiver_id;
    const uint64_t stamp = (uint64_t)asked->echo_timestamp;
    const int32_t session_id = next_session(h);
    check_number(h, receiver_id, session_id);
    check_number(h, stamp, session_id);
    harness_close(h);
}

/* Receiver ids of one driver do not follow one another either: one names none of the others. */
TEST(receiver_ids_do_not_follow_one_another)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, READER, 10);
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:udp?endpoint=127.0.0.1:24401", 10);
    const rsti_receive_endpoint_t *one = h->driver->conductor->receive_endpoints.items[0];
    const rsti_receive_endpoint_t *two = h->driver->conductor->receive_endpoints.items[1];
    const int64_t apart = (int64_t)((uint64_t)two->receiver_id - (uint64_t)one->receiver_id);
    CHECK(one->receiver_id != 0 && two->receiver_id != 0);
    CHECK(apart > 1000000 || apart < -1000000);
    harness_close(h);
}

TEST(ten_thousand_shown_sessions_tell_nothing)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, READER, 10);
    int32_t before = next_session(h);
    for (int i = 0; i < SESSIONS; i++) {
        const int32_t now = next_session(h);
        check_number(h, (uint64_t)(uint32_t)before, now);
        check_number(h, (uint64_t)(int64_t)before, now);
        before = now;
        h->answer_count = 0;
    }
    harness_close(h);
}

CHECK_MAIN(RUN(a_shown_receiver_id_tells_nothing), RUN(receiver_ids_do_not_follow_one_another),
    RUN(ten_thousand_shown_sessions_tell_nothing))
