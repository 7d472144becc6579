/* polls.h: a subscription of a fake driver, and a callback that remembers each fragment that a poll
 * delivers. */
#ifndef RSTI_TESTS_CLIENT_POLLS_H
#define RSTI_TESTS_CLIENT_POLLS_H

#include "tests/client/fake_driver.h"

static rst_client_t *client;
static rst_subscription_t *subscription;
static rst_batch_t *batch;

static inline bool begin(const char *name)
{
    client = fake_open(name) ? fake_client(500) : NULL;
    subscription = client != NULL ? fake_subscribe(client) : NULL;
    return subscription != NULL && rst_batch_create(&batch, 64) == 0;
}

static inline void end(void)
{
    rst_batch_destroy(batch);
    rst_subscription_close(subscription);
    rst_client_close(client);
    fake_close();
}

/* ---- the callback ---- */

#define SEEN_MAX 64
typedef struct seen_t {
    int count;
    rst_fragment_t fragments[SEEN_MAX];
    char text[SEEN_MAX][64];
    rst_poll_action_t actions[SEEN_MAX]; /* 0: CONTINUE */
    int64_t stored[SEEN_MAX]; /* the position counter, as the callback saw it */
    const fake_log_t *log;
    void (*act)(int call);
} seen_t;
static seen_t seen;

static inline rst_poll_action_t on_fragment(void *arg, const rst_fragment_t *fragment)
{
    seen_t *to = arg;
    const int call = to->count++;
    to->fragments[call] = *fragment;
    snprintf(to->text[call], sizeof to->text[call], "%.*s", (int)fragment->length,
        (const char *)fragment->data);
    to->stored[call] = rsti_load_acquire_i64(fake_value(to->log->counter_id));
    if (to->act != NULL) {
        to->act(call);
    }
    return to->actions[call] != 0 ? to->actions[call] : RST_POLL_CONTINUE;
}

static inline void expect(const fake_log_t *log)
{
    seen = (seen_t){.log = log};
}

static inline int64_t stored(const fake_log_t *log)
{
    return rsti_load_acquire_i64(fake_value(log->counter_id));
}

static inline int poll_each(int32_t limit)
{
    rst_poll_params_t params;
    rst_poll_params_init(&params);
    params.limit = limit;
    return rst_subscription_poll_each(subscription, &params, &seen, on_fragment);
}

#endif
