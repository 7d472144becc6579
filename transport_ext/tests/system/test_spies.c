/* A spy reads a UDP publication without receivers while other spies come and go (lesson 6: the
 * sender must not read their list). Also for the thread sanitizer. */
#include "tests/system/transport.h"

#include <pthread.h>

typedef struct passing_spies_t {
    const rst_driver_t *driver;
    char channel[300];
    int32_t is_over; /* atomic */
    int32_t rounds;  /* atomic */
    bool has_failed;
} passing_spies_t;

static void *come_and_go(void *arg)
{
    passing_spies_t *p = arg;
    rst_client_t *client = open_client(p->driver);
    rst_batch_t *batch = NULL;
    p->has_failed = client == NULL || rst_batch_create(&batch, 64) < 0;
    while (!p->has_failed && !__atomic_load_n(&p->is_over, __ATOMIC_ACQUIRE)) {
        rst_subscription_t *spies[3] = {NULL, NULL, NULL};
        for (int i = 0; i < 3; i++) {
            spies[i] = add_subscription(client, p->channel);
            p->has_failed = p->has_failed || spies[i] == NULL;
        }
        for (int i = 0; i < 3 && !p->has_failed; i++) {
            p->has_failed = rst_subscription_poll(spies[i], 64, 0, batch) < 0;
            rst_batch_release(batch);
            rst_subscription_close(spies[i]);
        }
        __atomic_fetch_add(&p->rounds, 1, __ATOMIC_RELEASE);
    }
    if (p->has_failed) {
        __atomic_fetch_add(&p->rounds, 1, __ATOMIC_RELEASE); /* nobody waits for one */
    }
    if (client != NULL) {
        rst_client_close(client);
    }
    rst_batch_destroy(batch);
    return NULL;
}

/* N9 */
static void check_spies(const char *threading)
{
    char option[64];
    snprintf(option, sizeof option, "threading=%s", threading);
    const char *const options[] = {option, "term-buffer-length=64k", NULL};
    rst_driver_t *driver = open_driver("spies", options);
    CHECK(driver != NULL);
    rst_client_t *client = open_client(driver);
    CHECK(client != NULL);
    passing_spies_t passing = {.driver = driver};
    snprintf(passing.channel, sizeof passing.channel, "aeron-spy:%s", udp_channel(""));
    rst_subscription_t *spy = add_subscription(client, passing.channel);
    rst_publication_t *publication = add_publication(client, udp_channel("|ssc=true"), true);
    CHECK(spy != NULL);
    CHECK(publication != NULL);
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, come_and_go, &passing), 0);
    int64_t took_ms;
    do { /* on a busy machine the other spies may come late */
        took_ms = stream(publication, spy, 20000, 1000, INT64_C(60000000000));
    } while (took_ms >= 0 && __atomic_load_n(&passing.rounds, __ATOMIC_ACQUIRE) == 0);
    __atomic_store_n(&passing.is_over, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    CHECK(took_ms >= 0);
    CHECK(!passing.has_failed);
    CHECK(passing.rounds > 0);
    rst_publication_close(publication);
    rst_subscription_close(spy);
    rst_client_close(client);
    rst_driver_close(driver);
}

/* N9 */
TEST(spies_under_load_dedicated)
{
    check_spies("dedicated");
}
/* N9 */
TEST(spies_under_load_shared)
{
    check_spies("shared");
}

CHECK_MAIN(RUN(spies_under_load_dedicated), RUN(spies_under_load_shared))
