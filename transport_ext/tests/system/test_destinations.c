/* Real sockets: more transports than a thread polls one by one, for each idle strategy, and a
 * receiver that the publisher learns from its status messages. */
#include "tests/system/transport.h"

#define DESTINATIONS 8

static const char *destination(char *text, size_t size, int index)
{
    const int base = 30000 + (int)(getpid() % 3000) * 10;
    snprintf(text, size, "aeron:udp?endpoint=127.0.0.1:%d", base + index);
    return text;
}

/* N7, N8: one stream over the first and the last of many destinations: one image, in order, once.
 */
static void merge(const char *idle)
{
    char mode[64];
    char text[128];
    snprintf(mode, sizeof mode, "idle=%s", idle);
    const char *options[] = {"threading=dedicated", mode, "term-buffer-length=64k", NULL};
    rst_driver_t *driver = open_driver("merge", options);
    CHECK(driver != NULL);
    rst_client_t *client = open_client(driver);
    CHECK(client != NULL);
    rst_subscription_t *subscription = add_subscription(client, "aeron:udp?control-mode=manual");
    rst_publication_t *publication = add_publication(client, "aeron:udp?control-mode=manual|fc=max",
        true);
    CHECK(subscription != NULL && publication != NULL);
    for (int i = 0; i < DESTINATIONS; i++) {
        CHECK(await(client,
                  rst_subscription_add_destination(subscription, destination(text, sizeof text, i)))
            >= 0);
    }
    CHECK(await(client,
              rst_publication_add_destination(publication, destination(text, sizeof text, 0)))
        >= 0);
    CHECK(await(client,
              rst_publication_add_destination(publication,
                  destination(text, sizeof text, DESTINATIONS - 1)))
        >= 0);
    CHECK(stream(publication, subscription, 5000, 1000, INT64_C(30000000000)) >= 0);
    /* One of the two paths is removed: the other one continues. */
    CHECK(await(client,
              rst_subscription_remove_destination(subscription, destination(text, sizeof text, 0)))
        >= 0);
    CHECK(stream(publication, subscription, 5000, 1000, INT64_C(30000000000)) >= 0);
    rst_publication_close(publication);
    rst_subscription_close(subscription);
    rst_client_close(client);
    rst_driver_close(driver);
}

/* N7 */
TEST(many_destinations_of_a_blocking_thread)
{
    merge("block");
}
/* N8 */
TEST(many_destinations_of_a_yielding_thread)
{
    merge("yield");
}

/* N7 */
TEST(dynamic_destination_asks_for_its_stream)
{
    char channel[160];
    const int base = 30000 + (int)(getpid() % 3000) * 10;
    const char *options[] = {"term-buffer-length=64k", NULL};
    rst_driver_t *driver = open_driver("dynamic", options);
    CHECK(driver != NULL);
    rst_client_t *client = open_client(driver);
    CHECK(client != NULL);
    snprintf(channel, sizeof channel, "aeron:udp?control=127.0.0.1:%d|control-mode=dynamic",
        base + 9);
    rst_publication_t *publication = add_publication(client, channel, false);
    snprintf(channel, sizeof channel,
        "aeron:udp?endpoint=127.0.0.1:0|control=127.0.0.1:%d|control-mode=dynamic", base + 9);
    rst_subscription_t *subscription = add_subscription(client, channel);
    CHECK(subscription != NULL && publication != NULL);
    CHECK(stream(publication, subscription, 5000, 1000, INT64_C(30000000000)) >= 0);
    rst_publication_close(publication);
    rst_subscription_close(subscription);
    rst_client_close(client);
    rst_driver_close(driver);
}

CHECK_MAIN(RUN(many_destinations_of_a_blocking_thread), RUN(many_destinations_of_a_yielding_thread),
    RUN(dynamic_destination_asks_for_its_stream))
