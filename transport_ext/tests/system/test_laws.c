/* test_laws.c: real streams under each law of congestion: they arrive complete, and no law makes a
 * short path slow. */
#include "tests/system/transport.h"

static void flow_under(const char *law, const char *option)
{
    char parameters[64];
    snprintf(parameters, sizeof parameters, "|cc=%s|term-length=1m", law);
    const char *options[] = {"threading=shared", option, NULL};
    rst_driver_t *driver = open_driver(law, options);
    CHECK(driver != NULL);
    rst_client_t *client = open_client(driver);
    CHECK(client != NULL);
    rst_subscription_t *subscription = add_subscription(client, udp_channel(parameters));
    rst_publication_t *publication = add_publication(client, udp_channel(parameters), false);
    CHECK(subscription != NULL && publication != NULL);
    const int64_t begin_ns = now_ns();
    CHECK(stream(publication, subscription, 50000, 1300, INT64_C(30000000000)) >= 0);
    fprintf(stderr, "%s %s: 50000 messages in %d ms\n", law, option == NULL ? "" : option,
        (int)((now_ns() - begin_ns) / 1000000));
    rst_publication_close(publication);
    rst_subscription_close(subscription);
    rst_client_close(client);
    rst_driver_close(driver);
}

TEST(static_window)
{
    flow_under("static", NULL);
}
/* I7, O6 */
TEST(cubic_window)
{
    flow_under("cubic", NULL);
}
/* O6 */
TEST(cubic_that_measures)
{
    flow_under("cubic", "cubic-measure-rtt=true");
}
TEST(cubic_in_tcp_mode)
{
    flow_under("cubic", "cubic-tcp-mode=true");
}
TEST(automatic_window)
{
    flow_under("auto", NULL);
}

CHECK_MAIN(RUN(static_window), RUN(cubic_window), RUN(cubic_that_measures), RUN(cubic_in_tcp_mode),
    RUN(automatic_window))
