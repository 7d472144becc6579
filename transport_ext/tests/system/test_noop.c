/* NOOPs between two real drivers: a reader that no longer polls, though its client lives, is given
 * up with an error that says so; when it polls again it returns, and has missed nothing. */
#include "rstream/image.h"
#include "tests/system/transport.h"

#define LIMIT_NS INT64_C(60000000000)

typedef struct ends_t {
    rst_publication_t *publication;
    rst_subscription_t *subscription;
    rst_batch_t *batch;
    int64_t sent, received;
    bool is_looking; /* polls by callback */
} ends_t;

static ends_t ends;

static void offer(void)
{
    uint8_t message[512];
    const size_t length = message_length(ends.sent, sizeof message);
    message_fill(message, ends.sent, length);
    ends.sent += rst_publication_offer(ends.publication, message, length, 0) > 0;
}

/* Takes no message: a poll is enough. */
static rst_poll_action_t leave(void *arg, const rst_fragment_t *fragment)
{
    (void)arg, (void)fragment;
    return RST_POLL_ABORT;
}

static bool poll_once(void)
{
    if (ends.is_looking) {
        rst_poll_params_t params;
        rst_poll_params_init(&params);
        return rst_subscription_poll_each(ends.subscription, &params, NULL, leave) >= 0;
    }
    bool is_sound = rst_subscription_poll(ends.subscription, 64, 0, ends.batch) >= 0;
    int32_t count = 0;
    const rst_message_t *messages = rst_batch_messages(ends.batch, &count);
    for (int32_t i = 0; i < count; i++, ends.received++) {
        is_sound = is_sound
            && message_is(messages[i].data, ends.received, (size_t)messages[i].length);
    }
    rst_batch_release(ends.batch);
    return is_sound;
}

/* Until it is connected, or no longer connected. */
static bool await_connection(bool is_wanted, bool is_polling)
{
    for (const int64_t begin_ns = now_ns(); now_ns() - begin_ns < LIMIT_NS;) {
        offer();
        if ((is_polling && !poll_once())) {
            return false;
        }
        if (rst_publication_is_connected(ends.publication) == is_wanted) {
            return true;
        }
        usleep(2000);
    }
    return false;
}

TEST(unpolled_reader_is_given_up_and_taken_back)
{
    const char *here_options[] = {"threading=shared", "noop-interval=300ms", NULL};
    const char *there_options[] = {"threading=shared", NULL};
    rst_driver_t *here = open_driver("here", here_options);
    rst_driver_t *there = open_driver("there", there_options);
    CHECK(here != NULL && there != NULL);
    rst_client_t *sender = open_client(here);
    rst_client_t *receiver = open_client(there);
    CHECK(sender != NULL && receiver != NULL);
    const char *channel = udp_channel("|term-length=64k|rcv-wnd=16k");
    ends = (ends_t){
        .publication = add_publication(sender, channel, true),
        .subscription = add_subscription(receiver, channel),
    };
    CHECK(ends.publication != NULL && ends.subscription != NULL);
    CHECK_EQ(rst_batch_create(&ends.batch, 64), 0);
    for (int round = 0; round < 3; round++) {
        ends.is_looking = round == 2;
        CHECK(await_connection(true, true));
        CHECK(await_connection(false, false));
        rst_publication_error_t error = {0};
        for (const int64_t begin_ns = now_ns(); now_ns() - begin_ns < LIMIT_NS
            && rst_publication_next_error(ends.publication, &error) == 0;) {
            usleep(1000);
        }
        fprintf(stderr, "%s\n", error.text);
        CHECK(strstr(error.text, "the reader does not poll") != NULL);
        CHECK(strstr(error.source, "127.0.0.1:") == error.source);
    }
    CHECK(await_connection(true, true));
    ends.is_looking = false;
    for (const int64_t begin_ns = now_ns();
        ends.received < ends.sent && now_ns() - begin_ns < LIMIT_NS;) {
        CHECK(poll_once());
    }
    CHECK_EQ(ends.received, ends.sent);
    rst_batch_destroy(ends.batch);
    rst_publication_close(ends.publication);
    rst_subscription_close(ends.subscription);
    rst_client_close(sender);
    rst_client_close(receiver);
    rst_driver_close(here);
    rst_driver_close(there);
}

CHECK_MAIN(RUN(unpolled_reader_is_given_up_and_taken_back))
