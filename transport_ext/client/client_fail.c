/* client_fail.c: see client_fail.h. */
#include "client/client_fail.h"

#include "client/publication.h"
#include "client/send.h"
#include "client/subscription_images.h"
#include "client/user_counter.h"
#include "util/error.h"

#include <stdio.h>

static void kill_publication(void *arg, int64_t key, void *value)
{
    (void)arg;
    (void)key;
    rsti_publication_kill(value);
}

static void kill_counter(void *arg, int64_t key, void *value)
{
    (void)arg;
    (void)key;
    rsti_user_counter_kill(value);
}

static void lose_images(void *arg, int64_t key, void *value)
{
    const int32_t state = *(const int32_t *)arg;
    (void)key;
    if (state == RST_CLIENT_CLOSED) {
        rsti_subscription_kill(value);
    } else {
        /* A driver that gave this client up does not wait for it before it cleans and refills the
         * log. The log may change while it is read. */
        rsti_subscription_lose_images(value, state == RST_CLIENT_DRIVER_LOST);
    }
}

/* A driver that is only late, or has only been stopped, would keep what this client had until its
 * heartbeat has been missing for long: readers would meet the old sessions of publishers that have
 * joined again, and then see them lost. The command waits in the ring. A dead driver never reads
 * it. */
static void leave_driver(rst_client_t *client)
{
    const rsti_command_t command = {.type = RSTI_CMD_CLIENT_CLOSE, .correlation_id = -1};
    if (rsti_client_send(client, &command) < 0) {
        rsti_error_clear();
    }
}

void rsti_client_fail(rst_client_t *client, int32_t state, const char *text)
{
    const int32_t before = rsti_client_state_now(client);
    if (before == state || before == RST_CLIENT_CLOSED) {
        return;
    }
    if (before == RST_CLIENT_OPEN) {
        leave_driver(client);
        (void)snprintf(client->failure, sizeof client->failure, "%s", text);
    }
    rsti_store_release_i32(&client->state, state);
    rsti_hash_map_for_each(&client->publications, kill_publication, NULL);
    rsti_hash_map_for_each(&client->subscriptions, lose_images, &state);
    rsti_hash_map_for_each(&client->user_counters, kill_counter, NULL);
    rsti_client_kick_waiters(client);
    (void)pthread_cond_broadcast(&client->answered);
}
