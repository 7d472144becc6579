/* Publications and subscriptions come and go from several threads while others stream: for the
 * thread sanitizer, and for errors that appear only when objects are closed while in use. */
#include "tests/system/transport.h"

#include <pthread.h>

#define CHURN_NS INT64_C(1500000000)
#define CHURNERS 3

typedef struct churner_t {
    pthread_t thread;
    rst_client_t *client;
    const char *channel;
    int kind;
    int64_t until_ns;
    int64_t rounds;
    int64_t received;
    bool has_failed;
} churner_t;

/* Reads for a moment; the messages of each session must have no gap. */
static bool read_some(churner_t *c, rst_subscription_t *subscription, rst_batch_t *batch)
{
    const int64_t end_ns = now_ns() + 5000000;
    int64_t expected[64] = {0};
    int32_t sessions[64];
    int session_count = 0;
    while (now_ns() < end_ns) {
        if (rst_subscription_poll(subscription, 64, 0, batch) < 0) {
            fprintf(stderr, "poll: %s\n", rst_last_error_text());
            return false;
        }
        int32_t count = 0;
        const rst_message_t *messages = rst_batch_messages(batch, &count);
        for (int32_t i = 0; i < count; i++) {
            int64_t number;
            int at = 0;
            memcpy(&number, messages[i].data, sizeof number);
            while (at < session_count && sessions[at] != messages[i].session_id) {
                at++;
            }
            if (at == session_count) {
                if (session_count == 64) {
                    return true;
                }
                sessions[session_count++] = messages[i].session_id;
            } else if (number != expected[at]) {
                fprintf(stderr, "session %d: message %" PRId64 ", expected %" PRId64 "\n",
                    messages[i].session_id, number, expected[at]);
                return false;
            }
            expected[at] = number + 1;
            c->received++;
        }
        rst_batch_release(batch);
    }
    return true;
}

static bool churn_reader(churner_t *c, rst_batch_t *batch)
{
    rst_subscription_t *subscription = add_subscription(c->client, c->channel);
    const bool is_good = subscription != NULL && read_some(c, subscription, batch);
    if (c->rounds % 2 == 0) {
        rst_subscription_close(subscription); /* the batch still holds messages */
        rst_batch_release(batch);
    } else {
        rst_batch_release(batch);
        rst_subscription_close(subscription);
    }
    return is_good;
}

/* A publication with its own session, open for a moment. */
static bool churn_writer(churner_t *c)
{
    rst_publication_t *publication = add_publication(c->client, c->channel, c->rounds % 2 == 0);
    if (publication == NULL) {
        return false;
    }
    if (c->rounds % 2 == 0) {
        const int64_t end_ns = now_ns() + 5000000;
        for (int64_t number = 0; now_ns() < end_ns;) {
            number += rst_publication_offer(publication, &number, sizeof number, 0) > 0;
        }
    }
    rst_publication_close(publication);
    return true;
}

static void *churn(void *arg)
{
    churner_t *c = arg;
    rst_batch_t *batch = NULL;
    c->has_failed = rst_batch_create(&batch, 64) < 0;
    while (!c->has_failed && now_ns() < c->until_ns) {
        c->has_failed = c->kind == 0 ? !churn_reader(c, batch) : !churn_writer(c);
        c->rounds++;
    }
    rst_batch_destroy(batch);
    return NULL;
}

static void *write_all(void *arg)
{
    churner_t *c = arg;
    rst_publication_t *publication = add_publication(c->client, c->channel, true);
    c->has_failed = publication == NULL;
    for (int64_t number = 0; !c->has_failed && now_ns() < c->until_ns;) {
        const int64_t result = rst_publication_offer(publication, &number, sizeof number, 0);
        if (result > 0) {
            number++;
            c->rounds = number;
        } else {
            c->has_failed = result == RST_CLOSED || result == RST_ERROR;
            if (c->has_failed) {
                fprintf(stderr, "offer %" PRId64 ": %s\n", result, rst_last_error_text());
            }
            usleep(50);
        }
    }
    rst_publication_close(publication);
    return NULL;
}

static void run(const char *threading, const char *channel)
{
    char option[64];
    snprintf(option, sizeof option, "threading=%s", threading);
    const char *options[] = {option, "ipc-term-buffer-length=64k", "term-buffer-length=64k",
        "publication-linger-timeout=20ms", "timer-interval=50ms", NULL};
    rst_driver_t *driver = open_driver(threading, options);
    CHECK(driver != NULL);
    churner_t churners[CHURNERS + 1];
    memset(churners, 0, sizeof churners);
    const int64_t until_ns = now_ns() + CHURN_NS;
    for (int i = 0; i <= CHURNERS; i++) {
        churners[i] = (churner_t){.client = open_client(driver),
            .channel = channel,
            .kind = i == CHURNERS - 1,
            .until_ns = until_ns};
        CHECK(churners[i].client != NULL);
    }
    for (int i = 0; i <= CHURNERS; i++) {
        CHECK_EQ(pthread_create(&churners[i].thread, NULL, i == CHURNERS ? write_all : churn,
                     &churners[i]),
            0);
    }
    int64_t received = 0;
    for (int i = 0; i <= CHURNERS; i++) {
        (void)pthread_join(churners[i].thread, NULL);
        rst_client_close(churners[i].client);
        received += churners[i].received;
    }
    rst_driver_close(driver);
    for (int i = 0; i <= CHURNERS; i++) {
        CHECK_EQ(churners[i].has_failed ? i : -1, -1);
        CHECK(churners[i].rounds > 3);
    }
    CHECK(received > 100);
}

/* N5 */
TEST(ipc_dedicated)
{
    run("dedicated", "aeron:ipc");
}
TEST(ipc_shared)
{
    run("shared", "aeron:ipc");
}
/* N5 */
TEST(udp_dedicated)
{
    run("dedicated", udp_channel(""));
}
TEST(udp_network)
{
    run("shared-network", udp_channel(""));
}
TEST(udp_shared)
{
    run("shared", udp_channel(""));
}

CHECK_MAIN(RUN(ipc_dedicated), RUN(ipc_shared), RUN(udp_dedicated), RUN(udp_network),
    RUN(udp_shared))
