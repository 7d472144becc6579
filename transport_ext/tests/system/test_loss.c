/* Two drivers, real UDP on the loopback, datagrams of every kind lost, duplicated and reordered in
 * both directions: every message arrives once, complete and in order, over many small terms; then
 * the publication closes and its image ends in order. */
#include "tests/system/transport.h"

#define CHANNEL udp_channel("|term-length=64k|rcv-wnd=16k")

static bool await_end(rst_subscription_t *subscription, rst_image_event_t *event)
{
    const int64_t begin = now_ns();
    rst_batch_t *batch;
    if (rst_batch_create(&batch, 16) < 0) {
        return false;
    }
    bool is_found = false;
    while (!is_found && now_ns() - begin < INT64_C(15000000000)) {
        (void)rst_subscription_poll(subscription, 16, 0, batch);
        while (!is_found && rst_subscription_next_event(subscription, event) == 1) {
            is_found = event->kind == RST_IMAGE_UNAVAILABLE;
        }
        usleep(1000);
    }
    rst_batch_destroy(batch);
    return is_found;
}

static void run(const char *threading, bool is_exclusive)
{
    char mode[64], seed[64];
    snprintf(mode, sizeof mode, "threading=%s", threading);
    snprintf(seed, sizeof seed, "fault-seed=%" PRIu64, check_seed() & 0x7FFFFFFF);
    const char *options[] = {mode, seed, "fault-receive-data-loss=0.01",
        "fault-receive-data-duplicate=0.01", "fault-receive-data-reorder=0.01",
        "fault-receive-control-loss=0.01", "fault-send-data-loss=0.005",
        "fault-send-control-loss=0.01", NULL};
    rst_driver_t *here = open_driver("here", options);
    rst_driver_t *there = open_driver("there", options);
    CHECK(here != NULL && there != NULL);
    rst_client_t *sender = open_client(here);
    rst_client_t *receiver = open_client(there);
    CHECK(sender != NULL && receiver != NULL);
    rst_subscription_t *subscription = add_subscription(receiver, CHANNEL);
    rst_publication_t *publication = add_publication(sender, CHANNEL, is_exclusive);
    CHECK(subscription != NULL && publication != NULL);
    const int64_t took_ms = stream(publication, subscription, 8000, 3000, INT64_C(60000000000));
    fprintf(stderr, "%s: %" PRId64 " ms\n", threading, took_ms);
    CHECK(took_ms >= 0);
    const int64_t position = rst_publication_position(publication);
    CHECK(position > 20 * 65536);
    rst_publication_close(publication);
    rst_image_event_t event;
    CHECK(await_end(subscription, &event));
    CHECK_EQ(event.end_position, position);
    CHECK_EQ(event.position, position);
    rst_subscription_close(subscription);
    rst_client_close(sender);
    rst_client_close(receiver);
    rst_driver_close(here);
    rst_driver_close(there);
}

/* H6, N1 */
TEST(shared)
{
    run("shared", false);
}
/* H6 */
TEST(dedicated)
{
    run("dedicated", false);
}
/* H6 */
TEST(exclusive)
{
    run("shared", true);
}

CHECK_MAIN(RUN(shared), RUN(dedicated), RUN(exclusive))
